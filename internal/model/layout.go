package model

import (
	"math"
	"slices"

	"hashgrove/internal/vectors"
)

// layout arranges the columns that trees use: eight neighbours make a window, so that a row is read and quantised eight
// values at a time. Reading unused columns in between costs less than picking out the used ones.
//
// The kernels handle only linear bins. A column with its own edges, and every column that may have missing values, is
// replaced by its bins first, which the kernels take as bytes.
type layout struct {
	columns []uint32 // in use, rising
	places  []uint32 // of each: place c of window w is 8 w + c
	windows []window

	missing bool // NaN stands for a missing value
	binned  []binnedColumn
}

// binnedColumn is a column whose bins the kernels cannot find themselves.
type binnedColumn struct {
	column int
	scale  vectors.Searcher
}

func newLayout(fs []*Ensemble, q vectors.Quantizer) layout {
	l := layout{columns: columnsOf(fs), missing: q.Missing}
	bytes := make(map[int]bool)
	for _, c := range l.columns {
		if j := int(c); q.Missing || q.Edges != nil && q.Edges[j] != nil {
			l.binned = append(l.binned, binnedColumn{j, q.Scale(j).Searcher()})
			bytes[j] = true
		}
	}
	var starts []int
	starts, l.places = cover(l.columns, q.Dim())
	l.windows = make([]window, len(starts))
	for k, at := range starts {
		w := &l.windows[k]
		w.at = at
		for i := range min(8, q.Dim()) {
			lo, hi := float64(q.Lo[at+i]), float64(q.Hi[at+i])
			if w.lo[i], w.perUnit[i] = lo, (vectors.Bins-1)/(hi-lo); bytes[at+i] {
				w.lo[i], w.perUnit[i] = 0, 1
			}
		}
	}
	return l
}

// columnsOf returns the columns used by splits, ascending.
func columnsOf(fs []*Ensemble) []uint32 {
	var used []bool
	for _, f := range fs {
		for i, j := range f.Feature {
			if f.Bin[i] == noTest {
				continue
			}
			if int(j) >= len(used) {
				used = append(used, make([]bool, int(j)+1-len(used))...)
			}
			used[j] = true
		}
	}
	var columns []uint32
	for j, used := range used {
		if used {
			columns = append(columns, uint32(j))
		}
	}
	return slices.Clip(columns)
}

// cover puts ascending columns into as few windows as possible, all within dim columns, and returns where those start.
func cover(columns []uint32, dim int) (starts []int, places []uint32) {
	places = make([]uint32, len(columns))
	for c, j := range columns {
		n := len(starts)
		if n == 0 || int(j) >= starts[n-1]+8 {
			starts = append(starts, max(0, min(int(j), dim-8)))
			n++
		}
		places[c] = uint32(8*(n-1) + int(j) - starts[n-1])
	}
	return starts, places
}

// planes lays out up to a block of rows by bit: plane 8 c + i of a window holds the rows that have bit i of column c.
// It reports whether all values can be encoded, including those of the other columns.
func (l *layout) planes(dst [][64]set, x vectors.Matrix) bool {
	ok := true
	x = padded(x)
	// Eight rows at a time, which stay in the cache while they are checked and quantised, and fill whole cache lines of
	// dst; of them a few windows at a time, whose scales stay in the cache.
	const few = 8
	var own []float32 // space for eight rows with bins
	if len(l.binned) > 0 {
		own = make([]float32, 8*x.Cols)
	}
	for i := 0; i < min(64, x.Rows); i += 2 {
		var rows [2][4][]float32
		for h := range rows {
			for k := range rows[h] {
				rows[h][k] = x.Row(min(64*k+i+h, x.Rows-1)) // beyond the last, any
				ok = ok && encodable(rows[h][k], l.missing)
			}
		}
		if own != nil {
			for n := range 8 {
				row := own[n*x.Cols : (n+1)*x.Cols]
				copy(row, rows[n/4][n%4])
				rows[n/4][n%4] = row
			}
			l.putBins(own, x.Cols)
		}
		for lo := 0; lo < len(dst); lo += few {
			hi := min(lo+few, len(dst))
			for h := range rows {
				quantize4(dst[lo:hi], i+h, &rows[h], l.windows[lo:hi])
			}
		}
	}
	for w := range dst {
		transpose(&dst[w])
	}
	return ok
}

// bins quantises a row: the bins of a window are the bytes of a word.
func (l *layout) bins(x []float32) []uint64 {
	bins := make([]uint64, max(1, len(l.windows)))
	x = padded(vectors.Matrix{Rows: 1, Cols: len(x), Data: x}).Data
	if len(l.binned) > 0 {
		x = slices.Clone(x)
		l.putBins(x, len(x))
	}
	quantize(bins, x, l.windows)
	return bins
}

// putBins replaces the values that the kernels cannot quantise by their bins, in rows of this many columns.
func (l *layout) putBins(rows []float32, cols int) {
	for i := range l.binned {
		c := &l.binned[i] // for all rows, while its edges are in the cache
		for at := c.column; at < len(rows); at += cols {
			rows[at] = float32(c.scale.Bin(rows[at]))
		}
	}
}

// encodable reports whether there is no infinity, and no NaN unless it stands for a missing value.
func encodable(x []float32, missing bool) bool {
	return finite(x) || missing && !slices.ContainsFunc(x, isInf)
}

func isInf(v float32) bool { return math.Float32bits(v)<<1 == 0xff<<24 }

// padded returns rows with at least the columns of a window.
func padded(x vectors.Matrix) vectors.Matrix {
	if x.Cols >= 8 {
		return x
	}
	p := vectors.Matrix{Rows: x.Rows, Cols: 8, Data: make([]float32, 8*x.Rows)}
	for r := range x.Rows {
		copy(p.Row(r), x.Row(r))
	}
	return p
}
