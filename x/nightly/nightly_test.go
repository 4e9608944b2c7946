//go:build unix

package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
	"time"

	"hashgrove/internal/fault"
)

func TestCounted(t *testing.T) {
	for line, want := range map[string]string{
		"count: kills 25": "kills 25",
		"    process_test.go:268: count: kills 1000": "kills 1000",
		"    a_test.go:1: count: images opened 7":    "images opened 7",
		"count: kills":               "",
		"count: kills many":          "",
		"the count: of kills 3":      "",
		"    x_test.go:3: 25 cycles": "",
	} {
		name, n, found := counted(line)
		got := ""
		if found {
			got = name + " " + grouped(n)
		}
		if strings.ReplaceAll(got, ",", "") != want {
			t.Errorf("%q counts %q, want %q", line, got, want)
		}
	}
	if got := grouped(1234567); got != "1,234,567" {
		t.Errorf("a number is written as %s", got)
	}
}

// TestNightGoesOn: a stage that fails or hangs does not keep the others from running, all is in the report, and counts of
// such a night are not recorded.
func TestNightGoesOn(t *testing.T) {
	defer func(before []stage) { stages = before }(stages)
	t.Setenv(needs.Variable, "all")
	stages = []stage{
		{name: "bad", commands: []string{"exit 3", "echo 'count: kills 2'"}},
		{name: "good", commands: []string{"test $KILLS = 1000; test $HASHGROVE_LONG = 1; test -n \"$HASHGROVE_REQUIRED\"",
			"echo '    x_test.go:1: count: kills 5'; echo count: inputs fuzzed 7"}},
		{name: "later", weekly: true, commands: []string{"exit 1"}},
	}
	n := night{scale: 1, folder: filepath.Join(t.TempDir(), "nightly")}
	page := filepath.Join(t.TempDir(), "page.md")
	err := record(n.folder, page, page)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "make nightly") {
		t.Errorf("recorded without a night: %v", err)
	}
	err = n.run(t.Context())
	if d := fault.Differs(err, "failed", "1 of 2", "bad", n.folder); d != "" || strings.Contains(err.Error(), "good") {
		t.Errorf("the night ended with %v: %s", err, d)
	}
	if d := fault.Differs(record(n.folder, page, page), "failed", "bad"); d != "" {
		t.Errorf("a night that failed was recorded: %s", d)
	}
	stages[0].commands[0] = "true"
	stages[1].commands[0] = "exit 3" // must not run again
	n.again = true
	if err := n.run(t.Context()); err != nil {
		t.Error(err)
	}
	if r, err := lastReport(n.folder); err != nil || r.Counts["kills"] != 7 || r.Counts["inputs fuzzed"] != 7 || len(r.Stages) != 2 {
		t.Errorf("after the second try the report is %+v, %v", r, err)
	}
	n.again, n.scale = false, 0.5
	stages[1].commands[0] = "test $KILLS = 500"
	if err := n.run(t.Context()); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(filepath.Join(n.folder, "report.json"))
	if err != nil || !strings.Contains(string(b), `"inputs fuzzed": 7,`) || !strings.Contains(string(b), `"kills": 7`) {
		t.Errorf("the report is %s, %v", b, err)
	}
	if d := fault.Differs(record(n.folder, page, page), "not-whole"); d != "" {
		t.Errorf("half a night was recorded: %s", d)
	}
	n.only = []string{"nothing"}
	if err := n.run(t.Context()); err == nil {
		t.Error("a stage that is not there was run")
	}
}

func TestReport(t *testing.T) {
	r := report{Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Commit: "abc", Go: "go1", System: "linux/amd64", Cores: 2,
		Scale: 1, Whole: true, Seconds: 3600, Stages: []stageResult{{"kills", "kills", "abc", 90, true, map[string]int64{"kills": 1234}}}}
	folder := t.TempDir()
	page := filepath.Join(folder, "page.md")
	if err := r.save(folder); err != nil {
		t.Fatal(err)
	}
	promises := filepath.Join(folder, "promises.md")
	const rows = "| [safe](#safe) | It is safe. | kills 3, kills |\n| [free](#free) | It is free. |  |\n"
	if err := os.WriteFile(promises, []byte(rows), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := record(folder, page, promises); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(promises)
	if err != nil || string(b) != strings.ReplaceAll(rows, "kills 3, kills", "kills 1,234, kills 1,234") {
		t.Errorf("the promises are now %s, %v", b, err)
	}
	_, err = r.fill("| [safe](#safe) | It is safe. | falls 3 |")
	if d := fault.Differs(err, "not-counted", "falls"); d != "" {
		t.Errorf("a promise that nobody counted for: %s", d)
	}
	b, err = os.ReadFile(page)
	for _, want := range []string{"2026-01-02 03:04 UTC", "commit abc", "2 cores, 60 minutes", "| kills | 1,234 |", "| kills | kills | abc | 1.5 | passed |"} {
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q: %v\n%s", want, err, b)
		}
	}
	r.Stages[0].Commit = "abc with changes"
	if err := r.save(folder); err != nil {
		t.Fatal(err)
	}
	if err := record(folder, page, promises); err == nil {
		t.Error("a night of changed files was recorded")
	}
}

// TestEveryTargetIsFound compares with what this repository has, and holds the kept corpus to its size.
func TestEveryTargetIsFound(t *testing.T) {
	t.Chdir("../..")
	all, err := targets("")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, x := range all {
		names[x.String()] = true
	}
	for _, want := range []string{"hashgrove/dataset FuzzCSV", "hashgrove/store FuzzOpen", "hashgrove/connect/stream FuzzParse"} {
		if !names[want] {
			t.Errorf("%s is not among %v", want, slices.Sorted(maps.Keys(names)))
		}
	}
	if names["hashgrove/internal/nightly FuzzBad"] {
		t.Error("the text of a test in a string is taken for a fuzz target")
	}
	var sum int64
	for _, x := range all {
		files, _ := os.ReadDir(filepath.Join(x.dir, "testdata", "fuzz", x.name)) // not all targets have one
		if len(files) > 40 {
			t.Errorf("%s keeps %d inputs: go run ./x/nightly corpus chooses", x, len(files))
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				t.Fatal(err)
			}
			sum += info.Size()
		}
	}
	if sum > 500_000 {
		t.Errorf("kept inputs take %d bytes", sum)
	}
}
