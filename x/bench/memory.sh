#!/usr/bin/env bash
# Training on more rows than memory: the same training in memory, and with --memory in a control group whose hard limit
# counts the page cache too. The two models must be the same, byte for byte. Needs root and Linux, 12 GB of memory and
# 9 GB of disk for 50 million rows.
#
#	x/bench/memory.sh [FOLDER [ROWS [LIMIT [FLAG...]]]]      default: a temporary folder, 50 million rows, 1GB
#
# The folder must lie on a disk: on a memory disk files are memory, too. Rows that are there already are used again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$(mktemp -d)} rows=${2:-50000000} limit=${3:-1GB}
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- --effort quick --linear-columns off --bits 2 --rounds 10
bytes=$(numfmt --from=si "${limit%B}")
mkdir -p "$folder"
go build -C "$here/../.." -o "$folder/hashgrove" ./cmd/hashgrove
go build -C "$here" -o "$folder/synthetic" ./synthetic
cd "$folder"
[ -s rows.npy ] || ./synthetic "$rows" 64 10 rows.npy labels.txt uint8
unset TMPDIR # the mapped files are to be here

# limited COMMAND... runs it under the limit and prints the most memory that the group has had.
limited() {
	local group most
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		group=/sys/fs/cgroup/hashgrove.$$ most=memory.peak
		mkdir "$group"
		echo "$bytes" >"$group/memory.max"
		echo 0 >"$group/memory.swap.max"
	else
		group=/sys/fs/cgroup/memory/hashgrove.$$ most=memory.max_usage_in_bytes
		mkdir "$group"
		echo "$bytes" >"$group/memory.limit_in_bytes"
	fi
	(echo "$BASHPID" >"$group/cgroup.procs" && exec "$@")
	echo "the group has had $(cat "$group/$most") bytes at most, the page cache included; the limit was $bytes"
	sleep 1
	rmdir "$group"
}

echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
echo "--- in memory: train rows.npy --labels labels.txt $*"
time ./hashgrove train rows.npy --labels labels.txt "$@" --quiet --force -o memory.hgm
echo "--- with --memory $limit, load $(cut -d' ' -f1-3 /proc/loadavg)"
time limited ./hashgrove train rows.npy --labels labels.txt "$@" --quiet --force --memory "$limit" -o files.hgm
cmp memory.hgm files.hgm && echo "the models are the same, byte for byte"
