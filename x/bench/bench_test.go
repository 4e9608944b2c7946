// Package bench compares Hashgrove with its peers: programs, shell and Python scripts.
package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"hashgrove/internal/testkit/needs"
)

// TestProgramsRun runs the programs on a small file, in the way the scripts do.
func TestProgramsRun(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	run := func(name string, args ...string) string {
		t.Helper()
		output, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, output)
		}
		return string(output)
	}
	run("go", "build", "-o", folder+"/", "./boosted-bit", "./encoded-rows", "./synthetic", "./margin-search")
	run("go", "build", "-C", "../..", "-o", path("hashgrove"), "./cmd/hashgrove")

	run(path("synthetic"), "300", "20", "10", path("rows.npy"), path("rows.txt"))
	var line *regexp.Regexp
	for _, loss := range []string{"adaboost", "logistic"} {
		line = regexp.MustCompile(`^BenchmarkBoostedBit/method=` + loss + `/data=rows 1 ` +
			`[\d.]+ wall-s [\d.]+ cpu-s 0\.\d+ train-error\n$`)
		if got := run(path("boosted-bit"), path("rows.npy"), path("rows.txt"), "-1", "1", loss); !line.MatchString(got) {
			t.Errorf("boosted-bit printed %q", got)
		}
	}
	run(path("hashgrove"), "train", path("rows.npy"), "--labels", path("rows.txt"), "--bits", "4", "--rounds", "5",
		"-o", path("rows.hgm"), "--quiet")
	line = regexp.MustCompile(`^BenchmarkEncode/method=hashgrove/data=rows/threads=1 1 ` +
		`[\d.]+ us/row [\d.]+ cpu-us/row [\d.]+ us-one-row-median\n$`)
	if got := run(path("encoded-rows"), path("rows.hgm"), path("rows.npy"), "1", "1"); !line.MatchString(got) {
		t.Errorf("encoded-rows printed %q", got)
	}
	line = regexp.MustCompile(`^(BenchmarkMargins/codes=random/bits=4/n=2000/k=5/queries=\d+/threads=1/method=scan 1 ` +
		`[\d.]+ us-hamming [\d.]+ us-margins [\d.]+ times\n){2}$`)
	if got := run(path("margin-search"), "-bits", "4", "-codes", "2000", "-k", "5", "-queries", "20",
		"-threads", "1"); !line.MatchString(got) {
		t.Errorf("margin-search printed %q", got)
	}
}

// TestScriptsParse checks the syntax of the scripts, which no other test runs.
func TestScriptsParse(t *testing.T) {
	scripts, err := filepath.Glob("*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts: %v", len(scripts), err)
	}
	bash := needs.Program(t, needs.Shell, "bash")
	for _, name := range scripts {
		if output, err := exec.Command(bash, "-n", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range regexp.MustCompile(`x/bench/(\w+\.(?:py|sh))`).FindAllSubmatch(text, -1) {
			if _, err := os.Stat(string(file[1])); err != nil {
				t.Errorf("%s names %s: %v", name, file[0], err)
			}
		}
	}
}
