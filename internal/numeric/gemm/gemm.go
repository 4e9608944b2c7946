// Package gemm multiplies single-precision matrices.
//
// The product is defined by one chain per value, in the order of k, rounded once per step (a fused multiply-add):
//
//	c_ij = fma(a_ik, b_kj, c_ij)   for k = 0, 1, 2, ...
//
// Blocks, threads and kernels change the speed but not a bit of the result, on any machine. On machines without such an
// instruction, Go computes the same value slowly (fma.go, kernel.go).
//
// The blocking follows Goto and van de Geijn (ACM TOMS 2008):
//
//	Right    columns of B in panels of 16, each laid out by k     once
//	turn     a block of C, blockRows x blockCols                  on any core
//		for each depth values of k
//			Left     rows of A in panels of 6, laid out by k      stays in the L2 cache
//			for each panel of B                                   stays in the L1 cache
//				for each panel of A
//					kernel   6 x 16 values of C in registers, or 12 x 16
package gemm

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"hashgrove/internal/par"
)

const (
	tileRows = 6  // rows of C that the kernel holds
	tileCols = 16 // columns of C that the kernel holds

	depth     = 256 // a panel of B: 16 KB
	blockRows = 120 // a block of A: 120 KB
	blockCols = 1024

	turnsEach = 4 // wanted for each thread, so that none waits long for the last
	// Smaller blocks make more turns: first of fewer columns, then of fewer rows. At the least, laying out A and
	// fetching panels of B take a tenth of the time.
	someCols, leastRows, leastCols = 256, 30, 128
)

// View is a matrix within a slice: value (i, j) is Data[i*RowStep + j*ColStep].
type View struct {
	Rows, Cols       int
	RowStep, ColStep int
	Data             []float32
}

// RowMajor returns a view of a matrix stored row by row.
func RowMajor(rows, cols int, data []float32) View {
	if len(data) < rows*cols {
		panic(fmt.Sprintf("gemm: %d values for %d x %d", len(data), rows, cols))
	}
	return View{rows, cols, cols, 1, data}
}

// T returns the transpose. It shares memory with v.
func (v View) T() View { return View{v.Cols, v.Rows, v.ColStep, v.RowStep, v.Data} }

// Mul sets c = a*b on the given number of threads (0 for all cores). The columns of c must be adjacent (ColStep 1),
// and c must not share memory with a or b.
func Mul(ctx context.Context, threads int, c, a, b View) error {
	right := rights.Get().(*Right)
	defer rights.Put(right)
	if err := right.packAll(ctx, threads, a, b); err != nil {
		return err
	}
	return MulRight(ctx, threads, c, a, right)
}

// packAll lays out b, the right factor of a, on some threads.
func (r *Right) packAll(ctx context.Context, threads int, a, b View) error {
	if b.Rows != a.Cols {
		panic(fmt.Sprintf("gemm: %d x %d times %d x %d", a.Rows, a.Cols, b.Rows, b.Cols))
	}
	r.Reset(b.Rows, b.Cols)
	const some = 8 // panels that are worth a turn
	return par.Blocks(ctx, threads, r.Panels(), some, func(_, lo, hi int) {
		for p := lo; p < hi; p++ {
			r.pack(b, p)
		}
	})
}

// MulRight is Mul for a right factor that is used more than once.
func MulRight(ctx context.Context, threads int, c, a View, b *Right) error {
	if a.Cols != b.k || c.Rows != a.Rows || c.Cols != b.cols || c.ColStep != 1 {
		panic(fmt.Sprintf("gemm: %d x %d = %d x %d times %d x %d", c.Rows, c.Cols, a.Rows, a.Cols, b.k, b.cols))
	}
	if c.Rows > 0 && c.Cols > 0 && (c.RowStep < c.Cols || len(c.Data) < (c.Rows-1)*c.RowStep+c.Cols) {
		panic(fmt.Sprintf("gemm: %d rows of %d values, %d apart, in %d", c.Rows, c.Cols, c.RowStep, len(c.Data)))
	}
	if a.Cols == 0 {
		for i := range c.Rows {
			clear(c.Data[i*c.RowStep : i*c.RowStep+c.Cols])
		}
		return nil
	}
	return turns(ctx, threads, a.Rows, b.cols, func(rows, cols span) {
		block(View{RowStep: c.RowStep, Data: c.Data[rows.from*c.RowStep+cols.from:]}, a, b, rows, cols, false)
	})
}

