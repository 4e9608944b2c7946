package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hashgrove/api"
	"hashgrove/client"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/searchtest"
	"hashgrove/server"
)

// TestWritesAndSearches makes any writes, of vectors and of codes, to everything that holds items: indexes in memory, laid
// out in several ways, an index in a file, a service, the process behind Python, and in make check a table of PostgreSQL.
// It asks all of them the same questions, and the slow definition of a search knows the answers. What fails is made
// short, and kept in testdata/rapid to be run again.
func TestWritesAndSearches(t *testing.T) {
	if !needs.Full() { // a third of what make check does
		defer func(was string) { _ = flag.Set("rapid.checks", was) }(flag.Lookup("rapid.checks").Value.String())
		_ = flag.Set("rapid.checks", "30")
	}
	web, err := server.New(t.Context(), server.Options{Limits: server.Limits{K: 1 << 20, Hits: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(web.Handler())
	t.Cleanup(func() {
		listening.Close()
		if err := web.Close(); err != nil {
			t.Error(err)
		}
	})
	pipe, tables := startPipe(t), startDatabase(t)
	sizes := []searchtest.Size{{Bits: 8}, {Bits: 64, Rank: api.Expected}, {Bits: 100}, {Bits: 96, Detail: 32, Rank: api.Margins}}
	check := 0
	rapid.Check(t, func(r *rapid.T) {
		check++
		name := fmt.Sprint("check-", check)
		m := &machine{T: t, want: store.Expected{}, vectors: map[index.ID][]float32{}, table: tables}
		m.model = searchtest.NewFixture(rapid.SampledFrom(sizes).Draw(r, "codes"), 7).Model
		for _, tables := range []int{-1, 0, 2} {
			x := index.New(m.model.Encoder.Bits(), m.model.Fingerprint(), index.Config{Tables: tables})
			m.local = append(m.local, &local{x, m.model, search.NewTable()})
		}
		m.path = filepath.Join(t.TempDir(), "items.hgi")
		file, err := store.Create(t.Context(), m.path, store.Options{Model: m.model})
		m.must(r, err)
		m.file = &local{file, m.model, search.NewTable()}
		m.local = append(m.local, m.file)
		file.Quick()
		m.must(r, web.AddCollection(t.Context(), server.CollectionOptions{Name: name, Model: bytesOf(t, m.model)}))
		m.must(r, web.SetVectors(t.Context(), name, []string{"nobody"}, [][]float32{make([]float32, searchtest.Dimension)}))
		pipe.create(t, name, m.model)
		tables.create(t, name)
		for _, c := range []*client.Client{{URL: listening.URL}, {URL: "http://worker", HTTP: pipe.client()}} {
			m.all = append(m.all, remote{c.Collection(name)})
		}
		for _, x := range m.local {
			m.all = append(m.all, x)
		}
		r.Repeat(map[string]func(*rapid.T){
			"": m.same, "upsert": m.upsert, "add": m.add, "update": m.update, "delete": m.delete, "delete where": m.deleteWhere,
			"fill": m.fill, "compact": m.compact, "reopen": m.reopen, "restore": m.restore, "search": m.search, "scan": m.scan,
		})
		m.must(r, m.opened().Close())
	})
}

// holder is what holds items.
type holder interface {
	api.Searcher
	put(ctx context.Context, b *index.Batch, vectors [][]float32, add bool) error
	update(ctx context.Context, b *index.Batch, replace bool) (int, error)
	delete(ctx context.Context, ids []index.ID) (int, error)
	deleteWhere(ctx context.Context, f index.Filter) (int, error)
	items(ctx context.Context) ([]api.Item, error)
}

// machine is all holders, and what they should hold.
type machine struct {
	*testing.T
	model   *model.Model
	all     []holder
	local   []*local // of all
	file    *local   // of local, at path
	path    string
	table   *database // nil outside make check
	want    store.Expected
	vectors map[index.ID][]float32
}

func (m *machine) opened() *store.Store { return m.file.index.(*store.Store) }

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

// batch draws items with different ids, and the vectors of those whose codes the model has made.
func (m *machine) batch(r *rapid.T) (*index.Batch, [][]float32) {
	ids := rapid.SliceOfNDistinct(rapid.Custom(drawID), 1, 8, func(id index.ID) index.ID { return id }).Draw(r, "ids")
	return m.made(r, ids, rapid.Uint64Range(0, 50).Draw(r, "items"), rapid.Bool().Draw(r, "vectors"))
}

func (m *machine) made(r *rapid.T, ids []index.ID, seed uint64, vectors bool) (*index.Batch, [][]float32) {
	b := searchtest.Items(len(ids), m.model.Encoder.Bits(), seed)
	b.IDs, b.Fingerprint = ids, m.model.Fingerprint()
	rows := make([][]float32, len(ids))
	for i := range ids {
		if vectors {
			rows[i] = searchtest.RandomVector(rand.New(rand.NewPCG(seed, uint64(i))))
			code, err := m.model.EncodeRow(rows[i])
			m.must(r, err)
			copy(b.Codes.Row(i), code)
		}
	}
	return b, rows
}

func (m *machine) upsert(r *rapid.T) {
	b, rows := m.batch(r)
	m.put(r, b, rows)
}

func (m *machine) put(r *rapid.T, b *index.Batch, rows [][]float32) {
	for _, x := range m.all {
		m.must(r, x.put(m.Context(), b, rows, false))
	}
	m.note(b, rows)
}

func (m *machine) note(b *index.Batch, rows [][]float32) {
	m.want.Put(b)
	for i, id := range b.IDs {
		if delete(m.vectors, id); rows[i] != nil {
			m.vectors[id] = rows[i]
		}
	}
}

func (m *machine) add(r *rapid.T) {
	b, rows := m.batch(r)
	fresh := !slices.ContainsFunc(b.IDs, func(id index.ID) bool { _, there := m.want[id]; return there })
	for _, x := range m.all {
		if err := x.put(m.Context(), b, rows, true); (err == nil) != fresh {
			r.Fatalf("adding items that are new: %t; %v", fresh, err)
		}
	}
	if fresh {
		m.note(b, rows)
	}
}

func (m *machine) update(r *rapid.T) {
	b, _ := m.batch(r)
	b.Labels = make([]string, len(b.IDs))
	for i := range b.IDs {
		b.Labels[i] = rapid.SampledFrom([]string{"boots", "z"}).Draw(r, "label")
	}
	b = b.Details()
	replace := rapid.Bool().Draw(r, "replace")
	want := m.want.Update(b, replace)
	for _, x := range m.all {
		if n, err := x.update(m.Context(), b, replace); n != want || err != nil {
			r.Fatalf("%d updated, %v; want %d", n, err, want)
		}
	}
}

// gone notes which items were deleted.
func (m *machine) gone(ids []index.ID) {
	for _, id := range ids {
		delete(m.want, id)
		delete(m.vectors, id)
	}
}

func (m *machine) delete(r *rapid.T) {
	ids := rapid.SliceOfN(rapid.Custom(drawID), 1, 6).Draw(r, "ids")
	before := len(m.want)
	m.gone(ids)
	for _, x := range m.all {
		if n, err := x.delete(m.Context(), ids); n != before-len(m.want) || err != nil {
			r.Fatalf("%d deleted, %v; want %d", n, err, before-len(m.want))
		}
	}
}

func (m *machine) filter(r *rapid.T, more ...string) (index.Filter, []index.Item, error) {
	filters := slices.Concat(more, searchtest.Filters, searchtest.DateFilters)
	f, err := index.Parse(rapid.SampledFrom(filters).Draw(r, "where"))
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
	var ids []index.ID
	for _, it := range items {
		ids = append(ids, it.ID)
	}
	m.gone(ids)
	for _, x := range m.all {
		if n, err := x.deleteWhere(m.Context(), f); n != len(items) || (err == nil) != (refused == nil) {
			r.Fatalf("%d deleted, %v; want %d, %v", n, err, len(items), refused)
		}
	}
}

// fill adds so many items, in some runs, that an index in memory has more than one segment.
func (m *machine) fill(r *rapid.T) {
	if len(m.want) > 1000 || rapid.IntRange(0, 5).Draw(r, "rarely") < 5 {
		r.Skip("nothing to fill")
	}
	ids := make([]index.ID, 1200)
	for i := range ids {
		ids[i] = index.Int(int64(i))
	}
	b, rows := m.made(r, ids, rapid.Uint64Range(0, 50).Draw(r, "items"), false)
	m.put(r, b, rows)
}

func (m *machine) compact(r *rapid.T) {
	for _, x := range m.local {
		m.must(r, x.index.Compact(m.Context()))
	}
	m.opened().Quick()
}

// reopen checks the file, asks it while its items stay on disk, and opens it again.
func (m *machine) reopen(r *rapid.T) {
	ctx := m.Context()
	m.must(r, m.opened().Close())
	report, err := store.Verify(ctx, m.path, nil)
	if m.must(r, err); report.Items != len(m.want) {
		r.Fatalf("%d items were verified, want %d", report.Items, len(m.want))
	}
	disk, err := store.Open(ctx, m.path, store.OpenOptions{ReadOnly: true, OnDisk: true})
	m.must(r, err)
	f, items, refused := m.filter(r, "")
	x, err := disk.Select(ctx, f, nil)
	m.must(r, err)
	m.ask(r, x.Snapshot, f, items, refused)
	m.must(r, disk.Close())
	m.open(r)
}

func (m *machine) open(r *rapid.T) {
	file, err := store.Open(m.Context(), m.path, store.OpenOptions{})
	m.must(r, err)
	file.Quick()
	m.file.index = file
}

// restore goes on with a copy of a copy.
func (m *machine) restore(r *rapid.T) {
	copied := filepath.Join(m.TempDir(), "copy")
	_, err := m.opened().BackupFile(m.Context(), copied)
	m.must(r, err)
	m.path = copied + ".restored"
	_, err = store.Restore(m.Context(), copied, m.path)
	m.must(r, errors.Join(err, m.opened().Close()))
	m.open(r)
}

// fixture is what every holder should hold.
func (m *machine) fixture() *searchtest.Fixture {
	w := &searchtest.Fixture{Model: m.model, Items: index.NewBatch(m.model.Encoder.Bits()), Vectors: map[api.ID][]float32{}}
	w.Items.Fingerprint = m.model.Fingerprint()
	for _, it := range m.items() {
		w.Items.Append(it)
	}
	for id, x := range m.vectors {
		w.Vectors[api.ID(id.String())] = x
	}
	return w
}

// search sends requests of all kinds.
func (m *machine) search(r *rapid.T) {
	w := m.fixture()
	for i := range 3 {
		seed := rapid.Uint64().Draw(r, "request")
		for _, x := range m.all {
			searchtest.Ask(r, w, x, searchtest.Abilities{Full: true}, seed)
		}
		if m.table != nil && i == 0 {
			searchtest.Ask(r, w, m.table.searcher(r, w), searchtest.Abilities{}, seed)
		}
	}
}

// scan searches the indexes below all of that in each of their ways.
func (m *machine) scan(r *rapid.T) {
	f, items, refused := m.filter(r, "")
	for _, x := range m.local {
		m.ask(r, x.index.Snapshot(), f, items, refused)
	}
}

// ask searches one index, and compares the answer with the definition.
func (m *machine) ask(r *rapid.T, x *index.Snapshot, f index.Filter, items []index.Item, refused error) {
	one := searchtest.Items(1, x.Bits(), rapid.Uint64Range(0, 50).Draw(r, "code"))
	q := searchtest.Question{
		Code: one.Codes.Data, Bits: x.Bits(), Detail: x.Fingerprint().Detail(x.Bits()),
		K: rapid.IntRange(1, 12).Draw(r, "k"), Radius: math.MaxInt,
	}
	o := index.Options{Filter: f, Strategy: rapid.SampledFrom([]index.Strategy{"", index.Scan, index.Tables, index.List}).Draw(r, "method")}
	o.Threads = rapid.IntRange(1, 3).Draw(r, "threads")
	if rapid.Bool().Draw(r, "by margins") {
		o.Rank, q.ByMargins = index.ByMargins, true
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "margins"), 1))
		for range x.Bits() {
			q.Margins = append(q.Margins, 4*random.Float32()-2)
		}
		o.Margins = q.Margins
	}
	if rapid.Bool().Draw(r, "within") {
		q.Radius, q.K = rapid.IntRange(0, x.Bits()/2).Draw(r, "radius"), math.MaxInt
	}
	got, err := x.Search(m.Context(), one.Codes, q.K, q.Radius, o)
	if (err == nil) != (refused == nil) {
		r.Fatalf("%v: %v, want %v", f, err, refused)
	}
	if refused != nil {
		return
	}
	want := q.Answer(items).Hits
	if !slices.EqualFunc(got[0].Hits, want, func(a, b index.Hit) bool {
		return a.ID == b.ID && a.Distance == b.Distance && a.MarginDistance == b.MarginDistance
	}) {
		r.Fatalf("%v, %+v:\n got %v\nwant %v", f, o, got[0].Hits, want)
	}
}

// same checks that every holder holds exactly what it should.
func (m *machine) same(r *rapid.T) {
	var want []api.Item
	for _, it := range m.items() {
		want = append(want, search.Item(it, m.model.Encoder.Bits()))
	}
	if s := m.opened(); s.Info().Items != len(want) || s.OnDisk() != len(want) {
		r.Fatalf("%d items on disk, want %d", s.OnDisk(), len(want))
	}
	for i, x := range m.all {
		if _, far := x.(remote); far && len(want) > 100 {
			continue // searches will tell
		}
		have, err := x.items(m.Context())
		m.must(r, err)
		if len(have) != len(want) {
			r.Fatalf("holder %d has %d items, want %d", i, len(have), len(want))
		}
		for j := range want {
			if !reflect.DeepEqual(have[j], want[j]) {
				r.Fatalf("holder %d has %+v, want %+v", i, have[j], want[j])
			}
		}
	}
}
