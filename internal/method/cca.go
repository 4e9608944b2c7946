// Canonical correlation analysis with iterative quantisation (Gong and Lazebnik: Iterative Quantization: A Procrustean
// Approach to Learning Binary Codes, CVPR 2011, section 4; "CCA-ITQ").
//
// With X the centred vectors, scaled to a mean column variance of 1, and Y the centred classes or tags (1 where a row
// has one), the directions w and u that make the correlation ρ of Xw and Yu greatest are those of
//
//	Cxy Cyy^-1 Cyx w = ρ² Cxx w,      Cxx = X'X / (n-1) + λI,  Cxy = X'Y / (n-1),  Cyy = Y'Y / (n-1) + μI.
//
// The embedding is Xw ρ for the greatest ρ, and the code is the sign of its ITQ rotation. There are no more
// correlations than classes or tags, c, so with Cyy = L L' everything follows from the c x c matrix T = L^-1 Cyx Cxx^-1
// Cxy L'^-1: its eigenvectors v have the values ρ², and wρ = Cxx^-1 Cxy L'^-1 v, without a division. If there are more
// bits than correlations, the rotation spreads them over all bits; the remaining directions have ρ = 0 and add nothing.
//
// The released code has λ = μ = 1e-4 in whatever units its vectors have. Here λ falls with the rows, from what 5,000
// need to what 50,000 do, and μ is 1 for tags: if rows are similar when they share some tags, frequent tags decide, and
// without μ rare ones would count as much. Both were chosen on validation parts.
//
//	Cxx, Cxy     one pass over the rows           n d² / 2 products in blocks; 4 d² bytes whatever n
//	Z            Cxx Z = Cxy                      d³/6 and d² c products
//	T, v         c x c                            c² d
//	embedding    one more pass                    n d r
//
// With fewer rows than columns the n x n matrix XX' takes the place of Cxx: Cxx^-1 X' = X' (XX' / (n-1) + λI)^-1.
// Conjugate gradients would need no matrix but hundreds of passes over the rows, since the ridge is far below the
// largest variances.

package method

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// ccaITQ learns rotated canonical correlations with classes or tags.
type ccaITQ struct {
	Options             // Rows: to learn from, at most, drawn at random; 0 means all, but 16,384 of wider vectors
	Ridge       float64 // λ: min(d/n, (1500/n)²) of n rows; raised where single precision needs it
	TargetRidge float64 // μ: 1 for tags and 1e-4 for classes
}

const (
	maxSide    = 1 << 14 // of the matrices of CCAITQ: 1 GB
	maxTargets = 1 << 12 // classes or tags of CCAITQ
)

func (m ccaITQ) learn(ctx context.Context, src *supervision.Data) (model.Encoder, error) {
	d := src.Dim()
	if err := checkSize(m.Bits, d); err != nil {
		return nil, err
	}
	if m.Rows == 0 {
		m.Rows = -1
		if d > maxSide {
			m.Rows = maxSide
		}
	}
	l, err := drawLabelled(src, m.Rows, m.Seed)
	if err != nil {
		return nil, err
	}
	y, _, err := targetsOf(l.Data)
	if err != nil {
		return nil, err
	}
	n := float64(l.Rows)
	m.Ridge, m.TargetRidge = min(float64(d)/n, 1500*1500/(n*n)), 1e-4
	if y.Several {
		m.TargetRidge = 1
	}
	standard, err := standardise(ctx, l.Source, float64(d))
	if err != nil {
		return nil, err
	}
	x := model.Through(l.Source, m.Threads, standard)
	w, _, err := m.correlations(ctx, x, y)
	if err != nil {
		return nil, err
	}
	directions := linalg.Single(w)
	v, err := readThrough(ctx, x, l.Rows, m.Threads, &model.Affine{Weight: directions})
	if err != nil {
		return nil, err
	}
	r, err := rotateToCorners(ctx, v, itqSteps, m.Options)
	if err != nil {
		return nil, err
	}
	// The rows' scale is the same for all columns, so the signs do not depend on it.
	return checked(&model.Projection{Mean: standard.Mean, Weight: rotatedRows(r, directions),
		Threshold: make([]float32, m.Bits)})
}

// correlations returns the directions wρ, one per row, and ρ, the greatest first, for standardised rows and their
// classes or tags: as many as there are bits, but no more than classes, tags or columns.
func (m ccaITQ) correlations(ctx context.Context, x vectors.Source,
	y targets) (w *mat.Dense, rho []float64, err error) {
	n, d, c := y.Rows(), x.Dim(), y.Classes
	if c > maxTargets || min(n, d) > maxSide || float64(c)*float64(max(n, d)) > maxWeights {
		return nil, nil, fmt.Errorf("correlations of %d rows of %d dimensions with %d classes or tags: at most %d rows or "+
			"dimensions and %d classes or tags fit in memory",
			n, d, c, maxSide, maxTargets)
	}
	solve := m.solveByColumns
	if n <= d {
		solve = m.solveByRows
	}
	z, cross, err := solve(ctx, x, y)
	if err != nil {
		return nil, nil, err
	}
	l, err := linalg.NewCholesky(ctx, covariance(y), c, m.TargetRidge, m.Threads)
	if err != nil {
		return nil, nil, err
	}
	// T = L^-1 P L'^-1 with P = Cyx Z, which is symmetric but for rounding: first the columns of P, then those of (L^-1
	// P)'.
	half := mat.NewDense(c, c, nil)
	err = par.For(ctx, m.Threads, c, func(s int) {
		row := half.RawRowView(s)
		for t := range row {
			row[t] = (linalg.Dot(cross.RawRowView(s), z.RawRowView(t)) + linalg.Dot(cross.RawRowView(t), z.RawRowView(s))) / 2
		}
		l.Forward(row)
	})
	if err != nil {
		return nil, nil, err
	}
	whole := mat.DenseCopyOf(half.T())
	if err := par.For(ctx, m.Threads, c, func(s int) { l.Forward(whole.RawRowView(s)) }); err != nil {
		return nil, nil, err
	}
	t := mat.NewSymDense(c, nil)
	for i := range c {
		for j := i; j < c; j++ {
			t.SetSym(i, j, (whole.At(i, j)+whole.At(j, i))/2)
		}
	}
	k := min(m.Bits, c, d)
	e, err := linalg.TopEigenvectors(ctx, c, k, linalg.MatrixProduct(t, m.Threads),
		linalg.TopOptions{Seed: m.Seed, Threads: m.Threads})
	if err != nil {
		return nil, nil, err
	}
	for _, v := range e.Values {
		rho = append(rho, math.Sqrt(max(v, 0)))
	}
	w = mat.NewDense(k, d, nil)
	return w, rho, par.For(ctx, m.Threads, k, func(i int) {
		v := e.Vectors.RawRowView(i)
		l.Backward(v)
		for t := range c {
			linalg.Axpy(v[t], z.RawRowView(t), w.RawRowView(i))
		}
	})
}