// MulHere is MulRight on the goroutine of the caller, which cannot be cancelled.
func MulHere(c, a View, b *Right) {
	_ = MulRight(context.Background(), 1, c, a, b) // so there is no error
}

// MulEach calls take with parts of the rows of a*b, on some threads at the same time: values j and on of row i. With
// lower, these are the values up to the diagonal only, at about half the time. If b has no more than leastCols columns,
// take may overwrite row i of a.
func MulEach(
	ctx context.Context, threads int, a, b View, lower bool, take func(i, j int, values []float32),
) error {
	right := rights.Get().(*Right)
	defer rights.Put(right)
	if err := right.packAll(ctx, threads, a, b); err != nil {
		return err
	}
	return turns(ctx, threads, a.Rows, b.Cols, func(rows, cols span) {
		if lower && rows.to <= cols.from {
			return
		}
		part := parts.Get().(*[]float32)
		defer parts.Put(part)
		wide := cols.to - cols.from
		n := (rows.to - rows.from) * wide
		*part = slices.Grow((*part)[:0], n)[:n]
		if a.Cols == 0 {
			clear(*part)
		} else {
			block(View{RowStep: wide, Data: *part}, a, right, rows, cols, lower)
		}
		for i := rows.from; i < rows.to; i++ {
			row := (*part)[(i-rows.from)*wide:][:wide]
			if lower {
				row = row[:max(0, min(wide, i+1-cols.from))]
			}
			if len(row) > 0 {
				take(i, cols.from, row)
			}
		}
	})
}

// span is a range of rows or columns.
type span struct{ from, to int }

// turns calls f with the blocks of a product.
func turns(ctx context.Context, threads, rows, cols int, f func(rows, cols span)) error {
	tall, wide := blockRows, blockCols
	count := func(n, side int) int { return (n + side - 1) / side }
	for wanted := turnsEach * par.Threads(threads); threads != 1 && count(rows, tall)*count(cols, wide) < wanted; {
		if wide > someCols || tall == leastRows && wide > leastCols {
			wide /= 2
		} else if tall > leastRows {
			tall /= 2
		} else {
			break
		}
	}
	across := count(cols, wide)
	return par.For(ctx, threads, count(rows, tall)*across, func(turn int) {
		i, j := turn/across*tall, turn%across*wide
		f(span{i, min(i+tall, rows)}, span{j, min(j+wide, cols)})
	})
}

var (
	rights = sync.Pool{New: func() any { return new(Right) }}     // unused factors B
	lefts  = sync.Pool{New: func() any { return new(Left) }}      // unused blocks of A
	parts  = sync.Pool{New: func() any { return new([]float32) }} // unused blocks of products
)

