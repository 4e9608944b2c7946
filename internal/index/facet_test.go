package index

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

// TestFacetsCountItems in several segments, some of whose items are deleted.
func TestFacetsCountItems(t *testing.T) {
	x := New(64, [32]byte{}, Config{})
	for round := range int64(4) {
		b := NewBatch(64)
		for i := range int64(300) {
			it := Item{ID: Int(300*round + i), Code: []uint64{uint64(i)}, Label: []string{"a", "b", "gone"}[i%3]}
			it.Attributes = map[string]Value{"price": Number(float64(i))}
			if i%3 == 1 {
				it.Tags, it.Attributes = []string{"new", "sale"}, nil
			}
			if i == 99 {
				it.Attributes["price"] = String("on request")
			}
			b.Append(it)
		}
		if err := x.Add(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.DeleteWhere(ctx, Label("gone")); err != nil {
		t.Fatal(err)
	}
	s := x.Snapshot()
	for where, want := range map[string][]Facet{
		"": {
			{Name: LabelName, Kind: TextKind, Items: 800, Texts: []Count{{"a", 400}}, Distinct: 2},
			{Name: TagName, Kind: TextKind, Items: 400, Texts: []Count{{"new", 400}}, Distinct: 2},
			{Name: "price", Kind: NumberKind | TextKind, Items: 400, Texts: []Count{{"on request", 4}}, Distinct: 1,
				Max: 297, Numbers: 396, Histogram: []int{196, 200}},
		},
		`price >= 150 or label = "b"`: {
			{Name: LabelName, Kind: TextKind, Items: 600, Texts: []Count{{"b", 400}}, Distinct: 2},
			{Name: TagName, Kind: TextKind, Items: 400, Texts: []Count{{"new", 400}}, Distinct: 2},
			{Name: "price", Kind: NumberKind | TextKind, Items: 200, Texts: nil, Distinct: 0,
				Min: 150, Max: 297, Numbers: 200, Histogram: []int{100, 100}},
		},
	} {
		f, err := Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range want {
			if got := s.Facet(want.Name, f, 1, 2); !reflect.DeepEqual(got, want) {
				t.Errorf("%q, %s:\ngot  %+v\nwant %+v", where, want.Name, got, want)
			}
		}
	}
	if a := s.Facet("nothing", Filter{}, 5, 8); a.Items != 0 || a.Kind != 0 || a.Texts != nil || a.Histogram != nil {
		t.Errorf("of a name that no item has: %+v", a)
	}
	wide := New(64, [32]byte{}, Config{})
	b := NewBatch(64)
	for i, v := range []float64{-math.MaxFloat64, 0, math.MaxFloat64} {
		b.Append(Item{ID: Int(int64(i)), Code: []uint64{1}, Attributes: map[string]Value{"x": Number(v)}})
	}
	if err := wide.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	if h := wide.Snapshot().Facet("x", Filter{}, 1, 3).Histogram; !slices.Equal(h, []int{1, 1, 1}) {
		t.Errorf("numbers far apart: %v", h)
	}
}

// TestFacetNamesAMomentInOneWay: if several texts name the first or last moment, the facet always names the same one.
func TestFacetNamesAMomentInOneWay(t *testing.T) {
	x := New(64, [32]byte{}, Config{})
	b := NewBatch(64)
	for i, v := range []string{"2024-01-06T02:00:00+02:00", "2024-01-06T00:00Z", "2024-01-06", "2024-01-05T24:00", "soon", "2023-12-31T23:00:00Z"} {
		b.Append(Item{ID: Int(int64(i)), Code: []uint64{1}, Attributes: map[string]Value{"day": String(v)}})
	}
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if a := x.Snapshot().Facet("day", Filter{}, 1, 3); a.First != "2023-12-31T23:00:00Z" || a.Last != "2024-01-06" {
			t.Fatalf("dates from %q to %q", a.First, a.Last)
		}
	}
}
