package worker

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// TestCodesOfAProgram compares the nearest codes and the counts with the double loop, with many ties.
func TestCodesOfAProgram(t *testing.T) {
	p := start(t)
	rng := rand.New(rand.NewPCG(5, 6))
	few := func(n, words int) Array {
		var list []int64
		for range n * words {
			list = append(list, -int64(rng.Uint64()>>58)) // with the highest bit
		}
		return arrayOf(list, n, words)
	}
	classes := func(n int) Array {
		list := make([]int32, n)
		for i := range list {
			list[i] = rng.Int32N(3)
		}
		return arrayOf(list)
	}
	for _, c := range []struct{ queries, base, words, k int }{
		{7, 40_000, 1, 30}, {3, 50, 5, 8}, {2, 4, 2, 9}, {2, 0, 1, 3}, {0, 5, 1, 3}, {1, 5, 1, 0},
	} {
		queries, base, asked, class := few(c.queries, c.words), few(c.base, c.words), classes(c.queries), classes(c.base)
		found := p.must(nil, "nearest", map[string]int{"k": c.k}, queries, base)
		sums := p.must(nil, "counts", nil, queries, base, asked, class)[0]
		k := min(c.k, c.base)
		for q := range c.queries {
			distance := make([]int, c.base)
			want := make([]int64, 2*(64*c.words+1))
			for i := range distance {
				for w := range c.words {
					distance[i] += hamming.Distance(
						[]uint64{valuesOf[uint64](&queries)[q*c.words+w]}, []uint64{valuesOf[uint64](&base)[i*c.words+w]})
				}
				want[2*distance[i]]++
				if valuesOf[int32](&class)[i] == valuesOf[int32](&asked)[q] {
					want[2*distance[i]+1]++
				}
			}
			if got := valuesOf[int64](&sums)[q*len(want):][:len(want)]; !slices.Equal(got, want) {
				t.Errorf("%+v: query %d has counts %v, want %v", c, q, got, want)
			}
			order := make([]int32, c.base)
			for i := range order {
				order[i] = int32(i)
			}
			slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(distance[a], distance[b]) })
			if got := valuesOf[int32](&found[0])[q*k:][:k]; !slices.Equal(got, order[:k]) {
				t.Errorf("%+v: query %d finds %v, want %v", c, q, got, order[:k])
			}
			for j, d := range valuesOf[int32](&found[1])[q*k:][:k] {
				if int(d) != distance[order[j]] {
					t.Errorf("%+v: query %d, hit %d: distance %d, want %d", c, q, j, d, distance[order[j]])
				}
			}
		}
	}
	for _, bad := range [][]Array{
		{few(1, 1)}, {few(1, 1), few(1, 2)}, {few(1, 65), few(1, 65)}, {few(1, 1), arrayOf(make([]byte, 8), 1, 8)},
	} {
		if r := p.ask(nil, "nearest", map[string]int{"k": 1}, bad...); r.Error == nil || r.Error.Code != "bad-frame" {
			t.Errorf("%d arrays: %+v", len(bad), r.Error)
		}
	}
	if r := p.ask(nil, "nearest", map[string]int{"k": -1}, few(1, 1), few(1, 1)); r.Error == nil {
		t.Error("-1 nearest codes")
	}
	if r := p.ask(nil, "counts", nil, few(1, 1), few(2, 1), classes(1), classes(1)); r.Error == nil || r.Error.Code != "bad-frame" {
		t.Errorf("two codes and one class: %+v", r.Error)
	}
}
