#!/usr/bin/env bash
# Measures what experiments/learn.md shows. Needs Debian's dataset-fashion-mnist (installed when absent) and about
# 10 GB of disk in the scratch folder for the large synthetic matrix.
#
#	experiments/learn.sh [fashion|bytes|step1|rows|bits|memory]...      default: all
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=${HASHGROVE_SCRATCH:-${TMPDIR:-/tmp}/hashgrove-learn}
fashion=/usr/share/datasets/fashion-mnist
mkdir -p "$scratch"
make --silent build
hashgrove=$PWD/bin/hashgrove
parts=${*:-fashion bytes step1 rows bits memory}

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
		"$hashgrove" train $fashion/train-images-idx3-ubyte.gz -o "$scratch/fashion.hgm" --restart --json --quiet >"$scratch/fashion.json"
		summary "$scratch/fashion.json"
		"$hashgrove" eval -m "$scratch/fashion.hgm" --base $fashion/train-images-idx3-ubyte.gz --queries $fashion/t10k-images-idx3-ubyte.gz
		"$hashgrove" encode -m "$scratch/fashion.hgm" $fashion/t10k-images-idx3-ubyte.gz -o "$scratch/queries.hgc" --threads 1
		;;
	bytes)
		for threads in 1 2; do
			"$hashgrove" train $fashion/t10k-images-idx3-ubyte.gz --bits 16 --threads $threads -o "$scratch/t$threads.hgm" --restart --quiet >/dev/null
		done
		CGO_ENABLED=1 go build -race -o "$scratch/race" ./cmd/hashgrove
		"$scratch/race" train $fashion/t10k-images-idx3-ubyte.gz --bits 16 -o "$scratch/trace.hgm" --restart --quiet >/dev/null
		rm -rf "$scratch/killed.hgm.ckpt"
		for _ in 1 2 3; do
			timeout -s KILL 3 "$hashgrove" train $fashion/t10k-images-idx3-ubyte.gz --bits 16 -o "$scratch/killed.hgm" --resume --quiet >/dev/null || true
		done
		"$hashgrove" train $fashion/t10k-images-idx3-ubyte.gz --bits 16 -o "$scratch/killed.hgm" --resume --quiet >/dev/null
		(cd "$scratch" && sha256sum t1.hgm t2.hgm trace.hgm killed.hgm)
		;;
	step1)
		go test ./inference -run '^$' -bench Step1 -benchtime 1x
		;;
	rows)
		for rows in 10000 25000 50000 100000; do
			go run experiments/synthetic.go $rows 320 10 "$scratch/rows.npy" "$scratch/rows.txt"
			"$hashgrove" train "$scratch/rows.npy" --labels "$scratch/rows.txt" --bits 8 -o "$scratch/rows.hgm" --restart --json --quiet >"$scratch/rows.json"
			summary "$scratch/rows.json"
		done
		;;
	bits)
		for bits in 16 32 64 128; do
			"$hashgrove" train $fashion/t10k-images-idx3-ubyte.gz --bits $bits -o "$scratch/bits.hgm" --restart --json --quiet >"$scratch/bits.json"
			printf 'bits %s ' $bits
			summary "$scratch/bits.json"
		done
		;;
	memory)
		go run experiments/synthetic.go 100417 11200 397 "$scratch/sun.npy" "$scratch/sun.txt"
		"$hashgrove" train "$scratch/sun.npy" --labels "$scratch/sun.txt" --bits 3 --depth 6 -o "$scratch/sun.hgm" --restart --json --quiet >"$scratch/sun.json"
		summary "$scratch/sun.json"
		rm -f "$scratch/sun.npy"
		;;
	*)
		echo "unknown part $part" >&2
		exit 2
		;;
	esac
done
