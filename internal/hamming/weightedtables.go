package hamming

import "math"

// layout is how the tables of a query are laid out for the kernels.
type layout struct {
	group int // bits per group
	words int // 0 for planes; otherwise scans look up codes of this many words
}

// A scan's tables of a word: for even and then odd bytes of the word, for their lower and then upper halves, for each
// of four lanes. Bytes count from the lowest, groups from the highest.
const (
	scanEntries = 256
	scanWide    = 4 // codes of this many words have sums per lane
)

// sumsBy returns the sums of the weights for every value of every group of bits of a word, from the highest on. If the
// word does not divide evenly, its last group has fewer bits, the lowest ones of the value.
func (q *WeightedQuery) sumsBy(group int) []uint16 {
	perWord, size := (63+group)/group, 1<<group
	sums := make([]uint16, 0, len(q.code)*perWord*size)
	for w, x := range q.code {
		for first := 0; first < 64 && 64*w+first < len(q.weights); first += group {
			n := min(group, 64-first)
			table := sums[len(sums) : len(sums)+size]
			sums = sums[:len(sums)+size]
			own := int(x>>(64-first-n)) & (1<<n - 1)
			table[own] = 0
			for i := range n { // bit i, counted from the lowest, doubles the table, on the query's own side of the bit
				weight := uint16(0)
				if b := 64*w + first + n - 1 - i; b < len(q.weights) {
					weight = uint16(q.weights[b])
				}
				for v := range 1 << i {
					table[own&^(1<<i-1)^1<<i|v] = table[own&^(1<<i-1)|v] + weight
				}
			}
			for v := 1 << n; v < size; v++ {
				table[v] = table[v&(1<<n-1)]
			}
		}
	}
	return sums
}

// byLanes returns the sums for groups of four bits in the order of a scan over codes of the given words.
func (q *WeightedQuery) byLanes(words int) []uint16 {
	sums, out := q.sumsBy(4), make([]uint16, words*scanEntries)
	for w := range q.code {
		for odd := range 2 {
			for upper := range 2 {
				for lane := range 4 {
					from := 16 * (16*w + 15 - 2*(2*lane+odd) - upper)
					if from < len(sums) {
						copy(out[w*scanEntries+128*odd+64*upper+16*lane:], sums[from:from+16])
					}
				}
			}
		}
	}
	return out
}

// usual is a sum of bytes that is large but seldom reaches 255.
const usual = 160

// prepare makes the tables for a limit unless the current ones will do, and returns the limit of the sums.
func (q *WeightedQuery) prepare(l layout, limit int) int {
	if q.layout != l || q.scale == 0 {
		q.layout, q.scale = l, 0
		if l.words > 0 {
			q.exact = q.byLanes(l.words)
		} else {
			q.exact = q.sumsBy(l.group)
		}
		q.tables = make([]uint8, len(q.exact))
	}
	// The kernels compare with signs, and no sum is greater than the most here.
	room, most := usual*max(len(q.code), 2), math.MaxInt16
	if l.words == scanWide {
		room = usual * 4
	} else if l.words > 0 {
		room, most = math.MaxUint8, math.MaxUint8
	}
	if scale := limit/room + 1; scale < q.scale || q.scale == 0 {
		q.scale = scale
		part := (uint32(1<<20) + uint32(scale) - 1) / uint32(scale) // exact for the sums of a few weights
		for i, x := range q.exact {
			q.tables[i] = uint8(min(uint32(x)*part>>20, math.MaxUint8))
		}
	}
	return min(limit/q.scale, most)
}
