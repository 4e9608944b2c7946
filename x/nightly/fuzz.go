//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hashgrove/internal/fault"
)

// fuzzing tries inputs on every fuzz target. Without a floor a target may try next to nothing and nobody would notice:
// minimising, slow seeds and a busy machine all eat the time.
type fuzzing struct {
	each, limit time.Duration
	floor       int
	guided      bool
	only        string
	out         io.Writer
}

// target is a fuzz target in the test binary of its package.
type target struct {
	dir, pkg, name string
	binary         string
}

func (t target) String() string { return t.pkg + " " + t.name }

var executions = regexp.MustCompile(`(?m)^fuzz: elapsed: .* execs: (\d+) `)

// targets are all fuzz targets below the working folder, in modules of their own too, package by package.
func targets(only string) (all []target, err error) {
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (strings.ContainsAny(d.Name()[:1], "_.") || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Fuzz") {
				continue
			}
			t := target{dir: filepath.Dir(path), name: f.Name.Name}
			t.pkg = filepath.ToSlash(filepath.Join("hashgrove", t.dir))
			if strings.Contains(t.String(), only) {
				all = append(all, t)
			}
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b target) int { return strings.Compare(a.dir, b.dir) })
	if err == nil && len(all) == 0 {
		err = fault.New("no-such-target", "there is no fuzz target with %q in its name", only)
	}
	return all, err
}

// compile makes the test binary of a package once for all of its targets: go test would link it anew for each.
func compile(ctx context.Context, t target, folder string, flags ...string) (string, error) {
	binary := filepath.Join(folder, strings.ReplaceAll(t.pkg, "/", "-")+".test")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	args := slices.Concat([]string{"test", "-vet=off", "-c", "-o", binary}, flags, []string{"."})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = t.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling the tests of %s: %w\n%s", t.pkg, err, out)
	}
	return binary, nil
}

// run fuzzes all targets, in the time that each has or, with a share, in that time together.
func (f *fuzzing) run(ctx context.Context, share time.Duration) error {
	all, err := targets(f.only)
	if err != nil {
		return err
	}
	if share > 0 {
		f.each = max(share/time.Duration(len(all)), time.Second)
	}
	folder, err := os.MkdirTemp("", "hashgrove-fuzz-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var flags []string
	if f.guided {
		flags = []string{"-fuzz", "."} // counts what is reached; without it inputs are tried blindly, but sooner
	}
	sum, failed := 0, []string{}
	for i, t := range all {
		if t.binary, err = compile(ctx, t, folder, flags...); err != nil {
			return err
		}
		began := time.Now()
		n, err := f.fuzz(ctx, t)
		sum += n
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(f.out, "%s: %d inputs in %.1f s\n", t, n, time.Since(began).Seconds())
		if err != nil {
			fmt.Fprintln(f.out, err)
			failed = append(failed, t.String())
		}
		if i+1 == len(all) || all[i+1].pkg != t.pkg {
			_ = os.Remove(t.binary) // a few hundred MB in all
		}
	}
	fmt.Fprintf(f.out, "count: fuzz targets %d\ncount: inputs fuzzed %d\n", len(all), sum)
	if len(failed) > 0 {
		return fault.New("failed", "%d of %d fuzz targets failed: %s", len(failed), len(all), strings.Join(failed, ", "))
	}
	return nil
}

// fuzz tries inputs on one target for its time, and then until the floor is reached.
func (f *fuzzing) fuzz(ctx context.Context, t target) (int, error) {
	n, err := f.once(ctx, t, f.each.String(), f.each+f.limit)
	if err != nil {
		return n, err
	}
	if n < f.floor { // seeds that are slow, or a machine that is busy
		more, err := f.once(ctx, t, strconv.Itoa(f.floor-n)+"x", f.limit)
		n += more
		if err != nil {
			return n, err
		}
	}
	if n < f.floor {
		return n, fmt.Errorf("%s tried %d inputs, and must try %d: make its seeds or its work smaller", t, n, f.floor)
	}
	return n, nil
}

// once runs the target. When the time ends while a worker is starting an input, that counts as a failure without an
// input ("context deadline exceeded"): such a target runs once more.
func (f *fuzzing) once(ctx context.Context, t target, fuzztime string, limit time.Duration) (n int, err error) {
	cache, err := fuzzCache(t)
	if err != nil {
		return 0, err
	}
	for range 2 {
		ctx, cancel := context.WithTimeout(ctx, limit)
		cmd := exec.CommandContext(ctx, t.binary, "-test.run", "^$", "-test.fuzz", "^"+t.name+"$",
			"-test.fuzztime", fuzztime, "-test.fuzzminimizetime", "10x", "-test.fuzzcachedir", cache)
		cmd.Dir = t.dir
		endTogether(cmd)
		var out []byte
		out, err = cmd.CombinedOutput()
		ended := ctx.Err() != nil
		cancel()
		if all := executions.FindAllSubmatch(out, -1); all != nil {
			last, _ := strconv.Atoi(string(all[len(all)-1][1]))
			n += last
		}
		if err == nil {
			return n, nil
		}
		if err = fmt.Errorf("%w\n%s", err, out); ended {
			return n, fmt.Errorf("%s did not end in %v: %w", t, limit, err)
		}
		if !bytes.Contains(out, []byte("context deadline exceeded\n")) || bytes.Contains(out, []byte("Failing input")) {
			return n, err
		}
	}
	return n, err
}

// fuzzCache is the folder in which go test keeps the inputs that it found for a package.
func fuzzCache(t target) (string, error) {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "fuzz", filepath.FromSlash(t.pkg))
	return dir, errors.Join(os.MkdirAll(dir, 0o777))
}

// endTogether makes a command end with its children, which fuzzing and go test have, when its context ends.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
}
