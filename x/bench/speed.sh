#!/usr/bin/env bash
# Training and encoding beside XGBoost and LightGBM, as ratios of one run: all take turns on the same data, and the best time
# of each counts. What docs/results/speed.md shows. Needs CIFAR-10 (binary version) in the folder CIFAR10, Debian's python3-xgboost and
# dataset-fashion-mnist (installed when absent), and a machine that nobody else uses. Another build of XGBoost, and LightGBM, are
# taken from PYTHONPATH.
#
#	x/bench/speed.sh [gist|train|encode|step1|rows|bits|limits]...      default: all
#
#	gist       one bit, GIST-320, all columns candidates; AdaBoost and the logistic loss of the peers
#	train      64 bits from the file of vectors to the model: GIST-320 with the paper's settings and with the default
#	encode     64 bits x 200 trees of the paper, and 64 bits of the default, on GIST-320, in batches and one row at a time
#	step1      Step 1 beside the plain method, 50,000 rows and 64 bits
#	rows       10,000 to 200,000 synthetic rows of 320 dimensions
#	bits       64, 256 and 1,024 bits of 10,000 pictures
#	limits     the loops of training and encoding alone, and how fast the machine reads memory
set -euo pipefail
cd "$(dirname "$0")/../.."
cifar=${CIFAR10:-${XDG_CACHE_HOME:-$HOME/.cache}/hashgrove/cifar10}
scratch=${HASHGROVE_SCRATCH:-${TMPDIR:-/tmp}/hashgrove-speed}
turns=${TURNS:-3} threads=2
python=/usr/bin/python3
parts=${*:-gist train encode step1 rows bits limits}
fashion=/usr/share/datasets/fashion-mnist
mkdir -p "$scratch"
make --silent build
go build -C x/bench -o "$scratch/boosted-bit" ./boosted-bit
"$python" -c 'import xgboost' 2>/dev/null || { apt-get update -qq && apt-get install -y -qq python3-xgboost; } >&2

# vectors makes GIST-320 of the training pictures of CIFAR-10.
vectors() {
	[ -e "$scratch/gist.npy" ] || bin/hashgrove features "$cifar"/data_batch_*.bin --kind gist320 --force -o "$scratch/gist.npy"
}

# beside KIND CANDIDATES ROUNDS TURNS: ours and theirs, and the least time of each beside ours of the same loss
beside() {
	local data=("$scratch/$1.npy" "$scratch/$1.labels.txt" "$2" "$threads")
	for _ in $(seq "$4"); do
		"$scratch/boosted-bit" "${data[@]}" adaboost
		"$scratch/boosted-bit" "${data[@]}" logistic
		"$python" x/bench/boosted_peers.py "${data[@]}" "$3"
	done | awk '
		{ print; split($1, part, "[=/]"); m = part[3]; if (!(m in wall) || $3 < wall[m]) wall[m] = $3 }
		END { for (m in wall) printf "%s %.2f s, %.2f times our logistic boosting\n", m, wall[m], wall[m]/wall["logistic"] }'
}

# learn NAME VECTORS LABELS [FLAG]...: trains to NAME.hgm and prints the times
learn() {
	local name=$1
	bin/hashgrove train "$2" --validation 0 ${3:+--labels "$3"} "${@:4}" --force -o "$scratch/$name.hgm" --set restart=true --json --quiet >"$scratch/$name.json"
	printf '%s' "$name"
	sed -n 's/^  "\(rows\|bits\|inference_seconds\|boost_seconds\|total_seconds\|peak_rss_bytes\)": \(.*[0-9]\),*$/ \1 \2/p' "$scratch/$name.json" | tr -d '\n'
	echo
}

echo "$(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), load $(cut -d' ' -f1-3 /proc/loadavg)"
for part in $parts; do
	echo "== $part"
	case $part in
	gist)
		vectors
		beside gist -1 200 "$turns"
		;;
	train)
		vectors
		learn gist-paper "$scratch/gist.npy" "$scratch/gist.labels.txt" --effort paper
		learn gist "$scratch/gist.npy" "$scratch/gist.labels.txt"
		;;
	encode)
		go build -C x/bench -o "$scratch/encoded-rows" ./encoded-rows
		vectors
		for name in gist-paper gist; do
			[ -e "$scratch/$name.hgm" ] ||
				learn $name "$scratch/gist.npy" "$scratch/gist.labels.txt" $([ $name = gist ] || echo --effort paper)
			for cores in 1 2; do
				"$scratch/encoded-rows" "$scratch/$name.hgm" "$scratch/gist.npy" $cores
				[ $name != gist-paper ] || "$python" x/bench/xgboost_predict.py "$scratch/gist.npy" "$scratch/gist.labels.txt" $cores
			done
		done
		;;
	step1)
		go test ./internal/fasthash/inference -run '^$' -bench Step1 -benchtime 1x | grep plain
		;;
	rows)
		go build -C x/bench -o "$scratch/synthetic" ./synthetic
		for rows in 10000 50000 100000 200000; do
			"$scratch/synthetic" $rows 320 10 "$scratch/rows.npy" "$scratch/rows.txt"
			learn "rows-$rows" "$scratch/rows.npy" "$scratch/rows.txt" --bits 8 --effort paper
		done
		rm -f "$scratch/rows.npy"
		;;
	bits)
		[ -e $fashion/t10k-images-idx3-ubyte.gz ] || { apt-get update -qq && apt-get install -y -qq dataset-fashion-mnist; } >&2
		for bits in 64 256 1024; do
			learn "bits-$bits" $fashion/t10k-images-idx3-ubyte.gz "" --bits $bits --effort paper
		done
		;;
	limits)
		go test ./internal/fasthash/boost -run '^$' -bench 'Tally|Fit/data=mixture' -benchtime 3x | grep ns/update
		go test ./internal/model -run '^$' -bench 'Encode/trees' -benchtime 0.3s | grep us/row
		go test ./internal/hamming -run '^$' -bench 'Scan/bits=256' -benchtime 1x | grep GB/s
		;;
	*)
		echo "unknown part $part" >&2
		exit 2
		;;
	esac
done