// block sets c, from its first value on, to a block of a*b. With lower, tiles above the diagonal are left out.
func block(c, a View, b *Right, rows, cols span, lower bool) {
	i0, i1, j0, j1, step := rows.from, rows.to, cols.from, cols.to, c.RowStep
	if narrow != nil && a.ColStep == 1 && j1-j0 <= tileCols {
		_ = a.Data[(i1-1)*a.RowStep+a.Cols-1] // the kernel does not look
		var tile [2 * tileRows * tileCols]float32
		for ; i0+2*tileRows <= i1; i0 += 2 * tileRows {
			narrow(a.Cols, &a.Data[i0*a.RowStep], a.RowStep, &b.data[j0*b.k], &tile[0])
			for r := range 2 * tileRows {
				copy(c.Data[(i0-rows.from+r)*step:][:j1-j0], tile[r*tileCols:])
			}
		}
		if i0 == i1 {
			return
		}
		c.Data = c.Data[(i0-rows.from)*step:]
	}
	if n := j1 - j0; oneRow != nil && i1-i0 == 1 && a.ColStep == 1 && !lower && n > 3*tileCols {
		var four [4 * tileCols]float32
		last := (n - 3*tileCols - 1) / tileCols * tileCols // the last four panels begin here
		for j := 0; j < n; j += len(four) {
			j := min(j, last)
			oneRow(a.Cols, &a.Data[i0*a.RowStep:][:a.Cols][0], &b.data[(j0+j)*b.k:][:len(four)*b.k][0], &four[0])
			copy(c.Data[j:n], four[:])
		}
		return
	}
	left := lefts.Get().(*Left)
	defer lefts.Put(left)
	var tile [tileRows * tileCols]float32
	for k0 := 0; k0 < a.Cols; k0 += depth {
		k := min(depth, a.Cols-k0)
		left.pack(a, i0, i1, k0, k)
		for j := j0; j < j1; j += tileCols {
			panel := b.data[(j*b.k + k0*tileCols):][:k*tileCols]
			first := i0
			if lower && j > i0 {
				first += (j - i0) / tileRows * tileRows
			}
			for i := first; i < i1; i += tileRows {
				rows, cols := min(tileRows, i1-i), min(tileCols, j1-j)
				at, corner := left.data[(i-i0)*k:], c.Data[(i-i0)*step+j-j0:]
				if pairs != nil && i1-i >= 2*tileRows && cols == tileCols {
					pairs(k, &at[0], &panel[0], &corner[0], step, k0 > 0)
					i += tileRows
					continue
				}
				if rows == tileRows && cols == tileCols {
					kernel(k, &at[0], &panel[0], &corner[0], step, k0 > 0)
					continue
				}
				// A tile at the edge is computed separately, because the kernel handles only whole tiles.
				for r := range rows {
					copy(tile[r*tileCols:], corner[r*step:][:cols])
				}
				kernel(k, &at[0], &panel[0], &tile[0], tileCols, k0 > 0)
				for r := range rows {
					copy(corner[r*step:][:cols], tile[r*tileCols:])
				}
			}
		}
	}
}

// Right is a right factor laid out for the kernel. The zero value is an empty factor.
type Right struct {
	k, cols int
	data    []float32 // panel of 16 columns, k, column; columns beyond the last are zero
}

// PackRight lays out b.
func PackRight(b View) *Right {
	r := new(Right)
	r.Reset(b.Rows, b.Cols)
	for p := range r.Panels() {
		r.pack(b, p)
	}
	return r
}

// pack lays out panel p of b.
func (r *Right) pack(b View, p int) {
	cols := min(tileCols, b.Cols-p*tileCols)
	panel := r.Panel(p)
	if b.ColStep == 1 {
		for k := range b.Rows {
			copy(panel[k*tileCols:][:cols], b.Data[k*b.RowStep+p*tileCols:])
		}
		return
	}
	for j := range cols {
		at := (p*tileCols + j) * b.ColStep
		for k := range b.Rows {
			panel[k*tileCols+j] = b.Data[at+k*b.RowStep]
		}
	}
}

// Panels returns the number of panels of 16 columns; the last is padded with zeros.
func (r *Right) Panels() int { return (r.cols + tileCols - 1) / tileCols }

// Panel returns panel p, without copying: 16 adjacent values for every k. Columns beyond the last must stay zero.
func (r *Right) Panel(p int) []float32 { return r.data[p*r.k*tileCols:][:r.k*tileCols] }

// Reset gives r a new size, keeping its memory; the values are undefined.
func (r *Right) Reset(k, cols int) {
	r.k, r.cols = k, cols
	n := r.Panels() * k * tileCols
	r.data = slices.Grow(r.data[:0], n)[:n]
	if cols%tileCols != 0 {
		clear(r.Panel(r.Panels() - 1))
	}
}

// Left is a left factor laid out for the kernel, for products that are consumed in strips and never stored.
type Left struct {
	rows, k int
	data    []float32 // panel of 6 rows, k, row; rows beyond the last are zero
}

