package index

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// naiveFacet counts item by item.
func naiveFacet(t *testing.T, s *Snapshot, name string, f Filter, top, parts int) Facet {
	t.Helper()
	matches, err := s.Matches(f)
	if err != nil {
		t.Fatal(err)
	}
	a := Facet{Name: name}
	counts := map[string]int{}
	var numbers []float64
	for _, h := range matches {
		it := s.Item(h)
		var texts []string
		switch name {
		case LabelName:
			if it.Label != "" {
				texts = []string{it.Label}
			}
		case TagName:
			texts = it.Tags
		default:
			if v, ok := it.Attributes[name]; ok {
				if text, ok := v.Text(); ok {
					texts = []string{text}
				} else if x, ok := v.Number(); ok {
					numbers = append(numbers, x)
					a.Items++
				}
			}
		}
		if len(texts) > 0 {
			a.Items++
		}
		for _, text := range texts {
			counts[text]++
		}
	}
	for text, n := range counts {
		a.Texts = append(a.Texts, Count{text, n})
	}
	slices.SortFunc(a.Texts, func(x, y Count) int {
		return cmp.Or(cmp.Compare(y.Items, x.Items), cmp.Compare(x.Text, y.Text))
	})
	a.Distinct, a.Numbers = len(counts), len(numbers)
	a.Texts = a.Texts[:min(top, len(a.Texts))]
	if len(numbers) > 0 {
		a.Min, a.Max = slices.Min(numbers), slices.Max(numbers)
		a.Histogram = make([]int, parts)
		for _, x := range numbers {
			p := 0
			if a.Max > a.Min {
				p = min(int((x-a.Min)/(a.Max-a.Min)*float64(parts)), parts-1)
			}
			a.Histogram[p]++
		}
	}
	return a
}

func TestFacetsCountItems(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	x := New(64, [32]byte{}, Config{})
	for round := range 4 {
		b := NewBatch(64)
		for i := range 300 {
			it := Item{ID: Int(int64(round*300 + i)), Code: []uint64{r.Uint64()}, Attributes: map[string]Value{}}
			if r.IntN(5) > 0 {
				it.Label = fmt.Sprint("class", r.IntN(4))
			}
			for range r.IntN(3) {
				it.Tags = append(it.Tags, fmt.Sprint("tag", r.IntN(6)))
			}
			slices.Sort(it.Tags)
			it.Tags = slices.Compact(it.Tags)
			switch r.IntN(4) {
			case 0:
				it.Attributes["price"] = Number(math.Round(r.Float64()*64) / 4)
			case 1:
				it.Attributes["price"] = String(fmt.Sprint("about ", r.IntN(9)))
			}
			b.Append(it)
		}
		if err := x.Add(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.DeleteWhere(ctx, Label("class2")); err != nil {
		t.Fatal(err)
	}
	s := x.Snapshot()
	for _, where := range []string{"", `label = "class1"`, `price < 9`, `tag in ("tag1", "tag2") and not label = "class0"`, `id < 5`} {
		f, err := Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{LabelName, TagName, "price"} {
			got, want := s.Facet(name, f, 5, 8), naiveFacet(t, s, name, f, 5, 8)
			if want.Kind = got.Kind; len(got.Texts) == 0 {
				got.Texts = want.Texts
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%q, %s:\ngot  %+v\nwant %+v", where, name, got, want)
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
