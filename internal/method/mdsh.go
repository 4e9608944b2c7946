// Multidimensional spectral hashing (Weiss, Fergus and Torralba, ECCV 2012).
//
// The affinity exp(-|x - y|^2 / 2σ²) is a product over dimensions, so on independent dimensions its eigenfunctions are
// products of functions of single dimensions, and these, ordered by eigenvalue, are enough. On principal components:
//
//	for each dimension
//		histogram   p, of up to 50 bins between the percentiles 2.5 and 97.5, plus 0.1, to sum one
//		W_ab        exp(-(c_a - c_b)² / 2σ²) between the bins' centres
//		solve       L g = λ P D g,   P = diag(p), D = diag(P W 1), L = diag(P W P 1) - P W P           O(bins^3)
//	the weight of a function is 1 - λ, as a share of the greatest
//	take the functions of the r greatest weights, threshold each at the median of its values
//	bit = [g(x) >= threshold],   g linear between the centres, and going on so beyond
//
// A dimension none of whose λ comes near 1 is too wide for its bins and left out. If fewer than r functions have a
// weight of at least 0.1, they are cut again at the thirds of their values, then at the quarters, and so on.
//
// Plain Hamming distance ranks the codes. The paper ranks by a weighted one, prod over dimensions of (1 + sum over its
// bits of weight · agreement) - 1: fit returns the weights, a group being a dimension, and eval.RetrievalWeighted ranks
// by them.

package method

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// mdsh learns eigenfunctions of single principal components. It keeps the reduced rows in memory.
type mdsh struct {
	Options
	Sigma float64 // σ; 0 means the mean distance of a row from its 50th neighbour, among 1,000
}

// mdshBit says what a bit depends on.
type mdshBit struct {
	dim    int     // principal component, the first being 0
	order  int     // of its eigenfunction, the first that is not constant being 1
	weight float64 // 1 - λ as a share of the greatest
	cut    float64 // share of the training rows below the threshold
}

const (
	mdshComponents = 256 // principal components to look at, at most
	mdshBins       = 50
	mdshClip       = 0.025 // share of the rows outside of the histogram, on either side
	mdshPrior      = 0.1   // added to every bin
	mdshResolved   = 0.999 // least greatest λ of a dimension that its bins resolve
	mdshConstant   = 1e-10 // λ of the constant function
	mdshLeast      = 0.1   // weight of a function that is worth a bit
	mdshNeighbour  = 50
	mdshSample     = 1000
)

// Train implements Method.
func (m mdsh) Train(ctx context.Context, d *supervision.Data) (*model.Model, error) {
	e, bits, err := m.fit(ctx, d)
	if err != nil {
		return nil, err
	}
	made := &model.Model{Encoder: e}
	for _, b := range bits {
		made.Info.Weights = append(made.Info.Weights, hamming.BitWeight{Group: b.dim, Weight: b.weight})
	}
	return made, nil
}

// fit is like Train, but also returns what each bit depends on.
func (m mdsh) fit(ctx context.Context, x vectors.Source) (model.Encoder, []mdshBit, error) {
	components := min(mdshComponents, x.Dim())
	if err := checkSize(m.Bits, x.Dim()); err != nil {
		return nil, nil, err
	}
	front, _, err := principalComponents(ctx, x, components, m.Seed, m.Threads)
	if err != nil {
		return nil, nil, err
	}
	kept, err := vectors.Read(ctx, model.Through(x, m.Threads, front))
	if err != nil {
		return nil, nil, err
	}
	y := kept.X
	if m.Sigma == 0 {
		sample, err := sampleRows(ctx, y, mdshSample, m.Seed)
		if err != nil {
			return nil, nil, err
		}
		// The nearest is the row itself.
		m.Sigma, err = neighbourDistance(ctx, sample, sample, min(mdshNeighbour, sample.Rows-1), m.Threads)
		if err != nil {
			return nil, nil, err
		}
	}
	dims := make([][]eigenfunction, components)
	errs := make([]error, components)
	err = par.For(ctx, m.Threads, components, func(j int) { dims[j], errs[j] = eigenfunctions(column(y, j), m.Sigma) })
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, nil, err
	}
	var all []mdshBit
	top := 0.0
	for j, list := range dims {
		for k, g := range list {
			all = append(all, mdshBit{dim: j, order: k + 1, weight: 1 - g.lambda})
			top = max(top, 1-g.lambda)
		}
	}
	if !(top > 0) {
		return nil, nil, errors.New("no dimension of the data has an eigenfunction to take bits from: are the rows equal, " +
			"or σ too small?")
	}
	for i := range all {
		all[i].weight /= top
	}
	slices.SortStableFunc(all, func(a, b mdshBit) int { return cmp.Compare(b.weight, a.weight) })
	chosen := cuts(all, m.Bits)

	// The map keeps only the components in use.
	place := map[int]int{}
	used := &model.Affine{Mean: front.Mean, Weight: vectors.Matrix{Cols: x.Dim()}}
	curves := &model.Curves{}
	threshold := make([]float32, m.Bits)
	for k, b := range chosen {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if _, ok := place[b.dim]; !ok {
			place[b.dim] = used.Weight.Rows
			used.Weight.Rows++
			used.Weight.Data = append(used.Weight.Data, front.Weight.Row(b.dim)...)
		}
		c := dims[b.dim][b.order-1].curve
		c.Column = 0
		x := vectors.Matrix{Rows: y.Rows, Cols: 1, Data: column(y, b.dim)}
		values, err := model.Transform(ctx, 1, x, &model.Curves{Cols: 1, Curves: []model.Curve{c}})
		if err != nil {
			return nil, nil, err
		}
		threshold[k] = linalg.KthSmallest(values.Data, min(int(b.cut*float64(y.Rows)), y.Rows-1))
		c.Column = place[b.dim]
		curves.Curves = append(curves.Curves, c)
	}
	curves.Cols = used.Weight.Rows
	return model.Compose(axisSigns(m.Bits, threshold), used, curves), chosen, nil
}

