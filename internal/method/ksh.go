// Kernel-based supervised hashing (Liu, Wang, Ji, Jiang and Chang: Supervised Hashing with Kernels, CVPR 2012).
//
//	h(x) = sign(a · k(x))      k: centred Gaussian similarities with m anchors (gaussianKernel)
//	minimise |Σ_b y_b y_b' - r S_0|²      y_b = sign(K a_b) over l rows, r bits, S_0: likeness
//
// greedily: with the residue S = r S_0 - Σ_p y_p y_p' of the bits before it, bit b maximises y'Sy.
//
//	K, L                features of the l rows; L L' = K'K + ridge         once, O(l·m² + m³)
//	for each bit
//		start           a = top eigenvector of K'SK a = λ K'K a            Lanczos
//		polish          accelerated gradient (Nesterov, 1983) of           2 products with K a step
//		                g(a) = -φ(Ka)'S φ(Ka),   φ(t) = 2/(1 + e^-t) - 1 = tanh(t/2)
//		choose          the polished a if its y'Sy is greater
//		residue         S <- S - y y'
//
// Neither S nor K'SK is formed. S costs O(l) for classes and O(b·l) for the bits so far. Lanczos works on L^-1 K'SK
// L^-T, whose rank is at most that of S: with C classes it ends after C + b steps. A step of either loop reads K once
// or twice, which takes nearly all of the time.
//
// The ridge, 1e-6 of the mean diagonal or as much as single precision needs, is necessary because centred features have
// nearly dependent columns if there are nearly as many anchors as rows.

package method

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
)

// ksh learns hash functions of Gaussian features from classes, tags or pairs. It keeps 4 bytes per training row and
// anchor, and 8 per pair of anchors.
type ksh struct {
	// Anchors is m, drawn from all rows: 0 means 300 (the FastHash paper: 3000). Rows is l, the largest number of
	// training rows, drawn at random: 0 means 5000, negative all.
	Options
}

// kshSteps bounds the steps of polishing a bit.
const kshSteps = 500

func (m ksh) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	m.Anchors = cmp.Or(m.Anchors, 300)
	m.Rows = cmp.Or(m.Rows, 5000)
	if err := checkAnchors(m.Bits, m.Anchors); err != nil {
		return nil, err
	}
	l, err := drawLabelled(x, m.Rows, m.Seed)
	if err != nil {
		return nil, err
	}
	kernel, k, err := kernelFeatures(ctx, x, l.Data, 0, m.Options)
	if err != nil {
		return nil, err
	}
	s0, err := newLikeness(ctx, l.Y, m.Threads)
	if err != nil {
		return nil, err
	}
	f, err := newKSHFit(ctx, k, s0, m.Bits)
	if err != nil {
		return nil, err
	}
	p := &model.Projection{Threshold: make([]float32, m.Bits)}
	for b := range m.Bits {
		a, err := f.nextBit(ctx, kshSteps, m.Seed+uint64(b))
		if err != nil {
			return nil, fmt.Errorf("bit %d: %w", b+1, err)
		}
		for _, v := range a {
			p.Weight = append(p.Weight, float32(v))
		}
	}
	return model.Compose(p, kernel), nil
}

// kshFit is the state of the loop over bits.
type kshFit struct {
	features
	residue
	factor *linalg.Cholesky // L
}

func newKSHFit(ctx context.Context, k features, s0 *likeness, bits int) (*kshFit, error) {
	factor, err := k.ridgeFactor(ctx, 1e-6)
	return &kshFit{k, residue{s0: s0, r: float64(bits)}, factor}, err
}

