#!/usr/bin/env bash
# Figures of docs/results/search.md: random codes of 64 bits in a file of FAISS, an index of them, and searches for the 10 nearest
# of 1, 100 and 10,000 codes. Random codes are the worst case: none are equal and none are near. At last one code in an
# index with labels, the median of 21 runs.
#
#	x/bench/scale.sh FOLDER NUMBER...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
mkdir -p "$folder"
go build -C "$here/../.." -o "$folder/hashgrove" ./cmd/hashgrove
cd "$folder"
# codes FILE NUMBER writes an IndexBinaryFlat: its name, bits, bytes of a code, codes, two flags, and the bytes.
codes() {
	{
		printf 'IBxF'
		perl -e 'print pack("l<l<q<Cl<Q<", 64, 8, $ARGV[0], 1, 1, 8 * $ARGV[0])' "$2"
		head -c $(($2 * 8)) /dev/urandom
	} >"$1"
}
for n in 1 100 10000; do codes "queries-$n.faiss" "$n"; done
echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
for n in "$@"; do
	codes "codes.faiss" "$n"
	rm -f items.hgi
	echo "--- $n items"
	./hashgrove index build -o items.hgi codes.faiss --quiet
	for q in 1 100 10000; do
		TIMEFORMAT="search for $q: %R s"
		time ./hashgrove search items.hgi "queries-$q.faiss" --to jsonl --quiet >/dev/null
	done
	tail -c $((n * 8)) codes.faiss >codes.raw
	{ printf '\223NUMPY\1\0v\0%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': ($n, 8), }"; cat codes.raw; } >codes.npy
	perl -e 'print int(rand(10)), "\n" for 1 .. $ARGV[0]' "$n" >labels.txt
	./hashgrove index build codes.npy --codes --labels labels.txt --force -o items.hgi --quiet
	TIMEFORMAT=%R
	for _ in $(seq 21); do
		time ./hashgrove search items.hgi --code 0123456789abcdef -k 10 --quiet >/dev/null
	done 2>&1 | sort -g | sed -n '11s/$/ s for one code among items with labels/p'
done