// column copies a column.
func column(x vectors.Matrix, j int) []float32 {
	c := make([]float32, x.Rows)
	for i := range c {
		c[i] = x.Data[i*x.Cols+j]
	}
	return c
}

// cuts chooses the bits from functions in descending order of weight: at medians, and again at thirds, quarters and so
// on if too few have a weight that counts. It never cuts twice at the same share.
func cuts(all []mdshBit, bits int) []mdshBit {
	n := 1 // the first has the greatest weight, whatever it is
	for n < len(all) && n < bits && all[n].weight >= mdshLeast {
		n++
	}
	var chosen []mdshBit
	for parts := 2; ; parts++ {
		for i := 1; i < parts; i++ {
			if isReducible(i, parts) {
				continue
			}
			for _, b := range all[:n] {
				if len(chosen) == bits {
					return chosen
				}
				b.cut = float64(i) / float64(parts)
				chosen = append(chosen, b)
			}
		}
	}
}

// isReducible reports whether i/n can be written with smaller numbers.
func isReducible(i, n int) bool {
	for n != 0 {
		i, n = n, i%n
	}
	return i > 1
}

// neighbourDistance returns the mean distance from a row of x to its k-th nearest row of among.
func neighbourDistance(ctx context.Context, x, among vectors.Matrix, k, threads int) (float64, error) {
	d, err := model.Transform(ctx, threads, x, &model.Gaussian{Anchors: among})
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i := range d.Rows {
		if i%1024 == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		sum += math.Sqrt(float64(linalg.KthSmallest(d.Row(i), k)))
	}
	return sum / float64(d.Rows), nil
}

// eigenfunction holds g, as a curve of its dimension, and λ.
type eigenfunction struct {
	curve  model.Curve
	lambda float64
}

// eigenfunctions solves for the functions of one dimension, least λ first, without the constant one. It returns none
// for a dimension that is flat or too wide for its bins. It reorders v.
func eigenfunctions(v []float32, sigma float64) ([]eigenfunction, error) {
	n := len(v)
	bins := min(n/10, mdshBins)
	lo, hi := linalg.KthSmallest(v, int(mdshClip*float64(n))), linalg.KthSmallest(v, n-1-int(mdshClip*float64(n)))
	if bins < 3 || !(lo < hi) || !(sigma > 0) {
		return nil, nil
	}
	p, centre := make([]float64, bins), make([]float32, bins)
	step := (float64(hi) - float64(lo)) / float64(bins)
	for b := range centre {
		centre[b] = float32(float64(lo) + float64((float64(b)+0.5)*step))
		if b > 0 && centre[b] <= centre[b-1] {
			return nil, nil // the range is within a few floats
		}
	}
	for _, x := range v { // what lies outside is clipped, into the outermost bins
		p[min(max(int((float64(x)-float64(lo))/step), 0), bins-1)] += 1 / float64(n)
	}
	for b := range p {
		p[b] = (p[b] + mdshPrior) / (1 + float64(mdshPrior*float64(bins)))
	}
	l, pd := operator(p, centre, sigma)
	for i := range bins { // (P D)^-1/2 L (P D)^-1/2
		for j := i; j < bins; j++ {
			l.SetSym(i, j, l.At(i, j)/math.Sqrt(pd[i]*pd[j]))
		}
	}
	values, vectors, err := linalg.AllEigenvectors(l)
	if err != nil || values[0] < mdshResolved {
		return nil, err
	}
	var list []eigenfunction
	for k := bins - 1; k >= 0; k-- {
		if values[k] < mdshConstant {
			continue
		}
		g := eigenfunction{model.Curve{X: centre, Y: make([]float32, bins)}, values[k]}
		for b, u := range vectors.RawRowView(k) {
			g.curve.Y[b] = float32(u / math.Sqrt(pd[b]))
		}
		list = append(list, g)
	}
	return list, nil
}

// operator returns L and the diagonal of P D.
func operator(p []float64, centre []float32, sigma float64) (l *mat.SymDense, pd []float64) {
	n := len(p)
	l, pd = mat.NewSymDense(n, nil), make([]float64, n)
	for a := range n {
		sum := 0.0
		for b := range n {
			d := (float64(centre[a]) - float64(centre[b])) / sigma
			w := portable.ExpBelowZero(float64(-d * d / 2))
			sum += float64(p[b] * w)
			if a <= b {
				l.SetSym(a, b, -p[a]*w*p[b])
			}
		}
		pd[a] = p[a] * sum
	}
	for a := range n {
		l.SetSym(a, a, l.At(a, a)+pd[a])
	}
	return l, pd
}
