#!/bin/sh
# Exact search beside FAISS IndexBinaryFlat, as ratios of one run: ours and theirs take turns on the same machine.
#
#   x/bench/search.sh                     everything: 64, 256 and 1024 bits, 1 and 10 million codes; an hour or so
#   x/bench/search.sh 64:1000000          one size, bits:codes
#   HASHGROVE_BATCH=100 x/bench/search.sh smaller batches, quicker
#   PYTHON=... x/bench/search.sh          another build of FAISS than Debian's, which is a generic one
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import faiss' 2>/dev/null; then
	echo "installing python3-faiss" >&2
	apt-get install -y python3-faiss >&2
fi
bench=$(mktemp)
trap 'rm -f "$bench"' EXIT
go test -c -o "$bench" ./internal/index
"$python" x/bench/faiss_peer.py "$bench" "$@"
