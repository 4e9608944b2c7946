package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// TestMergeHasAllItems merges indexes of random items and compares with a plain map.
func TestMergeHasAllItems(t *testing.T) {
	const n = 3
	mk := maker{rand.New(rand.NewPCG(8, n)), 70}
	m := projection(3, 70, 5)
	all := world{}
	batches := make([]*index.Batch, n+1) // the last stays empty
	for i := range batches {
		batches[i] = index.NewBatch(70)
		batches[i].Fingerprint = m.Fingerprint()
	}
	for range 3000 {
		b := index.NewBatch(70)
		b.Append(mk.item(mk.id()))
		if _, twice := all[b.IDs[0]]; !twice {
			all.put(b)
			batches[mk.IntN(n)].Append(b.Item(0))
		}
	}
	var paths []string
	for i, b := range batches {
		o := Options{Bits: 70, Fingerprint: m.Fingerprint(), Note: "the same"}
		if i == n-1 {
			o = Options{Model: m, Note: "the same"}
		}
		s, path := create(t, o)
		ok(t, s.Add(ctx, b))
		ok(t, s.Close())
		paths = append(paths, path)
	}
	to := filepath.Join(t.TempDir(), "all.hgi")
	r, err := Merge(ctx, paths, to, nil)
	if ok(t, err); r.Items != len(all) || !r.HasModel {
		t.Errorf("%+v for %d items", r, len(all))
	}
	s := open(t, to, OpenOptions{})
	all.has(t, s)
	if modelOf(t, s) == nil || s.Info().Note != "the same" {
		t.Errorf("%+v", s.Info())
	}
	ok(t, s.Close())
	fine(t)(Verify(ctx, to, nil))
}

func TestMergeRefuses(t *testing.T) {
	make := func(o Options, ids ...string) string {
		s, path := create(t, o)
		b := index.NewBatch(o.Bits)
		b.Fingerprint = o.Fingerprint
		for _, id := range ids {
			b.Append(index.Item{ID: index.Text(id), Code: hamming.NewCodes(1, o.Bits).Data})
		}
		ok(t, s.Add(ctx, b))
		ok(t, s.Close())
		return path
	}
	one, two := make(Options{Bits: 8}, "a", "c", "x"), make(Options{Bits: 8}, "bicycle", "d")
	same := make(Options{Bits: 8}, "bb", "d", "e")
	long := make(Options{Bits: 9}, "y")
	other := make(Options{Bits: 8, Fingerprint: hamming.Fingerprint{1}}, "y")
	b, err := os.ReadFile(two)
	ok(t, err)
	damaged := filepath.Join(t.TempDir(), "damaged.hgi")
	for i := range b {
		if strings.HasPrefix(string(b[i:]), "\x02bicycle") {
			b[i+8] ^= 1
		}
	}
	ok(t, os.WriteFile(damaged, b, 0o666))
	text := filepath.Join(t.TempDir(), "text.hgi")
	ok(t, os.WriteFile(text, []byte(strings.Repeat("hello", 5000)), 0o666))
	for _, c := range []struct {
		paths []string
		want  error      // it wraps
		code  fault.Code // or has
		facts []string
	}{
		{nil, nil, "no-files", nil},
		{[]string{one, two, same}, nil, "duplicate-id", []string{two, same, `"d"`}},
		{[]string{one, one}, nil, "duplicate-id", []string{one, `"a"`}},
		{[]string{one, long}, nil, "bits-mismatch", []string{one, "8", long, "9"}},
		{[]string{one, other}, nil, "model-mismatch", []string{one, other, hamming.Fingerprint{1}.String()}},
		{[]string{one, damaged}, ErrDamaged, "", []string{damaged, "bicycle"}},
		{[]string{one, text}, hamming.ErrKind, "", []string{text}},
		{[]string{one, "none.hgi"}, fs.ErrNotExist, "", []string{"none.hgi"}},
	} {
		dir := t.TempDir()
		_, err := Merge(ctx, c.paths, filepath.Join(dir, "all.hgi"), nil)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%v: %v, want %v %s", c.paths, err, c.want, c.code)
			continue
		}
		for _, fact := range c.facts {
			if !strings.Contains(err.Error(), fact) {
				t.Errorf("%v does not name %s", err, fact)
			}
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v: %v is left", c.paths, left)
		}
	}
	if _, err := Merge(ctx, []string{one}, two, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file was overwritten: %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Merge(stopped, []string{one, two}, filepath.Join(t.TempDir(), "all.hgi"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	// The sources can be written again.
	s := open(t, one, OpenOptions{})
	if _, err := s.Delete(ctx, index.Text("a")); err != nil {
		t.Error(err)
	}
}

// TestMergeHasALimit merges two indexes of three items and of two where an index may hold less, and as many.
func TestMergeHasALimit(t *testing.T) {
	defer func() { mostMerged = index.MaxItems }()
	var paths []string
	for i, n := range []int{3, 2} {
		s, path := create(t, Options{Bits: 8})
		b := index.NewBatch(8)
		for j := range n {
			b.Append(index.Item{ID: index.Int(int64(10*i + j)), Code: []uint64{0}})
		}
		ok(t, s.Add(ctx, b))
		ok(t, s.Close())
		paths = append(paths, path)
	}
	for most := range 8 {
		mostMerged = most
		to := filepath.Join(t.TempDir(), "all.hgi")
		r, err := Merge(ctx, paths, to, nil)
		if most >= 5 {
			if ok(t, err); r.Items != 5 {
				t.Errorf("%d items of at most %d", r.Items, most)
			}
			continue
		}
		which := paths[min(most/3, 1)] // the first with which they are too many
		if d := fault.Differs(err, "too-many-items", which, fmt.Sprint(most)); d != "" {
			t.Errorf("at most %d: %s", most, d)
		}
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("at most %d: a file is left", most)
		}
	}
}
