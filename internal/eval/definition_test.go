package eval

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"hashgrove/internal/hamming"
)

// This file holds the definitions: what each number means, written without thought of speed.

// problem is a small retrieval task: distance and mark of every base item for every query.
type problem struct {
	distance [][]int
	mark     [][]uint8
	unit     int // the distance of a radius of 1
}

func newProblem(queries, base hamming.Codes, truth Truth) problem {
	return problemOf(queries, base, truth, func(q, i int) int { return hamming.Distance(queries.Row(q), base.Row(i)) })
}

// problemOf returns the task with distances of any kind.
func problemOf(queries, base hamming.Codes, truth Truth, between func(q, i int) int) problem {
	p := problem{unit: 1}
	for q := range queries.Len() {
		distance, mark := make([]int, base.Len()), make([]uint8, base.Len())
		for i := range distance {
			distance[i] = between(q, i)
		}
		truth.Mark(q, mark)
		p.distance, p.mark = append(p.distance, distance), append(p.mark, mark)
	}
	return p
}

// stable returns the ranking of query q with ties in base order.
func (p problem) stable(q int) []int {
	var order []int
	for i, m := range p.mark[q] {
		if m != Ignored {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return p.distance[q][order[a]] < p.distance[q][order[b]] })
	return order
}

// rankings returns all orders of the base that query q allows.
func (p problem) rankings(q int) [][]int {
	var all [][]int
	var extend func(done, rest []int)
	extend = func(done, rest []int) {
		if len(rest) == 0 {
			all = append(all, slices.Clone(done))
			return
		}
		nearest := math.MaxInt
		for _, i := range rest {
			nearest = min(nearest, p.distance[q][i])
		}
		for at, i := range rest {
			if p.distance[q][i] == nearest {
				extend(append(done, i), slices.Delete(slices.Clone(rest), at, at+1))
			}
		}
	}
	extend(nil, p.stable(q))
	return all
}

func (p problem) relevant(q int) int {
	n := 0
	for _, m := range p.mark[q] {
		if m == Relevant {
			n++
		}
	}
	return n
}

// hitsIn returns the number of relevant items among the first k of a ranking.
func (p problem) hitsIn(q int, order []int, k int) int {
	n := 0
	for _, i := range order[:min(k, len(order))] {
		if p.mark[q][i] == Relevant {
			n++
		}
	}
	return n
}

// sumOfPrecisions returns the sum of the precisions at the relevant items of a ranking.
func (p problem) sumOfPrecisions(q int, order []int) float64 {
	sum := 0.0
	for at, i := range order {
		if p.mark[q][i] == Relevant {
			sum += float64(p.hitsIn(q, order, at+1)) / float64(at+1)
		}
	}
	return sum
}

// report computes a Report without warnings, counts of codes and the table by class.
func (p problem) report(k []int, cut, curveTo, bits int) *Report {
	queries := len(p.mark)
	base := len(p.mark[0])
	r := &Report{Queries: queries, Base: base, Bits: bits, Cut: cut, Precision: map[int]float64{}}
	relevantAll := 0
	for q := range queries {
		rel := p.relevant(q)
		relevantAll += rel
		list := p.stable(q)
		list = list[:min(cut, len(list))]
		r.MAP10000 += p.sumOfPrecisions(q, list) / float64(max(1, p.hitsIn(q, list, cut))) / float64(queries)
		orders := p.rankings(q)
		for _, n := range k {
			for _, order := range orders {
				r.Precision[n] += float64(p.hitsIn(q, order, n)) / float64(n) / float64(len(orders)) / float64(queries)
			}
		}
		if rel == 0 {
			continue
		}
		r.Judged++
		mean, low, high := 0.0, math.Inf(1), 0.0
		for _, order := range orders {
			ap := p.sumOfPrecisions(q, order) / float64(rel)
			mean += ap / float64(len(orders))
			low, high = min(low, ap), max(high, ap)
		}
		r.MAP, r.MAPLow, r.MAPHigh = r.MAP+mean, r.MAPLow+low, r.MAPHigh+high
		r.Prior += float64(rel) / float64(len(p.stable(q)))
		reach := min(100, rel)
		for _, order := range orders {
			r.ReachablePrecision += float64(p.hitsIn(q, order, reach)) / float64(reach*len(orders))
		}
	}
	judged := float64(max(1, r.Judged))
	r.MAP, r.MAPLow, r.MAPHigh, r.Prior = r.MAP/judged, r.MAPLow/judged, r.MAPHigh/judged, r.Prior/judged
	r.ReachablePrecision /= judged

	for n := 1; n <= curveTo; n++ {
		precision := 0.0
		for q := range queries {
			orders := p.rankings(q)
			for _, order := range orders {
				precision += float64(p.hitsIn(q, order, n)) / float64(n*queries*len(orders))
			}
		}
		r.PrecisionCurve = append(r.PrecisionCurve, precision)
	}

	within := func(q, radius int) (items, relevant int) {
		for _, i := range p.stable(q) {
			if p.distance[q][i] <= radius*p.unit {
				items++
				relevant += int(p.mark[q][i])
			}
		}
		return
	}
	seen := 0
	for radius := range 4*bits + 1 {
		items, relevant := 0, 0
		for q := range queries {
			n, m := within(q, radius)
			items, relevant = items+n, relevant+m
		}
		if items > seen {
			r.PRCurve = append(r.PRCurve, PRPoint{radius, float64(relevant) / float64(max(1, relevantAll)), float64(relevant) / float64(items)})
		}
		seen = items
	}
	r.PRArea = trapezoids(r.PRCurve)

	var places []PRPoint
	for n := 1; n <= min(cut, base); n++ {
		pt := PRPoint{Radius: n}
		for q := range queries {
			hits := float64(p.hitsIn(q, p.stable(q), n))
			pt.Precision += hits / float64(n) / float64(queries)
			if p.relevant(q) > 0 {
				pt.Recall += hits / float64(p.relevant(q)) / judged
			}
		}
		places = append(places, pt)
	}
	r.PRArea10000 = trapezoids(places)
	return r
}

