// Self-taught hashing, supervised (Zhang, Wang, Cai, Lu: Self-Taught Hashing for Fast Similarity Search, SIGIR 2010;
// "STHs").
//
//	W       links of every row with its k nearest ones, by the cosine, of the same class     solve
//	v       the r vectors of least λ in (D - W) v = λ D v                                 but for the one of equal values
//	z       +1 where v is above its median, else -1                                          balanced bits
//	bit     a linear support vector machine that learns z                                    package svm
//
// Rows of different classes are never linked, so the first vectors are mixtures of the classes, drawn at random by the
// first vectors of the iteration: they separate whole classes, since equal values go to the same side of the median.
// All later bits only separate rows within a class, so the method is weak with few classes.
//
// With Kernel the support vector machines see Gaussian features (solve.GaussianKernel) instead of the vectors.
//
//	graph        n²d / classes; n²d with tags
//	vectors      some hundred products with W, n k r each, and n r² for each restart
//	machines     some dozens of passes over the n x d bytes, for each bit

package method

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/fasthash/svm"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/solve"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// sth learns self-taught codes from classes, tags or pairs. It keeps its training rows in memory, twice in single
// precision while it looks for neighbours, and then as bytes.
type sth struct {
	// Rows is the largest number of training rows, drawn at random: 0 means 5000, negative all. Anchors of the Gaussian
	// features: 0 means 1000.
	Options

	Kernel     bool // machines of Gaussian features, not of the vectors
	Neighbours int  // k; 0 means 25
}

func (m sth) learn(ctx context.Context, src *supervision.Data) (model.Encoder, error) {
	m.Neighbours = cmp.Or(m.Neighbours, 25)
	m.Rows = cmp.Or(m.Rows, 5000)
	if err := solve.CheckSize(m.Bits, src.Dim()); err != nil {
		return nil, err
	}
	l, err := solve.DrawLabelled(src, m.Rows, m.Seed)
	if err != nil {
		return nil, err
	}
	if l.Rows <= m.Bits {
		return nil, &BitsError{m.Bits, l.Rows - 1,
			fmt.Sprintf("self-taught codes have fewer bits than rows, and there are %d rows", l.Rows)}
	}
	z, err := m.bits(ctx, l)
	if err != nil {
		return nil, err
	}
	var maps []model.Map
	seen := l.Data
	if m.Kernel {
		kernel, err := solve.GaussianKernel(ctx, l.Source, l.Rows,
			solve.KernelOptions{Anchors: cmp.Or(m.Anchors, 1000), Seed: m.Seed, Threads: m.Threads})
		if err != nil {
			return nil, err
		}
		maps, seen = append(maps, kernel), l.With(model.Through(l.Source, m.Threads, kernel))
	}
	q, err := seen.QuantizerBy(ctx, vectors.Clipped) // as machines want it
	if err != nil {
		return nil, err
	}
	columns, err := vectors.Quantize(ctx, seen, l.Rows, q, m.Threads)
	if err != nil {
		return nil, err
	}
	// The tolerance is that of liblinear's -s 1. A finer one takes three times as long on wide vectors and changes few
	// codes.
	machine, err := svm.New(columns, svm.Options{C: 1, Tolerance: 0.1}, m.Threads)
	if err != nil {
		return nil, err
	}
	e := &model.Binned{Quantizer: q}
	for b := range m.Bits {
		f, err := machine.Fit(ctx, z[b])
		if err != nil {
			return nil, fmt.Errorf("bit %d: %w", b+1, err)
		}
		e.Functions = append(e.Functions, f)
	}
	return model.Compose(e, maps...), nil
}

// bits returns z, a row per bit.
func (m sth) bits(ctx context.Context, l *solve.Labelled) ([][]int8, error) {
	x, err := solve.ReadRows(ctx, l.Source, l.Rows)
	if err != nil {
		return nil, err
	}
	for i := range x.Rows {
		solve.ScaleToUnit(x.Row(i))
	}
	g, err := solve.SimilarNeighbours(ctx, x, l.Y, m.Neighbours, m.Threads)
	if err != nil {
		return nil, err
	}
	v, _, err := g.SmoothestVectors(ctx, m.Bits, m.Seed, m.Threads)
	if err != nil {
		return nil, err
	}
	z := make([][]int8, m.Bits)
	for b := range z {
		z[b] = aboveMedian(v.RawRowView(b))
	}
	return z, nil
}

// aboveMedian returns +1 where v is above its median and -1 elsewhere. Values that differ only by rounding count as
// equal, and go to the side that balances the two better.
func aboveMedian(v []float64) []int8 {
	sorted := slices.Clone(v)
	slices.Sort(sorted)
	median := sorted[len(v)/2]
	top := max(math.Abs(sorted[0]), math.Abs(sorted[len(v)-1]))
	above, equal := 0, 0
	for _, x := range v {
		switch off := x - median; {
		case off > 1e-5*top:
			above++
		case off >= -1e-5*top:
			equal++
		}
	}
	limit := median + float64(1e-5*top)
	if rows := len(v); abs(2*(above+equal)-rows) < abs(2*above-rows) {
		limit = math.Nextafter(median-float64(1e-5*top), math.Inf(-1))
	}
	z := make([]int8, len(v))
	for i, x := range v {
		z[i] = -1
		if x > limit {
			z[i] = 1
		}
	}
	return z
}

func abs(n int) int { return max(n, -n) }
