// Supervised discrete hashing (Shen, Shen, Liu and Shen: Supervised Discrete Hashing, CVPR 2015).
//
//	minimise |Y - B W|² + λ|W|² + ν (|B - F(X)|² + δ|P|²)    over B in {-1, +1}^(n x r), W, P
//
// with Y the classes or tags of the rows as zeros and ones, and F(x) = P k(x) + bias of Gaussian features
// (gaussianKernel): the codes must suit a linear classifier and be close to what the features can express.
//
//	round                                              5
//		W   = (B'B + λ)^-1 B'Y                         O(n·r²)
//		P   = (K'K + δ)^-1 K'B, bias = mean of B       O(n·m·r), after one Cholesky factor
//		B   one bit of a row after the other (DCC):    O(r²) a row and pass
//		    b_l = sign(q_l - Σ_p≠l b_p M_pl),   q = W y + ν F(x),   M = W W'
//
// Each step minimises over its variables, so the objective never rises. Only P is kept: bit = [F(x) >= 0].
//
// The features are centred over the rows, so the bias can be found separately.

package method

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// sdh learns supervised discrete codes, also those of FSDH, from classes or tags. It keeps 4 bytes per row and anchor.
type sdh struct {
	Options         // Anchors: m; 0 means 1000. Rows: to learn from, at most, drawn at random; 0 means all
	Nu      float64 // ν, weight of the features; 0 means 1e-5
	Fast    bool    // FSDH: the classes predict the codes, which takes no passes
}

const (
	sdhRounds = 5
	sdhPasses = 10   // of DCC in a round, at most
	sdhDelta  = 0.01 // δ, penalty of the regression
)

// learn alternates between the regression and the choice of the codes.
func (m sdh) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	m.Anchors = cmp.Or(m.Anchors, 1000)
	m.Rows = cmp.Or(m.Rows, -1)
	if err := checkAnchors(m.Bits, m.Anchors); err != nil {
		return nil, err
	}
	l, err := drawLabelled(x, m.Rows, m.Seed)
	if err != nil {
		return nil, err
	}
	y, _, err := targetsOf(l.Data)
	if err != nil {
		return nil, err
	}
	kernel, k, err := kernelFeatures(ctx, l.Data, l.Data, 0, m.Options)
	if err != nil {
		return nil, err
	}
	d, err := newDiscrete(ctx, m, k, y)
	if err != nil {
		return nil, err
	}
	for round := range sdhRounds {
		err := d.regress(ctx)
		switch {
		case err != nil:
		case m.Fast:
			err = d.generate(ctx)
		default:
			err = d.classify(ctx, sdhPasses)
		}
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	if err := d.regress(ctx); err != nil {
		return nil, err
	}
	return model.Compose(d.projection(), kernel), nil
}

// discrete is the state of SDH and FSDH: the codes B and the regression F.
type discrete struct {
	features
	y          targets
	lambda, nu float64
	factor     *linalg.Cholesky // of K'K + δ
	b          vectors.Matrix   // B, n x r, +1 or -1
	f          vectors.Matrix   // F(X), n x r
	p          vectors.Matrix   // P', m x r
	bias       []float64
}

func newDiscrete(ctx context.Context, m sdh, k features, y targets) (*discrete, error) {
	d := &discrete{features: k, y: y, lambda: 1, nu: cmp.Or(m.Nu, 1e-5)}
	if int64(m.Bits)*int64(y.Classes) > maxWeights {
		return nil, fmt.Errorf("%d bits and %d classes or tags are too many", m.Bits, y.Classes)
	}
	n, r := k.K.Rows, m.Bits
	d.b = vectors.Matrix{Rows: n, Cols: r, Data: make([]float32, n*r)}
	d.f = vectors.Matrix{Rows: n, Cols: r, Data: make([]float32, n*r)}
	rng := rand.New(rand.NewPCG(m.Seed, 'B'))
	for i := range d.b.Data {
		d.b.Data[i] = float32(2*int(rng.Uint64()>>63) - 1)
	}
	gram, err := linalg.TransposeProduct(ctx, k.Threads, k.K, k.K)
	if err != nil {
		return nil, err
	}
	d.factor, err = linalg.NewCholesky(ctx, gram, k.K.Cols, sdhDelta, k.Threads)
	return d, err
}

