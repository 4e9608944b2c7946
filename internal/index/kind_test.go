package index

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

// smallIndex returns an index of a few items with attributes of every kind.
func smallIndex(t *testing.T, ids ...string) *Index {
	t.Helper()
	x := New(8, hamming.Fingerprint{}, Config{})
	b := NewBatch(8)
	for i, id := range ids {
		b.Append(Item{ID: Text(id), Code: []uint64{uint64(i) << 56}, Attributes: map[string]Value{
			"price": Number(float64(i)), "name": String("item " + id), "added": String("2024-01-31"), "in_stock": String("true"),
		}})
	}
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	return x
}

// lacks returns the first fact that an error does not name, or "".
func lacks(err error, facts []string) string {
	for _, fact := range facts {
		if !strings.Contains(err.Error(), fact) {
			return fact
		}
	}
	return ""
}

func TestFiltersThatCannotMatchAreRefused(t *testing.T) {
	known := []Attribute{{"added", DateKind}, {"in_stock", BooleanKind}, {"name", TextKind}, {"price", NumberKind}}
	for filter, c := range map[string]struct {
		name  string
		code  message.Code // "" if no item has the name
		facts string
	}{
		`prce > 100`:                      {"prce", "", ""},
		`not has prce`:                    {"prce", "", ""},
		`price < "10"`:                    {"price", "text-for-number", `number "10" text`},
		`added >= 2024`:                   {"added", "not-a-date", `date 2024 number "2024-01-31"`},
		`added >= "31.1.2024"`:            {"added", "not-a-date", `date "31.1.2024" text "2024-01-31"`},
		`in_stock = 1`:                    {"in_stock", "not-a-boolean", "true false 1 number"},
		`in_stock = "yes"`:                {"in_stock", "not-a-boolean", `true false "yes" text`},
		`price starts with "1"`:           {"price", "prefix-of-number", "number text"},
		`label = "a"`:                     {"label", "", ""},
		`has name or price in (1, "two")`: {"price", "text-for-number", `number "two" text`},
		`price between "1" and "2"`:       {"price", "text-for-number", `number "1" text`},
		`id > "k"`:                        {"id", "text-for-number", `integers 1 "k"`},
	} {
		x := smallIndex(t, "1", "2", "3")
		f, err := Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		_, searched := x.Snapshot().one([]uint64{0}, 3, math.MaxInt, Options{Filter: f})
		_, matched := x.Snapshot().Matches(f)
		n, deleted := x.DeleteWhere(ctx, f)
		for _, err := range []error{searched, matched, deleted} {
			refusal, ok := errors.AsType[*FilterError](err)
			if !ok || refusal.Name != c.name || c.name != "id" && !slices.Equal(refusal.Known, known) {
				t.Fatalf("%s: %v, want %+v", filter, err, c)
			}
			facts := append(strings.Fields(c.facts), c.name)
			if c.code == "" && c.name != "label" { // "category" is called "label", whatever its column was
				facts = append(facts, "label (the class)", "tag")
			}
			for _, a := range refusal.Known {
				facts = append(facts, a.String())
			}
			if d := lacks(err, facts); d != "" || (refusal.reason != nil) != (c.code != "") {
				t.Errorf("%s: %v lacks %q, want %+v", filter, err, d, c)
			}
			if d := message.Differs(err, c.code); c.code != "" && d != "" {
				t.Errorf("%s: %s", filter, d)
			}
		}
		if n != 0 || x.Snapshot().Len() != 3 {
			t.Errorf("%s: %d items were deleted", filter, n)
		}
		if err := New(8, hamming.Fingerprint{}, Config{}).Snapshot().CheckFilter(f); err != nil {
			t.Errorf("an index without items: %s: %v", filter, err)
		}
	}
}

