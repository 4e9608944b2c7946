package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

// TestQdrant runs the suite and more against a fake.
func TestQdrant(t *testing.T) {
	s, n := newQdrantFake(t), 0
	t.Run("suite", func(t *testing.T) {
		runFake(t, noOrder, func(t *testing.T) engine.Engine {
			n++
			return openTable(t, s.address("qdrant"), fmt.Sprintf("odd name %d", n))
		})
	})
	t.Run("plan", func(t *testing.T) {
		s := newQdrantFake(t)
		checkRequests(t, s.fake, openTable(t, s.address("qdrant"), "items"), func(_, answer string) bool {
			return strings.Contains(answer, `"score":64`)
		})
	})
	t.Run("items", checkQdrantItems)
	t.Run("tables", checkQdrantTables)
	t.Run("pages", checkQdrantPages)
	t.Run("filters", checkQdrantFilters)
	t.Run("faults", func(t *testing.T) {
		checkFaults(t, func(t *testing.T) (*fake, engine.Engine) {
			s := newQdrantFake(t)
			return s.fake, openTable(t, s.address("qdrant"), "items")
		}, func(q asked) bool { return q.method == "PUT" && strings.HasSuffix(q.path, "/points") })
	})
}

// checkQdrantItems: items that the service refuses are named and the others are written; a batch that is accepted and not
// yet there is sent again.
func checkQdrantItems(t *testing.T) {
	s := newQdrantFake(t)
	e := openTable(t, s.address("qdrant"), "items")
	b := searchtest.Items(100, 64, 1)
	b.Labels[17] = "\xff"
	bad := b.IDs[33].String()
	s.refuse = func(id string) bool { return id == bad }
	r, err := engine.Push(t.Context(), e, b, engine.PushOptions{Batch: 40})
	if !errors.Is(err, engine.ErrRefused) || len(r.Refused) != 2 || r.Written != 98 {
		t.Errorf("%+v, %v", r, err)
	}
	if n, err := e.Count(t.Context()); n != 98 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
	s.refuse, s.status = nil, "acknowledged"
	some := searchtest.Items(10, 64, 2)
	_, err = engine.Push(t.Context(), e, some, engine.PushOptions{Retries: 1, Wait: 1})
	if !errors.Is(err, engine.ErrTemporary) || !strings.Contains(err.Error(), "acknowledged") {
		t.Errorf("a batch that is not there yet: %v", err)
	}
}

// checkQdrantTables: collections of others and older versions are refused; indexes that are missing are made.
func checkQdrantTables(t *testing.T) {
	s := newQdrantFake(t)
	e, space := openTable(t, s.address("qdrant"), "items"), engine.Space{Bits: 64}
	first, err := e.Prepare(t.Context(), space)
	if err != nil || first.Engine != "Qdrant 1.17.0" {
		t.Fatal(first, err)
	}
	delete(s.collections["items"].indexes, "tags") // as if the push that made it had been killed
	if _, err := e.Prepare(t.Context(), space); err != nil || len(s.collections["items"].indexes) != 3 {
		t.Errorf("%v, %v", s.collections["items"].indexes, err)
	}
	delete(s.collections, "items")
	again, err := openTable(t, s.address("qdrant"), "items").Prepare(t.Context(), space)
	if err != nil || again.Identity == first.Identity {
		t.Errorf("the collection made anew is %v, before %v: %v", again, first, err)
	}
	c := s.collections["items"]
	c.body["vectors"].(map[string]any)["distance"] = "Cosine"
	if _, err := e.Prepare(t.Context(), space); err == nil || !strings.Contains(err.Error(), "Cosine") {
		t.Errorf("another distance: %v", err)
	}
	delete(c.body, "metadata")
	_, err = e.Prepare(t.Context(), space)
	if d := fault.Differs(err, "foreign-table", "items"); d != "" {
		t.Errorf("a collection of others: %s", d)
	}
	for _, version := range []string{"1.15.9", "0.9.0", "x", ""} {
		s.version = version
		if _, err := e.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "1.16") {
			t.Errorf("version %s: %v", version, err)
		}
	}
	for _, bad := range []string{"a/b", "a?b", "..", strings.Repeat("x", 300)} {
		if _, err := engine.Open(t.Context(), engine.Target{URL: s.address("qdrant"), Table: bad}); err == nil {
			t.Errorf("the collection %q", bad)
		}
	}
}

// checkQdrantPages reads and searches more than one page, with ties that fill more than one answer.
func checkQdrantPages(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 12,000 items")
	}
	s := newQdrantFake(t)
	e := openTable(t, s.address("qdrant"), "items")
	b := searchtest.Items(12000, 13, 1)
	if _, err := engine.Push(t.Context(), e, b, engine.PushOptions{Batch: 6000}); err != nil {
		t.Fatal(err)
	}
	x := index.New(13, searchtest.Fingerprint, index.Config{})
	if err := x.Add(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, q := range []engine.Query{{K: 1, Radius: -1}, {K: 100, Radius: -1}, {Radius: 13}, {Radius: 0}, {K: 5000, Radius: 9}} {
		q.Codes = hamming.NewCodes(1, 13)
		want, err := enginetest.Exact(t.Context(), x.Snapshot(), q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Search(t.Context(), q); err != nil || !slices.Equal(got[0], want[0]) {
			t.Errorf("k %d, radius %d: %d hits, want %d, %v", q.K, q.Radius, len(got[0]), len(want[0]), err)
		}
	}
	checkAllOnce(t, e, b)
}

// checkQdrantFilters: filters that Qdrant would answer wrongly are refused.
func checkQdrantFilters(t *testing.T) {
	s := newQdrantFake(t)
	e := openTable(t, s.address("qdrant"), "items")
	b := searchtest.Items(10, 64, 1)
	b.Append(index.Item{ID: index.Int(1<<53 + 1), Code: []uint64{1}, Attributes: map[string]index.Value{
		"a.b c": index.Number(1), "größe": index.Number(2),
	}})
	if _, err := engine.Push(t.Context(), e, b, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"id = 9007199254740993": 1, "id = 9007199254740992": 0, "id > 1000": 1, `id < 1e300 and id > 100`: 1,
		"`a.b c` = 1": 1, "größe between 1.5 and 2": 1, "`a` = 1": 0,
		"id > 9007199254740992": -1, "id < -9007199254740993": -1, "label = 2024-01-31": -1, "`a\\\\b` = 1": -1,
	} {
		f, err := index.Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		got := 0
		err = e.Read(t.Context(), f, func(b *index.Batch) error { got += len(b.IDs); return nil })
		if want >= 0 && (err != nil || got != want) || want < 0 && !errors.Is(err, engine.ErrFilter) {
			t.Errorf("where %s: %d items, want %d, %v", text, got, want, err)
		}
	}
}
