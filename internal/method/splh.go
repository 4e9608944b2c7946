// Sequential projection learning for hashing (Wang, Kumar, Chang: Sequential Projection Learning for Hashing with
// Compact Codes, ICML 2010; "SPLH", with the labelled and the unlabelled term).
//
// X are all rows, centred, X_l the L labelled ones of them, S the L x L matrix of +1 for similar, -1 for dissimilar
// rows and 0 on the diagonal. Bit k is the sign of w_k'x, with w_k the top eigenvector of
//
//	M_k = X'X / n + η X_l' S X_l / L.
//
//	for each bit
//		w        Lanczos' method, from products with M          (n + L) d + L² each, some dozens
//		S       -= α D where S o D < 0,  D = p p' / mean p²,    the pairs that the bit gets wrong count more, L²
//		                                 p = X_l w
//		X       -= X w w'                                       as projections in front of X'X
//
// X_l is not deflated. In the paper D = p p': it has the scale of squared values, unlike S, and that scale falls from
// bit to bit, so late bits would teach the next ones nothing. Here every bit counts equally. The columns are scaled to
// equal variance, so codes do not depend on the units of measurement. Both were chosen on a validation part, as the
// step was. Up to 1024 dimensions M is formed; beyond that it is only multiplied with.

package method

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// splh learns sequential projections from all rows, and from classes, tags or pairs of some. It keeps the labelled rows
// in memory with 4 bytes per pair of them; for vectors with more than 1024 dimensions also all rows, or 1 GB of them
// drawn at random.
type splh struct {
	Options // Rows: L, at most, drawn at random; 0 means 2000, negative all
}

const (
	splhEta  = 0.2  // η
	splhStep = 0.05 // α
)

// splhSide is the largest number of dimensions for which M is formed.
const splhSide = 1024

// maxLabelled bounds S: 1 GB.
const maxLabelled = 1 << 14

func (m splh) learn(ctx context.Context, src *supervision.Data) (model.Encoder, error) {
	m.Rows = cmp.Or(m.Rows, 2000)
	d := src.Dim()
	if err := checkSize(m.Bits, d); err != nil {
		return nil, err
	}
	l, err := drawLabelled(src, m.Rows, m.Seed)
	if err != nil {
		return nil, err
	}
	if l.Rows > maxLabelled {
		return nil, fmt.Errorf("%d labelled rows, and at most %d fit in memory: take fewer", l.Rows, maxLabelled)
	}
	standard, err := standardiseColumns(ctx, src)
	if err != nil {
		return nil, err
	}
	f := &splhFit{threads: m.Threads, eta: splhEta, step: splhStep}
	if err := f.setUnlabelled(ctx, model.Through(src, m.Threads, standard), m.Seed); err != nil {
		return nil, err
	}
	xl, err := readThrough(ctx, l.Source, l.Rows, m.Threads, standard)
	if err != nil {
		return nil, err
	}
	if err := f.setLabelled(ctx, xl, l.Y); err != nil {
		return nil, err
	}
	p := &model.Projection{Mean: standard.Mean, Threshold: make([]float32, m.Bits)}
	for b := range m.Bits {
		w, err := f.nextBit(ctx, m.Seed+uint64(b))
		if err != nil {
			return nil, fmt.Errorf("bit %d: %w", b+1, err)
		}
		for j, v := range w { // for the vectors as they are
			p.Weight = append(p.Weight, float32(v*float64(standard.Scale[j])))
		}
	}
	return checked(p)
}

// splhFit is the state of the loop over bits. M is formed if the rows have few dimensions, and otherwise only
// multiplied with.
type splhFit struct {
	eta, step float64
	threads   int
	xl, s     vectors.Matrix
	w         [][]float64 // of the bits so far

	c *mat.SymDense  // X'X / n of the deflated rows; nil where M is not formed
	x vectors.Matrix // the rows as they were, where it is not
}

// setUnlabelled sets the rows of a centred source.
func (f *splhFit) setUnlabelled(ctx context.Context, src vectors.Source, seed uint64) (err error) {
	if d := src.Dim(); d <= splhSide {
		f.c, _, err = linalg.Covariance(ctx, src, nil, f.threads)
	} else {
		f.x, err = sampleRows(ctx, src, maxWeights/d, seed)
	}
	return err
}

// setLabelled sets X_l and S.
func (f *splhFit) setLabelled(ctx context.Context, xl vectors.Matrix, y affinity.Matrix) error {
	n := xl.Rows
	f.xl = xl
	f.s = vectors.Matrix{Rows: n, Cols: n, Data: make([]float32, n*n)}
	return par.Blocks(ctx, f.threads, n, rowBlock, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := f.s.Row(i)
			for j := range row {
				row[j] = float32(y.At(i, j))
			}
		}
	})
}

