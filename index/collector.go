package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// want is what a search is for: the k nearest items within a radius, by the first bits of the codes.
type want struct {
	k, radius, bits int
	ties            bool // keep all codes at the distance of the k-th item: something else than the id breaks ties
}

// found is an item of a segment.
type found struct {
	distance, pos uint32
	penalty       float64
	view          uint32
}

func compareFound(a, b found) int {
	return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.penalty, b.penalty), cmp.Compare(a.pos, b.pos))
}

// near is a code and its distance.
type near struct{ slot, distance uint32 }

// collector keeps the nearest codes of one segment for one query, by counting: distances are small integers, so nothing
// is sorted until the k nearest are known. With count[d] the number of allowed items seen at distance d, the limit is
// the least d with
//
//	count[0] + ... + count[d] >= k.
//
// The limit only falls, and a code beyond it is never looked at again. A code stands for several items, so that a later
// code at the limit may still hold a smaller id: it is kept too, unless codes are items and come in order.
type collector struct {
	segment *segment
	allowed *roaring.Bitmap // nil: all
	want    want
	strict  bool // codes come in order and stand for one item each
	full    bool // k items within the limit were seen
	limit   int
	within  int   // items seen within the limit
	count   []int // by distance
	near    []near
}

func newCollector(s *segment, allowed *roaring.Bitmap, w want) *collector {
	return &collector{segment: s, allowed: allowed, want: w, limit: w.radius, count: make([]int, w.bits+1)}
}

// Limit implements hamming.Sink.
func (c *collector) Limit() int {
	if c.want.k == 0 {
		return -1
	}
	if c.strict && c.full {
		return c.limit - 1
	}
	return c.limit
}

// Take implements hamming.Sink.
func (c *collector) Take(first int, hits []uint32) {
	for _, h := range hits {
		c.add(uint32(first)+h&0xffff, int(h>>16))
	}
}

// add takes a code that was not seen before.
func (c *collector) add(slot uint32, distance int) {
	if distance > c.Limit() {
		return
	}
	items := 1
	if c.segment.slot != nil || c.allowed != nil {
		if items = c.segment.count(slot, c.allowed); items == 0 {
			return
		}
	}
	c.near = append(c.near, near{slot, uint32(distance)})
	c.count[distance] += items
	if c.within += items; c.within < c.want.k {
		return
	}
	c.full = true
	for c.limit > 0 && c.within-c.count[c.limit] >= c.want.k {
		c.within -= c.count[c.limit]
		c.limit--
	}
	if len(c.near) > 2*c.within+1024 {
		c.drop()
	}
}

// drop forgets the codes beyond the limit.
func (c *collector) drop() {
	c.near = slices.DeleteFunc(c.near, func(n near) bool { return int(n.distance) > c.limit })
}

// byDistance orders codes by distance, keeping the order of codes at one distance: a counting sort. No distance may
// be greater than most.
func byDistance(codes []near, most int) []near {
	start := make([]int, most+2)
	for _, n := range codes {
		start[n.distance+1]++
	}
	for d := range most {
		start[d+1] += start[d]
	}
	out := make([]near, len(codes))
	for _, n := range codes {
		out[start[n.distance]] = n
		start[n.distance]++
	}
	return out
}

// result returns the items in order. Those of one code share their penalty, so no more than k of each are needed.
func (c *collector) result(penalty func(slot uint32) float64) []found {
	c.drop()
	codes := byDistance(c.near, c.want.bits)
	out := make([]found, 0, min(c.within, c.want.k))
	var pos []uint32
	for i := 0; i < len(codes) && len(out) < c.want.k; {
		d, begin := codes[i].distance, len(out)
		for ; i < len(codes) && codes[i].distance == d; i++ {
			p := 0.0
			if penalty != nil {
				p = penalty(codes[i].slot)
			}
			pos = c.segment.first(pos[:0], codes[i].slot, c.want.k-begin, c.allowed)
			for _, at := range pos {
				out = append(out, found{d, at, p, 0})
			}
		}
		slices.SortFunc(out[begin:], compareFound)
	}
	return out[:min(len(out), c.want.k)]
}

// penalties returns the function that breaks ties by the query's margins (the scores before the sign): a code that
// differs in bits of small margin comes first. The margins are added in order of the bits.
func penalties(s *segment, q []uint64, margins []float32) func(slot uint32) float64 {
	if margins == nil {
		return nil
	}
	return func(slot uint32) float64 {
		code, sum := s.codes.Row(int(slot)), 0.0
		for b, m := range margins {
			if (q[b>>6]^code[b>>6])>>(63-b&63)&1 != 0 {
				sum += math.Abs(float64(m))
			}
		}
		return sum
	}
}
