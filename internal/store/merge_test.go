package store

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
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
	r, err := Merge(ctx, paths, to, false, nil)
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

// saved makes an index of items with some ids.
func saved(t *testing.T, o Options, ids ...string) string {
	t.Helper()
	o.Items = index.NewBatch(o.Bits)
	o.Items.Fingerprint = o.Fingerprint
	for _, id := range ids {
		o.Items.Append(index.Item{ID: index.Text(id), Code: hamming.NewCodes(1, o.Bits).Data})
	}
	s, path := create(t, o)
	ok(t, s.Close())
	return path
}

func TestMergeRefuses(t *testing.T) {
	one, two := saved(t, Options{Bits: 8}, "a", "c", "x"), saved(t, Options{Bits: 8}, "bicycle", "d")
	same, long := saved(t, Options{Bits: 8}, "bb", "d", "e"), saved(t, Options{Bits: 9}, "y")
	other := saved(t, Options{Bits: 8, Fingerprint: hamming.Fingerprint{1}}, "y")
	b, err := os.ReadFile(two)
	ok(t, err)
	damaged := filepath.Join(t.TempDir(), "damaged.hgi")
	ok(t, os.WriteFile(damaged, bytes.ReplaceAll(b, []byte("\x02bicycle"), []byte("\x02bicyclE")), 0o666))
	for _, c := range []struct {
		paths []string
		want  error        // it wraps
		code  message.Code // or has
		facts []string
	}{
		{nil, nil, "no-files", nil},
		{[]string{one, two, same}, nil, "duplicate-id", []string{two, same, `"d"`}},
		{[]string{one, one}, nil, "duplicate-id", []string{one, `"a"`}},
		{[]string{one, long}, nil, "bits-mismatch", []string{one, "8", long, "9"}},
		{[]string{one, other}, nil, "model-mismatch", []string{one, other, hamming.Fingerprint{1}.String()}},
		{[]string{one, damaged}, ErrDamaged, "", []string{damaged, "bicycl"}},
		{[]string{one, "none.hgi"}, fs.ErrNotExist, "", []string{"none.hgi"}},
	} {
		dir := t.TempDir()
		_, err := Merge(ctx, c.paths, filepath.Join(dir, "all.hgi"), false, nil)
		if c.want == nil {
			if d := message.Differs(err, c.code, c.facts...); d != "" {
				t.Errorf("%v: %s", c.paths, d)
			}
		} else if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.facts[0]) {
			t.Errorf("%v: %v, want %v", c.paths, err, c.want)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v: %v is left", c.paths, left)
		}
	}
	if _, err := Merge(ctx, []string{one}, two, false, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file was overwritten: %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Merge(stopped, []string{one, two}, filepath.Join(t.TempDir(), "all.hgi"), false, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	_, err = open(t, one, OpenOptions{}).Delete(ctx, index.Text("a")) // the sources can be written again
	ok(t, err)
}
