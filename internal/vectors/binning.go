package vectors

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"hashgrove/internal/par"
)

// How column values are divided into bins. The paper's linear bins between the least and the greatest value lose a
// column to a single outlier: all other values share a bin, and no split can separate them. Quantile bins never do, but
// cost the encoder a search per value. Hybrid bins use, for every column, the first of
//
//	1. linear bins between the least and the greatest value,
//	2. linear bins between ends that ignore a few outliers, which fall into the outer bins,
//	3. edges at quantiles
//
// that keeps the values apart. With x and y two rows drawn at random, "apart" means
//
//	P(bin(x) = bin(y) | x != y) <= 1/16,
//
// as if the values were spread evenly over at least 16 bins. With linear bins and 50,000 rows this probability is about
// 1/100 for normal, 1/50 for exponential and 1/10 for log-normal values with σ = 1. The ends of 2 are the 5 % and 95 %
// quantiles moved outwards by their distance, or the least and greatest value if those are nearer.
//
// All this is decided on a sample of 2,048 to 4,096 rows if there are as many (fewer very wide ones), chosen by row
// number. So it does not depend on chunks or threads, and one pass is enough.

// Binning selects how columns are divided into bins; "" means Hybrid.
type Binning string

// The binnings.
const (
	Hybrid   Binning = "hybrid"   // linear if that keeps the values apart, else quantiles
	Quantile Binning = "quantile" // equally many rows in every bin, except for equal values
	Linear   Binning = "linear"   // bins of equal width from the least to the greatest value
	Clipped  Binning = "clipped"  // bins of equal width, between nearer ends if that keeps more values apart
)

// Check returns an error if the binning is unknown.
func (b Binning) Check() error {
	switch b {
	case "", Hybrid, Quantile, Linear, Clipped:
		return nil
	}
	return fmt.Errorf("unknown bins %q: choose %q, %q, %q and %q", string(b), Hybrid, Quantile, Linear, Clipped)
}

const (
	sampleValues = 1 << 23 // the most values in a sample, except that it has at least
	sampleLeast  = 256     // rows
	sampleMost   = 4096    // rows

	apart = 1.0 / 16 // the largest share of different values in one bin
	tail  = 0.05     // beyond each of the quantiles that the ends are computed from
)

// rowSample holds the rows whose hashed number ends in at least level zeros: all rows, then half of them, and so on.
type rowSample struct {
	level int
	x     Matrix
	zeros []uint8 // of each row
}

// add adds rows; first is the number of the first one.
func (s *rowSample) add(x Matrix, first int) {
	s.x.Cols = x.Cols
	most := min(max(sampleValues/max(x.Cols, 1), sampleLeast), sampleMost)
	for i := range x.Rows {
		zeros := trailingZeros(first + i)
		if zeros < s.level {
			continue
		}
		if cap(s.x.Data)-len(s.x.Data) < x.Cols { // append alone would move the rows more often
			s.x.Data = slices.Grow(s.x.Data, min(max(len(s.x.Data), 16*x.Cols), (most+1)*x.Cols-len(s.x.Data)))
		}
		s.x.Data = append(s.x.Data, x.Row(i)...)
		s.zeros = append(s.zeros, uint8(zeros))
		for s.x.Rows++; s.x.Rows > most; {
			s.thin()
		}
	}
}

// trailingZeros returns the number of zeros at the end of a row's hashed number (the finaliser of splitmix64).
func trailingZeros(row int) int {
	h := uint64(row) + 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return bits.TrailingZeros64(h ^ h>>31)
}

// thin raises the level by one.
func (s *rowSample) thin() {
	s.level++
	n := 0
	for i, zeros := range s.zeros {
		if int(zeros) >= s.level {
			copy(s.x.Data[n*s.x.Cols:(n+1)*s.x.Cols], s.x.Row(i))
			s.zeros[n] = zeros
			n++
		}
	}
	s.x.Rows, s.x.Data, s.zeros = n, s.x.Data[:n*s.x.Cols], s.zeros[:n]
}