// covariance returns Cyy without its ridge, row by row.
func covariance(t targets) []float64 {
	c, n := t.Classes, float64(t.Rows())
	cov, count := make([]float64, c*c), t.Counts()
	for i := range t.Rows() {
		for _, a := range t.Row(i) {
			for _, b := range t.Row(i) {
				cov[int(a)*c+int(b)]++
			}
		}
	}
	for a := range c {
		for b := range c {
			cov[a*c+b] = (cov[a*c+b] - count[a]*count[b]/n) / max(n-1, 1)
		}
	}
	return cov
}

// solveByColumns returns Z = Cxx^-1 Cxy and Cxy, both with a row per class or tag, from the d x d matrix Cxx.
func (m ccaITQ) solveByColumns(ctx context.Context, x vectors.Source,
	y targets) (z, cross *mat.Dense, err error) {
	d, c := x.Dim(), y.Classes
	g := linalg.NewGram(d, m.Threads)
	cross = mat.NewDense(c, d, nil)
	for b, err := range linalg.Blocks(ctx, x, linalg.GramRows) {
		if err != nil {
			return nil, nil, err
		}
		if err := g.Add(ctx, linalg.MatrixView(b.X)); err != nil {
			return nil, nil, err
		}
		addByTarget(cross, y, b)
	}
	share := 1 / float64(max(y.Rows()-1, 1))
	cross.Scale(share, cross)
	right := vectors.Matrix{Rows: d, Cols: c, Data: make([]float32, d*c)}
	for t := range c {
		for j, v := range cross.RawRowView(t) {
			right.Data[j*c+t] = float32(v)
		}
	}
	if err := g.Solve(ctx, share, m.Ridge, right); err != nil {
		return nil, nil, err
	}
	z = mat.NewDense(c, d, nil)
	for t := range c {
		for j := range d {
			z.Set(t, j, float64(right.Data[j*c+t]))
		}
	}
	return z, cross, nil
}

// solveByRows is like solveByColumns, using the n x n matrix XX'.
func (m ccaITQ) solveByRows(ctx context.Context, src vectors.Source, y targets) (z, cross *mat.Dense, err error) {
	n, d, c := y.Rows(), src.Dim(), y.Classes
	x, err := readRows(ctx, src, n)
	if err != nil {
		return nil, nil, err
	}
	g := linalg.NewGram(n, m.Threads)
	for lo := 0; lo < d; lo += linalg.GramRows {
		if err := g.Add(ctx, gemm.View{Rows: min(linalg.GramRows, d-lo), Cols: n, RowStep: 1, ColStep: d,
			Data: x.Data[lo:]}); err != nil {
			return nil, nil, err
		}
	}
	cross = mat.NewDense(c, d, nil)
	for b, err := range linalg.Blocks(ctx, x, linalg.GramRows) {
		if err != nil {
			return nil, nil, err
		}
		addByTarget(cross, y, b)
	}
	share := 1 / float64(max(n-1, 1))
	cross.Scale(share, cross)
	// X' maps equal values to 0, so Y is centred only for precision: the solution would hold its mean over λ.
	count := y.Counts()
	right := vectors.Matrix{Rows: n, Cols: c, Data: make([]float32, n*c)}
	for i := range n {
		row := right.Row(i)
		for t, k := range count {
			row[t] = float32(-k / float64(n) * share)
		}
		for _, t := range y.Row(i) {
			row[t] += float32(share)
		}
	}
	if err := g.Solve(ctx, share, m.Ridge, right); err != nil {
		return nil, nil, err
	}
	product := make([]float32, c*d)
	if err := gemm.Mul(ctx, m.Threads, gemm.RowMajor(c, d, product), linalg.MatrixView(right).T(),
		linalg.MatrixView(x)); err != nil {
		return nil, nil, err
	}
	z = mat.NewDense(c, d, nil)
	for i, v := range product {
		z.RawMatrix().Data[i] = float64(v)
	}
	return z, cross, nil
}

// addByTarget adds every row of a chunk to the rows of sum for its classes or tags.
func addByTarget(sum *mat.Dense, t targets, c vectors.Chunk) {
	for i := range c.X.Rows {
		for _, k := range t.Row(c.First + i) {
			row := sum.RawRowView(int(k))
			for j, v := range c.X.Row(i) {
				row[j] += float64(v)
			}
		}
	}
}
