package postgres

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

// searcher pushes the items of a fixture.
func searcher(t *testing.T, e *Table, w *searchtest.Fixture) api.Searcher {
	t.Helper()
	if _, err := fill(t, e, w.Items, PushOptions{Batch: 70}); err != nil {
		t.Fatal(err)
	}
	s, err := NewSearcher(t.Context(), e, w.Model)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkCancelled: a write that is cancelled leaves nothing.
func checkCancelled(t *testing.T, e *Table) {
	if _, err := e.Prepare(t.Context(), Space{Bits: 64}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := e.Write(ctx, searchtest.Items(10, 64, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a write that was cancelled: %v", err)
	}
	if n, err := e.Count(t.Context()); n != 0 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
}

// checkRead reads the items that match each filter.
func checkRead(t *testing.T, e *Table) {
	b := searchtest.Items(300, 64, 3)
	for i, id := range []int64{math.MinInt64, -1<<53 - 1, 1<<53 + 1, 1<<60 - 1, 1 << 60, 1<<60 + 1, math.MaxInt64} {
		b.IDs[i] = index.Int(id)
	}
	if _, err := fill(t, e, b, PushOptions{}); err != nil {
		t.Fatal(err)
	}
	var items []index.Item
	for i := range b.IDs {
		items = append(items, b.Item(i))
	}
	slices.SortFunc(items, func(a, b index.Item) int { return a.ID.Compare(b.ID) })
	exact := []string{"id = 1152921504606846976", "id < 1152921504606846976", "id > -9007199254740992", "id < 1e300",
		"id >= -9223372036854775808", "id in (1152921504606846976, 1e300)", "id > 5e-324"}
	for _, text := range slices.Concat([]string{""}, searchtest.Filters, searchtest.DateFilters, exact) {
		f, err := index.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []index.ID
		err = e.Read(t.Context(), f, func(b *index.Batch) error {
			got = append(got, b.IDs...)
			return nil
		})
		want, wantErr := searchtest.Matching(items, f)
		same := slices.EqualFunc(got, want, func(id index.ID, it index.Item) bool { return id == it.ID })
		if err != nil || wantErr != nil || !same || len(want) == 0 {
			t.Errorf("reading where %v: %d items, %v, want %d, %v", f, len(got), err, len(want), wantErr)
		}
	}
}

// checkItems writes items twice, changes some, and reads all back.
func checkItems(t *testing.T, e *Table, f hamming.Fingerprint) {
	ctx, b := t.Context(), searchtest.Items(300, 64, 5)
	b.Fingerprint = f
	if _, err := e.Prepare(ctx, Space{Bits: 64, Fingerprint: f}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	changed := index.NewBatch(64)
	changed.Append(index.Item{ID: b.IDs[7], Code: []uint64{42}}) // without what the item had
	changed.Append(index.Item{ID: b.IDs[8], Code: []uint64{1}, Label: "first"})
	changed.Append(index.Item{ID: b.IDs[8], Code: []uint64{2}, Label: "last counts"})
	if err := e.Write(ctx, changed); err != nil {
		t.Fatal(err)
	}
	want := map[index.ID]index.Item{}
	for i, id := range b.IDs {
		want[id] = b.Item(i)
	}
	want[b.IDs[7]], want[b.IDs[8]] = changed.Item(0), changed.Item(2)
	if n, err := e.Count(ctx); n != len(want) || err != nil {
		t.Errorf("%d items instead of %d: %v", n, len(want), err)
	}
	var last *index.ID
	err := e.Read(ctx, index.Filter{}, func(some *index.Batch) error {
		for i, id := range some.IDs {
			if last != nil && last.Compare(id) >= 0 {
				t.Errorf("%v comes after %v", id, *last)
			}
			last = &id
			compareItems(t, some.Item(i), want[id])
			delete(want, id)
		}
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Errorf("%d items were not read: %v", len(want), err)
	}
}

func compareItems(t *testing.T, got, want index.Item) {
	t.Helper()
	slices.Sort(got.Tags)
	slices.Sort(want.Tags)
	if !slices.Equal(got.Code, want.Code) || got.Label != want.Label || !slices.Equal(got.Tags, want.Tags) ||
		!maps.Equal(got.Attributes, want.Attributes) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// checkSpaces mixes models and lengths, which must be refused naming both.
func checkSpaces(t *testing.T, e *Table) {
	ctx := t.Context()
	if _, err := e.Info(ctx); !errors.Is(err, ErrNoTable) {
		t.Errorf("no table: %v", err)
	}
	space := Space{Bits: 64, Fingerprint: searchtest.Fingerprint}
	first, err := e.Prepare(ctx, space)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := e.Prepare(ctx, space); err != nil || again != first {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
	if _, err := e.Prepare(ctx, Space{Bits: 64}); err != nil {
		t.Errorf("codes of a model that is not known: %v", err)
	}
	other := hamming.Fingerprint{9}
	_, err = e.Prepare(ctx, Space{Bits: 64, Fingerprint: other})
	if err == nil || !strings.Contains(err.Error(), other.String()) ||
		!strings.Contains(err.Error(), searchtest.Fingerprint.String()) {
		t.Errorf("another model: %v", err)
	}
	if _, err = e.Prepare(ctx, Space{Bits: 32, Fingerprint: searchtest.Fingerprint}); err == nil {
		t.Error("codes of another length were accepted")
	}
	q := Query{Codes: hamming.NewCodes(1, 64), K: 3, Radius: -1}
	if hits, err := e.Search(ctx, q); err != nil || len(hits) != 1 || len(hits[0]) != 0 {
		t.Errorf("an empty table answers %v, %v", hits, err)
	}
	if err := e.Read(ctx, index.Filter{}, func(*index.Batch) error { return errors.New("an item") }); err != nil {
		t.Error(err)
	}
}

// checkNames: a filter on a name that no item has is refused; an empty table takes any.
func checkNames(t *testing.T, e *Table) {
	ctx := t.Context()
	if _, err := e.Prepare(ctx, Space{Bits: 8, Fingerprint: hamming.Fingerprint{1}}); err != nil {
		t.Fatal(err)
	}
	check := func(where string) error {
		f, err := index.Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		return e.CheckNames(ctx, f)
	}
	if err := check("price < 3"); err != nil {
		t.Errorf("without items: %v", err)
	}
	b := index.NewBatch(8)
	b.Fingerprint = hamming.Fingerprint{1}
	b.Append(index.Item{
		ID: index.Int(1), Code: []uint64{0}, Label: "x", Attributes: map[string]index.Value{"price": index.Number(2)},
	})
	if err := e.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	for where, known := range map[string]bool{
		"": true, "price < 3": true, `label = "y"`: true, "id = 1": true, "has price": true, "prize < 3": false,
		"not prize = 3": false, `tag = "a"`: false, "price < 3 or has prize": false,
	} {
		if err := check(where); known != (err == nil) || err != nil && !errors.Is(err, api.ErrFilter) {
			t.Errorf("%s: %v", where, err)
		}
	}
}
