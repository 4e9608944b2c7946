// Anchor graph hashing (Liu, Wang, Kumar and Chang: Hashing with Graphs, ICML 2011).
//
// Rows are neighbours through anchors: with Z the shares of the s nearest of m anchors, a row for each vector, the
// graph is A = Z Λ^-1 Z', Λ = diag(Z'1), and its eigenvectors follow from a small matrix:
//
//	M = Λ^-1/2 Z'Z Λ^-1/2,   M v = σ v,   y = √n Z Λ^-1/2 v σ^-1/2 = Z w,   A y = σ y
//
// One layer:  bit k = [y_k >= 0], for the r greatest σ below 1: those at 1 only tell which component of the graph a row
// is in.
//
// Two layers: r/2 eigenvectors, each with a second bit that splits both of its sides again, at b+ and b-:
//
//	bit = [y >= b+] where y > 0,   [y <= b-] elsewhere
//	b+ + b- = c = e'L|y| / e'Le,   n+ b+ - n- b- = sum of |y|,    L = I - A, e = the rows with y > 0:
//
// of all thresholds that halve the rows, these cut the graph least. Together the two conditions are a curve of y: |y -
// (b+ + b-)/2| >= (b+ - b-)/2.
//
//	anchors      k-means of a sample                               O(rows · m · dim) a step
//	Z            one pass over all rows, s values each             O(n · m · dim)
//	M, V         taken apart                                       O(n s^2 + m^3)
//	thresholds   from Z                                            O(n s r)

package method

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// agh learns eigenvectors of an anchor graph. It keeps a sample of the rows in memory, and 8 s bytes for every row.
type agh struct {
	Options     // Anchors: m; 0 means 300; never more than rows
	Layers  int // 1 or 2
	Nearest int // s; 0 means 2
}

const (
	aghSample  = 10_000 // the most rows that the anchors are found from, drawn at random
	maxAnchors = 1 << 13
)

func (m agh) withDefaults() (agh, error) {
	m.Anchors, m.Nearest = cmp.Or(m.Anchors, 300), cmp.Or(m.Nearest, 2)
	if m.Anchors < 1 || m.Anchors > maxAnchors {
		return m, fmt.Errorf("an anchor graph of %d anchors: give 1 to %d", m.Anchors, maxAnchors)
	}
	return m, checkSize(m.Bits, 1)
}

func (m agh) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	m, err := m.withDefaults()
	if err != nil {
		return nil, err
	}
	front, err := m.graph(ctx, x)
	if err != nil {
		return nil, err
	}
	z, err := sharesOf(ctx, model.Through(x, m.Threads, front), front.Nearest)
	if err != nil {
		return nil, err
	}
	count := (m.Bits + m.Layers - 1) / m.Layers
	w, found, err := z.eigenvectors(ctx, count, m.Seed, m.Threads)
	if err != nil {
		return nil, err
	}
	if len(found) < count {
		return nil, m.tooFew(z.cols, len(found))
	}
	weight := linalg.Single(w)
	if m.Layers == 1 {
		return model.Compose(&model.Projection{Weight: weight.Data, Threshold: make([]float32, m.Bits)}, front), nil
	}
	curves := &model.Curves{Cols: count}
	for k := range count {
		curves.Curves = append(curves.Curves, model.Curve{Column: k, X: []float32{0, 1}, Y: []float32{0, 1}})
	}
	for k := range m.Bits - count {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		above, below := z.thresholds(w.RawRowView(k))
		curves.Curves = append(curves.Curves, fold(k, above, below))
	}
	return model.Compose(axisSigns(m.Bits, make([]float32, m.Bits)), front, &model.Affine{Weight: weight},
		curves), nil
}

// tooFew returns the error for a graph with too few eigenvectors.
func (m agh) tooFew(anchors, found int) error {
	if found == 0 {
		return errors.New("the anchor graph has no eigenvectors to take bits from: use more anchors")
	}
	return &BitsError{m.Bits, found * m.Layers, fmt.Sprintf("the anchor graph of %d anchors has %d eigenvectors to take "+
		"bits from", anchors, found)}
}

// fold returns the curve |y - (b+ + b-)/2| - (b+ - b-)/2 of a column. A threshold on the wrong side of zero splits
// nothing off that side: all of it is beyond.
func fold(column int, above, below float64) model.Curve {
	b, a := float32(min(below, 0)), float32(max(above, 0))
	middle := float32(b/2) + float32(a/2)
	c := model.Curve{Column: column, X: []float32{b, middle, a}, Y: []float32{0, middle - a, 0}}
	if !(b < middle && middle < a) { // both thresholds at zero
		c.X, c.Y = []float32{-1, 0, 1}, []float32{1, 0, 1}
	}
	return c
}

// graph finds the anchors and the width of the kernel exp(-|x - a|² / width): the squared mean distance to the s-th
// nearest anchor.
func (m agh) graph(ctx context.Context, x vectors.Source) (*model.Gaussian, error) {
	sample, err := sampleRows(ctx, x, aghSample, m.Seed)
	if err != nil {
		return nil, err
	}
	anchors, err := linalg.KMeans(ctx, sample, min(m.Anchors, sample.Rows), m.Seed, m.Threads)
	if err != nil {
		return nil, err
	}
	near := min(m.Nearest, anchors.Rows)
	mean, err := neighbourDistance(ctx, sample, anchors, near-1, m.Threads)
	if err != nil {
		return nil, err
	}
	width := max(mean*mean, math.SmallestNonzeroFloat32) // 0 when all rows are equal
	g := &model.Gaussian{Anchors: anchors, Nearest: near, Width: float32(min(width, math.MaxFloat32))}
	return g, g.Check()
}

