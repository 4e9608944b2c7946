package store

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/searchtest"
)

// TestWritesAndSearches makes any writes to an index in a file and to indexes in memory, laid out in several ways, and
// asks all of them the same questions. A map of items and the definition of a search know the answers. What fails is
// made short, and kept in testdata/rapid to be run again.
func TestWritesAndSearches(t *testing.T) {
	if !needs.Full() { // a third of what make check does
		defer func(was string) { _ = flag.Set("rapid.checks", was) }(flag.Lookup("rapid.checks").Value.String())
		_ = flag.Set("rapid.checks", "30")
	}
	rapid.Check(t, func(r *rapid.T) {
		m := &machine{T: t, bits: rapid.SampledFrom([]int{8, 64, 100}).Draw(r, "bits"), want: world{}}
		m.store, m.path = create(t, Options{Bits: m.bits})
		m.quick()
		for _, tables := range []int{-1, 0, 2} {
			m.memory = append(m.memory, index.New(m.bits, hamming.Fingerprint{}, index.Config{Tables: tables}))
		}
		r.Repeat(map[string]func(*rapid.T){
			"": m.same, "upsert": m.upsert, "add": m.add, "update": m.update, "delete": m.delete, "delete where": m.deleteWhere,
			"fill": m.fill, "compact": m.compact, "reopen": m.reopen, "restore": m.restore, "search": m.search,
		})
		m.must(r, m.store.Close())
	})
}

// machine is the indexes and what they should hold.
type machine struct {
	*testing.T
	bits   int
	path   string
	store  *Store
	memory []*index.Index
	want   world
}

// quick leaves out syncs, which no power cut will miss.
func (m *machine) quick() { m.store.file.NoSync = true }

func (m *machine) all() []both {
	list := []both{m.store}
	for _, x := range m.memory {
		list = append(list, x)
	}
	return list
}