// startVector returns the top generalised eigenvector a of K'SK and K'K, with |Ka|² = l.
func (f *kshFit) startVector(ctx context.Context, seed uint64) ([]float64, error) {
	y, sy := make([]float64, f.K.Rows), make([]float64, f.K.Rows)
	rng := rand.New(rand.NewPCG(seed, 'K'))
	a, _, err := linalg.TopEigenvector(ctx, f.K.Cols, rng, 1e-4, func(v, out []float64) error {
		copy(out, v)
		f.factor.Backward(out)
		err := f.Times(ctx, out, y)
		if err == nil {
			err = f.residue.times(ctx, y, sy)
		}
		if err == nil {
			err = f.transposeTimes(ctx, sy, out)
		}
		f.factor.Forward(out)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.factor.Backward(a)
	if err := f.Times(ctx, a, y); err != nil {
		return nil, err
	}
	if length := linalg.Norm(y); length > 0 {
		linalg.Scale(math.Sqrt(float64(len(y)))/length, a)
	}
	return a, nil
}

// nextBit finds a for the next bit and updates the residue with its output.
func (f *kshFit) nextBit(ctx context.Context, steps int, seed uint64) ([]float64, error) {
	a, err := f.startVector(ctx, seed)
	if err != nil {
		return nil, err
	}
	n := f.K.Rows
	y, sy := make([]float64, n), make([]float64, n)
	quality := func(a []float64, y []float64) (float64, error) { // y'Sy of y = sign(Ka)
		if err := f.Times(ctx, a, y); err != nil {
			return 0, err
		}
		for i, v := range y {
			y[i] = 1
			if v < 0 {
				y[i] = -1
			}
		}
		err := f.residue.times(ctx, y, sy)
		return linalg.Dot(y, sy), err
	}
	spectral, err := quality(a, y)
	if err != nil {
		return nil, err
	}
	if steps > 0 {
		better, err := f.polish(ctx, a, steps)
		if err != nil {
			return nil, err
		}
		other := make([]float64, n)
		polished, err := quality(better, other)
		if err != nil {
			return nil, err
		}
		if polished > spectral {
			a, y = better, other
		}
	}
	f.residue.y = append(f.residue.y, y)
	return a, nil
}

// polish descends from a along the gradient of g, with momentum, until g hardly changes.
func (f *kshFit) polish(ctx context.Context, a []float64, steps int) ([]float64, error) {
	n, m := f.K.Rows, f.K.Cols
	last, now, v, d := slices.Clone(a), slices.Clone(a), make([]float64, m), make([]float64, m)
	kLast, kNow := make([]float64, n), make([]float64, n) // K times the same
	kv, kd, y, sy := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	if err := f.Times(ctx, now, kNow); err != nil {
		return nil, err
	}
	copy(kLast, kNow)
	// cost returns g where K times the place is kv - kd/b.
	cost := func(b float64) (float64, error) {
		for i := range y {
			y[i] = kv[i] - kd[i]/b
		}
		return f.cost(ctx, y, sy)
	}
	copy(kv, kNow)
	at, err := cost(1)
	if err != nil {
		return nil, err
	}
	beta, delta, next := 1.0, 0.0, 1.0
	for range steps {
		momentum := (delta - 1) / next
		for j := range v {
			v[j] = now[j] + float64(momentum*(now[j]-last[j]))
		}
		for i := range kv {
			kv[i] = kNow[i] + float64(momentum*(kNow[i]-kLast[i]))
		}
		clear(kd)
		here, err := cost(1)
		if err != nil {
			return nil, err
		}
		if err := f.gradient(ctx, y, sy, d); err != nil {
			return nil, err
		}
		if err := f.Times(ctx, d, kd); err != nil {
			return nil, err
		}
		// Halve the step 1/beta until g falls at least as much as the slope at v promises.
		slope, there, found := linalg.Dot(d, d), 0.0, false
		for range 51 {
			if there, err = cost(beta); err != nil {
				return nil, err
			}
			if found = there <= here-slope/(2*beta); found {
				break
			}
			beta *= 2
		}
		if !found {
			break
		}
		last, now, kLast, kNow = now, last, kNow, kLast
		for j := range now {
			now[j] = v[j] - d[j]/beta
		}
		for i := range kNow {
			kNow[i] = kv[i] - kd[i]/beta
		}
		change := math.Abs(there - at)
		at = there
		if change <= 1e-2*float64(n) {
			break
		}
		delta, next = next, (1+math.Sqrt(1+float64(4*next*next)))/2
	}
	return now, nil
}

// cost turns y = K a into φ(K a), sets sy = S φ(K a), and returns g(a).
func (f *kshFit) cost(ctx context.Context, y, sy []float64) (float64, error) {
	for i, v := range y {
		y[i] = portable.Tanh(v / 2)
	}
	err := f.residue.times(ctx, y, sy)
	return -linalg.Dot(y, sy), err
}

// gradient sets d to the gradient of g, -K'(Sφ ∘ (1 - φ²)), from the results of cost. It overwrites sy.
func (f *kshFit) gradient(ctx context.Context, y, sy, d []float64) error {
	for i, v := range y {
		sy[i] *= float64(v*v) - 1
	}
	return f.transposeTimes(ctx, sy, d)
}

// residue is S = r S_0 - Σ y y' as an operator.
type residue struct {
	s0 *likeness
	r  float64
	y  [][]float64 // the bits so far, +1 or -1
}

// times sets out = S x.
func (s *residue) times(ctx context.Context, x, out []float64) error {
	if err := s.s0.Times(ctx, x, out); err != nil {
		return err
	}
	for i := range out {
		out[i] *= s.r
	}
	for _, y := range s.y {
		linalg.Axpy(-linalg.Dot(y, x), y, out)
	}
	return nil
}

// likeness is S_0, with +1 for similar rows and on the diagonal, -1 for dissimilar rows and 0 for unknown. It is never
// formed: products come from sums over units, whose rows are similar to the same rows, including each other.
type likeness struct {
	unit    []int32 // of each row; nil for pairs
	units   int
	start   []int // units similar to unit u: near[start[u]:start[u+1]], u among them; nil for classes, where it is u alone
	near    []int32
	pairs   *affinity.Pairs
	threads int
}

// maxNear limits the lists of similar units: 1 GB.
const maxNear = 1 << 28

// newLikeness prepares products with an affinity.
func newLikeness(ctx context.Context, y affinity.Matrix, threads int) (*likeness, error) {
	s := &likeness{threads: threads}
	switch y := y.(type) {
	case *affinity.Classes:
		s.units, s.unit = y.Units(), y.RowUnits()
	case *affinity.Tags:
		s.units, s.unit = y.Units(), y.RowUnits()
		similar := y.SimilarUnits()
		s.start = []int{0}
		for u := range int32(s.units) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			s.near = append(s.near, similar(u)...)
			s.start = append(s.start, len(s.near))
			if len(s.near) > maxNear {
				return nil, errors.New("too many sets of tags are similar to each other: learn from fewer rows")
			}
		}
	case *affinity.Pairs:
		s.pairs = y
	}
	return s, nil
}

// Times sets y = S_0 x.
func (s *likeness) Times(ctx context.Context, x, y []float64) error {
	const block = 512
	if s.pairs != nil {
		return par.Blocks(ctx, s.threads, len(x), block, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				sum := x[i]
				for _, j := range s.pairs.Similar(i) {
					sum += x[j]
				}
				for _, j := range s.pairs.Dissimilar(i) {
					sum -= x[j]
				}
				y[i] = sum
			}
		})
	}
	total := 0.0
	sum := make([]float64, s.units)
	for i, v := range x {
		sum[s.unit[i]] += v
		total += v
	}
	around := sum
	if s.start != nil {
		around = make([]float64, s.units)
		err := par.Blocks(ctx, s.threads, s.units, block, func(_, lo, hi int) {
			for u := lo; u < hi; u++ {
				for _, o := range s.near[s.start[u]:s.start[u+1]] {
					around[u] += sum[o]
				}
			}
		})
		if err != nil {
			return err
		}
	}
	for i, u := range s.unit {
		y[i] = 2*around[u] - total
	}
	return nil
}