// shares holds the positive values of Z.
type shares struct {
	rows, cols int
	near       int // values of a row
	at         []int32
	share      []float32 // zero beyond the last of a row
}

// sharesOf computes Z from the anchor graph of all rows.
func sharesOf(ctx context.Context, src vectors.Source, near int) (*shares, error) {
	z := &shares{cols: src.Dim(), near: near}
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		if len(z.at)+c.X.Rows*near > maxValues {
			return nil, errors.New("the anchor graph of all rows does not fit into memory: learn from fewer rows")
		}
		for i := range c.X.Rows {
			n := len(z.at)
			for q, v := range c.X.Row(i) {
				if v > 0 {
					z.at, z.share = append(z.at, int32(q)), append(z.share, v)
				}
			}
			for len(z.at) < n+near {
				z.at, z.share = append(z.at, 0), append(z.share, 0)
			}
		}
		z.rows += c.X.Rows
	}
	return z, nil
}

// row returns the anchors and shares of row i, without copying.
func (z *shares) row(i int) ([]int32, []float32) {
	return z.at[i*z.near : (i+1)*z.near], z.share[i*z.near : (i+1)*z.near]
}

// degrees returns the diagonal of Λ.
func (z *shares) degrees() []float64 {
	d := make([]float64, z.cols)
	for i, q := range z.at {
		d[q] += float64(z.share[i])
	}
	return d
}

// The range of useful eigenvalues: those above only tell which component of the graph a row is in, those below nothing.
const mostSigma, leastSigma = 1 - 1e-3, 1e-9

// eigenvectors returns the first k vectors w, one per row, and their eigenvalues σ, or fewer if there are no more.
func (z *shares) eigenvectors(ctx context.Context, k int, seed uint64, threads int) (*mat.Dense, []float64, error) {
	root := z.degrees()
	for q, d := range root {
		if d > 0 { // else the anchor is near no row, and its row of M is zero
			root[q] = 1 / math.Sqrt(d)
		}
	}
	m := mat.NewSymDense(z.cols, nil)
	raw := m.RawSymmetric()
	for i := range z.rows {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		at, share := z.row(i)
		for a, p := range at {
			f := float64(share[a]) * root[p]
			for b, q := range at {
				if p <= q && (p < q || a == b) {
					raw.Data[int(p)*raw.Stride+int(q)] += float64(f * float64(share[b]) * root[q])
				}
			}
		}
	}
	values, vectors, err := topBelowOne(ctx, m, k, seed, threads)
	if err != nil {
		return nil, nil, err
	}
	w, sigma := mat.NewDense(k, z.cols, nil), make([]float64, 0, k)
	for i, s := range values {
		if s >= mostSigma || s <= leastSigma || len(sigma) == k {
			continue
		}
		row := w.RawRowView(len(sigma))
		for q, v := range vectors.RawRowView(i) {
			row[q] = math.Sqrt(float64(z.rows)/s) * root[q] * v
		}
		sigma = append(sigma, s)
	}
	return w, sigma, nil
}

// topBelowOne returns at least the first k eigenvectors below mostSigma of a matrix, if it has as many. Since the
// number above is unknown, it computes all for a small matrix, and twice as many each time for a large one.
func topBelowOne(ctx context.Context, m *mat.SymDense, k int, seed uint64, threads int) ([]float64, *mat.Dense, error) {
	n := m.SymmetricDim()
	if n <= smallSide {
		return linalg.AllEigenvectors(m)
	}
	for want := k + 8; ; want *= 2 {
		if 2*want >= n {
			return linalg.AllEigenvectors(m)
		}
		e, err := linalg.TopEigenvectors(ctx, n, want, linalg.MatrixProduct(m, threads),
			linalg.TopOptions{Seed: seed, Threads: threads})
		if err != nil {
			return nil, nil, err
		}
		usable := 0
		for _, s := range e.Values {
			if s < mostSigma {
				usable++
			}
		}
		if usable >= k {
			return e.Values, e.Vectors, nil
		}
	}
}

// thresholds returns b+ and b- of the eigenvector y = Z w.
func (z *shares) thresholds(w []float64) (above, below float64) {
	degree := z.degrees()
	left, right := make([]float64, z.cols), make([]float64, z.cols) // Z'e, Z'|y|
	var positive, sum float64                                       // e'1, e'y
	for i := range z.rows {
		at, share := z.row(i)
		y := 0.0
		for a, q := range at {
			y += float64(float64(share[a]) * w[q])
		}
		for a, q := range at {
			right[q] += float64(float64(share[a]) * math.Abs(y))
			if y > 0 {
				left[q] += float64(share[a])
			}
		}
		if y > 0 {
			positive++
			sum += y
		}
	}
	top, bottom := sum, positive // e'L|y|, e'Le
	for q, d := range degree {
		if d > 0 {
			top -= left[q] * right[q] / d
			bottom -= left[q] * left[q] / d
		}
	}
	n, c := float64(z.rows), 0.0
	if bottom > 1e-9*n {
		c = top / bottom
	}
	return (float64(2*sum) + float64((n-positive)*c)) / n, (float64(positive*c) - float64(2*sum)) / n
}