func (m *machine) must(r *rapid.T, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func drawID(r *rapid.T) index.ID {
	n := rapid.IntRange(-3, 15).Draw(r, "id")
	if rapid.Bool().Draw(r, "text") {
		return index.Text(fmt.Sprintf("p%d", n))
	}
	return index.Int(int64(n))
}

// code draws one of a few codes, with a few bits flipped.
func (m *machine) code(r *rapid.T) []uint64 {
	c, rng := hamming.NewCodes(1, m.bits), rand.New(rand.NewPCG(rapid.Uint64Range(0, 3).Draw(r, "centre"), 1))
	for b := range m.bits {
		c.SetBit(0, b, rng.IntN(2) == 0)
	}
	for _, b := range rapid.SliceOfN(rapid.IntRange(0, m.bits-1), 0, 3).Draw(r, "flips") {
		c.SetBit(0, b, !c.Bit(0, b))
	}
	return c.Data
}

func (m *machine) batch(r *rapid.T) *index.Batch {
	some := func(name string, of ...string) string { return rapid.SampledFrom(append(of, "")).Draw(r, name) }
	b := index.NewBatch(m.bits)
	for range rapid.IntRange(1, 8).Draw(r, "items") {
		it := index.Item{ID: drawID(r), Code: m.code(r), Label: some("label", "a", "b"), Attributes: map[string]index.Value{}}
		it.Tags = rapid.SliceOfN(rapid.SampledFrom([]string{"s", "t"}), 0, 2).Draw(r, "tags")
		if price := rapid.IntRange(-1, 4).Draw(r, "price"); price >= 0 {
			it.Attributes["price"] = index.Number(float64(price))
		}
		if kind := some("kind", "new", "old"); kind != "" {
			it.Attributes["kind"] = index.String(kind)
		}
		if added := some("added", "2024-01-31", "2024-01-31T02:00+02:00"); added != "" {
			it.Attributes["added"] = index.String(added)
		}
		b.Append(it)
	}
	return b
}

func (m *machine) upsert(r *rapid.T) {
	b := m.batch(r)
	for _, x := range m.all() {
		m.must(r, x.Upsert(ctx, b))
	}
	m.want.put(b)
}

func (m *machine) add(r *rapid.T) {
	b, fresh := m.batch(r), true
	seen := maps.Clone(m.want)
	for i, id := range b.IDs {
		_, there := seen[id]
		fresh, seen[id] = fresh && !there, b.Item(i)
	}
	for _, x := range m.all() {
		if err := x.Add(ctx, b); (err == nil) != fresh {
			r.Fatalf("adding items that are new: %t; %v", fresh, err)
		}
	}
	if fresh {
		m.want.put(b)
	}
}

func (m *machine) update(r *rapid.T) {
	all, b, seen := m.batch(r), index.NewBatch(m.bits), map[index.ID]bool{}
	for i, id := range all.IDs {
		if !seen[id] {
			b.Append(all.Item(i))
		}
		seen[id] = true
	}
	b = b.Details()
	replace := rapid.Bool().Draw(r, "replace")
	want := m.want.update(b, replace)
	for _, x := range m.all() {
		if n, err := x.Update(ctx, b, replace); n != want || err != nil {
			r.Fatalf("%d updated, %v; want %d", n, err, want)
		}
	}
}

func (m *machine) delete(r *rapid.T) {
	ids := rapid.SliceOfN(rapid.Custom(drawID), 1, 6).Draw(r, "ids")
	before := len(m.want)
	for _, id := range ids {
		delete(m.want, id)
	}
	for _, x := range m.all() {
		if n, err := x.Delete(ctx, ids...); n != before-len(m.want) || err != nil {
			r.Fatalf("%d deleted, %v; want %d", n, err, before-len(m.want))
		}
	}
}

// filters name what some items have; a filter is refused where none has it.
var filters = []string{
	`label = "a"`, `not label = "a"`, `tag = "s" and price < 3`, `price in (1, 2) or kind = "old"`, `has kind`, `id < 5`,
	`id starts with "p1"`, `added = 2024-01-31`, `not added < "2024-01-31T00:00Z"`, `kind != "new"`, `nothing = 3`,
}

func (m *machine) filter(r *rapid.T, more ...string) (index.Filter, []index.Item, error) {
	f, err := index.Parse(rapid.SampledFrom(append(more, filters...)).Draw(r, "where"))
	m.must(r, err)
	items, err := searchtest.Matching(m.items(), f)
	return f, items, err
}

// items are all that should be there, in order of their ids.
func (m *machine) items() []index.Item {
	var list []index.Item
	for _, id := range slices.SortedFunc(maps.Keys(m.want), index.ID.Compare) {
		list = append(list, m.want[id])
	}
	return list
}

func (m *machine) deleteWhere(r *rapid.T) {
	f, items, refused := m.filter(r)
	for _, it := range items {
		delete(m.want, it.ID)
	}
	for _, x := range m.all() {
		if n, err := x.DeleteWhere(ctx, f); n != len(items) || (err == nil) != (refused == nil) {
			r.Fatalf("%d deleted, %v; want %d, %v", n, err, len(items), refused)
		}
	}
}

// fill adds so many items, in some runs, that an index in memory has more than one segment.
func (m *machine) fill(r *rapid.T) {
	if len(m.want) > 1000 || rapid.IntRange(0, 5).Draw(r, "rarely") < 5 {
		r.Skip("nothing to fill")
	}
	b := (maker{rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 1)), m.bits}).batch(1200)
	for _, x := range m.all() {
		m.must(r, x.Upsert(ctx, b))
	}
	m.want.put(b)
}

func (m *machine) compact(r *rapid.T) {
	for _, x := range m.all() {
		m.must(r, x.Compact(ctx))
	}
	m.quick()
}

