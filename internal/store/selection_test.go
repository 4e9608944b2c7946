package store

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// TestSelectionEqualsTheIndex searches random indexes on disk and in memory, after items were added, replaced and deleted.
func TestSelectionEqualsTheIndex(t *testing.T) {
	filters := []string{
		"", `label = "label 2"`, `label != "label 2"`, `tag in ("tag 1", "tag 3")`, `not has tag`, `price < 0.5`,
		`id < 700`, `id > "photo/2"`, `label = "label 1" and price >= 0.2 or place = ""`, `nothing = 3`, `id in (3, 5, 8)`,
		`place between "x" and "xxxx"`, `place starts with "xx"`, `price = "3"`, `id starts with "photo"`, `place < 3`,
	}
	for seed := range uint64(6) {
		bits := []int{8, 24, 64, 100, 128, 300}[seed]
		t.Run(fmt.Sprintf("bits=%d", bits), func(t *testing.T) {
			m := maker{rand.New(rand.NewPCG(seed, 9)), bits}
			s, path := create(t, Options{Bits: bits})
			for range 1 + m.IntN(4) {
				b := m.batch(m.IntN(600))
				ok(t, s.Upsert(ctx, b))
				if n := len(b.IDs); n > 0 {
					_, err := s.Delete(ctx, b.IDs[m.IntN(n)], b.IDs[m.IntN(n)], m.id())
					ok(t, err)
				}
			}
			ok(t, s.Close())
			memory, disk := open(t, path, OpenOptions{ReadOnly: true}), open(t, path, OpenOptions{ReadOnly: true, OnDisk: true})
			for range 60 {
				f, err := index.Parse(filters[m.IntN(len(filters))])
				ok(t, err)
				o := index.Options{Filter: f, Prefix: max(0, m.IntN(2*bits)-bits), Shortlist: m.IntN(2) * m.IntN(50), Limit: m.IntN(3) * m.IntN(9)}
				if m.IntN(3) == 0 {
					for range bits {
						o.Margins = append(o.Margins, float32(m.IntN(9)-4))
					}
				}
				sameAnswers(t, memory, disk, m, o)
			}
			for range 30 {
				id := m.id()
				want, there, err := memory.Get(ctx, id)
				ok(t, err)
				have, found, err := disk.Get(ctx, id)
				if ok(t, err); found != there || !reflect.DeepEqual(have, want) {
					t.Fatalf("id %v: have %+v, want %+v", id, have, want)
				}
			}
		})
	}
}

func sameAnswers(t *testing.T, memory, disk *Store, m maker, o index.Options) {
	t.Helper()
	q, k, r := m.item(index.Int(1)).Code, []int{0, 1, 10, 1000}[m.IntN(4)], m.IntN(m.bits+2)-1
	var items [2][]index.Item
	var hits [2][]string
	var counts [2]int
	for i, s := range []*Store{memory, disk} {
		x, err := s.Select(ctx, o.Filter, nil)
		ok(t, err)
		nearest, err := x.Search(ctx, q, k, o)
		if _, refused := errors.AsType[*index.FilterError](err); refused {
			hits[i] = []string{err.Error()}
			continue
		}
		ok(t, err)
		around, err := x.Within(ctx, q, r, o)
		ok(t, err)
		all := append(nearest.Hits, around.Hits...)
		for _, h := range all {
			hits[i] = append(hits[i], fmt.Sprint(h.ID, h.Distance))
		}
		items[i], err = x.Items(ctx, all)
		ok(t, err)
		counts[i] = x.Count(o.Filter)
		if x.Len() != s.Info().Items || x.Fingerprint() != s.Info().Fingerprint {
			t.Fatalf("%d items, %+v", x.Len(), s.Info())
		}
	}
	if !slices.Equal(hits[0], hits[1]) || counts[0] != counts[1] {
		t.Fatalf("where %v: %d in memory %v, %d on disk %v", o.Filter, counts[0], hits[0], counts[1], hits[1])
	}
	if !reflect.DeepEqual(items[0], items[1]) {
		t.Fatalf("in memory %v, on disk %v", items[0], items[1])
	}
}