// trapezoids returns the area under the curve, drawn point by point from recall 0.
func trapezoids(curve []PRPoint) float64 {
	if len(curve) == 0 {
		return 0
	}
	curve = slices.Insert(slices.Clone(curve), 0, PRPoint{0, 0, curve[0].Precision})
	sum := 0.0
	for i := 1; i < len(curve); i++ {
		sum += (curve[i].Recall - curve[i-1].Recall) * (curve[i].Precision + curve[i-1].Precision) / 2
	}
	return sum
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// equalNumbers compares what the definition of a report covers.
func equalNumbers(t *testing.T, name string, got, want *Report) {
	t.Helper()
	check := func(what string, g, w float64) {
		t.Helper()
		if !near(g, w) {
			t.Errorf("%s: %s is %.12f, by definition %.12f", name, what, g, w)
		}
	}
	check("queries", float64(got.Queries), float64(want.Queries))
	check("judged", float64(got.Judged), float64(want.Judged))
	check("base", float64(got.Base), float64(want.Base))
	check("bits", float64(got.Bits), float64(want.Bits))
	check("map", got.MAP, want.MAP)
	check("map_low", got.MAPLow, want.MAPLow)
	check("map_high", got.MAPHigh, want.MAPHigh)
	check("prior", got.Prior, want.Prior)
	check("reachable_precision", got.ReachablePrecision, want.ReachablePrecision)
	check("map_10000", got.MAP10000, want.MAP10000)
	check("pr_area", got.PRArea, want.PRArea)
	check("pr_area_10000", got.PRArea10000, want.PRArea10000)
	check("ranks", float64(len(got.Precision)), float64(len(want.Precision)))
	for k, w := range want.Precision {
		check("precision", got.Precision[k], w)
	}
	check("points", float64(len(got.PrecisionCurve)), float64(len(want.PrecisionCurve)))
	for i, w := range want.PrecisionCurve {
		check("precision curve", got.PrecisionCurve[i], w)
	}
	check("pr points", float64(len(got.PRCurve)), float64(len(want.PRCurve)))
	for i, w := range want.PRCurve {
		check("radius", float64(got.PRCurve[i].Radius), float64(w.Radius))
		check("pr recall", got.PRCurve[i].Recall, w.Recall)
		check("pr precision", got.PRCurve[i].Precision, w.Precision)
	}
}

// randomCodes draws codes in which only the last bits vary, so that few of them make many ties.
func randomCodes(rng *rand.Rand, n, bits, vary int) hamming.Codes {
	c := hamming.NewCodes(n, bits)
	for i := range n {
		for b := max(0, bits-vary); b < bits; b++ {
			c.SetBit(i, b, rng.IntN(2) == 1)
		}
	}
	return c
}

func randomClasses(rng *rand.Rand, n, classes int) []int32 {
	c := make([]int32, n)
	for i := range c {
		c[i] = int32(rng.IntN(classes))
	}
	return c
}
