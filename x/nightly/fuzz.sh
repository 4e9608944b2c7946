#!/bin/sh
# Fuzzes every target for a while, and then until it has tried as many inputs as the floor says: minimising, slow seeds and
# a busy machine all eat the time, and nobody would notice a target that tries next to nothing. Run from the root:
#
#	sh x/nightly/fuzz.sh TIME FLOOR [guided] [TARGETS]
#
# TIME is for each target, such as 1s; LIMIT (default 120) is how many seconds more it may take to reach the floor. Guided
# fuzzing sees what inputs reach, and compiles for longer. TARGETS is a pattern for grep, matched with "./FOLDER FuzzName".
set -u
GO=${GO:-go} time=$1 floor=$2 limit=${LIMIT:-120} flags=''
shift 2
if [ "${1:-}" = guided ]; then
	flags='-fuzz .'
	shift
fi
only=${1:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cache=$($GO env GOCACHE)/fuzz

command -v timeout >/dev/null || timeout() { shift 3 && "$@"; }

# targets prints "./FOLDER FuzzName" for each, folder by folder.
targets() {
	find . -name '[_.]?*' -prune -o -name testdata -prune -o -name '*_test.go' -exec grep -H '^func Fuzz[A-Za-z0-9_]*(' {} + |
		sed 's|/[^/]*_test.go:func \(Fuzz[A-Za-z0-9_]*\)(.*| \1|' | sort | grep -e "$only"
}

# attempt FOLDER NAME TIME runs a target and adds what it tried to n. When the time ends while a worker starts an input, that
# counts as a failure without an input ("context deadline exceeded"): such a target runs once more.
attempt() {
	for try in 1 2; do
		(cd "$1" && timeout -k 10 "$((seconds + limit))" "$work/test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$3" \
			-test.fuzzminimizetime 10x -test.fuzzcachedir "$cache/hashgrove/${1#./}") >"$work/log" 2>&1
		status=$?
		tried=$(sed -n 's/^fuzz: elapsed: .* execs: \([0-9]*\) .*/\1/p' "$work/log" | tail -n 1)
		n=$((n + ${tried:-0}))
		if [ $status -eq 0 ]; then
			return 0
		elif [ $status -ge 124 ]; then
			echo "$1 $2 did not end in $((seconds + limit)) s"
		elif [ $try = 1 ] && grep -q 'context deadline exceeded$' "$work/log" && ! grep -q 'Failing input' "$work/log"; then
			continue
		fi
		cat "$work/log"
		return 1
	done
}

case $time in
*m) seconds=$((${time%m} * 60)) ;;
*) seconds=${time%s} ;;
esac
targets >"$work/targets"
if ! [ -s "$work/targets" ]; then
	echo "there is no fuzz target like $only"
	exit 1
fi
failed='' compiled='' sum=0
while read -r folder name; do
	if [ "$folder" != "$compiled" ]; then # once for all targets of a package: go test would link it anew for each
		compiled=$folder
		# shellcheck disable=SC2086 # flags are words
		(cd "$folder" && $GO test -vet=off -c -o "$work/test" $flags .) || exit 1
		mkdir -p "$cache/hashgrove/${folder#./}"
	fi
	n=0
	if attempt "$folder" "$name" "$time" </dev/null && { [ $n -ge "$floor" ] || attempt "$folder" "$name" "$((floor - n))x" </dev/null; } &&
		[ $n -ge "$floor" ]; then
		echo "$folder $name: $n inputs"
	else
		echo "$folder $name: FAILED after $n inputs, of at least $floor"
		failed="$failed $folder/$name"
	fi
	sum=$((sum + n))
done <"$work/targets"
echo "$(wc -l <"$work/targets") targets, $sum inputs"
if [ -n "$failed" ]; then
	echo "failed:$failed"
	exit 1
fi