// columns calls each with the values of every column in row order, on all cores. The slice is valid only during the
// call.
func (s *rowSample) columns(each func(j int, values []float32)) {
	const width, turn = 16, 128 // columns per cache line and per iteration
	_ = par.Blocks(context.Background(), 0, s.x.Cols, turn, func(_, first, end int) {
		var lists [width][]float32
		for lo := first; lo < end; lo += width {
			n := min(width, end-lo)
			for k := range n {
				lists[k] = lists[k][:0]
			}
			for i := range s.x.Rows {
				for k, v := range s.x.Row(i)[lo : lo+n] {
					if v == v {
						lists[k] = append(lists[k], v)
					}
				}
			}
			for k := range n {
				each(lo+k, lists[k])
			}
		}
	})
}

// refine replaces the linear bins of columns that need others.
func (s *rowSample) refine(q *Quantizer, r *Ranges, how Binning) {
	edgesOf := make([][]float32, q.Dim())
	s.columns(func(j int, values []float32) {
		if len(values) < 2 || how != Quantile && q.keepsApart(j, values) {
			return
		}
		slices.Sort(values)
		if how != Quantile {
			least, greatest := fences(values) // the values are not all equal: those would be apart
			q.setEnds(j, max(least, r.Min[j]), min(greatest, r.Max[j]))
			if how == Clipped || q.keepsApart(j, values) {
				return
			}
			q.setEnds(j, r.Min[j], r.Max[j])
		}
		if edges := quantileEdges(values, q.MaxEdges()+1); len(edges) > 0 {
			edgesOf[j] = edges
		}
	})
	if slices.ContainsFunc(edgesOf, func(e []float32) bool { return e != nil }) {
		q.Edges = edgesOf
	}
}

// fences returns the ends of clipped linear bins for sorted values.
func fences(sorted []float32) (least, greatest float32) {
	at := int(tail * float64(len(sorted)-1))
	lo, hi := float64(sorted[at]), float64(sorted[len(sorted)-1-at])
	return widened(lo-(hi-lo), float32(lo), -math.MaxFloat32), widened(hi+(hi-lo), float32(hi), math.MaxFloat32)
}

// keepsApart reports whether few pairs of different values share a bin of the column.
func (q Quantizer) keepsApart(j int, values []float32) bool {
	scale := q.Scale(j)
	var counts [Bins]int
	for _, v := range values {
		counts[scale.Bin(v)]++
	}
	together := pairs(counts[:])
	all := len(values) * (len(values) - 1) / 2
	if float64(together) <= apart*float64(all) {
		return true // even if all of them differ
	}
	if !slices.IsSorted(values) {
		values = slices.Clone(values)
		slices.Sort(values)
	}
	equal := 0
	for lo, hi := 0, 0; lo < len(values); lo = hi {
		for hi = lo + 1; hi < len(values) && values[hi] == values[lo]; hi++ {
		}
		equal += (hi - lo) * (hi - lo - 1) / 2
	}
	return float64(together-equal) <= apart*float64(all-equal)
}

// pairs returns the number of pairs within groups of these sizes.
func pairs(sizes []int) (n int) {
	for _, c := range sizes {
		n += c * (c - 1) / 2
	}
	return n
}

// quantileEdges divides sorted values into at most the given number of bins with about equally many values each. A
// value frequent enough to fill a bin gets its own, as do all values if there are enough bins.
func quantileEdges(sorted []float32, bins int) []float32 {
	distinct := 1
	for i := 1; i < len(sorted); i++ {
		if sorted[i] != sorted[i-1] {
			distinct++
		}
	}
	var edges []float32
	left, open := len(sorted), 0 // values from the open bin on, and in the open bin
	for lo, hi := 0, 0; lo < len(sorted); lo = hi {
		for hi = lo + 1; hi < len(sorted) && sorted[hi] == sorted[lo]; hi++ {
		}
		free := bins - len(edges) // bins from the open one on
		full := open*free >= left || (hi-lo)*free >= left
		if open > 0 && free > 1 && (full || distinct <= bins) {
			edges = append(edges, halfway(sorted[lo-1], sorted[lo]))
			left, open = left-open, 0
		}
		open += hi - lo
	}
	return edges
}

// halfway returns a value above a and at most b, about halfway between them.
func halfway(a, b float32) float32 {
	if m := float32(float64(float64(a)/2) + float64(float64(b)/2)); m > a && m <= b {
		return m
	}
	return b
}
