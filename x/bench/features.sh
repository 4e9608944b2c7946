#!/usr/bin/env bash
# How fast features are made, beside their peers, in one run: what docs/results/speed.md shows. Needs CIFAR-10 (binary
# version) in the folder CIFAR10, Debian's python3-scipy with libopenblas0 (installed when absent), and a quiet machine.
#
#	x/bench/features.sh [gemm|gist|codebook]...      default: all
set -euo pipefail
cd "$(dirname "$0")/../.."
cifar=${CIFAR10:-${XDG_CACHE_HOME:-$HOME/.cache}/hashgrove/cifar10}
scratch=${HASHGROVE_SCRATCH:-${TMPDIR:-/tmp}/hashgrove-features}
python="env OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 /usr/bin/python3"
mkdir -p "$scratch"
make --silent build
$python -c 'import scipy' 2>/dev/null || { apt-get update -qq && apt-get install -y -qq python3-scipy; } >&2
[ -e /usr/lib/x86_64-linux-gnu/openblas-pthread ] || { apt-get update -qq && apt-get install -y -qq libopenblas0-pthread; } >&2

echo "$(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), load $(cut -d' ' -f1-3 /proc/loadavg)"
for part in ${*:-gemm gist codebook}; do
	echo "== $part"
	case $part in
	gemm)
		go test ./internal/numeric/gemm -run '^$' -bench Mul -cpu 1 -size 2000 -benchtime 2s | grep GFLOP
		$python x/bench/gemm_peer.py 2000
		;;
	gist)
		TIMEFORMAT="60,000 pictures, one thread: %R s, %U s in the program"
		time bin/hashgrove features "$cifar"/*_batch*.bin --kind gist --threads 1 --force -o "$scratch/gist.npy" --quiet >/dev/null
		TIMEFORMAT="60,000 pictures, two threads: %R s"
		time bin/hashgrove features "$cifar"/*_batch*.bin --kind gist --threads 2 --force -o "$scratch/gist.npy" --quiet >/dev/null
		$python x/bench/gist_peer.py "$cifar/data_batch_1.bin" 2000
		;;
	codebook)
		TIMEFORMAT="learning 800 words and extracting 60,000 x 11,200, two threads: %R s, %U s in the program"
		time bin/hashgrove features "$cifar"/*_batch*.bin --kind codebook --patch 6 --normalise none --type uint8 --threads 2 --save "$scratch/codebook.hgf" --force -o "$scratch/codebook.npy" --quiet >/dev/null
		;;
	*)
		echo "unknown part $part" >&2
		exit 2
		;;
	esac
done
