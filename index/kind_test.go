package index

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hashgrove/hamming"
)

// shelf is an index of a few items with attributes of every kind.
func shelf(t *testing.T, ids ...string) *Index {
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

func TestFiltersThatCannotMatchAreRefused(t *testing.T) {
	there := "; there are added (date), in_stock (true or false), name (text), price (number)"
	for filter, want := range map[string]string{
		`prce > 100`:                      `no item has an attribute prce` + there,
		`not has prce`:                    `no item has an attribute prce` + there,
		`price < "10"`:                    `price is a number in every item, and "10" is a text: numbers have no quotes` + there,
		`added >= 2024`:                   `added is a date in every item, and 2024 is a number: write a date such as "2024-01-31"` + there,
		`added >= "31.1.2024"`:            `added is a date in every item, and "31.1.2024" is a text: write a date such as "2024-01-31"` + there,
		`in_stock = 1`:                    `in_stock is true or false in every item, and 1 is a number` + there,
		`in_stock = "yes"`:                `in_stock is true or false in every item, and "yes" is a text` + there,
		`name = 7`:                        `name is a text in every item, and 7 is a number: texts are in quotes` + there,
		`price starts with "1"`:           `price is a number in every item, and only texts start with a text` + there,
		`label = "a"`:                     `no item has a label` + there,
		`not tag in ("sale", "old")`:      `no item has a tag` + there,
		`has name or price in (1, "two")`: `price is a number in every item, and "two" is a text: numbers have no quotes` + there,
		`price between "1" and "2"`:       `price is a number in every item, and "1" is a text: numbers have no quotes` + there,
		`id > "k"`:                        `the ids of the items are integers, such as 1, and have no order with the text "k"`,
	} {
		x := shelf(t, "1", "2", "3")
		f, err := Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		_, searched := x.Snapshot().Search(ctx, []uint64{0}, 3, Options{Filter: f})
		_, matched := x.Snapshot().Matches(f)
		n, deleted := x.DeleteWhere(ctx, f)
		for _, err := range []error{searched, matched, deleted} {
			refusal, ok := errors.AsType[*FilterError](err)
			if !ok || err.Error() != want || !strings.Contains(filter, refusal.Name) {
				t.Errorf("%s: %v, want %s", filter, err, want)
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

// TestFiltersOfLabels: any label may be asked for where there are some, and none where no item has one.
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
	if _, err := x.Snapshot().Matches(Tag("sale")); err == nil || err.Error() != "no item has a tag, nor an attribute" {
		t.Error(err)
	}
	if _, err := x.Delete(ctx, Int(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Snapshot().Matches(Label("hats")); err == nil || err.Error() != "no item has a label, nor an attribute" {
		t.Error(err)
	}
}

func TestFiltersOfIDs(t *testing.T) {
	for filter, want := range map[string]int{
		`id < 10`:                      -1, // all ids are texts
		`id > "10"`:                    -1, // which is the number 10
		`id between 1 and 9`:           -1,
		`id < "010"`:                   2,
		`id = 7`:                       0,
		`id = "007"`:                   1,
		`id = 18446744073709551615`:    1,
		`id in (18446744073709551615)`: 1,
		`id starts with "00"`:          2,
	} {
		f, err := Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		hits, err := shelf(t, "007", "008", "010", "18446744073709551615").Snapshot().Matches(f)
		if _, refused := errors.AsType[*FilterError](err); refused != (want < 0) || !refused && (err != nil || len(hits) != want) {
			t.Errorf("%s: %d items, %v, want %d", filter, len(hits), err, want)
		}
	}
}

// TestKindsFollowWrites: what was deleted is no longer known, and values of another kind make other comparisons possible.
func TestKindsFollowWrites(t *testing.T) {
	x := shelf(t, "1", "2", "3")
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
		"2024-01-31T23:30+05":             "2024-01-31T18:30:00Z",
		"0000-01-01":                      "0000-01-01T00:00:00Z",
		"2023-02-29":                      "",
		"2024-13-01":                      "",
		"2024-00-10":                      "",
		"2024-1-31":                       "",
		"2024-01-31x":                     "",
		"2024-01-31T":                     "",
		"2024-01-31T9:30":                 "",
		"2024-01-31T24:00":                "",
		"2024-01-31T09:30:":               "",
		"2024-01-31T09:30:15.":            "",
		"2024-01-31T09:30+2:00":           "",
		"2024-01-31T09:30+02:0":           "",
		"2024-01-31T09:30 UTC":            "",
		"20240131":                        "",
		"":                                "",
	} {
		m := parseDate(text)
		if got := time.Unix(m.seconds, int64(m.nanos)).UTC().Format(time.RFC3339Nano); m == noMoment && want != "" || m != noMoment && got != want {
			t.Errorf("%q: %v, %s, want %s", text, m, got, want)
		}
	}
}
