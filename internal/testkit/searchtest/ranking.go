package searchtest

import (
	"cmp"
	"math"
	"slices"

	"hashgrove/internal/index"
)

// Question is a search for one code.
type Question struct {
	Code      []uint64
	Bits      int
	Detail    int // of the bits, the last ones
	K, Radius int // math.MaxInt means all, and any distance
	Margins   []float32
	ByMargins bool // rank by margins, whose signs are the bits to look for; else margins, if given, order ties
	Prefix    int

	// Score returns the score that orders items on the shortlist, or those at the same distance if TiesOnly is set; +Inf
	// comes last. Nil means no reranking.
	Score    func(id index.ID) float64
	TiesOnly bool
}

// Found is the answer to a question.
type Found struct {
	Hits           []index.Hit
	Tied, TiedHits int // items and hits at the distance of the last hit; 0 with a score
	Compared       int // items on the shortlist, with a score
}

// ranked is an item with its distances: by the searched bits and by all, in units of the ranking, and in bits of the
// class and of detail.
type ranked struct {
	id           index.ID
	first, all   int
	bits, detail int
	penalty      float64
}

// Answer measures the distance of every item. The items must be in order of their ids.
func (q Question) Answer(items []index.Item) Found {
	first, unit := cmp.Or(q.Prefix, q.Bits), 1
	if q.weighted() {
		unit = 16
	}
	weights, weightsOfFirst := q.weights(q.Bits), q.weights(first)
	penalise := q.Margins != nil && !q.ByMargins && q.Score == nil
	list := make([]ranked, 0, len(items))
	for _, it := range items {
		x := ranked{id: it.ID}
		for b := range q.Bits {
			bit, own := bitOf(it.Code, b), bitOf(q.Code, b)
			wanted := own
			if q.ByMargins {
				wanted = !math.Signbit(float64(q.Margins[b]))
			}
			if bit != wanted {
				x.all += weights[b]
				if b < first {
					x.first += weightsOfFirst[b]
				}
			}
			switch {
			case bit == own:
				continue
			case b < q.Bits-q.Detail:
				x.bits++
			default:
				x.detail++
			}
			if penalise {
				x.penalty += math.Abs(float64(q.Margins[b]))
			}
		}
		near := x.first
		if !q.ByMargins && first > q.Bits-q.Detail {
			near = unit * x.bits
		}
		if q.Radius == math.MaxInt || near <= unit*q.Radius {
			list = append(list, x)
		}
	}
	list = q.shorten(list)
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.all, b.all), cmp.Compare(a.penalty, b.penalty))
	})
	return q.take(list)
}

func bitOf(code []uint64, b int) bool { return code[b/64]>>(63-b%64)&1 != 0 }

// weighted reports whether distances are in sixteenths of a bit.
func (q Question) weighted() bool { return q.ByMargins || q.Detail > 0 }

// weights returns the weights of the first bits.
func (q Question) weights(first int) []int {
	class := min(first, q.Bits-q.Detail)
	switch {
	case q.ByMargins:
		return slices.Concat(weightsOf(q.Margins[:class], 16), weightsOf(q.Margins[class:first], 2))
	case q.Detail > 0:
		return slices.Concat(slices.Repeat([]int{16}, class), slices.Repeat([]int{2}, first-class))
	}
	return slices.Repeat([]int{1}, first)
}

// shorten keeps the items of the shortlist, including all ties.
func (q Question) shorten(list []ranked) []ranked {
	n := max(100, min(q.K, index.MaxItems)*10)
	if (q.Score == nil || q.TiesOnly) && q.Prefix == 0 || q.Radius != math.MaxInt || n >= len(list) {
		return list
	}
	distances := make([]int, len(list))
	for i, x := range list {
		distances[i] = x.first
	}
	slices.Sort(distances)
	return slices.DeleteFunc(list, func(x ranked) bool { return x.first > distances[n-1] })
}

// take makes hits of the first items of a list.
func (q Question) take(list []ranked) Found {
	hits := make([]index.Hit, len(list))
	for i, x := range list {
		hits[i] = index.Hit{ID: x.id, Distance: x.bits, DetailDistance: x.detail}
		if q.weighted() {
			hits[i].MarginDistance = x.all
		}
		if q.Score != nil {
			hits[i].Score = q.Score(x.id)
		}
	}
	n := min(q.K, len(hits))
	if q.Score != nil {
		apart := func(h index.Hit) int {
			switch {
			case !q.TiesOnly:
				return 0
			case q.weighted():
				return h.MarginDistance
			}
			return h.Distance
		}
		slices.SortStableFunc(hits, func(a, b index.Hit) int {
			return cmp.Or(cmp.Compare(apart(a), apart(b)), cmp.Compare(a.Score, b.Score))
		})
		return Found{Hits: hits[:n], Compared: len(list)}
	}
	a := Found{Hits: hits[:n]}
	for i, x := range list {
		if n > 0 && x.all == list[n-1].all {
			a.Tied++
			if i < n {
				a.TiedHits++
			}
		}
	}
	return a
}

// weightsOf computes bit weights of the given average as docs/promises/exactness.md defines them.
func weightsOf(margins []float32, average float64) []int {
	sum := 0.0
	for _, m := range margins {
		sum += math.Abs(float64(m))
	}
	weights := make([]int, len(margins))
	for b, m := range margins {
		weights[b] = int(average)
		if sum > 0 {
			weights[b] = int(min(63, math.Floor(average*math.Abs(float64(m))/(sum/float64(len(margins)))+0.5)))
		}
	}
	return weights
}

// distances maps names to distances of vectors.
var distances = map[string]func(x, y []float32) float64{
	"euclidean": func(x, y []float32) float64 {
		sum := 0.0
		for i := range x {
			sum += (float64(x[i]) - float64(y[i])) * (float64(x[i]) - float64(y[i]))
		}
		return math.Sqrt(sum)
	},
	"cosine": func(x, y []float32) float64 {
		xy, xx, yy := 0.0, 0.0, 0.0
		for i := range x {
			xy += float64(x[i]) * float64(y[i])
			xx += float64(x[i]) * float64(x[i])
			yy += float64(y[i]) * float64(y[i])
		}
		if xx == 0 || yy == 0 {
			return 1
		}
		return max(0, 1-xy/(math.Sqrt(xx)*math.Sqrt(yy)))
	},
}
