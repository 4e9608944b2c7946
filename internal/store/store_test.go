package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
)

var ctx = context.Background()

func create(t testing.TB, o Options) (*Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "photos.hgi")
	s, err := Create(ctx, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, path
}

func open(t testing.TB, path string, o OpenOptions) *Store {
	t.Helper()
	s, err := Open(ctx, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fine is ok for what also returns a report.
func fine(t testing.TB) func(Report, error) {
	return func(_ Report, err error) {
		t.Helper()
		ok(t, err)
	}
}

func modelOf(t testing.TB, s *Store) *model.Model {
	t.Helper()
	m, err := s.Model()
	ok(t, err)
	return m
}

// TestAppending checks that items added one by one, in order or not, do not leave blocks nearly empty.
func TestAppending(t *testing.T) {
	n := 1000
	for name, id := range map[string]func(i int) int64{
		"ascending":  func(i int) int64 { return int64(i) },
		"descending": func(i int) int64 { return int64(-i) },
		"scattered":  func(i int) int64 { return int64(i) * 0x5851f42d4c957f2d },
	} {
		t.Run(name, func(t *testing.T) {
			s, path := create(t, Options{Bits: 64, Index: index.Config{Tables: -1}})
			for i := range n / 10 {
				b := index.NewBatch(64)
				for j := range 10 {
					b.Append(index.Item{ID: index.Int(id(10*i + j)), Code: []uint64{uint64(i)}})
				}
				ok(t, s.Add(ctx, b))
			}
			ok(t, s.Close())
			r, err := Verify(ctx, path, nil)
			ok(t, err)
			if most := 3 * n * 20 / blockLimit; r.Blocks > most {
				t.Errorf("%d blocks, want at most %d", r.Blocks, most)
			}
		})
	}
}

// TestLargeRecords stores records far larger than a page.
func TestLargeRecords(t *testing.T) {
	s, path := create(t, Options{Bits: 4096})
	m := maker{rand.New(rand.NewPCG(1, 1)), 4096}
	w := expected{}
	for i := range 8 {
		b := index.NewBatch(4096)
		it := m.item(index.Text(strings.Repeat(string(rune('a'+i%5)), maxID-i%3)))
		it.Label = strings.Repeat("l", index.MaxText-i)
		for j := range i {
			it.Tags = append(it.Tags, strings.Repeat("t", 1+j*7000))
		}
		b.Append(it)
		ok(t, s.Upsert(ctx, b))
		w.put(b)
	}
	w.has(t, s)
	ok(t, s.Close())
	s = open(t, path, OpenOptions{})
	w.has(t, s)
	ok(t, s.Compact(ctx))
	w.has(t, s)
}

// projection is a model of one hyperplane per bit, each of another seed.
func projection(dim, bits int, seed uint64) *model.Model {
	rng := rand.New(rand.NewPCG(seed, 0))
	p := &model.Projection{Weight: make([]float32, dim*bits), Threshold: make([]float32, bits)}
	for i := range p.Weight {
		p.Weight[i] = float32(rng.NormFloat64())
	}
	return &model.Model{Encoder: p, Info: model.Info{Method: "lsh"}}
}

func TestModelAndInfo(t *testing.T) {
	m := projection(8, 32, 1)
	if _, err := Create(ctx, filepath.Join(t.TempDir(), "x"), Options{Model: m, Bits: 31}); err == nil {
		t.Error("codes of another length than the model makes")
	}
	s, path := create(t, Options{Model: m, Note: "holiday"})
	b := index.NewBatch(32)
	b.Append(index.Item{ID: index.Int(1), Code: []uint64{0}})
	b.Fingerprint = projection(8, 32, 2).Fingerprint()
	err := s.Add(ctx, b)
	if err == nil || !strings.Contains(err.Error(), b.Fingerprint.String()) || !strings.Contains(err.Error(), m.Fingerprint().String()) {
		t.Errorf("codes of another model: %v", err)
	}
	b.Fingerprint = m.Fingerprint()
	ok(t, s.Add(ctx, b))
	ok(t, s.Close())
	s = open(t, path, OpenOptions{ReadOnly: true})
	i := s.Info()
	if i.Items != 1 || i.Bits != 32 || i.Fingerprint != m.Fingerprint() || !i.HasModel || i.Note != "holiday" || i.Writes != 1 || i.FileBytes == 0 || !i.ReadOnly || i.Recovered || i.Degraded != "" || i.Created.IsZero() {
		t.Errorf("%+v", i)
	}
	if !reflect.DeepEqual(modelOf(t, s).Info, m.Info) || modelOf(t, s).Fingerprint() != m.Fingerprint() {
		t.Error("the model is not the one that was stored")
	}
	if err := s.Add(ctx, b); !errors.Is(err, ErrReadOnly) {
		t.Errorf("writing to an index that was opened to be read: %v", err)
	}
	ok(t, s.Close())
	if err := s.Upsert(ctx, b); !errors.Is(err, ErrClosed) {
		t.Errorf("writing to a closed index: %v", err)
	}
	if s.Snapshot().Len() != 1 {
		t.Error("a closed index has no snapshot")
	}
}

// TestConcurrentUse is for the race detector: searches, writes, backups, compaction and questions at once.
func TestConcurrentUse(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	var all sync.WaitGroup
	for g := range 6 {
		all.Go(func() {
			m := maker{rand.New(rand.NewPCG(uint64(g), 9)), 64}
			for i := range 15 {
				b := index.NewBatch(64)
				b.Append(m.item(index.Int(int64(g*1000 + i))))
				err := s.Add(ctx, b)
				x := s.Snapshot()
				if _, there := x.Get(b.IDs[0]); !there {
					t.Error("an acknowledged item is not there")
				}
				_, failed := x.Search(ctx, b.Codes, 3, math.MaxInt, index.Options{})
				err = errors.Join(err, failed)
				var copied bytes.Buffer
				switch {
				case i%5 == 0 && g == 0:
					failed = s.Compact(ctx)
				case i%5 == 0:
					if failed = s.Backup(ctx, &copied); failed == nil {
						_, failed = scan(copied.Bytes(), nil)
					}
				case i%3 == 0:
					_, failed = s.Delete(ctx, b.IDs[0])
				}
				if err = errors.Join(err, failed); err != nil {
					t.Error(err)
				}
				_ = s.Info()
			}
		})
	}
	all.Wait()
	want := s.Snapshot().Len()
	ok(t, s.Close())
	if r, err := Verify(ctx, path, nil); err != nil || r.Items != want {
		t.Errorf("%d items, want %d: %v", r.Items, want, err)
	}
}

// TestFailedCommits makes bbolt fail before and after writing the header of a transaction.
func TestFailedCommits(t *testing.T) {
	broken := errors.New("the disk is on fire")
	m := maker{rand.New(rand.NewPCG(5, 5)), 64}
	first, second := index.NewBatch(64), index.NewBatch(64)
	first.Append(m.item(index.Int(1)))
	second.Append(m.item(index.Int(2)))
	one, both := expected{}, expected{}
	one.put(first)
	both.put(first)
	both.put(second)
	for name, c := range map[string]struct {
		commit   func(tx *bolt.Tx) error
		degraded bool
		after    expected // reopening
	}{
		"before": {func(tx *bolt.Tx) error { return errors.Join(broken, tx.Rollback()) }, false, both},
		"after":  {func(tx *bolt.Tx) error { return errors.Join(broken, tx.Commit()) }, true, both},
		"panic":  {func(tx *bolt.Tx) error { panic(broken) }, true, one},
	} {
		t.Run(name, func(t *testing.T) {
			s, path := create(t, Options{Bits: 64})
			ok(t, s.Add(ctx, first))
			s.commit = c.commit
			if err := s.Add(ctx, second); err == nil || !strings.Contains(err.Error(), broken.Error()) {
				t.Fatalf("a commit that fails: %v", err)
			}
			one.has(t, s) // reading goes on
			s.commit = (*bolt.Tx).Commit
			err := s.Add(ctx, second)
			if i := s.Info(); (err != nil) != c.degraded || c.degraded && (!errors.Is(err, ErrReadOnly) || i.Degraded == "" || !i.ReadOnly) {
				t.Fatalf("writing after it: %v; %+v", err, i)
			}
			ok(t, s.Close())
			c.after.has(t, open(t, path, OpenOptions{}))
		})
	}
}

// TestMemoryRefuses: the disk accepts a write that the index in memory then refuses.
func TestMemoryRefuses(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	b := index.NewBatch(64)
	b.Append(index.Item{ID: index.Int(1), Code: []uint64{5}})
	x, err := newEdits(b, false)
	ok(t, err)
	noMemory := errors.New("no memory")
	_, err = s.join(ctx, x, func(context.Context) error { return noMemory })
	if !errors.Is(err, noMemory) || !message.Is(err, "memory-behind") {
		t.Error(err)
	}
	if err := s.Add(ctx, b); !errors.Is(err, ErrReadOnly) {
		t.Errorf("writing while memory is behind: %v", err)
	}
	ok(t, s.Close())
	if open(t, path, OpenOptions{}).Snapshot().Len() != 1 {
		t.Error("the item is lost")
	}
}

func TestCancelled(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	ok(t, s.Add(ctx, maker{rand.New(rand.NewPCG(1, 1)), 64}.batch(1)))
	gone, cancel := context.WithCancel(ctx)
	cancel()
	b := index.NewBatch(64)
	b.Append(index.Item{ID: index.Text("new"), Code: []uint64{5}})
	for name, err := range map[string]error{
		"add": s.Add(gone, b), "backup": s.Backup(gone, &bytes.Buffer{}),
		"locked": func() error { _, err := Open(gone, path, OpenOptions{Wait: 1 << 60}); return err }(),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.Snapshot().Len() != 1 {
		t.Error("a cancelled write took place")
	}
}

// TestRefused: what is refused never reaches the disk: ids that are too long, and too many attributes, the existing and
// the new ones of an item together. The state machine has the others.
func TestRefused(t *testing.T) {
	with := func(prefix string, n int) *index.Batch {
		it := index.Item{ID: index.Int(1), Code: []uint64{0}, Attributes: map[string]index.Value{}}
		for i := range n {
			it.Attributes[fmt.Sprint(prefix, i)] = index.Number(float64(i))
		}
		b := index.NewBatch(8)
		b.Append(it)
		return b
	}
	first, more := with("a", 200), with("b", 57)
	s, path := create(t, Options{Bits: 8})
	ok(t, s.Add(ctx, first))
	_, err := s.Update(ctx, more, false)
	for name, err := range map[string]error{"upsert": s.Upsert(ctx, more), "update": err} {
		if d := message.Differs(err, "too-many-attributes", "257", "256"); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	long := with("a", 0)
	long.IDs[0] = index.Text(strings.Repeat("x", maxID+1))
	if s.Upsert(ctx, long) == nil {
		t.Error("a long id was taken")
	}
	ok(t, s.Close())
	w := expected{}
	w.put(first)
	w.has(t, open(t, path, OpenOptions{}))
}
