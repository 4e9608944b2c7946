package atlas

import (
	"cmp"
	"context"
	"math"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/par"
)

// neighbourCount is k, the number of nearest codes that each code is connected to.
const neighbourCount = 15

// graph connects codes to their neighbours in both directions: those of code i are at start[i] up to start[i+1].
type graph struct {
	start  []int32
	to     []int32
	weight []float32 // 0 to 1
}

// edge connects a code to a neighbour.
type edge struct {
	from, to int32
	weight   float32
}

// neighbourGraph finds the k nearest codes j of each code i and weighs them by
//
//	p_ij = exp(-(d_ij - d_i)/s_i),    sum over j of p_ij = log2 k,
//
// where d_i is the distance of the nearest one: how surely j is a neighbour of i, however sparse the region. One
// direction is enough, so the weight of an edge is
//
//	w_ij = p_ij + p_ji - p_ij p_ji.
func neighbourGraph(
	ctx context.Context, codes hamming.Codes, detail, threads int, report func(float64),
) (*graph, error) {
	n := codes.Len()
	k := min(neighbourCount, n-1)
	edges := make([]edge, 2*n*k)
	err := nearestCodes(ctx, codes, detail, threads, report, func(i int, near []neighbour) {
		p := memberships(near)
		for r, m := range near {
			e := edge{int32(i), m.code, p[r]}
			edges[2*(i*k+r)], edges[2*(i*k+r)+1] = e, edge{e.to, e.from, e.weight}
		}
	})
	if err != nil {
		return nil, err
	}
	return joined(n, edges), nil
}

// neighbour is a code near another one.
type neighbour struct {
	code     int32
	distance int // in bits, or with bits of detail in sixteenths of a bit
}

// nearestCodes calls f with the nearest codes of each of n distinct codes, on several goroutines.
func nearestCodes(
	ctx context.Context, codes hamming.Codes, detail, threads int, report func(float64), f func(i int, near []neighbour),
) error {
	const batch = 2048 // queries
	k := min(neighbourCount, codes.Len()-1)
	n, words, s := codes.Len(), codes.Words, index.FromCodes(codes).Detailed(detail)
	for lo := 0; lo < n; lo += batch {
		hi := min(lo+batch, n)
		queries := hamming.Codes{Bits: codes.Bits, Words: words, Data: codes.Data[lo*words : hi*words]}
		found, err := s.SearchBatch(ctx, queries, k+1, index.Options{Threads: threads})
		if err != nil {
			return err
		}
		err = par.For(ctx, threads, hi-lo, func(q int) {
			near := make([]neighbour, 0, k)
			for _, h := range found[q].Hits {
				distance := h.Distance
				if detail > 0 {
					distance = h.MarginDistance
				}
				if code, _ := h.ID.Integer(); int(code) != lo+q {
					near = append(near, neighbour{int32(code), distance})
				}
			}
			f(lo+q, near)
		})
		if err != nil {
			return err
		}
		report(float64(hi) / float64(n))
	}
	return nil
}

// memberships returns p for neighbours sorted by distance.
func memberships(near []neighbour) []float32 {
	p := make([]float32, len(near))
	if len(near) == 0 {
		return p
	}
	first, want := near[0].distance, math.Log2(float64(len(near))+1)
	sum := func(s float64) (total float64) {
		for r, m := range near {
			v := math.Exp(-float64(m.distance-first) / s)
			p[r] = float32(v)
			total += v
		}
		return total
	}
	// The sum grows with s, starting at the number of codes at the first distance. Distances are integers: below 1/16
	// nothing changes any more.
	low, high := 1.0/16, float64(1<<20)
	for range 40 {
		s := math.Sqrt(low * high)
		if sum(s) < want {
			low = s
		} else {
			high = s
		}
	}
	sum(high)
	return p
}

// joined makes a graph from edges, each of which is given in both directions. If two codes are neighbours of each
// other, their two edges are merged.
func joined(n int, edges []edge) *graph {
	g := &graph{start: make([]int32, n+1)}
	for _, e := range edges {
		g.start[e.from+1]++
	}
	for i := range n {
		g.start[i+1] += g.start[i]
	}
	sorted, next := make([]edge, len(edges)), slices.Clone(g.start[:n])
	for _, e := range edges {
		sorted[next[e.from]] = e
		next[e.from]++
	}
	g.to, g.weight = make([]int32, 0, len(edges)), make([]float32, 0, len(edges))
	for i := range n {
		list := sorted[g.start[i]:g.start[i+1]]
		slices.SortFunc(list, func(a, b edge) int { return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.weight, b.weight)) })
		g.start[i] = int32(len(g.to))
		for r, e := range list {
			if last := len(g.to) - 1; r > 0 && list[r-1].to == e.to {
				g.weight[last] += e.weight - float32(g.weight[last]*e.weight)
				continue
			}
			g.to, g.weight = append(g.to, e.to), append(g.weight, e.weight)
		}
	}
	g.start[n] = int32(len(g.to))
	return g
}