// TestWritesOnDisk changes an index whose items stay on disk, and one in memory, and compares.
func TestWritesOnDisk(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(7, 7)), 70}
	s, path := create(t, Options{Model: projection(3, 70, 1)})
	ok(t, s.Close())
	w := world{}
	for round := range 12 {
		s := open(t, path, OpenOptions{OnDisk: true})
		b := m.batch(m.IntN(300))
		ok(t, s.Upsert(ctx, b))
		w.put(b)
		ids := []index.ID{m.id(), m.id(), m.id()}
		if len(b.IDs) > 0 {
			ids = append(ids, b.IDs[0])
		}
		_, err := s.Delete(ctx, ids...)
		ok(t, err)
		for _, id := range ids {
			delete(w, id)
		}
		gone, want := 0, 0
		gone, err = s.DeleteWhere(ctx, index.Label(fmt.Sprint("label ", round%5)))
		ok(t, err)
		for id, it := range w {
			if it.Label == fmt.Sprint("label ", round%5) {
				delete(w, id)
				want++
			}
		}
		if gone != want || s.Info().Items != len(w) {
			t.Fatalf("%d deleted, want %d; %d items, want %d", gone, want, s.Info().Items, len(w))
		}
		if round%4 == 3 {
			ok(t, s.Compact(ctx))
		}
		x, err := s.Select(ctx, index.Filter{}, nil)
		if ok(t, err); x.Len() != len(w) {
			t.Fatalf("%d items after the writes, want %d", x.Len(), len(w))
		}
		if modelOf(t, s).Fingerprint() != s.Info().Fingerprint {
			t.Fatal("another model")
		}
		ok(t, s.Close())
		s = open(t, path, OpenOptions{})
		w.has(t, s)
		ok(t, s.Close())
	}
	s = open(t, path, OpenOptions{ReadOnly: true, OnDisk: true})
	if err := s.Add(ctx, m.batch(1)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("writing to what was opened to be read: %v", err)
	}
	ok(t, s.Close())
	if _, err := s.Select(ctx, index.Filter{}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("reading a closed index: %v", err)
	}
	if _, _, err := s.Get(ctx, index.Int(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("reading a closed index: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a snapshot of items on disk")
		}
	}()
	s.Snapshot()
}

// TestSelectionNoticesDamage changes every byte of a file: a search on disk returns an error, or the right answer.
func TestSelectionNoticesDamage(t *testing.T) {
	file := sample(t)
	path := filepath.Join(t.TempDir(), "changed.hgi")
	answerOf := func(b []byte) (items []index.Item, err error) {
		ok(t, os.WriteFile(path, b, 0o600))
		s, err := Open(ctx, path, OpenOptions{ReadOnly: true, OnDisk: true})
		if err != nil {
			return nil, err
		}
		defer s.Close()
		f, err := index.Parse(`has label and not price > 0.9`)
		ok(t, err)
		x, err := s.Select(ctx, f, nil)
		if err != nil {
			return nil, err
		}
		r, err := x.Search(ctx, []uint64{5 << 56}, 12, index.Options{Filter: f})
		if err != nil {
			return nil, err
		}
		return x.Items(ctx, r.Hits)
	}
	want, err := answerOf(file)
	if ok(t, err); len(want) != 12 {
		t.Fatalf("%d items", len(want))
	}
	step := 7
	if testing.Short() {
		step = 101
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := 0; i < len(file); i += step {
		b := slices.Clone(file)
		b[i] ^= byte(1 + rng.IntN(255))
		have, err := answerOf(b)
		switch {
		case err == nil && !reflect.DeepEqual(have, want):
			t.Fatalf("byte %d of page %d gives another answer", i%pageSize, i/pageSize)
		case err != nil && !errors.Is(err, hamming.ErrDamaged) && !errors.Is(err, hamming.ErrKind) && !errors.Is(err, hamming.ErrVersion):
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	t.Logf("count: damaged files opened %d", len(file)/step)
}

// TestMissingItemIsCertain: an id that a damaged page hides is an error, not missing.
func TestMissingItemIsCertain(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	b := index.NewBatch(64)
	for i := range 20_000 {
		b.Append(index.Item{ID: index.Int(int64(i)), Code: []uint64{uint64(i)}})
	}
	ok(t, s.Add(ctx, b))
	ok(t, s.Close())
	file, err := os.ReadFile(path)
	ok(t, err)
	hidden := 0
	for page := 2; page < len(file)/pageSize; page++ {
		b := file[page*pageSize:]
		if kindOf(b) != branchPage || countOf(b) < 3 {
			continue
		}
		_, key, _, _, err := element(b[:pageSize], 2)
		ok(t, err)
		key[1] ^= 0x40 // far away, so that the ids below are looked for elsewhere
		hidden++
	}
	ok(t, os.WriteFile(path, file, 0o600))
	s = open(t, path, OpenOptions{ReadOnly: true, OnDisk: true})
	failed := 0
	for i := range 200 {
		it, there, err := s.Get(ctx, index.Int(int64(100*i)))
		if err == nil && (!there || it.Code[0] != uint64(100*i)) {
			t.Fatalf("id %d is not there", 100*i)
		}
		if err != nil && !errors.Is(err, hamming.ErrDamaged) {
			t.Fatal(err)
		}
		if err != nil {
			failed++
		}
	}
	if hidden == 0 || failed == 0 {
		t.Errorf("%d pages were changed, %d of 200 ids failed", hidden, failed)
	}
}

// TestUnfinishedWriteIsTold: opening reports it, however little it reads.
func TestUnfinishedWriteIsTold(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	ok(t, s.Upsert(ctx, maker{rand.New(rand.NewPCG(5, 5)), 64}.batch(50)))
	want := s.Info().Items
	ok(t, s.Close())
	b, err := os.ReadFile(path)
	ok(t, err)
	m, err := readMeta(openFile(t, path), math.MaxInt32)
	ok(t, err)
	b[int(m.txid%2)*pageSize+pageHeader+20]++ // the latest header
	ok(t, os.WriteFile(path, b, 0o600))
	s = open(t, path, OpenOptions{ReadOnly: true, OnDisk: true})
	if i := s.Info(); !i.Recovered || i.Items != want { // closing made both headers lead to the same items
		t.Errorf("%+v", i)
	}
}

func openFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	ok(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}