// Reset gives l a new size, keeping its memory; the values are undefined.
func (l *Left) Reset(rows, k int) {
	l.rows, l.k = rows, k
	n := l.StripRows() * k
	l.data = slices.Grow(l.data[:0], n)[:n]
	if over := rows % tileRows; over != 0 {
		clear(l.data[(rows-over)*k:])
	}
}

// StripRows returns the number of rows in a strip: those of the factor, rounded up to whole tiles.
func (l *Left) StripRows() int { return (l.rows + tileRows - 1) / tileRows * tileRows }

// Row returns row i, without copying: value k is at k*step.
func (l *Left) Row(i int) (values []float32, step int) {
	if l.k == 0 {
		return nil, tileRows
	}
	return l.data[i/tileRows*tileRows*l.k+i%tileRows:], tileRows
}

// pack lays out rows i0 to i1 of a, k values from k0 on. Adjacent values are read in order.
func (l *Left) pack(a View, i0, i1, k0, k int) {
	l.Reset(i1-i0, k)
	from, whole := a.Data[i0*a.RowStep+k0*a.ColStep:], (i1-i0)/tileRows*tileRows
	switch {
	case a.RowStep == 1:
		const some = 16 // values of k whose rows stay in the L1 cache
		for k0 := 0; k0 < k; k0 += some {
			for i := 0; i < whole; i += tileRows {
				packColumns(l.data[i*k:][k0*tileRows:min(k0+some, k)*tileRows], from[i+k0*a.ColStep:], a.ColStep)
			}
		}
	case a.ColStep == 1:
		for i := 0; i < whole; i += tileRows {
			packRows(l.data[i*k:], from[i*a.RowStep:], a.RowStep, k)
		}
	default:
		whole = 0
	}
	for i := whole; i < i1-i0; i++ {
		row, step := l.Row(i)
		for kk := range k {
			row[kk*step] = from[i*a.RowStep+kk*a.ColStep]
		}
	}
}

// packColumns lays out part of a panel of rows whose values for each k are adjacent.
func packColumns(panel, from []float32, step int) {
	for ; len(panel) >= tileRows; panel = panel[tileRows:] {
		v, to := (*[tileRows]float32)(from), (*[tileRows]float32)(panel)
		to[0], to[1], to[2], to[3], to[4], to[5] = v[0], v[1], v[2], v[3], v[4], v[5] // quicker than as a whole
		from = from[min(step, len(from)):]
	}
}

// packRows lays out a whole panel of rows of k adjacent values, reading and writing in order.
func packRows(panel, from []float32, step, k int) {
	r0, r1, r2 := from[:k], from[step:][:k], from[2*step:][:k]
	r3, r4, r5 := from[3*step:][:k], from[4*step:][:k], from[5*step:][:k]
	for kk, v := range r0 {
		to := (*[tileRows]float32)(panel[kk*tileRows:])
		to[0], to[1], to[2], to[3], to[4], to[5] = v, r1[kk], r2[kk], r3[kk], r4[kk], r5[kk]
	}
}

// StripCols is the number of columns in a strip.
const StripCols = tileCols

// Strip sets dst to the product of l and panel p of r: StripRows rows of StripCols values. Rows beyond those of l
// and columns beyond those of r are zero.
func (l *Left) Strip(dst []float32, r *Right, p int) {
	if l.k != r.k || len(dst) != l.StripRows()*tileCols {
		panic("gemm: sizes of the strip and its factors differ")
	}
	if l.k == 0 {
		clear(dst)
		return
	}
	panel := r.Panel(p)
	for i := 0; i < l.rows; i += tileRows {
		if pairs != nil && l.rows-i > tileRows {
			pairs(l.k, &l.data[i*l.k], &panel[0], &dst[i*tileCols], tileCols, false)
			i += tileRows
			continue
		}
		kernel(l.k, &l.data[i*l.k], &panel[0], &dst[i*tileCols], tileCols, false)
	}
}
