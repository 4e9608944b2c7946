package index

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

func TestIntegersAreTheSameAsTexts(t *testing.T) {
	for _, s := range []string{"0", "17", "-5", "9223372036854775807", "-9223372036854775808"} {
		if _, ok := Text(s).Integer(); !ok || Text(s).String() != s {
			t.Errorf("%s is not an integer", s)
		}
	}
	for _, s := range []string{"017", "+5", "-0", "9223372036854775808", " 1", "1e3", "x", "0x1"} {
		if _, ok := Text(s).Integer(); ok || Text(s).String() != s {
			t.Errorf("%s is an integer", s)
		}
	}
	var ids []ID
	if err := json.Unmarshal([]byte(`[17, "17", "a", -3]`), &ids); err != nil || !slices.Equal(ids, []ID{Int(17), Int(17), Text("a"), Int(-3)}) {
		t.Errorf("%v, %v", ids, err)
	}
	for _, bad := range []string{`""`, `1.5`, `null`, `true`, `99999999999999999999`} {
		if err := json.Unmarshal([]byte(bad), new(ID)); err == nil {
			t.Errorf("%s is an id", bad)
		}
	}
	if _, err := ParseID(""); err == nil {
		t.Error("the empty text is an id")
	}
}

func TestIDTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, ids := range [][]ID{
		{},
		{Int(math.MinInt64), Int(math.MaxInt64)},
		{Int(5), Int(6), Int(7), Text("a"), Text("b")},
		{Int(-3), Int(8), Text("x")},
		{Text("only"), Text("texts")},
	} {
		table := idTable{room: len(ids)}
		for _, id := range ids {
			table.add(id)
		}
		table.clip()
		probe := append(slices.Clone(ids), Int(0), Int(6), Text("aa"), Text("zz"), Int(math.MaxInt64), Int(math.MinInt64))
		for range 20 {
			probe = append(probe, Int(int64(rng.Uint64())))
		}
		for _, id := range probe {
			want, there := slices.BinarySearchFunc(ids, id, ID.Compare)
			if got, ok := table.find(id); int(got) != want || ok != there {
				t.Errorf("%v in %v: %d %v, want %d %v", id, ids, got, ok, want, there)
			}
		}
		for i, id := range ids {
			if table.get(uint32(i)) != id {
				t.Errorf("id %d is %v, want %v", i, table.get(uint32(i)), id)
			}
		}
	}
}

func TestLargeIDsCompareExactly(t *testing.T) {
	x := New(8, hamming.Fingerprint{}, Config{})
	b := NewBatch(8)
	for _, n := range []int64{-7, 3, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<53 + 2, math.MaxInt64 - 1, math.MaxInt64} {
		b.Append(Item{ID: Int(n), Code: []uint64{0}})
	}
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string]int{
		"id = 9007199254740993":              1,
		"id <= 9007199254740993":             5,
		"id < 3.5":                           2,
		"id <= 2.5":                          1,
		"id > 3.5":                           6,
		"id >= 2.5":                          7,
		"id = 2.5":                           0,
		"id between -6.5 and 1e300":          7,
		"id > -1e300":                        8,
		"id > 9223372036854775806":           1,
		"id < 1e300":                         8,
		"id < 9007199254740991.5":            3,
		"id >= 9223372036854775807.0":        0,
		`id != "x"`:                          8,
		`id > "a"`:                           0,
		`id in (9007199254740992, 4, "zzz")`: 1,
	} {
		f, err := Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Snapshot().Count(f); got != want {
			t.Errorf("%s: %d items, want %d", filter, got, want)
		}
	}
}

