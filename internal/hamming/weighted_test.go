package hamming

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// listSink keeps the hits of a sweep, within a limit that may fall.
type listSink struct {
	limit int
	fall  int // by this much after every tile with hits
	codes map[int]int
	order []int
}

func (s *listSink) Limit() int { return s.limit }

func (s *listSink) Take(first int, hits []uint32) {
	for _, h := range hits {
		code := first + int(h&0xffff)
		s.codes[code] = int(h >> 16)
		s.order = append(s.order, code)
	}
	s.limit -= s.fall
}

// someWeights returns weights of one of several kinds: any, small, many zeros, the greatest.
func someWeights(rng *rand.Rand, bits int) []uint8 {
	weights, kind := make([]uint8, bits), rng.IntN(5)
	for b := range weights {
		switch kind {
		case 0, 1:
			weights[b] = uint8(rng.IntN(MaxWeight + 1))
		case 2:
			weights[b] = uint8(rng.IntN(3))
		case 3:
			weights[b] = uint8(rng.IntN(2) * rng.IntN(MaxWeight+1))
		case 4:
			weights[b] = MaxWeight
		}
	}
	return weights
}

// checkSweep compares a sweep over some of the codes with the definition.
func checkSweep(t *testing.T, c Codes, lo, hi int, queries []*WeightedQuery, sinks []Sink) {
	t.Helper()
	limits := make([]int, len(sinks))
	for i, s := range sinks {
		limits[i] = s.Limit()
	}
	c.SweepWeighted(lo, hi, queries, sinks)
	for i, q := range queries {
		s := sinks[i].(*listSink)
		if !slices.IsSorted(s.order) {
			t.Fatalf("%d bits: codes come out of order: %v", c.Bits, s.order)
		}
		for code := range c.Len() {
			d := weightedByBits(append(slices.Clone(q.code), c.Row(code)[len(q.code):]...), c.Row(code), q.weights)
			got, found := s.codes[code]
			switch {
			case found && (code < lo || code >= hi || got != d || d > limits[i]):
				t.Fatalf("%d of %d bits, limit %d: code %d at %d, want %d", len(q.weights), c.Bits, limits[i], code, got, d)
			case !found && code >= lo && code < hi && d <= s.limit:
				t.Fatalf("%d of %d bits, limit %d: code %d at %d is missing", len(q.weights), c.Bits, s.limit, code, d)
			}
		}
	}
}

func TestSweepWeightedEqualsTheDefinition(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 9))
		for _, bits := range []int{1, 7, 32, 48, 64, 65, 100, 128, 192, 256, 300, 1024} {
			for _, n := range []int{1, 63, 64, 65, 300, 1500} {
				c := random(n, bits, uint64(n))
				for _, count := range []int{1, 3, 6} { // single ones, and four that share planes
					prefix := []int{bits, bits, 1 + rng.IntN(bits)}[rng.IntN(3)]
					queries, sinks := make([]*WeightedQuery, count), make([]Sink, count)
					for i := range queries {
						queries[i] = NewWeightedQuery(random(1, bits, rng.Uint64()).Row(0), someWeights(rng, prefix))
						limit := []int{-1, 0, rng.IntN(256), 254, 255, 256, queries[i].Most() / 2, queries[i].Most()}[rng.IntN(8)]
						sinks[i] = &listSink{limit: limit, fall: rng.IntN(2) * rng.IntN(99), codes: map[int]int{}}
					}
					lo := rng.IntN(n)
					checkSweep(t, c, lo, lo+1+rng.IntN(n-lo), queries, sinks)
				}
			}
		}
	})
}

// TestSweepWeightedReachesAllOnes finds sums that overflow.
func TestSweepWeightedReachesAllOnes(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		for _, bits := range []int{64, 128, 1024} {
			c := NewCodes(70, bits)
			for i := range c.Data {
				c.Data[i] = math.MaxUint64
			}
			for _, count := range []int{1, 4} {
				q := NewWeightedQuery(make([]uint64, c.Words), slices.Repeat([]uint8{MaxWeight}, bits))
				// The limits of a query that is used again may rise.
				for _, limit := range []int{q.Most() - 1, q.Most(), 254, 255, q.Most() - 1} {
					sinks := make([]Sink, count)
					for i := range sinks {
						sinks[i] = &listSink{limit: limit, codes: map[int]int{}}
					}
					checkSweep(t, c, 0, 70, slices.Repeat([]*WeightedQuery{q}, count), sinks)
				}
			}
		}
	})
}

