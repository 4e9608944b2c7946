#!/bin/sh
# Runs make test under conditions that a contributor's machine may have: make conditions.
#
#	RUNS="zone+umask busy ..."   one run of make test for each word, under all conditions that it names
#
#	zone    a time zone that is not whole hours off (Asia/Kathmandu)
#	locale  LC_ALL=C
#	umask   077: nobody else may read what is written
#	memory  TMPDIR in memory
#	home    a home folder that cannot be written
#	ipv6    no IPv6, and no network but the loopback
#	busy    four busy loops for every two cores
#
# The tests run in random order and are not taken from the cache. ipv6 takes root. Logs go to bin/conditions.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
: "${RUNS:=zone+locale+umask+memory+home+ipv6 busy busy}" "${GO:=go}"
logs=$root/bin/conditions
mkdir -p "$logs"

# under CONDITION ...: runs make test.
under() {
	memory=
	loops=
	prefix=
	GOCACHE=$("$GO" env GOCACHE) GOMODCACHE=$("$GO" env GOMODCACHE)
	export GOCACHE GOMODCACHE
	for condition; do
		case $condition in
		zone) export TZ=Asia/Kathmandu ;;
		locale) export LC_ALL=C ;;
		umask) umask 077 ;;
		memory)
			memory=$(mktemp -d /dev/shm/hashgrove-XXXXXX)
			chmod 755 "$memory" # tests run as another user, too
			export TMPDIR="$memory"
			;;
		home)
			unset XDG_CACHE_HOME XDG_CONFIG_HOME
			export HOME=/dev/null/nowhere
			;;
		ipv6)
			export GOPROXY=off
			prefix="unshare --net sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; ip link set lo up; exec \"\$@\"' sh"
			;;
		busy)
			n=$(($(nproc) * 2))
			while [ $n -gt 0 ]; do
				(while :; do :; done) &
				loops="$loops $!"
				n=$((n - 1))
			done
			;;
		*) echo "conditions: there is no condition $condition" >&2; return 2 ;;
		esac
	done
	eval "$prefix make --no-print-directory test TESTFLAGS='-count=1 -shuffle=on'"
	result=$?
	[ -z "$loops" ] || kill $loops
	if [ -n "$memory" ]; then
		left=$(ls "$memory")
		rm -rf "$memory"
		[ -z "$left" ] || { echo "left in the folder for temporary files: $left"; result=1; }
	fi
	return $result
}

status=0 number=0
cd "$root" || exit 1
for run in $RUNS; do
	number=$((number + 1)) began=$(date +%s)
	(under $(echo "$run" | tr + ' ')) >"$logs/$number.log" 2>&1 </dev/null && verdict=passed || { verdict=FAILED status=1; }
	echo "conditions: $run: $verdict after $(($(date +%s) - began)) s; $(grep -c '^ok ' "$logs/$number.log") packages; $logs/$number.log"
	grep -E '^(--- FAIL|FAIL|panic:|left in)' "$logs/$number.log"
done
exit $status
