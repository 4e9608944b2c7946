#!/usr/bin/env bash
# How training, encoding and batch search scale with the number of threads: the least seconds of some turns, with the share
# of linear speed-up, on synthetic data. Models, codes and answers must be the same for all numbers of threads. For a
# machine that nobody else uses.
#
#	[ROWS=50000] [COLUMNS=320] [BITS=4] [TURNS=2] x/bench/scaling.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
rows=${ROWS:-50000} columns=${COLUMNS:-320} bits=${BITS:-4} turns=${TURNS:-2} cores=$(nproc)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go build -o "$scratch/" ./cmd/hashgrove
go build -C x/bench -o "$scratch/" ./synthetic
cd "$scratch"

# measure KEYS FILE ARGUMENTS...: runs the command on 1, 2, 4, ... threads and all cores. The seconds are the sum of those
# keys in what it prints, and FILE, or what it prints, must always be the same.
measure() {
	local keys=$1 file=$2 n=1 turn
	shift 2
	printf '%-60s' "$*"
	while :; do
		for turn in $(seq "$turns"); do
			GOMAXPROCS=$n ./hashgrove "$@" --threads "$n" --json --quiet >out
			awk -F'[:,]' -v keys="$keys" '$1 ~ "^  \"" keys "\"$" { s += $2 } END { print s }' out
			grep -v seconds out >answers
			[ "$n$turn" = 11 ] && cp "$file" "first-$file"
			cmp "$file" "first-$file" >&2
		done | sort -g | head -n 1 | awk -v n="$n" -v first="${first:-0}" '{
			if (!first) first = $1; printf "%9.3f %3.0f%%", $1, 100*first/$1/n; print $1 >"least" }'
		[ "$n" = 1 ] && local first && first=$(cat least)
		[ "$n" -lt "$cores" ] || break
		n=$((2 * n < cores ? 2 * n : cores))
	done
	echo
}

echo "$cores cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), load $(cut -d' ' -f1-3 /proc/loadavg)"
./synthetic "$rows" "$columns" 10 rows.npy classes.txt
for trees in "$bits" "$bits --set boost=logistic"; do
	measure '(boost|inference)_seconds' m.hgm train rows.npy --labels classes.txt --effort paper --validation 0 --force -o m.hgm --bits $trees
done
measure seconds codes.hgc encode rows.npy -m m.hgm --force -o codes.hgc
for bits in 64 256; do
	head -c $((bits / 8 * 1000000)) /dev/urandom >codes.raw
	{ printf '\223NUMPY\1\0v\0%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (1000000, $((bits / 8))), }"; cat codes.raw; } >codes.npy
	{ printf '\223NUMPY\1\0v\0%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (2000, $((bits / 8))), }"; head -c $((bits * 250)) codes.raw; } >queries.npy
	./hashgrove index build codes.npy --codes --force -o items.hgi --quiet
	measure seconds answers search items.hgi queries.npy --codes -k 100
done