// TestSweepWeightedTakesAQueryTwice gives a query several sinks, whose limits need different tables.
func TestSweepWeightedTakesAQueryTwice(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		for _, bits := range []int{64, 128, 256} {
			c := random(700, bits, 5)
			q := NewWeightedQuery(random(1, bits, 6).Row(0), slices.Repeat([]uint8{17, 9}, bits/2))
			for count := 1; count <= 8; count++ {
				var sinks []Sink
				for i := range count {
					sinks = append(sinks, &listSink{limit: []int{q.Most() / 2, 254, q.Most(), 255}[i%4], codes: map[int]int{}})
				}
				checkSweep(t, c, 0, c.Len(), slices.Repeat([]*WeightedQuery{q}, count), sinks)
			}
		}
	})
}

// TestSweepsFindTheOnlyCode puts one code near the query at every place among others that are far.
func TestSweepsFindTheOnlyCode(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		const n = 4 * perBlock
		for _, words := range []int{1, 2, 3, 4, 8, 16} {
			c, q := NewCodes(n, 64*words), random(1, 64*words, 5).Row(0)
			for i := range c.Data {
				c.Data[i] = ^q[i%words]
			}
			weighted := NewWeightedQuery(q, slices.Repeat([]uint8{MaxWeight}, 64*words))
			for at := range n {
				copy(c.Row(at), q)
				for _, limit := range []int{0, 254, 300} { // sums of bytes, and of 16 bits
					sinks := make([]*listSink, 7)
					for i := range sinks {
						sinks[i] = &listSink{limit: limit, codes: map[int]int{}}
					}
					// Single, shared by four, shared by the one that is left.
					c.SweepWeighted(0, n, []*WeightedQuery{weighted}, []Sink{sinks[0]})
					c.SweepWeighted(0, n, slices.Repeat([]*WeightedQuery{weighted}, 5),
						[]Sink{sinks[1], sinks[2], sinks[3], sinks[4], sinks[5]})
					sinks[6].limit = min(limit, 64*words-1)
					c.Sweep(0, n, 64*words, [][]uint64{q}, []Sink{sinks[6]})
					for i, s := range sinks {
						if !slices.Contains(s.order, at) || i < 6 && len(s.order) > 1 {
							t.Fatalf("sweep %d, %d words, limit %d: found %v, want %d", i, words, limit, s.order, at)
						}
					}
				}
				for i, x := range q {
					c.Row(at)[i] = ^x
				}
			}
		}
	})
}

func TestWeightedDistances(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, bits := range []int{1, 31, 64, 65, 128, 256, 1024} {
		c, q := random(90, bits, 1), random(1, bits, 2)
		weights := someWeights(rng, bits)
		query := NewWeightedQuery(q.Row(0), weights)
		for i := range c.Len() {
			for _, prefix := range []int{0, 1, bits / 2, bits} {
				want := weightedByBits(q.Row(0), c.Row(i), weights[:prefix])
				if d := WeightedDistance(q.Row(0), c.Row(i), weights[:prefix]); d != want {
					t.Fatalf("first %d of %d bits: %d, want %d", prefix, bits, d, want)
				}
			}
			want := weightedByBits(q.Row(0), c.Row(i), weights)
			if d := query.Distance(c.Row(i)); d != want {
				t.Fatalf("%d bits: %d, want %d", bits, d, want)
			}
			if h := Distance(q.Row(0), c.Row(i)); h > query.Reach(want) {
				t.Fatalf("%d bits at distance %d, and the reach is %d", h, want, query.Reach(want))
			}
		}
	}
}

func TestReach(t *testing.T) {
	q := NewWeightedQuery([]uint64{0}, []uint8{5, 0, 2, 2, 0, 63})
	for distance, want := range map[int]int{-1: -1, 0: 2, 1: 2, 2: 3, 3: 3, 4: 4, 8: 4, 9: 5, 71: 5, 72: 6, 500: 6} {
		if got := q.Reach(distance); got != want {
			t.Errorf("within %d: %d bits, want %d", distance, got, want)
		}
	}
}
