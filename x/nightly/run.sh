#!/bin/sh
# Runs what takes too long for make check, two to three hours on two cores. It goes on after a stage that fails and says at
# the end which did; logs are in bin/nightly. Run from the root:
#
#	sh x/nightly/run.sh              all stages (make nightly)
#	sh x/nightly/run.sh fuzz race    these
#
#	fuzz     guided fuzzing of every target for FUZZTIME (20s)
#	kills    a writer of an index and a service under load are killed KILLS times (1000, and a tenth of it)
#	tests    all tests of all modules, with HASHGROVE_LONG=1, with which they do all that they can
#	mutants  small mistakes in the core, one at a time, each of which a test must notice (x/mutants)
#	race     the race detector over everything but what is about memory or time
#	peers    training and searching beside XGBoost and FAISS; the log has the ratios
#	engines  searches of our codes in other engines, and on a cluster of Spark of which a worker is killed
#	release  archives and wheels for all platforms
set -u
GO=${GO:-go} only=" $* " failed='' logs=bin/nightly
export CGO_ENABLED=0
mkdir -p $logs
make setup >$logs/setup.log 2>&1
HASHGROVE_REQUIRED=${HASHGROVE_REQUIRED-$($GO run ./internal/testkit/needs/required)}
export HASHGROVE_REQUIRED
trap 'exit 130' INT TERM

# fuzz runs every target. When the time ends while a worker starts an input, that counts as a failure without an input
# ("context deadline exceeded"): such a target runs once more.
fuzz() {
	status=0
	git grep '^func Fuzz' -- '*_test.go' >$logs/targets
	while IFS=: read -r file line; do
		name=${line#func } name=${name%%(*}
		for try in 1 2; do
			if (cd "$(dirname "$file")" && $GO test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-20s}" .) >$logs/target 2>&1; then
				tail -n 1 $logs/target
				break
			elif [ $try = 2 ] || grep -q 'Failing input' $logs/target; then
				cat $logs/target
				echo "--- FAIL: $file $name"
				status=1
				break
			fi
		done
	done <$logs/targets
	return $status
}

kills() {
	kills=${KILLS:-1000}
	$GO test -count=1 -v -timeout 60m -run '^TestKill$' ./internal/store -cycles "$kills" &&
		HASHGROVE_KILLS=$((kills / 10)) $GO test -count=1 -v -timeout 60m -run '^TestKillUnderLoad$' ./server
}

tests() {
	status=0
	for module in . $(make -s modules); do
		(cd "$module" && HASHGROVE_LONG=1 $GO test -count=1 -timeout 90m ./...) || status=1
	done
	return $status
}

race() {
	CGO_ENABLED=1 $GO test -race -count=1 -timeout 90m \
		-skip 'Budget|Memory|^TestKill|^TestNothingIsFused$' ./...
}

mutants() { $GO run ./x/mutants; }

peers() {
	x/bench/speed.sh step1 rows limits && x/bench/search.sh 64:1000000 256:1000000 && x/bench/margins.sh 64:1000000
}

engines() { make engines; }

release() { make release; }

for stage in fuzz kills tests mutants race peers engines release; do
	case $only in *" $stage "* | "  ") ;; *) continue ;; esac
	echo "$(date -u +%T) $stage"
	if $stage >$logs/$stage.log 2>&1 </dev/null; then
		echo "  passed"
	else
		grep -E '^FAIL|^ *--- FAIL|^panic:|^fatal error:|DATA RACE' $logs/$stage.log | head -n 20
		failed="$failed $stage"
	fi
done
if [ -n "$failed" ]; then
	echo "failed:$failed"
	exit 1
fi