func TestBadBatchesAreRefused(t *testing.T) {
	mine, other := hamming.Fingerprint{1}, hamming.Fingerprint{2}
	x := New(12, mine, Config{})
	long := strings.Repeat("x", MaxText+1)
	item := func(change func(*Item)) *Batch {
		it := Item{ID: Int(1), Code: []uint64{0}}
		change(&it)
		b := NewBatch(12)
		b.Append(Item{ID: Int(2), Code: []uint64{0}})
		b.Append(it)
		return b
	}
	with := func(name string, v float64) *Batch {
		return item(func(it *Item) { it.Attributes = map[string]Value{name: Number(v)} })
	}
	foreign := item(func(*Item) {})
	foreign.Fingerprint = other
	for want, b := range map[string]*Batch{ // code and what the message must name
		"stray-bits 1 12":                               item(func(it *Item) { it.Code[0] = 1 }),
		"long-label 1 65537 65536":                      item(func(it *Item) { it.Label = long }),
		"tag-length 1 0 65536":                          item(func(it *Item) { it.Tags = []string{""} }),
		`reserved-name 1 "label"`:                       with("label", 1),
		`not-a-number 1 "x" NaN`:                        with("x", math.NaN()),
		"long-id 1 65537":                               item(func(it *Item) { it.ID = ID{text: long} }),
		`duplicate-id 1 "2"`:                            item(func(it *Item) { it.ID = Int(2) }),
		"bits-mismatch 64 12":                           NewBatch(64),
		"other-model 0200000000000000 0100000000000000": foreign,
	} {
		facts := strings.Fields(want)
		if d := message.Differs(x.Add(ctx, b), message.Code(facts[0]), facts[1:]...); d != "" {
			t.Error(d)
		}
	}
	if x.Snapshot().Len() != 0 {
		t.Error("a refused batch left something behind")
	}
	s := x.Snapshot()
	for _, o := range []Options{{Prefix: 13}, {Prefix: -1}, {Margins: make([]float32, 11)}} {
		if _, err := s.one([]uint64{0}, 1, math.MaxInt, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	for _, q := range [][]uint64{{}, {1}, {0, 0}} {
		if _, err := s.one(q, 1, math.MaxInt, Options{}); err == nil {
			t.Errorf("query %v was taken", q)
		}
	}
}

// TestCollectCountsCodes: codes left unmerged are counted on demand, and codes that do not fit are rejected.
func TestCollectCountsCodes(t *testing.T) {
	s, err := Collect(4, 12, hamming.Fingerprint{9}, Filter{}, func(take func(Part) error) error {
		return errors.Join(
			take(Part{IDs: []ID{Int(0)}, Codes: []byte{7, 0}}),
			take(Part{IDs: []ID{Int(1), Int(3), Text("x")}, Codes: []byte{9, 0, 7, 0, 7, 0}}),
		)
	})
	if err != nil || s.Len() != 4 || s.Codes() != 2 || s.Fingerprint() != (hamming.Fingerprint{9}) {
		t.Errorf("%d items, %d codes, %v", s.Len(), s.Codes(), err)
	}
	for _, code := range [][]byte{{1}, {0, 1}, {0, 0, 0}} {
		_, err := Collect(1, 12, hamming.Fingerprint{}, Filter{}, func(take func(Part) error) error {
			return take(Part{IDs: []ID{Int(1)}, Codes: code})
		})
		if err == nil {
			t.Errorf("code %v was taken", code)
		}
	}
}

// FuzzItemJSON: any JSON is an error, or an item that survives writing and reading.
func FuzzItemJSON(f *testing.F) {
	for _, text := range []string{
		`{"id":17,"label":"boots","tags":["a","b"],"attributes":{"price":3.5,"maker":"Oak"}}`, `{"id":"17"}`, `{"id":"x/y"}`,
		`{"id":-9223372036854775808,"attributes":{"a":1e308}}`, `{"id":"","attributes":{"a":null}}`, `{"id":1.5}`, `{"id":[]}`,
		`{"id":9223372036854775808,"attributes":{"x":true}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var it, again Item
		if json.Unmarshal(b, &it) != nil {
			return
		}
		text, err := json.Marshal(it)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", b, err)
		}
		if err := json.Unmarshal(text, &again); err != nil || again.ID != it.ID || !reflect.DeepEqual(again.Attributes, it.Attributes) &&
			len(again.Attributes)+len(it.Attributes) > 0 {
			t.Fatalf("%q was written as %s: %v", b, text, err)
		}
	})
}
