#!/usr/bin/env bash
# Training beside XGBoost, as ratios of one run: both take turns on the same data, and the best time of each counts.
# Needs CIFAR-10 (binary version) in the folder CIFAR10, and Debian's python3-xgboost (installed when absent).
#
#	experiments/speed.sh [gist|codebook|train]...      default: all
#
#	gist       one bit, GIST-320, all columns candidates
#	codebook   one bit, codebook-11200, 200 candidates per node; XGBoost grows ROUNDS trees (20), scaled to 200
#	train      64 bits, codebook-11200, from the file of vectors to the model
set -euo pipefail
cd "$(dirname "$0")/.."
cifar=${CIFAR10:-${XDG_CACHE_HOME:-$HOME/.cache}/hashgrove/cifar10}
scratch=${HASHGROVE_SCRATCH:-${TMPDIR:-/tmp}/hashgrove-speed}
turns=${TURNS:-3} rounds=${ROUNDS:-20} threads=2
python=/usr/bin/python3
parts=${*:-gist codebook train}
mkdir -p "$scratch"
make --silent build
go build -o "$scratch/boosted_bit" experiments/boosted_bit.go
"$python" -c 'import xgboost' 2>/dev/null || { apt-get update -qq && apt-get install -y -qq python3-xgboost; } >&2

# vectors KIND: the training pictures of CIFAR-10, as bytes
vectors() {
	[ -e "$scratch/$1.npy" ] || bin/hashgrove features "$cifar"/data_batch_*.bin --kind "$1" --type uint8 -o "$scratch/$1.npy"
}

# beside KIND CANDIDATES ROUNDS TURNS: ours and theirs
beside() {
	local data=("$scratch/$1.npy" "$scratch/$1.labels.txt" "$2" "$threads")
	for _ in $(seq "$4"); do
		"$scratch/boosted_bit" "${data[@]}"
		"$python" experiments/xgboost_peer.py "${data[@]}" "$3"
	done | awk '
		{ print; m = $1 ~ /xgboost/; if (!n[m]++ || $3 < wall[m]) wall[m] = $3; if (n[m] == 1 || $5 < cpu[m]) cpu[m] = $5 }
		END { printf "%.2f s and %.2f s: %.1f times faster, with %.1f times less processor time\n", wall[0], wall[1], wall[1]/wall[0], cpu[1]/cpu[0] }'
}

echo "$(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), load $(cut -d' ' -f1-3 /proc/loadavg)"
for part in $parts; do
	echo "== $part"
	case $part in
	gist)
		vectors gist
		beside gist -1 200 "$turns"
		;;
	codebook)
		vectors codebook
		beside codebook 200 "$rounds" 1
		;;
	train)
		vectors codebook
		bin/hashgrove train "$scratch/codebook.npy" --labels "$scratch/codebook.labels.txt" -o "$scratch/codebook.hgm" --restart --json --quiet >"$scratch/codebook.json"
		grep -E '^  "(inference|boost|total)_seconds"' "$scratch/codebook.json"
		;;
	*)
		echo "unknown part $part" >&2
		exit 2
		;;
	esac
done
