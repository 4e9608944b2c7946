#!/usr/bin/env bash
# Measures what docs/results/speed.md shows. Needs Debian's dataset-fashion-mnist (installed when absent) and about
# 10 GB of disk in the scratch folder for the large synthetic matrix.
#
#	x/bench/learn.sh [fashion|bytes|step1|memory]...      default: all
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=${HASHGROVE_SCRATCH:-${TMPDIR:-/tmp}/hashgrove-learn}
fashion=/usr/share/datasets/fashion-mnist
mkdir -p "$scratch"
make --silent build
hashgrove=$PWD/bin/hashgrove
parts=${*:-fashion bytes step1 memory}

[ -e $fashion/train-images-idx3-ubyte.gz ] || { apt-get update -qq && apt-get install -y -qq dataset-fashion-mnist; }

# summary FILE: the closing object of train --json on one line
summary() {
	sed -n 's/^  "\(rows\|dims\|inference_seconds\|boost_seconds\|total_seconds\|peak_rss_bytes\)": \(.*[0-9]\),*$/\1 \2/p' "$1" | tr '\n' ' '
	echo
}

for part in $parts; do
	echo "== $part"
	case $part in
	fashion)
		"$hashgrove" train --validation 0 $fashion/train-images-idx3-ubyte.gz --force -o "$scratch/fashion.hgm" --restart --json --quiet >"$scratch/fashion.json"
		summary "$scratch/fashion.json"
		"$hashgrove" eval -m "$scratch/fashion.hgm" --base $fashion/train-images-idx3-ubyte.gz --queries $fashion/t10k-images-idx3-ubyte.gz
		"$hashgrove" encode -m "$scratch/fashion.hgm" $fashion/t10k-images-idx3-ubyte.gz --force -o "$scratch/queries.hgc" --threads 1
		;;
	bytes)
		# Small, because the race detector slows the trees thirtyfold; the kills come while bits are learned.
		options="$fashion/t10k-images-idx3-ubyte.gz --bits 12 --rounds 40 --quiet"
		"$hashgrove" train --validation 0 $options --force -o "$scratch/threads1.hgm" --restart --threads 1 >/dev/null
		"$hashgrove" train --validation 0 $options --force -o "$scratch/threads2.hgm" --restart --threads 2 >/dev/null
		CGO_ENABLED=1 go build -race -o "$scratch/race" ./cmd/hashgrove
		"$scratch/race" train $options -o "$scratch/race.hgm" --restart >/dev/null
		rm -rf "$scratch/killed.hgm.ckpt"
		for pause in 0.8 1.0 1.2; do
			"$hashgrove" train --validation 0 $options --force -o "$scratch/killed.hgm" --resume >/dev/null &
			sleep $pause
			kill -9 $! && wait $! || true
			echo "killed with $(find "$scratch/killed.hgm.ckpt" -name '*.bit' 2>/dev/null | wc -l) bits done"
		done
		"$hashgrove" train --validation 0 $options --force -o "$scratch/killed.hgm" --resume >/dev/null
		(cd "$scratch" && sha256sum threads1.hgm threads2.hgm race.hgm killed.hgm)
		;;
	step1)
		go test ./internal/fasthash/inference -run '^$' -bench Step1/rows=2000 -benchtime 1x
		;;
	memory)
		go run -C x/bench ./synthetic 100417 11200 397 "$scratch/sun.npy" "$scratch/sun.txt"
		"$hashgrove" train --validation 0 "$scratch/sun.npy" --labels "$scratch/sun.txt" --bits 3 --depth 6 --force -o "$scratch/sun.hgm" --restart --json --quiet >"$scratch/sun.json"
		summary "$scratch/sun.json"
		rm -f "$scratch/sun.npy"
		;;
	*)
		echo "unknown part $part" >&2
		exit 2
		;;
	esac
done
