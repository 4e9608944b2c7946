#!/usr/bin/env bash
# How training, encoding and batch search scale with the number of threads: a table of seconds and of the share of
# linear speed-up, on synthetic data. Models, codes and answers must be the same for all numbers of threads. Takes about
# five minutes on 16 cores and 5 GB of memory, on a machine that nobody else uses.
#
#	x/bench/scaling.sh build FOLDER      the program alone, static, for a machine without Go
#	FOLDER/scaling.sh [FLAG]...        there; x/bench/scaling.sh [FLAG]... builds it first
#
# Flags: -part machine|narrow|logistic|wide|encode|search, -rows 50000, -bits 4, -turns 2.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = build ]; then
	mkdir -p "$2"
	CGO_ENABLED=0 go build -C "$here" -trimpath -o "$(cd "$2" && pwd)/scaling" ./scaling
	cp "$0" "$2/scaling.sh"
	exit
fi
if [ -x "$here/scaling" ] && [ ! -d "$here/scaling" ]; then
	program=$here/scaling
else
	program=$(mktemp)
	trap 'rm -f "$program"' EXIT
	CGO_ENABLED=0 go build -C "$here" -o "$program" ./scaling
fi
echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), load $(cut -d' ' -f1-3 /proc/loadavg)"
"$program" "$@"
