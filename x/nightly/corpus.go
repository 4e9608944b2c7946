//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// corpus keeps a few small inputs for each fuzz target in testdata/fuzz, where every test run and all fuzzing begin.
//
// Candidates are the inputs that are kept already and those in the cache of guided fuzzing. Each is run alone by a test
// binary that notes which blocks of this module it reaches. An input is kept when it reaches a block that neither the
// seeds in the code nor the inputs kept before it reach; small ones come first, so what is left is small.
//
// Cost: one process for each candidate.
type corpus struct {
	most, bytes, look int
	only              string
}

// input is a candidate.
type input struct {
	name    string // of its file: the same bytes have the same name
	content []byte
	blocks  []string
}

func (c *corpus) run(ctx context.Context) error {
	all, err := targets(c.only)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "hashgrove-corpus-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, t := range all {
		if t.binary, err = compile(ctx, t, folder, "-cover", "-coverpkg", "hashgrove/..."); err != nil {
			return err
		}
		if err := c.choose(ctx, t, folder); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return nil
}

// found16 is the name of an input that fuzzing found. Those of other names were chosen by hand and stay.
var found16 = regexp.MustCompile(`^[0-9a-f]{16}$`)

// choose keeps the inputs of one target.
func (c *corpus) choose(ctx context.Context, t target, folder string) error {
	cache, err := fuzzCache(t)
	if err != nil {
		return err
	}
	kept := filepath.Join(t.dir, "testdata", "fuzz", t.name)
	found := filepath.Join(cache, t.name)
	var candidates []input
	seen := map[string]bool{}
	for _, dir := range []string{kept, found} {
		entries, _ := os.ReadDir(dir) // neither need exist
		for _, e := range entries {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			if (len(b) <= c.bytes || dir == kept) && !seen[e.Name()] {
				seen[e.Name()] = true
				candidates = append(candidates, input{name: e.Name(), content: b})
			}
		}
	}
	candidates = slices.DeleteFunc(candidates, func(in input) bool { return !found16.MatchString(in.name) })
	slices.SortFunc(candidates, func(a, b input) int {
		return cmp.Or(cmp.Compare(len(a.content), len(b.content)), cmp.Compare(a.name, b.name))
	})
	if every := (len(candidates) + c.look - 1) / c.look; every > 1 { // of all sizes
		for i := range len(candidates) / every {
			candidates[i] = candidates[i*every]
		}
		candidates = candidates[:len(candidates)/every]
	}
	for _, in := range candidates {
		if err := os.Remove(filepath.Join(kept, in.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	reached, err := blocks(ctx, t, "", folder)
	if err != nil {
		return err
	}
	covered := map[string]bool{}
	for _, b := range reached {
		covered[b] = true
	}
	seeds, bytes, took := len(covered), 0, 0
	for _, in := range candidates {
		if took == c.most {
			break
		}
		if err := os.MkdirAll(kept, 0o777); err != nil {
			return err
		}
		path := filepath.Join(kept, in.name)
		if err := os.WriteFile(path, in.content, 0o666); err != nil {
			return err
		}
		if in.blocks, err = blocks(ctx, t, in.name+"$", folder); err != nil {
			return err
		}
		before := len(covered)
		for _, b := range in.blocks {
			covered[b] = true
		}
		if len(covered) == before {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		took, bytes = took+1, bytes+len(in.content)
	}
	_ = os.Remove(kept) // if it is empty
	fmt.Printf("%s: seeds reach %d blocks, %d of %d inputs (%d bytes) reach %d more\n",
		t, seeds, took, len(candidates), bytes, len(covered)-seeds)
	return nil
}

// blocks are the blocks of code that inputs of a target reach, by the names of the inputs.
func blocks(ctx context.Context, t target, names, folder string) ([]string, error) {
	profile := filepath.Join(folder, "profile")
	cmd := exec.CommandContext(ctx, t.binary, "-test.run", "^"+t.name+"$/^"+names, "-test.coverprofile", profile)
	cmd.Dir = t.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("input %s: %w\n%s", names, err, out)
	}
	b, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	var reached []string
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] != "0" && strings.Contains(f[0], ".go:") {
			reached = append(reached, f[0])
		}
	}
	return reached, nil
}