// TestFiltersOfLabels: filters may name any label if items have labels, and none if no item has one.
func TestFiltersOfLabels(t *testing.T) {
	x := New(8, hamming.Fingerprint{}, Config{})
	b := NewBatch(8)
	b.Append(Item{ID: Int(1), Code: []uint64{0}, Label: "hats"})
	b.Append(Item{ID: Int(2), Code: []uint64{0}})
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	if hits, err := x.Snapshot().Matches(Label("boots")); err != nil || len(hits) != 0 {
		t.Error(hits, err)
	}
	if _, err := x.Delete(ctx, Int(1)); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]Filter{"tag": Tag("sale"), "label": Label("hats")} {
		_, err := x.Snapshot().Matches(f)
		if refusal, ok := errors.AsType[*FilterError](err); !ok || refusal.Name != name || refusal.Known != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFiltersOfIDs(t *testing.T) {
	for filter, want := range map[string]int{
		`id < 10`:                   -1, // all ids are texts
		`id > "10"`:                 -1, // which is the number 10
		`id < "010"`:                2,
		`id = 7`:                    0,
		`id = "007"`:                1,
		`id = 18446744073709551615`: 1,
		`id starts with "00"`:       2,
	} {
		f, err := Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		hits, err := smallIndex(t, "007", "008", "010", "18446744073709551615").Snapshot().Matches(f)
		if _, refused := errors.AsType[*FilterError](err); refused != (want < 0) || !refused && (err != nil || len(hits) != want) {
			t.Errorf("%s: %d items, %v, want %d", filter, len(hits), err, want)
		}
	}
}

// TestKindsFollowWrites: deleted attributes are forgotten, and values of another kind allow other comparisons.
func TestKindsFollowWrites(t *testing.T) {
	x := smallIndex(t, "1", "2", "3")
	more := &Batch{IDs: []ID{Int(2)}, Attributes: []map[string]Value{{"price": String("free"), "size": Number(4), "in_stock": String("perhaps")}}}
	if n, err := x.Update(ctx, more, false); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	known := func(want string) {
		t.Helper()
		var names []string
		for _, a := range x.Snapshot().Attributes() {
			names = append(names, a.String())
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	known("added (date), in_stock (text), name (text), price (number or text), size (number)")
	for _, filter := range []string{`price = "free"`, `price < 3`, `in_stock = "yes"`, `size = 4`} {
		f, _ := Parse(filter)
		if err := x.Snapshot().CheckFilter(f); err != nil {
			t.Errorf("%s: %v", filter, err)
		}
	}
	if _, err := x.Delete(ctx, Int(2)); err != nil {
		t.Fatal(err)
	}
	known("added (date), in_stock (true or false), name (text), price (number)")
}

func TestDates(t *testing.T) {
	for text, want := range map[string]string{
		"2024-01-31":                      "2024-01-31T00:00:00Z",
		"2024-02-29T09:30":                "2024-02-29T09:30:00Z",
		"2024-01-31 09:30:15":             "2024-01-31T09:30:15Z",
		"2024-01-31t09:30:15.25z":         "2024-01-31T09:30:15.25Z",
		"2024-01-31T09:30:15+02:00":       "2024-01-31T07:30:15Z",
		"2024-01-31T09:30:15.1234567891Z": "2024-01-31T09:30:15.123456789Z",
		"2024-01-31T23:30-0130":           "2024-02-01T01:00:00Z",
		"0000-01-01":                      "0000-01-01T00:00:00Z",
		"2023-02-29":                      "",
		"2024-13-01":                      "",
		"2024-1-31":                       "",
		"2024-01-31T9:30":                 "",
		"2024-01-31T09:30:15.":            "",
		"2024-01-31T09:30+02:0":           "",
		"2024-01-31T09:30 UTC":            "",
		"2024-01-31T09:3":                 "",
		"2024-01-31T09:30+24":             "",
		"2024-01-31T09:30+01:60":          "",
		"2024-01-31T09:30:15,25":          "",
		"2024-01-31T09:30-":               "",
		"2024-01-31T09:ſ":                 "",
		"":                                "",
	} {
		m := parseDate(text)
		if got := time.Unix(m.seconds, int64(m.nanos)).UTC().Format(time.RFC3339Nano); m == noMoment && want != "" || m != noMoment && got != want {
			t.Errorf("%q: %v, %s, want %s", text, m, got, want)
		}
	}
}
