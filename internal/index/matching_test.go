package index_test

import (
	"slices"
	"testing"

	"hashgrove/internal/index"
)

// TestMatching filters rows of a batch, even if no row has the name and a search would refuse the filter.
func TestMatching(t *testing.T) {
	b := index.NewBatch(8)
	for i, it := range []index.Item{
		{ID: index.Text("z"), Label: "boots", Tags: []string{"a", "b"}},
		{ID: index.Int(3), Attributes: map[string]index.Value{"price": index.Number(3)}},
		{ID: index.Text("a"), Label: "hats", Attributes: map[string]index.Value{"day": index.String("2024-01-31")}},
		{ID: index.Int(-1), Label: "boots", Attributes: map[string]index.Value{"price": index.String("3")}},
	} {
		it.Code = []uint64{uint64(i) << 56}
		b.Append(it)
	}
	for text, want := range map[string][]int{
		"": {0, 1, 2, 3}, `label = "boots"`: {0, 3}, `not label = "boots"`: {1, 2}, `price = 3`: {1}, `price != 3`: {3},
		`tag > "a"`: {0}, `id < 5`: {1, 3}, `id >= "a"`: {0, 2}, `day < "2024-02-01T00:00:00Z"`: {2},
		`nothing < 3`: {}, `not has nothing`: {0, 1, 2, 3}, `day = 3`: {}, `nothing = 1 or has day`: {2},
	} {
		f, err := index.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := b.Matching(f); err != nil || !slices.Equal(rows, want) {
			t.Errorf("%s: %v, %v", text, rows, err)
		}
	}
	if rows, err := index.NewBatch(8).Matching(index.Label("boots")); err != nil || len(rows) != 0 {
		t.Errorf("%v, %v of an empty batch", rows, err)
	}
}
