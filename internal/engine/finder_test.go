package engine_test

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"errors"
	"io"
	"math/bits"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

// fakeItem is an item as the fakes of Milvus and Weaviate hold it.
type fakeItem struct {
	key, label string
	code       []byte
	tags       []string
	terms      []string
	attributes string // in JSON
	numbers    map[string]float64
}

// fakeItems are items by key.
type fakeItems map[string]fakeItem

// ordered returns the items by key, from one on.
func (f fakeItems) ordered(match func(fakeItem) bool) []fakeItem {
	var list []fakeItem
	for _, it := range f {
		if match(it) {
			list = append(list, it)
		}
	}
	slices.SortFunc(list, func(a, b fakeItem) int { return strings.Compare(a.key, b.key) })
	return list
}

// fakeDistance returns the number of bits in which two codes differ.
func fakeDistance(a, b []byte) int {
	d := 0
	for i := range a {
		d += bits.OnesCount8(a[i] ^ b[i])
	}
	return d
}

// nearest returns the nearest items, those at the same distance in an order that has nothing to do with ours.
func (f fakeItems) nearest(code []byte, limit int, match func(fakeItem) bool) []fakeItem {
	type place struct {
		distance int
		order    [sha1.Size]byte
		item     fakeItem
	}
	var list []place
	for _, it := range f {
		if match(it) {
			list = append(list, place{fakeDistance(it.code, code), sha1.Sum([]byte(it.key)), it})
		}
	}
	slices.SortFunc(list, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), bytes.Compare(a.order[:], b.order[:]))
	})
	found := make([]fakeItem, min(limit, len(list)))
	for i := range found {
		found[i] = list[i].item
	}
	return found
}

// hasAny reports whether the item has one of the terms.
func (it fakeItem) hasAny(terms ...string) bool {
	return slices.ContainsFunc(terms, func(t string) bool { return slices.Contains(it.terms, t) })
}

// checkRefusedItems pushes items of which a server refuses two, and we one more; all others are written.
func checkRefusedItems(t *testing.T, e engine.Engine, refuse func(key string)) {
	items, bad := searchtest.Items(300, 64, 7), index.NewBatch(64)
	refuse(items.IDs[5].String())
	refuse(items.IDs[77].String())
	for i := range items.IDs {
		it := items.Item(i)
		if i == 100 {
			it.Label = "not \xff UTF-8"
		}
		bad.Append(it)
	}
	r, err := engine.Push(t.Context(), e, bad, engine.PushOptions{Batch: 40})
	if !errors.Is(err, engine.ErrRefused) || len(r.Refused) != 3 || r.Written != 297 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, refusal := range r.Refused {
		if !slices.Contains([]index.ID{items.IDs[5], items.IDs[77], items.IDs[100]}, refusal.ID) {
			t.Errorf("%v was refused", refusal)
		}
	}
	if n, err := e.Count(t.Context()); n != 297 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
}

// compared compares an engine with items.
func compared(t *testing.T, e engine.Engine, items *index.Batch, o engine.CheckOptions) (*engine.CheckReport, error) {
	t.Helper()
	x := index.New(items.Codes.Bits, items.Fingerprint, index.Config{})
	if err := x.Add(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	return engine.Check(t.Context(), e, x.Snapshot(), searchtest.Oracle{World: &searchtest.World{Items: items}}, o)
}

// checkPushed demands that the engine holds just these items.
func checkPushed(t *testing.T, e engine.Engine, items *index.Batch) {
	t.Helper()
	if n, err := e.Count(t.Context()); n != len(items.IDs) || err != nil {
		t.Errorf("%d items instead of %d: %v", n, len(items.IDs), err)
	}
	r, err := compared(t, e, items, engine.CheckOptions{Queries: searchtest.Items(2, 64, 8).Codes})
	if err != nil || len(r.Differences) > 0 {
		t.Errorf("%+v, %v", r.Differences, err)
	}
}

// runFake runs the suite against a fake, at length with HASHGROVE_LONG=1. Some engines refuse comparisons.
func runFake(t *testing.T, refuses func(index.Condition) bool, open func(t *testing.T) engine.Engine) {
	enginetest.Run(t, open, searchtest.Abilities{Refuses: refuses, Brief: os.Getenv("HASHGROVE_LONG") == ""})
}

// noDates reports conditions refused by engines that do not compare texts as dates.
func noDates(c index.Condition) bool {
	return c.Name != "id" && c.Op != "starts with" && slices.ContainsFunc(c.Values, func(v index.Value) bool {
		_, isText := v.Text()
		return isText && v.Kind() == index.DateKind
	})
}

// noOrder reports conditions that Redis and Qdrant refuse: dates, an order of texts, and names that they cannot spell.
func noOrder(c index.Condition) bool {
	isText := func(v index.Value) bool {
		text, ok := v.Text()
		_, integer := api.ID(text).Integer()
		return ok && (c.Name != "id" || !integer || c.Op == "starts with")
	}
	ordered := !slices.Contains([]string{"has", "=", "!=", "in"}, c.Op)
	return noDates(c) || ordered && slices.ContainsFunc(c.Values, isText) || strings.ContainsAny(c.Name, "'\"")
}

// checkRequests demands that what a plan calls sent is sent word for word and in order, here for an item like the one in the
// plan. With found, nothing else may be sent, and the printed searches must have answers that please it.
func checkRequests(t *testing.T, f *fake, e engine.Engine, found func(body, answer string) bool) {
	t.Helper()
	s := engine.Space{Bits: 64, Fingerprint: searchtest.Fingerprint}
	plan := e.Plan(s)
	if len(f.log()) > 0 {
		t.Error("a plan needs a connection")
	}
	b := index.NewBatch(64)
	b.Append(index.Item{
		ID: index.Int(17), Code: make([]uint64, 1), Label: "boots", Tags: []string{"sale"},
		Attributes: map[string]index.Value{"price": index.Number(30)},
	})
	if _, err := e.Prepare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := e.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	sent := f.log()
	for _, statement := range plan {
		at := slices.Index(sent, statement.Text)
		if statement.Sent != (at >= 0) {
			t.Fatalf("%s: sent %v, and it should be %v\n%s\nThis was sent:\n%s", statement.Purpose, !statement.Sent,
				statement.Sent, statement.Text, strings.Join(sent, "\n"))
		}
		sent = sent[at+1:]
		if statement.Sent || found == nil {
			continue
		}
		if _, err := e.Count(t.Context()); err != nil { // which refreshes
			t.Fatal(err)
		}
		head, body, _ := strings.Cut(statement.Text, "\n")
		method, path, _ := strings.Cut(head, " ")
		q, err := http.NewRequest(method, f.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header = http.Header{"Content-Type": {"application/json"}, "Api-Key": {"hunter2hunter2"}}
		got, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(got.Body)
		got.Body.Close()
		if got.StatusCode != 200 || !found(body, string(answer)) {
			t.Errorf("%s\nanswers %s", statement.Text, answer)
		}
	}
	if found != nil && len(sent) > 0 {
		t.Errorf("sent besides the plan: %v", sent)
	}
}