// reopen checks the file, asks it while its items stay on disk, and opens it again.
func (m *machine) reopen(r *rapid.T) {
	m.must(r, m.store.Close())
	report, err := Verify(ctx, m.path, nil)
	if m.must(r, err); report.Items != len(m.want) {
		r.Fatalf("%d items were verified, want %d", report.Items, len(m.want))
	}
	disk, err := Open(ctx, m.path, OpenOptions{ReadOnly: true, OnDisk: true})
	m.must(r, err)
	f, items, refused := m.filter(r, "")
	x, err := disk.Select(ctx, f, nil)
	m.must(r, err)
	m.ask(r, x.Snapshot, f, items, refused)
	m.must(r, disk.Close())
	m.store, err = Open(ctx, m.path, OpenOptions{})
	m.must(r, err)
	m.quick()
}

// restore goes on with a copy of a copy.
func (m *machine) restore(r *rapid.T) {
	copied := filepath.Join(m.TempDir(), "copy")
	_, err := m.store.BackupFile(ctx, copied)
	m.must(r, err)
	m.path = copied + ".restored"
	_, err = Restore(ctx, copied, m.path)
	m.must(r, errors.Join(err, m.store.Close()))
	m.store, err = Open(ctx, m.path, OpenOptions{})
	m.must(r, err)
	m.quick()
}

func (m *machine) search(r *rapid.T) {
	f, items, refused := m.filter(r, "")
	for _, x := range m.all() {
		m.ask(r, x.Snapshot(), f, items, refused)
	}
}

// ask searches one index, and compares the answer with the definition.
func (m *machine) ask(r *rapid.T, x *index.Snapshot, f index.Filter, items []index.Item, refused error) {
	q := searchtest.Question{Code: m.code(r), Bits: m.bits, K: rapid.IntRange(1, 12).Draw(r, "k"), Radius: math.MaxInt}
	o := index.Options{Filter: f, Method: rapid.SampledFrom([]index.Method{"", index.Scan, index.Tables, index.List}).Draw(r, "method")}
	o.Threads = rapid.IntRange(1, 3).Draw(r, "threads")
	if rapid.Bool().Draw(r, "by margins") {
		o.Rank, q.ByMargins = index.ByMargins, true
		q.Margins = rapid.SliceOfN(rapid.Float32Range(-2, 2), m.bits, m.bits).Draw(r, "margins")
		o.Margins = q.Margins
	}
	got, err := x.Search(ctx, q.Code, q.K, o)
	if rapid.Bool().Draw(r, "within") {
		q.Radius, q.K = rapid.IntRange(0, m.bits/2).Draw(r, "radius"), math.MaxInt
		got, err = x.Within(ctx, q.Code, q.Radius, o)
	}
	if (err == nil) != (refused == nil) {
		r.Fatalf("%v: %v, want %v", f, err, refused)
	}
	if refused != nil {
		return
	}
	want := q.Answer(items).Hits
	if !slices.EqualFunc(got.Hits, want, func(a, b index.Hit) bool {
		return a.ID == b.ID && a.Distance == b.Distance && a.MarginDistance == b.MarginDistance
	}) {
		r.Fatalf("%v, %+v:\n got %v\nwant %v", f, o, got.Hits, want)
	}
}

// same checks that every index holds exactly what it should.
func (m *machine) same(r *rapid.T) {
	want := m.items()
	for i, x := range m.all() {
		s := x.Snapshot()
		hits, err := s.Matches(index.Filter{})
		m.must(r, err)
		if len(hits) != len(want) || m.store.Info().Items != len(want) || int(m.store.state.items) != len(want) {
			r.Fatalf("index %d has %d items, %d on disk; want %d", i, len(hits), m.store.state.items, len(want))
		}
		for j, h := range hits {
			if have := s.Item(h); !reflect.DeepEqual(have, want[j]) {
				r.Fatalf("index %d has %+v, want %+v", i, have, want[j])
			}
		}
	}
}
