package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
)

// script runs a script in a shell, in which hashgrove is the program under test.
func script(t *testing.T, text string, env ...string) {
	t.Helper()
	shell := needs.Program(t, needs.Shell, "sh")
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "hashgrove")); err != nil {
		needs.Skip(t, needs.Links, err)
	}
	cmd := exec.Command(shell, "-ec", text)
	cmd.Env = append(os.Environ(), "HASHGROVE_TEST_AS_COMMAND=1", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s with %v: %v\n%s", text, env, err, out)
	}
}

// TestScalePage runs all that docs/scale.md shows: the session, the scripts of the schedulers once for every shard, and
// the filter. All shards merge to the codes of one encode.
func TestScalePage(t *testing.T) {
	const page = "../../docs/scale.md"
	sessions, scripts := blocks(t, page, "console"), blocks(t, page, "sh")
	jobs, pipes := blocks(t, page, "yaml"), blocks(t, page, "python")
	if len(scripts) != 2 || len(jobs) != 1 || len(pipes) != 1 {
		t.Fatalf("%d scripts, %d jobs, %d pipes", len(scripts), len(jobs), len(pipes))
	}
	shop(t)
	succeed(t, shellWords("train vectors.npy --labels classes.txt --bits 8 --rounds 3 -o items.hgm")...)
	succeed(t, shellWords("encode vectors.npy -m items.hgm -o whole.hgc")...)
	succeed(t, shellWords("encode vectors.npy -m items.hgm -o whole.npy")...)
	runSession(t, sessions)
	check := func(what, got, want string) {
		t.Helper()
		if !bytes.Equal(read(t, got), read(t, want)) {
			t.Errorf("%s: %s is not %s", what, got, want)
		}
	}
	check("the session", "codes.hgc", "whole.hgc")
	check("the filter", "codes.npy", "whole.npy")
	for range 2 { // a job may be submitted again
		for i := range 8 {
			script(t, scripts[0], fmt.Sprint("SLURM_ARRAY_TASK_ID=", i+1), "SLURM_ARRAY_TASK_COUNT=8", "SLURM_CPUS_PER_TASK=1")
		}
	}
	script(t, scripts[1])
	check("Slurm", "all.hgc", "whole.hgc")
	parts, _ := filepath.Glob("codes-*-of-00008.hgc")
	for _, path := range append(parts, "all.hgc") {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	_, command, found := strings.Cut(jobs[0], "- |\n")
	if !found || len(parts) != 8 {
		t.Fatalf("%d parts, %s", len(parts), jobs[0])
	}
	for i := range 8 {
		script(t, command, fmt.Sprint("JOB_COMPLETION_INDEX=", i))
	}
	script(t, scripts[1])
	check("Kubernetes", "all.hgc", "whole.hgc")

	pipe := regexp.MustCompile(`pipe\("hashgrove ([^"]+)"`).FindStringSubmatch(pipes[0])
	if pipe == nil {
		t.Fatalf("no pipe in %s", pipes[0])
	}
	row := `{"id":"a","vector":[` + strings.Repeat("1,", 11) + `1]}` + "\n"
	for rows := range 3 { // a partition may be empty
		o := feed(t, strings.NewReader(strings.Repeat(row, rows)), shellWords(pipe[1])...)
		if o.code != 0 || strings.Count(o.out, `"id":"a","code":"`) != rows || strings.Count(o.out, "\n") != rows {
			t.Errorf("%d rows through the pipe: %+v", rows, o)
		}
	}
}
