package enginetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/engine"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

// Run tests an engine; open returns one with an empty table. It runs the suite of all searchers, then checks what is
// written, read back and refused.
func Run(t *testing.T, open func(t *testing.T) engine.Engine, can searchtest.Abilities) {
	t.Run("search", func(t *testing.T) {
		can.Vectors = true
		searchtest.Run(t, func(t *testing.T, w *searchtest.World) api.Searcher {
			e := open(t)
			if _, err := engine.Push(t.Context(), e, w.Items, engine.PushOptions{Batch: 70}); err != nil {
				t.Fatal(err)
			}
			s, err := engine.NewSearcher(t.Context(), e, w.Model)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}, can)
	})
	t.Run("read", func(t *testing.T) { checkRead(t, open(t)) })
	t.Run("items", func(t *testing.T) { checkItems(t, open(t), searchtest.Fingerprint) })
	t.Run("items with detail", func(t *testing.T) { checkItems(t, open(t), searchtest.Fingerprint.WithDetail(21)) })
	t.Run("spaces", func(t *testing.T) { checkSpaces(t, open(t)) })
	t.Run("cancelled", func(t *testing.T) {
		e, b := open(t), searchtest.Items(10, 64, 1)
		if _, err := e.Prepare(t.Context(), engine.Space{Bits: 64}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := e.Write(ctx, b); !errors.Is(err, context.Canceled) {
			t.Errorf("a write that was cancelled: %v", err)
		}
		if n, err := e.Count(t.Context()); n != 0 || err != nil {
			t.Errorf("%d items, %v", n, err)
		}
	})
}

// checkRead reads the items that match each filter. An engine may refuse one with ErrFilter.
func checkRead(t *testing.T, e engine.Engine) {
	b := searchtest.Items(300, 64, 3)
	if _, err := engine.Push(t.Context(), e, b, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	var items []index.Item
	for i := range b.IDs {
		items = append(items, b.Item(i))
	}
	slices.SortFunc(items, func(a, b index.Item) int { return a.ID.Compare(b.ID) })
	for _, text := range slices.Concat([]string{""}, searchtest.Filters, searchtest.DateFilters) {
		f, err := index.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []index.ID
		err = e.Read(t.Context(), f, func(b *index.Batch) error {
			got = append(got, b.IDs...)
			return nil
		})
		if errors.Is(err, engine.ErrFilter) {
			continue
		}
		want, wantErr := searchtest.Matching(items, f)
		same := slices.EqualFunc(got, want, func(id index.ID, it index.Item) bool { return id == it.ID })
		if err != nil || wantErr != nil || !same || len(want) == 0 {
			t.Errorf("reading where %v: %d items, %v, want %d, %v", f, len(got), err, len(want), wantErr)
		}
	}
}

// checkItems writes items twice, changes some, and reads all back.
func checkItems(t *testing.T, e engine.Engine, f hamming.Fingerprint) {
	ctx, b := t.Context(), searchtest.Items(300, 64, 5)
	b.Fingerprint = f
	if _, err := e.Prepare(ctx, engine.Space{Bits: 64, Fingerprint: f}); err != nil {
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
func checkSpaces(t *testing.T, e engine.Engine) {
	ctx := t.Context()
	if _, err := e.Info(ctx); !errors.Is(err, engine.ErrNoTable) {
		t.Errorf("no table: %v", err)
	}
	space := engine.Space{Bits: 64, Fingerprint: searchtest.Fingerprint}
	first, err := e.Prepare(ctx, space)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := e.Prepare(ctx, space); err != nil || again != first {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
	if _, err := e.Prepare(ctx, engine.Space{Bits: 64}); err != nil {
		t.Errorf("codes of a model that is not known: %v", err)
	}
	other := hamming.Fingerprint{9}
	_, err = e.Prepare(ctx, engine.Space{Bits: 64, Fingerprint: other})
	if err == nil || !strings.Contains(err.Error(), other.String()) ||
		!strings.Contains(err.Error(), searchtest.Fingerprint.String()) {
		t.Errorf("another model: %v", err)
	}
	if _, err = e.Prepare(ctx, engine.Space{Bits: 32, Fingerprint: searchtest.Fingerprint}); err == nil {
		t.Error("codes of another length were accepted")
	}
	q := engine.Query{Codes: hamming.NewCodes(1, 64), K: 3, Radius: -1}
	if hits, err := e.Search(ctx, q); err != nil || len(hits) != 1 || len(hits[0]) != 0 {
		t.Errorf("an empty table answers %v, %v", hits, err)
	}
	if err := e.Read(ctx, index.Filter{}, func(*index.Batch) error { return errors.New("an item") }); err != nil {
		t.Error(err)
	}
}
