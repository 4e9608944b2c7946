//go:build unix

package main

import (
	"fmt"
	"io"
	"time"
)

// stage is a part of the night: commands for a shell, which end with a status other than 0 when something is wrong.
// Lines "count: NAME NUMBER" of what they print are added up over all stages. Tests print them with t.Log, so they run
// with -v.
type stage struct {
	name, about string
	share       time.Duration // what it takes on two cores, about
	weekly      bool          // only in weekly
	commands    []string      // each runs, whatever became of those before it
}

// stages are all parts, in the order in which they run: what fails soonest comes first. A new stage is an entry here.
// The commands may use $FUZZ (time for all fuzz targets together), $KILLS (how often a writer of the store is killed),
// $FEWER_KILLS (the same for what takes longer to start again) and $SOAK (how long the service works), which follow
// -scale. HASHGROVE_LONG=1 is set, with which tests do all that they can; such tests need no stage of their own. Where
// something that tests need is missing they fail, unless HASHGROVE_REQUIRED says otherwise.
var stages = []stage{
	{name: "setup", about: "install what the tests need", share: time.Minute, commands: []string{
		"make setup",
		"go clean -testcache", // what is counted was tried this night
	}},
	{name: "lint", about: "vet, staticcheck and gofmt, of all modules", share: 3 * time.Minute, commands: []string{
		"make lint",
		"staticcheck=$(go tool -n staticcheck); " +
			"for module in $(make -s modules); do (cd $module && go vet ./... && $staticcheck ./...); done",
	}},
	{name: "platforms", about: "other processors under emulation, and Windows under wine", share: 5 * time.Minute,
		commands: []string{"make platforms", "HASHGROVE_REQUIRED=wine make windows"}},
	{name: "soak", about: "the service under mixed traffic", share: 6 * time.Minute, commands: []string{
		"HASHGROVE_SOAK=$SOAK go test -count=1 -v -timeout 90m -run '^TestSoak$' ./server",
	}},
	{name: "memory", about: "peak memory of commands against their ceilings", share: 2 * time.Minute, commands: []string{
		"go test -count=1 -v -timeout 30m -run '^TestMemoryCeiling$' ./cmd/hashgrove",
	}},
	{name: "kills", about: "writers, the service and commands are killed", share: 8 * time.Minute, commands: []string{
		"go test -count=1 -v -timeout 60m -run '^TestKill$' ./internal/store -cycles $KILLS",
		"HASHGROVE_KILLS=$FEWER_KILLS go test -count=1 -v -timeout 60m -run '^TestKillUnderLoad$' ./server",
		"HASHGROVE_KILLS=$(((FEWER_KILLS + 4) / 5)) " +
			"go test -count=1 -v -timeout 60m -run '^TestCommandsAfterKill$' ./cmd/hashgrove",
	}},
	{name: "tests", about: "all tests, the long ones too", share: 12 * time.Minute, commands: []string{
		"go test -count=1 -v -timeout 60m ./...",
		"status=0; for module in $(make -s modules); do " +
			"(cd $module && go test -count=1 -v -timeout 30m ./...) || status=1; done; exit $status",
	}},
	// The packages in which goroutines share memory or files; the others only call them. Without HASHGROVE_LONG: what it
	// lengthens is a matter of more data, not of more goroutines. What is left out is about memory or time, which are
	// others under the race detector, or about programs that it compiles.
	{name: "race", about: "the race detector, on packages with concurrency", share: 10 * time.Minute, commands: []string{
		"CGO_ENABLED=1 HASHGROVE_LONG= go test -race -count=1 -v -timeout 60m " +
			"-skip 'Budget|Memory|^TestKill|^TestSlowReaders|^TestSamplesCanBeTried$|^TestTypesOn|^TestNothingIsFused$' " +
			". ./client/... ./internal/engine/... " +
			"./internal/index/... ./internal/cli/... ./internal/items/... ./internal/pages/... " +
			"./internal/par/... ./internal/section/... ./internal/trial/... ./server/... ./internal/store/...",
	}},
	{name: "fuzz", about: "every fuzz target, guided by what inputs reach", share: 20 * time.Minute, commands: []string{
		"go run ./x/nightly fuzz -guided -share $FUZZ -floor 5000 -limit 10m",
	}},
	// A module that lies beside ours has no checksum, of which go mod verify complains although go.mod names its folder.
	{name: "release", about: "archives, packages and lists for all systems", share: 5 * time.Minute, commands: []string{
		"make release",
		"for module in $(make -s modules); do " +
			"! (cd $module && go mod verify 2>&1) | grep -v '^hashgrove.* v0.0.0: missing ziphash\\|^all modules verified$' " +
			"|| exit 1; done",
	}},
	{name: "beam", about: "vet and test connect/beam", share: 5 * time.Minute, commands: []string{"make beam"}},
	{name: "fresh", about: "demo and test on Debians that nobody has touched", share: time.Hour, commands: []string{
		"HASHGROVE_REQUIRED= HASHGROVE_LONG= make fresh",
	}},
	{name: "conditions", about: "make test on a busy machine and the like", share: 45 * time.Minute, commands: []string{
		"HASHGROVE_REQUIRED= HASHGROVE_LONG= make conditions",
	}},
	{name: "race-all", about: "the race detector, on all tests", share: 2 * time.Hour, weekly: true, commands: []string{
		"CGO_ENABLED=1 go test -race -count=1 -v -timeout 180m ./...",
	}},
	{name: "fuzz-long", about: "three minutes for each target", share: 150 * time.Minute, weekly: true, commands: []string{
		"go run ./x/nightly fuzz -guided -time 3m -floor 20000 -limit 20m",
	}},
}

// printStages prints the list.
func printStages(w io.Writer) {
	var sum time.Duration
	for _, s := range stages {
		when := ""
		if s.weekly {
			when = " (weekly)"
		} else {
			sum += s.share
		}
		fmt.Fprintf(w, "%-10s %4.0f min  %s%s\n", s.name, s.share.Minutes(), s.about, when)
	}
	fmt.Fprintf(w, "%-10s %4.0f min\n", "nightly", sum.Minutes())
}
