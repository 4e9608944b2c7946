package hamming

import (
	"math"
	"slices"
)

// WeightedQuery is a query with weights for its first bits, which are the ones that count. Sweeps keep tables in it, so
// only one goroutine at a time may use it.
type WeightedQuery struct {
	code     []uint64
	weights  []uint8
	last     uint64   // mask of the bits that count in the last word
	smallest []int    // smallest[h] is the sum of the h smallest weights
	bytes    []uint16 // sums of weights by byte of the code and its value

	layout layout   // of the tables
	exact  []uint16 // by group and value: the sum of the weights
	tables []uint8  // the same, divided by scale and rounded down
	scale  int      // 0 before the first tables

	hopeless int // for single queries: this many differing bits leave too many codes
}

// NewWeightedQuery returns a query with weights for its first bits.
func NewWeightedQuery(code []uint64, weights []uint8) *WeightedQuery {
	if len(weights) < 1 || len(weights) > MaxWeightedBits || len(weights) > 64*len(code) {
		panic("hamming: sizes of query and weights differ")
	}
	q := &WeightedQuery{
		code: code[:(len(weights)+63)/64], weights: weights, last: math.MaxUint64 << (-len(weights) & 63),
		smallest: make([]int, 1, len(weights)+1), hopeless: len(weights),
	}
	var count [MaxWeight + 1]int
	for _, w := range weights {
		if w > MaxWeight {
			panic("hamming: a weight above the greatest")
		}
		count[w]++
	}
	for w, n := range count {
		for range n {
			q.smallest = append(q.smallest, q.smallest[len(q.smallest)-1]+w)
		}
	}
	return q
}

// Most returns the largest possible distance: the sum of all weights.
func (q *WeightedQuery) Most() int { return q.smallest[len(q.smallest)-1] }

// Distance returns the distance to a code, as defined by WeightedDistance.
func (q *WeightedQuery) Distance(code []uint64) int {
	return byteDistance(q.byteSums(), code[:len(q.code)])
}

// Reach returns the largest number of bits in which a code within a distance can differ, because the distance is at
// least the sum of that many smallest weights. It is negative if the distance is.
func (q *WeightedQuery) Reach(distance int) int {
	h, exact := slices.BinarySearch(q.smallest, distance)
	if !exact {
		return h - 1
	}
	for h+1 < len(q.smallest) && q.smallest[h+1] == distance {
		h++
	}
	return h
}

// byteSums returns the tables for each byte of the code.
func (q *WeightedQuery) byteSums() []uint16 {
	if q.bytes == nil {
		q.bytes = q.sumsBy(8)
	}
	return q.bytes
}

// belowGo is plain Go: the number of differing bits decides for most codes, and tables by bytes for the others. It
// appends to hits.
func (q *WeightedQuery) belowGo(hits []uint32, codes []uint64, n, stride, limit int) []uint32 {
	sums, words, reach := q.byteSums(), len(q.code), q.Reach(limit)
	for i := range n {
		code := codes[i*stride : i*stride+words]
		if distanceGo(q.code, code, q.last) > reach {
			continue
		}
		if d := byteDistance(sums, code); d <= limit {
			hits = append(hits, uint32(d)<<16|uint32(i))
		}
	}
	return hits
}

// byteDistance adds up the table entries of a code's bytes.
func byteDistance(sums []uint16, code []uint64) int {
	d := 0
	for _, x := range code {
		for shift := 56; shift >= 0 && len(sums) > 0; shift -= 8 {
			d += int(sums[:256][uint8(x>>shift)])
			sums = sums[256:]
		}
	}
	return d
}