// regress fits P and the bias to B, and computes F(X).
func (d *discrete) regress(ctx context.Context) error {
	m, r := d.K.Cols, d.b.Cols
	p, err := linalg.TransposeProduct(ctx, d.Threads, d.K, d.b)
	if err != nil {
		return err
	}
	if err := d.factor.Solve(ctx, p, r); err != nil {
		return err
	}
	d.p = vectors.Matrix{Rows: m, Cols: r, Data: linalg.Float32s(p)}
	d.bias = make([]float64, r)
	for i, v := range d.b.Data {
		d.bias[i%r] += float64(v) / float64(d.b.Rows)
	}
	if err := gemm.Mul(ctx, d.Threads, linalg.MatrixView(d.f), linalg.MatrixView(d.K),
		linalg.MatrixView(d.p)); err != nil {
		return err
	}
	for i := range d.f.Data {
		d.f.Data[i] += float32(d.bias[i%r])
	}
	return nil
}

// projection returns F as an encoder of features.
func (d *discrete) projection() *model.Projection {
	m, r := d.p.Rows, d.p.Cols
	p := &model.Projection{Weight: make([]float32, r*m), Threshold: make([]float32, r)}
	for l := range r {
		p.Threshold[l] = float32(-d.bias[l])
		for q := range m {
			p.Weight[l*m+q] = d.p.Data[q*r+l]
		}
	}
	return p
}

// sums returns Y'B: for each class or tag the sum of its codes, one row each.
func (d *discrete) sums() []float64 {
	r := d.b.Cols
	s := make([]float64, d.y.Classes*r)
	for i := range d.b.Rows {
		for _, c := range d.y.Row(i) {
			for l, v := range d.b.Row(i) {
				s[int(c)*r+l] += float64(v)
			}
		}
	}
	return s
}

// classifier returns W', one row of r weights for each class or tag.
func (d *discrete) classifier(ctx context.Context) ([]float64, error) {
	r := d.b.Cols
	bb, err := linalg.TransposeProduct(ctx, d.Threads, d.b, d.b)
	if err != nil {
		return nil, err
	}
	factor, err := linalg.NewCholesky(ctx, bb, r, d.lambda, d.Threads)
	if err != nil {
		return nil, err
	}
	w := d.sums()
	for c := range d.y.Classes { // one column of W at a time
		factor.Forward(w[c*r : (c+1)*r])
		factor.Backward(w[c*r : (c+1)*r])
	}
	return w, nil
}

// pull sets sum to what features and classes want of the code of row i: ν F(x) and, of w, the rows of its classes.
func (d *discrete) pull(i int, w, sum []float64) {
	for l, v := range d.f.Row(i) {
		sum[l] = d.nu * float64(v)
	}
	for _, c := range d.y.Row(i) {
		linalg.Axpy(1, w[int(c)*len(sum):int(c+1)*len(sum)], sum)
	}
}

// classify fits W to B and then chooses B by discrete cyclic coordinate descent.
func (d *discrete) classify(ctx context.Context, passes int) error {
	w, err := d.classifier(ctx)
	if err != nil {
		return err
	}
	r := d.b.Cols
	m := make([]float64, r*r)
	for c := range d.y.Classes {
		row := w[c*r : (c+1)*r]
		for l, v := range row {
			linalg.Axpy(v, row, m[l*r:(l+1)*r])
		}
	}
	return par.Blocks(ctx, d.Threads, d.b.Rows, 64, func(_, lo, hi int) {
		q, t := make([]float64, r), make([]float64, r) // t = M b
		for i := lo; i < hi; i++ {
			b := d.b.Row(i)
			d.pull(i, w, q)
			clear(t)
			for l, v := range b {
				linalg.Axpy(float64(v), m[l*r:(l+1)*r], t)
			}
			for range passes {
				flips := 0
				for l, v := range b {
					// The best sign given the others; keep the current one if both are equally good.
					if s := q[l] - (t[l] - float64(float64(v)*m[l*r+l])); s*float64(v) < 0 {
						b[l] = -v
						linalg.Axpy(float64(-2*v), m[l*r:(l+1)*r], t)
						flips++
					}
				}
				if flips == 0 {
					break
				}
			}
		}
	})
}
