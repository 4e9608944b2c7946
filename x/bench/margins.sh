#!/bin/sh
# Ranking by margins beside our own Hamming distance and beside FAISS product quantisers of as many bytes, as ratios of
# one run: all take turns on the same machine.
#
#   x/bench/margins.sh                          1 million codes of 32, 64, 128 and 256 bits
#   x/bench/margins.sh 64:1000000               one size, bits:codes
#   HASHGROVE_BATCH=100 x/bench/margins.sh      smaller batches, quicker; at most 1,000
#   HASHGROVE_MARGINS=even x/bench/margins.sh   nearly equal margins; detail: small ones from bit 64 on
#   HASHGROVE_PROCESSOR=1 x/bench/margins.sh    processor time, one thread, for a machine that is not quiet
#   HASHGROVE_ROUNDS=10 x/bench/margins.sh      more turns than 3
#   PYTHON=... x/bench/margins.sh               another build of FAISS than Debian's, which is a generic one
set -eu
cd "$(dirname "$0")/../.."
bench=$(mktemp)
trap 'rm -f "$bench"' EXIT
go build -C x/bench -o "$bench" ./margin-search
batch=${HASHGROVE_BATCH:-1000}
python=${PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import faiss' 2>/dev/null; then
	echo "installing python3-faiss" >&2
	apt-get install -y python3-faiss >&2
fi
[ $# -gt 0 ] || set -- 32:1000000 64:1000000 128:1000000 256:1000000
"$python" x/bench/faiss_margins.py "$bench" "$batch" "$@"
