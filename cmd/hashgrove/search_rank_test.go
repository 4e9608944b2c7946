package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// weightsOf returns the weights of a query's bits, computed as docs/promises.md says.
func weightsOf(t *testing.T, m *model.Model, x []float64) []int {
	t.Helper()
	row := vectors.Matrix{Rows: 1, Cols: len(x), Data: make([]float32, len(x))}
	for j, v := range x {
		row.Data[j] = float32(v)
	}
	margins, err := m.Margins(context.Background(), row, 1)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, v := range margins.Data {
		sum += math.Abs(float64(v))
	}
	weights := make([]int, len(margins.Data))
	for b, v := range margins.Data {
		weights[b] = 16
		if sum > 0 {
			weights[b] = min(63, int(math.Floor(16*math.Abs(float64(v))/(sum/float64(len(weights)))+0.5)))
		}
	}
	return weights
}

// TestRankByMarginsIsTheDefinition compares search --rank margins with a plain computation.
func TestRankByMarginsIsTheDefinition(t *testing.T) {
	indexed(t)
	m, err := model.ReadFile("m.hgm")
	if err != nil {
		t.Fatal(err)
	}
	base, queries := tableItems(t, "items.csv"), tableItems(t, "new.csv")
	data := "new.csv --label category --id-column sku "
	for _, c := range []struct {
		flags     string
		k, radius int
		keep      func(item) bool
	}{
		{"-k 7", 7, 1000, func(item) bool { return true }},
		{"-k 7 --strategy tables", 7, 1000, func(item) bool { return true }},
		{"-k 1000", 1000, 1000, func(item) bool { return true }},
		{"--radius 2", 1000, 2, func(item) bool { return true }},
		{"--radius 3 -k 5 --where 'label = \"hats\"'", 5, 3, func(it item) bool { return it.label == "hats" }},
	} {
		got := searched(t, "items.hgi "+data+c.flags+" --rank margins")
		if got.Rank != "margins" {
			t.Errorf("the report says %q", got.Rank)
		}
		otherwise := 0
		for i, r := range got.Results {
			weights := weightsOf(t, m, queries[i].vector)
			type ranked struct {
				id              string
				bits, distances int
			}
			var want []ranked
			for _, it := range base {
				x := ranked{id: it.id}
				for b, w := range weights {
					if (it.code[b/8]^queries[i].code[b/8])>>(7-b%8)&1 != 0 {
						x.bits++
						x.distances += w
					}
				}
				if c.keep(it) && x.distances <= 16*c.radius {
					want = append(want, x)
				}
			}
			slices.SortFunc(want, func(a, b ranked) int {
				return cmp.Or(cmp.Compare(a.distances, b.distances), strings.Compare(a.id, b.id))
			})
			want = want[:min(c.k, len(want))]
			if len(r.Hits) != len(want) {
				t.Fatalf("%s, query %d: %d hits, want %d", c.flags, i, len(r.Hits), len(want))
			}
			for j, h := range r.Hits {
				if h.MarginDistance == nil || h.ID != want[j].id || h.Distance != want[j].bits || *h.MarginDistance != want[j].distances {
					t.Fatalf("%s, query %d: hit %d is %+v, want %+v", c.flags, i, j, h, want[j])
				}
				if j > 0 && h.Distance < r.Hits[j-1].Distance {
					otherwise++
				}
			}
		}
		if otherwise == 0 {
			t.Errorf("%s: margins changed nothing", c.flags)
		}
	}
}

// TestRankIsShown looks at the table, the page and the explanation of a search by margins.
func TestRankIsShown(t *testing.T) {
	indexed(t)
	line := "items.hgi new.csv --label category --id-column sku --row 0 -k 4 --rank margins"
	out := succeed(t, shellWords("search "+line+" --explain --report page.html")...)
	r := searched(t, line+" --explain").Results[0]
	last := r.Hits[len(r.Hits)-1]
	var weigh []int
	for _, bit := range r.Why.Differ {
		weigh = append(weigh, r.Why.Bits[bit].Weight)
	}
	weights := strings.Trim(fmt.Sprint(weigh), "[]") // "" where the first hit has the code of the query
	for _, want := range []string{"margin_distance", weights, fmt.Sprint(*last.MarginDistance)} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	told, ties := false, []string{fmt.Sprint(r.Tied), fmt.Sprint(*last.MarginDistance), fmt.Sprint(r.TiedHits)}
	for text := range strings.Lines(out) {
		told = told || slices.Equal(numbers(text), ties)
	}
	if tied := r.Tied > r.TiedHits; told != tied {
		t.Errorf("%d items tie, and %d of them are hits:\n%s", r.Tied, r.TiedHits, out)
	}
	if page := string(read(t, "page.html")); !strings.Contains(page, "sixteenths") {
		t.Error("the page does not say what the distances are")
	}
	sum := 0
	for _, w := range weigh {
		sum += w
	}
	if len(weigh) != len(r.Why.Differ) || sum != *r.Hits[0].MarginDistance {
		t.Errorf("weights %v of %v for a margin distance of %d", weigh, r.Why.Differ, *r.Hits[0].MarginDistance)
	}
	csv := succeed(t, shellWords("search "+line+" --to csv --fields id,margin_distance")...)
	if want := fmt.Sprintf("id,margin_distance\n%s,%d\n", r.Hits[0].ID, *r.Hits[0].MarginDistance); !strings.HasPrefix(csv, want) {
		t.Errorf("%q, want %q first", csv, want)
	}
}

// TestRerankAfterMargins: the vectors decide, whichever codes chose the shortlist, when all items are on it.
func TestRerankAfterMargins(t *testing.T) {
	indexed(t)
	line := "items.hgi new.csv --label category --id-column sku -k 6 --rerank items.csv --rerank-id-column sku"
	plain, sure := searched(t, line), searched(t, line+" --rank margins")
	for i, r := range plain.Results {
		for j, h := range r.Hits {
			if other := sure.Results[i].Hits[j]; other.ID != h.ID || *other.Score != *h.Score || other.MarginDistance == nil {
				t.Fatalf("query %d: hit %d is %+v and %+v", i, j, h, other)
			}
		}
	}
	short := searched(t, line+" --rank margins --shortlist 10")
	for i, r := range short.Results {
		within := searched(t, fmt.Sprintf("items.hgi new.csv --label category --id-column sku --row %d -k 10 --rank margins", i)).Results[0].Hits
		last := *within[len(within)-1].MarginDistance
		for _, h := range r.Hits {
			if *h.MarginDistance > last {
				t.Fatalf("query %d: a hit at %d, and the shortlist ends at %d", i, *h.MarginDistance, last)
			}
		}
		if i == 5 {
			break
		}
	}
}