// nextBit finds the next w, and updates X with it and S with its mistakes.
func (f *splhFit) nextBit(ctx context.Context, seed uint64) ([]float64, error) {
	times := f.times
	if f.c != nil {
		m, err := f.formMatrix(ctx)
		if err != nil {
			return nil, err
		}
		times = linalg.MatrixProduct(m, f.threads)
	}
	// Sixteen vectors at a time cost the matrix product hardly more than one, and single precision allows no finer
	// tolerance.
	d := f.xl.Cols
	e, err := linalg.TopEigenvectors(ctx, d, 1, times,
		linalg.TopOptions{Tolerance: 1e-4, Block: 16, Products: 2000, Seed: seed, Threads: f.threads})
	if err != nil {
		return nil, err
	}
	w := e.Vectors.RawRowView(0)
	f.w = append(f.w, w)
	if f.c != nil {
		f.deflate(w)
	}
	p := make([]float32, f.xl.Rows)
	if err := gemm.Mul(ctx, f.threads, gemm.RowMajor(len(p), 1, p), linalg.MatrixView(f.xl),
		gemm.RowMajor(d, 1, linalg.Float32s(w))); err != nil {
		return nil, err
	}
	square := 0.0
	for _, v := range p {
		square += float64(float64(v) * float64(v))
	}
	if square == 0 {
		return w, nil // no labelled row is on a side
	}
	step := float32(f.step * float64(len(p)) / square)
	return w, par.Blocks(ctx, f.threads, len(p), rowBlock, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := f.s.Row(i)
			for j, s := range row {
				if d := p[i] * p[j]; s*d < 0 {
					row[j] = s - float32(step*d)
				}
			}
		}
	})
}

// formMatrix forms M. The products of the labelled rows are in single precision.
func (f *splhFit) formMatrix(ctx context.Context) (*mat.SymDense, error) {
	d := f.xl.Cols
	sxl := gemm.RowMajor(f.xl.Rows, d, make([]float32, len(f.xl.Data)))
	if err := gemm.Mul(ctx, f.threads, sxl, linalg.MatrixView(f.s), linalg.MatrixView(f.xl)); err != nil {
		return nil, err
	}
	part := make([]float32, d*d)
	if err := gemm.Mul(ctx, f.threads, gemm.RowMajor(d, d, part), linalg.MatrixView(f.xl).T(), sxl); err != nil {
		return nil, err
	}
	m := mat.NewSymDense(d, nil)
	weight := f.eta / float64(f.xl.Rows)
	for i := range d {
		for j := range i + 1 {
			m.SetSym(i, j, f.c.At(i, j)+float64(weight*(float64(part[i*d+j])+float64(part[j*d+i]))/2))
		}
	}
	return m, nil
}

// deflate sets C = (I - ww') C (I - ww').
func (f *splhFit) deflate(w []float64) {
	raw, cw := f.c.RawSymmetric(), make([]float64, len(w)) // the upper half; C w
	row := func(i int) []float64 { return raw.Data[i*raw.Stride+i : i*raw.Stride+len(w)] }
	for i, v := range w {
		cw[i] += linalg.Dot(row(i), w[i:])
		linalg.Axpy(v, row(i)[1:], cw[i+1:])
	}
	share := linalg.Dot(cw, w)
	for i, v := range w {
		linalg.Axpy(-cw[i], w[i:], row(i))
		linalg.Axpy(-v, cw[i:], row(i))
		linalg.Axpy(share*v, w[i:], row(i))
	}
}

// times sets the rows of dst to those of v times M.
func (f *splhFit) times(ctx context.Context, dst, v *mat.Dense) error {
	k, d := v.Dims()
	plain, deflated := make([]float32, 0, k*d), make([]float32, 0, k*d)
	for r := range k {
		row := slices.Clone(v.RawRowView(r))
		plain = append(plain, linalg.Float32s(row)...)
		// The rows are X (I - w_1 w_1') (I - w_2 w_2') ... : the last projection meets v first.
		for b := len(f.w) - 1; b >= 0; b-- {
			linalg.Axpy(-linalg.Dot(f.w[b], row), f.w[b], row)
		}
		deflated = append(deflated, linalg.Float32s(row)...)
	}
	all, err := f.sandwich(ctx, f.x, nil, gemm.RowMajor(k, d, deflated))
	if err != nil {
		return err
	}
	labels, err := f.sandwich(ctx, f.xl, &f.s, gemm.RowMajor(k, d, plain))
	if err != nil {
		return err
	}
	return par.For(ctx, f.threads, k, func(r int) {
		row := dst.RawRowView(r)
		for j := range row {
			row[j] = float64(all[j*k+r]) / float64(f.x.Rows)
		}
		for _, w := range f.w {
			linalg.Axpy(-linalg.Dot(w, row), w, row)
		}
		for j := range row {
			row[j] += float64(f.eta / float64(f.xl.Rows) * float64(labels[j*k+r]))
		}
	})
}

// sandwich returns X'SX v', or X'X v' without S, with a column for each row of v.
func (f *splhFit) sandwich(ctx context.Context, x vectors.Matrix, s *vectors.Matrix, v gemm.View) ([]float32, error) {
	xv := gemm.RowMajor(x.Rows, v.Rows, make([]float32, x.Rows*v.Rows))
	if err := gemm.Mul(ctx, f.threads, xv, linalg.MatrixView(x), v.T()); err != nil {
		return nil, err
	}
	if s != nil {
		sxv := gemm.RowMajor(x.Rows, v.Rows, make([]float32, x.Rows*v.Rows))
		if err := gemm.Mul(ctx, f.threads, sxv, linalg.MatrixView(*s), xv); err != nil {
			return nil, err
		}
		xv = sxv
	}
	out := make([]float32, x.Cols*v.Rows)
	return out, gemm.Mul(ctx, f.threads, gemm.RowMajor(x.Cols, v.Rows, out), linalg.MatrixView(x).T(), xv)
}
