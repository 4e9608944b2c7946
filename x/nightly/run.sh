#!/bin/sh
# Runs what takes too long for make check, about three hours on two cores: guided fuzzing, a thousand kills, the race
# detector, a ceiling on memory, a soak of the service, fresh machines. It goes on after a stage that fails and says at the
# end which did; logs are in bin/nightly. Run from the root:
#
#	sh x/nightly/run.sh             all stages (make nightly)
#	sh x/nightly/run.sh fuzz soak   these
#
# SCALE is a share in percent of the time for fuzzing, of the kills and of the soak. HASHGROVE_LONG=1 is set, with which
# tests do all that they can. Where something that tests need is missing they fail, as in CI.
set -u
GO=${GO:-go} SCALE=${SCALE:-100} only=" $* " failed='' logs=bin/nightly
export GO CGO_ENABLED=0 HASHGROVE_LONG=1
mkdir -p $logs
make setup >$logs/setup.log 2>&1
HASHGROVE_REQUIRED=${HASHGROVE_REQUIRED-$($GO run ./internal/testkit/needs/required)}
export HASHGROVE_REQUIRED
trap 'exit 130' INT TERM

# stage NAME MINUTES COMMAND... runs each command, whatever became of those before it, unless other stages were asked for. A
# command that hangs is ended.
stage() {
	name=$1 minutes=$2 log=$logs/$1.log
	case $only in
	*" $name "* | "  ") ;;
	*) return ;;
	esac
	shift 2
	echo "$(date -u +%T) $name"
	: >"$log"
	for command; do
		timeout -k 60 "${minutes}m" sh -ec "$command" >>"$log" 2>&1 </dev/null || echo "FAILED ($?): $command" >>"$log"
	done
	if grep -q '^FAILED (' "$log"; then
		grep -E '^FAILED|^ *--- FAIL|^panic:|^fatal error:|DATA RACE' "$log" | head -n 20
		failed="$failed $name"
	else
		echo "  passed"
	fi
}

# scaled N is the share of N, at least 1.
scaled() {
	n=$(($1 * SCALE / 100))
	echo $((n > 1 ? n : 1))
}

long='go test -count=1 -v -timeout 90m'
fewer=$(scaled 100)

# each COMMAND is a loop over the modules of their own, which are tested apart.
each() { echo "for module in \$(make -s modules); do (cd \$module; $1); done"; }

stage lint 20 'make lint' "lint=\$(cd x/tools && go tool -n golangci-lint); $(each "\$lint run --allow-parallel-runners ./...")"
stage platforms 30 'make platforms types'
stage soak 40 "HASHGROVE_SOAK=$(scaled 300)s $long -run '^TestSoak\$' ./server"
stage memory 20 "$long -run '^TestMemoryCeiling\$' ./cmd/hashgrove"
stage kills 40 "$long -run '^TestKill\$' ./internal/store -cycles $(scaled 1000)" \
	"HASHGROVE_KILLS=$fewer $long -run '^TestKillUnderLoad\$' ./server"
stage tests 60 "$long ./..." "$(each "$long ./...")"
# The packages in which goroutines share memory or files; the others only call them. Without HASHGROVE_LONG, which is about
# more data, not more goroutines. What is left out is about memory or time, which are others under the race detector, or
# about programs that it compiles.
stage race 60 "CGO_ENABLED=1 HASHGROVE_LONG= $long -race \
	-skip 'Budget|Memory|^TestKill|^TestSlowReaders|^TestSamplesCanBeTried\$|^TestNothingIsFused\$' \
	. ./client/... ./internal/engine/... ./internal/index/... ./internal/cli/... ./internal/items/... ./internal/pages/... \
	./internal/par/... ./internal/section/... ./internal/trial/... ./server/... ./internal/store/..."
stage fuzz 90 "LIMIT=600 sh x/nightly/fuzz.sh $(scaled 20)s 5000 guided"
# A module that lies beside ours has no checksum, of which go mod verify complains although go.mod names its folder.
stage release 30 'make release' \
	"$(each "! go mod verify 2>&1 | grep -v '^hashgrove.* v0.0.0: missing ziphash\\|^all modules verified\$'")"
stage fresh 180 'HASHGROVE_REQUIRED= HASHGROVE_LONG= make fresh'
if [ -n "$failed" ]; then
	echo "failed:$failed"
	exit 1
fi
