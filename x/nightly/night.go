//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"hashgrove/internal/fault"
	"hashgrove/internal/testkit/needs"
)

// night is a run of the stages.
type night struct {
	only   []string // nil for all
	again  bool     // only those that failed in the last night; what the others did stays
	weekly bool
	scale  float64
	folder string
}

// run runs the stages one after the other, whatever becomes of each, and writes what happened.
func (n *night) run(ctx context.Context) error {
	for _, name := range n.only {
		if !slices.ContainsFunc(stages, func(s stage) bool { return s.name == name }) {
			return fmt.Errorf("there is no stage %q: see -list", name)
		}
	}
	if err := os.MkdirAll(n.folder, 0o777); err != nil {
		return err
	}
	r := report{Date: time.Now().UTC(), Commit: commit(), Go: runtime.Version(), Cores: runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Scale: n.scale, Whole: n.only == nil && n.scale >= 1}
	passed := map[string]stageResult{}
	if n.again {
		last, err := lastReport(n.folder)
		if err != nil {
			return err
		}
		r.Date, r.Commit, r.Scale, r.Whole = last.Date, last.Commit, last.Scale, last.Whole
		for _, s := range last.Stages {
			passed[s.Name] = s
		}
	}
	for _, s := range stages {
		result, ran := passed[s.name]
		if n.again && !ran || n.only == nil && s.weekly && !n.weekly || n.only != nil && !slices.Contains(n.only, s.name) {
			continue
		}
		if !result.Passed {
			result = n.stageResult(ctx, s)
		}
		r.Stages = append(r.Stages, result)
		r.Seconds += result.Seconds
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := r.save(n.folder); err != nil {
		return err
	}
	fmt.Print("\n", r.text())
	if failed := r.failed(); failed != nil {
		return fault.New("failed", "%d of %d stages failed: %s; their logs are in %s",
			len(failed), len(r.Stages), strings.Join(failed, ", "), n.folder)
	}
	return nil
}

// stageResult runs a stage and says what became of it.
func (n *night) stageResult(ctx context.Context, s stage) stageResult {
	fmt.Printf("%s %s: %s\n", time.Now().UTC().Format(time.TimeOnly), s.name, s.about)
	began := time.Now()
	counts, err := n.runStage(ctx, s)
	result := stageResult{Name: s.name, About: s.about, Commit: commit(), Seconds: time.Since(began).Seconds(),
		Passed: err == nil, Counts: counts}
	fmt.Printf("  %s after %.0f s\n", verdict(err), result.Seconds)
	return result
}

// runStage runs the commands of a stage. What they print goes to a log and, where it matters, to the terminal.
func (n *night) runStage(ctx context.Context, s stage) (counts map[string]int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute+3*s.share) // a stage that hangs does not take the night with it
	defer cancel()
	log, err := os.Create(filepath.Join(n.folder, s.name+".log"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	counts = map[string]int64{}
	for _, command := range s.commands {
		err = errors.Join(err, n.runCommand(ctx, command, log, counts))
	}
	return counts, err
}

// runCommand runs one command and adds what it counts.
func (n *night) runCommand(ctx context.Context, command string, log io.Writer, counts map[string]int64) error {
	cmd := exec.CommandContext(ctx, "sh", "-ec", command)
	endTogether(cmd)
	scaled := func(x float64) float64 { return max(x*n.scale, 1) }
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "HASHGROVE_LONG=1",
		fmt.Sprintf("FUZZ=%.0fs", scaled(20*60)), fmt.Sprintf("SOAK=%.0fs", scaled(5*60)),
		fmt.Sprintf("KILLS=%.0f", scaled(1000)), fmt.Sprintf("FEWER_KILLS=%.0f", scaled(100)))
	if _, set := os.LookupEnv(needs.Variable); !set { // as in CI: a night in which much was skipped must not pass
		cmd.Env = append(cmd.Env, needs.Variable+"="+needs.InCI())
	}
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	_ = in.Close() // the child has its own
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, count, found := counted(line); found {
			counts[name] += count
		}
		if _, writeErr := fmt.Fprintln(log, line); writeErr != nil && err == nil {
			err = writeErr
		}
		if worthSeeing(line) {
			fmt.Println("  " + line)
		}
	}
	return errors.Join(err, lines.Err(), cmd.Wait())
}

// worthSeeing tells whether a line of a log goes to the terminal as well: failures, and no more than a line for each
// package that passed.
func worthSeeing(line string) bool {
	for _, prefix := range []string{
		"ok  \t", "FAIL", "--- FAIL", "    --- FAIL", "panic:", "fatal error:", "WARNING: DATA RACE",
	} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return strings.HasPrefix(line, "nightly:") || strings.Contains(line, "inputs in")
}

func verdict(err error) string {
	if err != nil {
		return "FAILED (" + err.Error() + ")"
	}
	return "passed"
}

// commit is the commit that is checked out, with a mark when files were changed since.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(out))[:12]
	changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	if err != nil || len(changed) > 0 {
		name += " with changes"
	}
	return name
}
