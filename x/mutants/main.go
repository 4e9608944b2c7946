// Command mutants makes one small mistake at a time in the program and reports whether a test notices. A mistake that
// no test notices is a rule without a test. Run it from the root:
//
//	go run ./x/mutants                 all mistakes of x/mutants/list.txt
//	go run ./x/mutants 'store|eval'    those in files whose names match
//
// The files stay as they are: the compiler reads the mutant from a copy (go help build, -overlay).
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

//go:embed list.txt
var list string

// mutant is a change of some lines of a file, and the arguments of go test that should notice it.
type mutant struct {
	file, tests, old, new string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Join(os.Args[1:], "|")); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names string) error {
	chosen, err := regexp.Compile(names)
	if err != nil {
		return err
	}
	mutants, err := parse(list)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	tried, alive := 0, 0
	for i, m := range mutants {
		if !chosen.MatchString(m.file) {
			continue
		}
		began := time.Now()
		verdict, err := m.try(ctx, folder)
		if err != nil {
			return fmt.Errorf("mutant %d, %s: %w", i+1, m.file, err)
		}
		fmt.Printf("%3d  %-8s %4.0f s  %-38s %s\n", i+1, verdict, time.Since(began).Seconds(), m.file, firstLine(m.new))
		tried++
		if verdict == survived {
			alive++
		}
	}
	fmt.Printf("%d of %d killed\n", tried-alive, tried)
	if alive > 0 {
		return fmt.Errorf("%d survived", alive)
	}
	return nil
}

// parse reads blocks of lines: a file and arguments of go test, then old lines after "-" and new ones after "+".
func parse(text string) ([]mutant, error) {
	var mutants []mutant
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		last := len(mutants) - 1
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '-' && last >= 0:
			mutants[last].old += "\n" + line[1:]
		case line[0] == '+' && last >= 0:
			mutants[last].new += "\n" + line[1:]
		default:
			file, tests, _ := strings.Cut(line, " ")
			mutants = append(mutants, mutant{file: file, tests: tests})
		}
	}
	for i := range mutants {
		m := &mutants[i]
		m.old, m.new = strings.TrimPrefix(m.old, "\n"), strings.TrimPrefix(m.new, "\n")
		if m.old == "" || m.tests == "" {
			return nil, fmt.Errorf("mutant %d, %s: give tests and the lines to change", i+1, m.file)
		}
	}
	return mutants, nil
}

const survived = "SURVIVED"

// try runs the tests of a mutant.
func (m mutant) try(ctx context.Context, folder string) (verdict string, err error) {
	code, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(code), m.old); n != 1 {
		return "", fmt.Errorf("the old lines occur %d times: mend the list\n%s", n, m.old)
	}
	mutated, overlay := filepath.Join(folder, "mutant.go"), filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(mutated, []byte(strings.Replace(string(code), m.old, m.new, 1)), 0o600); err != nil {
		return "", err
	}
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: mutated}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replaced, 0o600); err != nil {
		return "", err
	}
	args := []string{"test", "-overlay", overlay, "-vet=off", "-short", "-failfast", "-timeout", "5m"}
	out, err := exec.CommandContext(ctx, "go", append(args, strings.Fields(m.tests)...)...).CombinedOutput()
	switch text := string(out); {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err == nil:
		return survived, nil
	case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"):
		return "", fmt.Errorf("it does not compile\n%s", text)
	case !strings.Contains(text, "FAIL"):
		return "", fmt.Errorf("go test: %w\n%s", err, text)
	}
	return "killed", nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
