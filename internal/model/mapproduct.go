package model

import (
	"math"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/vectors"
)

// Products of vectors with the rows of a matrix, as maps take them:
//
//	x · w = sum over parts of 512 columns, in float64 and in order, of the part's product,
//
// the product of a part being the chain of fused multiply-adds in float32 that package gemm defines. It has the same
// bits on every machine and for any number of rows; the parts keep its error that of short chains.

// partCols is the number of columns whose product is taken in float32.
const partCols = 512

// factor is a matrix laid out for products.
type factor struct {
	rows, cols int
	parts      []*gemm.Right
}

func newFactor(w vectors.Matrix) *factor {
	f := &factor{rows: w.Rows, cols: w.Cols}
	for lo := 0; lo < w.Cols; lo += partCols {
		v := gemm.View{Rows: w.Rows, Cols: min(partCols, w.Cols-lo), RowStep: w.Cols, ColStep: 1, Data: w.Data[lo:]}
		f.parts = append(f.parts, gemm.PackRight(v.T()))
	}
	return f
}

// times returns the products of every row of x with every row of the matrix. It takes space for them, and returns nil
// if it left them there: if there is a single part.
func (f *factor) times(space []float32, x vectors.Matrix) []float64 {
	if x.Rows == 0 {
		return nil
	}
	var sums []float64
	if len(f.parts) != 1 {
		sums = make([]float64, x.Rows*f.rows)
	}
	for p, right := range f.parts {
		lo := p * partCols
		a := gemm.View{Rows: x.Rows, Cols: min(partCols, f.cols-lo), RowStep: f.cols, ColStep: 1, Data: x.Data[lo:]}
		gemm.MulHere(gemm.RowMajor(x.Rows, f.rows, space), a, right)
		for i := range sums {
			sums[i] += float64(space[i])
		}
	}
	return sums
}

// anchors is a set of points prepared for distances. They are centred first: |x|^2 - 2 x · a + |a|^2 loses least
// precision if both are small.
type anchors struct {
	centre  []float32
	factor  *factor
	squares []float64 // |a - centre|^2
}

func newAnchors(a vectors.Matrix) *anchors {
	sum := make([]float64, a.Cols)
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			sum[j] += float64(v)
		}
	}
	n := &anchors{centre: make([]float32, a.Cols)}
	for j, s := range sum {
		n.centre[j] = float32(s / float64(a.Rows))
	}
	c := n.centred(a)
	n.factor, n.squares = newFactor(c), squares(c)
	return n
}

// centred returns a copy of x minus the centre.
func (n *anchors) centred(x vectors.Matrix) vectors.Matrix {
	c := vectors.Matrix{Rows: x.Rows, Cols: x.Cols, Data: make([]float32, len(x.Data))}
	for i := range x.Rows {
		row := c.Row(i)
		for j, v := range x.Row(i) {
			row[j] = v - n.centre[j]
		}
	}
	return c
}

// squares returns the squared length of every row.
func squares(x vectors.Matrix) []float64 {
	s := make([]float64, x.Rows)
	for i := range s {
		for _, v := range x.Row(i) {
			s[i] += float64(float64(v) * float64(v))
		}
	}
	return s
}

// far stands for distances beyond float32.
const far = math.MaxFloat64

// distances returns the squared distance of every row of x to every anchor.
func (n *anchors) distances(x vectors.Matrix) []float64 {
	c := n.centred(x)
	space := make([]float32, x.Rows*n.factor.rows)
	d := n.factor.times(space, c)
	if d == nil {
		d = make([]float64, len(space))
		for i, v := range space {
			d[i] = float64(v)
		}
	}
	for i, own := range squares(c) {
		row := d[i*len(n.squares) : (i+1)*len(n.squares)]
		for q, product := range row {
			v := own - float64(2*product) + n.squares[q]
			if !(v > -far && v < far) { // no number, too
				v = far
			}
			row[q] = max(v, 0)
		}
	}
	return d
}
