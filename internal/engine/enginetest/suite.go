package enginetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/engine"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Fingerprint is that of the items of the suite.
var Fingerprint = hamming.Fingerprint{1, 2, 3}

// Items makes n items with codes of the given length: many equal codes, ids of both kinds, labels, tags and attributes
// with everything that a language of queries may stumble over.
func Items(n, bits int, seed uint64) *index.Batch {
	rng := rand.New(rand.NewPCG(seed, 1))
	texts := []string{
		"boots", "Boots", "häts", "z", "a'b\"c", `\`, "semi;colon", "x y", "$1", "%s", "", "ünï—✓", "{a,b}", "NULL",
	}
	b := index.NewBatch(bits)
	b.Fingerprint = Fingerprint
	code := hamming.NewCodes(1, bits)
	for i := range n {
		it := index.Item{ID: index.Int(int64(i*37%n) - int64(n/4))}
		if i%3 == 0 {
			it.ID = index.Text(fmt.Sprintf("%s-%d", texts[1+rng.IntN(9)], i))
		}
		for bit := range bits {
			code.SetBit(0, bit, bit < 6 && rng.IntN(2) == 0 || rng.IntN(12) == 0)
		}
		it.Code = code.Row(0)
		it.Label = texts[rng.IntN(len(texts))]
		for range rng.IntN(4) {
			if tag := texts[rng.IntN(len(texts))]; tag != "" && !slices.Contains(it.Tags, tag) {
				it.Tags = append(it.Tags, tag)
			}
		}
		if i%5 > 0 {
			it.Attributes = map[string]index.Value{
				"price": index.Number(float64(rng.IntN(50))), "name": index.String(texts[rng.IntN(len(texts))]),
			}
			if i%4 > 0 {
				it.Attributes["added"] = index.String(dates[i%len(dates)])
			}
			switch {
			case i%7 == 0:
				it.Attributes["price"] = index.String("12") // a text, not a number
			case i%11 == 0:
				it.Attributes["price"] = index.Number(0.1 + float64(rng.Float64()*1e-17))
			case i%13 == 0:
				it.Attributes["it's \"odd\""] = index.Number(rng.NormFloat64() * 1e200)
			}
		}
		b.Append(it)
	}
	return b
}

// dates are texts that are dates, many of them the same moments, and others that only look so.
var dates = []string{
	"2024-01-31", "2024-01-31T00:00Z", "2024-01-31 02:00+02:00", "2024-01-30t23:30-0030", "2024-01-31T09:30:15.25",
	"2024-01-31T09:30:15.2500000009z", "2024-01-31T11:30:15.25+02", "2024-02-29", "2023-02-29", "2024-02-30", "0000-02-29",
	"9999-12-31T23:59:59.999999999", "1969-12-31T23:59:59.5", "2024-01-31T09:3", "2024-01-31T09:30:1", "2024-1-31",
	"2024-01-31T24:00", "2024-01-31T09:30+2", "2024-01-31T09:30+0:200", "2024", "boots", "2024-01-31 ",
	"2024-01-31T09:30:15Z",
}

// DateFilters compare dates, which are texts of ISO 8601 that compare as moments. An engine either refuses all of them
// with ErrFilter or answers them as the index does.
var DateFilters = []string{
	`added = 2024-01-31`, `added = "2024-01-31T03:00+03:00"`, `added != 2024-01-31`, `added < "2024-01-31T09:30:15.25Z"`,
	`added <= "2024-01-31T09:30:15.25Z"`, `added > 2024-01-30`, `not added >= 2024-02-29`,
	`added between 1969-01-01 and 2024-01-31`,
	`added between "2024" and "2024-01-31T12:00"`, `added in (2024-02-29, "boots", "2024-01-31T09:30:15.25")`,
	`added > 0000-01-01 and label = "boots"`, `label > 2024-01-31`, `label < 2024-01-31`, `tag >= 2024-01-31`,
	`tag between 2024-01-31 and "z"`,
}

// Filters is one of every kind, all of which some items of the suite match.
var Filters = []string{
	`label = "boots"`, `label != "boots"`, `label in ("häts", "z", "none")`, `label < "b"`, `label >= "a'b\"c"`,
	`label starts with "a'"`, `has label`, `not has label`, `label between "a" and "h"`,
	`tag = "boots"`, `tag != "boots"`, `tag in ("{a,b}", "NULL")`, `tag > "x"`, `tag starts with "x"`,
	`has tag`, `not has tag`,
	`tag between "a" and "b"`,
	`price < 10`, `price >= 12`, `price = 12`, `price = "12"`, `price != 12`, `price between 0.1 and 0.10000000000000002`,
	`price in (1, 2, "12")`, `not price < 10`, `has price`, `not has price`, `price <= 0.1`,
	`name = "ünï—✓"`, `name > "Boots"`, `name = ""`, `name starts with "%"`, `name between "A" and "c"`,
	"`it's \"odd\"` > 0",
	`id = 5`, `id != 5`, `id < 5`, `id <= 5.5`, `id > "Boots"`, `id in (5, 6, "7", "nobody")`, `id starts with "1"`,
	`id between 3 and 17`, `id between "a" and "z"`, `id >= -1e300`,
	`label = "boots" and (price < 10 or tag = "z")`, `not (label = "boots" or has tag)`, `not (not label = "z")`,
}

// Run checks an engine; open makes one with an empty table, and each with the same table when it is called again in the
// same test. The filters that are refused are those of Filters and DateFilters that the engine cannot have: it must say
// so.
func Run(t *testing.T, open func(t *testing.T) engine.Engine, refused ...string) {
	run(t, open, 20, refused)
}

// RunBriefly is Run with few searches, for servers in the memory of the test, which are slow.
func RunBriefly(t *testing.T, open func(t *testing.T) engine.Engine, refused ...string) {
	run(t, open, 3, refused)
}

func run(t *testing.T, open func(t *testing.T) engine.Engine, queries int, refused []string) {
	for _, text := range refused {
		if !slices.Contains(Filters, text) && !slices.Contains(DateFilters, text) {
			t.Errorf("%s is none of the filters", text)
		}
	}
	for _, bits := range []int{64, 13, 200} {
		codes := Items(queries, bits, 4).Codes
		t.Run(fmt.Sprintf("%d bits", bits), func(t *testing.T) { checkAnswers(t, open(t), codes, refused) })
	}
	t.Run("items", func(t *testing.T) { checkItems(t, open(t)) })
	t.Run("spaces", func(t *testing.T) { checkSpaces(t, open(t)) })
	t.Run("cancelled", func(t *testing.T) {
		e, b := open(t), Items(10, 64, 1)
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

// checkAnswers compares searches with those of an exact index, or demands most of the nearest where the engine is not
// exact.
func checkAnswers(t *testing.T, e engine.Engine, all hamming.Codes, refused []string) {
	bits := all.Bits
	ctx, b := t.Context(), Items(500, bits, 3)
	if _, err := engine.Push(ctx, e, b, engine.PushOptions{Batch: 70}); err != nil {
		t.Fatal(err)
	}
	x := index.New(bits, Fingerprint, index.Config{})
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	info, err := e.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	few := hamming.NewCodes(min(3, all.Len()), bits) // for dates, which some engines compare slowly
	copy(few.Data, all.Data)
	matched, found := 0, 0
	for _, text := range slices.Concat([]string{""}, Filters, DateFilters) {
		f, err := index.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		queries := all
		if slices.Contains(DateFilters, text) {
			queries = few
		}
		if slices.Contains(refused, text) || slices.Contains(DateFilters, text) && refusesDates(t, e, queries) {
			checkRefused(t, e, x.Snapshot(), queries, f)
			continue
		}
		for _, q := range []engine.Query{
			{Codes: queries, K: 10, Radius: -1, Filter: f}, {Codes: queries, K: 1000, Radius: -1, Filter: f},
			{Codes: queries, Radius: 3, Filter: f}, {Codes: queries, K: 4, Radius: bits, Filter: f}, {Codes: queries, Filter: f},
		} {
			want, err := Exact(ctx, x.Snapshot(), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Search(ctx, q)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for i := range want {
				matched += len(want[i])
				for _, h := range got[i][:min(len(got[i]), len(want[i]))] {
					if h.Distance <= want[i][len(want[i])-1].Distance { // as good as one of the exact hits
						found++
					}
				}
				if info.Exact && !slices.Equal(got[i], want[i]) {
					t.Fatalf("k %d, radius %d, where %s, query %d:\n%v, want\n%v", q.K, q.Radius, text, i, got[i], want[i])
				}
				if len(got[i]) > 0 && len(want[i]) > 0 && got[i][0].Distance < want[i][0].Distance {
					t.Fatalf("where %s, query %d: %v is nearer than %v", text, i, got[i][0], want[i][0])
				}
			}
		}
		if x.Snapshot().Count(f) == 0 {
			t.Errorf("no item matches %s", text)
		}
		checkRead(t, e, x.Snapshot(), f, false)
	}
	if matched < 1000 || float64(found) < 0.95*float64(matched) {
		t.Errorf("%d of %d hits were found", found, matched)
	}
	t.Logf("%d of %d hits were found", found, matched)
}

// refusesDates tells whether the engine compares no dates.
func refusesDates(t *testing.T, e engine.Engine, queries hamming.Codes) bool {
	f, err := index.Parse(DateFilters[0])
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Search(t.Context(), engine.Query{Codes: queries, K: 10, Radius: -1, Filter: f})
	return errors.Is(err, engine.ErrFilter)
}

// checkRefused demands that a search refuses a filter. Reading may refuse it too, or else find the right items.
func checkRefused(t *testing.T, e engine.Engine, exact *index.Snapshot, queries hamming.Codes, f index.Filter) {
	t.Helper()
	_, err := e.Search(t.Context(), engine.Query{Codes: queries, K: 10, Radius: -1, Filter: f})
	if !errors.Is(err, engine.ErrFilter) {
		t.Errorf("a search where %v: %v", f, err)
	}
	checkRead(t, e, exact, f, true)
}

// checkRead compares the items that match a filter, where the engine does not refuse it and may.
func checkRead(t *testing.T, e engine.Engine, exact *index.Snapshot, f index.Filter, mayRefuse bool) {
	t.Helper()
	var got []index.ID
	err := e.Read(t.Context(), f, func(b *index.Batch) error {
		got = append(got, b.IDs...)
		return nil
	})
	if mayRefuse && errors.Is(err, engine.ErrFilter) {
		return
	}
	hits, _ := exact.Matches(f)
	same := slices.EqualFunc(got, hits, func(id index.ID, h index.Hit) bool { return id == h.ID })
	if err != nil || !same {
		t.Errorf("reading where %v: %d items, %v, want %d", f, len(got), err, len(hits))
	}
}

// checkItems writes items twice, changes some, and reads all back.
func checkItems(t *testing.T, e engine.Engine) {
	ctx, b := t.Context(), Items(300, 64, 5)
	if _, err := e.Prepare(ctx, engine.Space{Bits: 64, Fingerprint: Fingerprint}); err != nil {
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

// checkSpaces mixes models and lengths, which must be refused with both names.
func checkSpaces(t *testing.T, e engine.Engine) {
	ctx := t.Context()
	if _, err := e.Info(ctx); !errors.Is(err, engine.ErrNoTable) {
		t.Errorf("no table: %v", err)
	}
	first, err := e.Prepare(ctx, engine.Space{Bits: 64, Fingerprint: Fingerprint})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := e.Prepare(ctx, engine.Space{Bits: 64, Fingerprint: Fingerprint}); err != nil || again != first {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
	if _, err := e.Prepare(ctx, engine.Space{Bits: 64}); err != nil {
		t.Errorf("codes of a model that is not known: %v", err)
	}
	other := hamming.Fingerprint{9}
	_, err = e.Prepare(ctx, engine.Space{Bits: 64, Fingerprint: other})
	if err == nil || !strings.Contains(err.Error(), other.String()) ||
		!strings.Contains(err.Error(), Fingerprint.String()) {
		t.Errorf("another model: %v", err)
	}
	if _, err = e.Prepare(ctx, engine.Space{Bits: 32, Fingerprint: Fingerprint}); err == nil {
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
