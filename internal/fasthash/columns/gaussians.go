package columns

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// The kernel of kernel scores: Gaussians around anchors, rows drawn at random, along partly whitened principal axes,
//
//	v_i = (axis_i · x) / deviation_i^e
//	φ_q(x) = exp(-|v - a_q|² / (width · mean squared distance of anchors))
//
// where x is a row less the mean, its columns divided by their spreads or all by one number. e = 0 leaves distances as
// they are, e = 1 makes every axis count alike. What suits the data is the shape - columns scaled each or alike, e, and
// width - that predicts rows of a sample best, by cross-validated ridge regression with few anchors.
//
//	axes      of a sample of rows                 d² products a row, d³; or by products of 1,024 rows for wide vectors
//	shape     about ten cross-validated fits      of shapeAnchors columns to shapeRows rows
//
// More anchors make better scores and take longer to compute: see Anchors.

const (
	axisRows     = 4096 // to find axes from
	mostAxes     = 320  // kept: the rest have next to no variance, and every axis costs a product for each anchor
	wideAxes     = 256  // of vectors with more than maxSumSide columns
	wideRows     = 1024 // whose products give the axes of wide vectors
	shapeRows    = 2500 // to choose the shape from
	shapeAnchors = 500
	wider        = 1.01 // by this factor must errors be less to double the width: more rows and anchors can use less
	leastAnchors = 500
	mostAnchors  = 8000
)

// kernelPenalties lists the penalties that fits of a kernel choose from.
var kernelPenalties = [...]float64{0.5, 0.15, 0.05, 0.015, 0.005}

// shape is what the distances of a kernel are made of, or the products of linear scores.
type shape struct {
	alike bool    // all columns are divided by one number
	power int     // e, in quarters
	width float64 // in mean squared distances of anchors
}

// The assumed cost of a code: trees, and products a microsecond, which bytes are twice as fast to multiply as floats.
// It is fixed, not measured, so that the model does not depend on the machine.
const (
	treeMicroseconds = 3
	byteProducts     = 80_000
	floatProducts    = byteProducts / 2
)

// Anchors returns how many anchors a kernel may have for vectors of this dimension if a code takes so long on one core.
func Anchors(microseconds, dim int) int {
	axes := keptAxes(dim)
	left := float64(microseconds-treeMicroseconds) - float64(dim*axes)/floatProducts
	return min(max(int(left*byteProducts)/axes, leastAnchors), mostAnchors)
}

// keptAxes returns how many axes are kept of vectors of this dimension.
func keptAxes(dim int) int {
	if dim > maxSumSide {
		return wideAxes
	}
	return min(dim, mostAxes)
}

// chooseKernel chooses the shape on a sample of the rows, draws the anchors, and sets the axes and φ.
func (f *fit) chooseKernel(ctx context.Context, rng *rand.Rand) error {
	anchors := Anchors(f.Microseconds, f.Dim())
	drawn, rows, err := f.draw(ctx, max(anchors, axisRows), rng)
	if err != nil {
		return err
	}
	var axes [2]*principal
	var fails [2]error
	err = par.For(ctx, f.Threads, 2, func(i int) { // side by side, since eigenvectors are found on one core
		if alike := i == at(true); f.shape == nil || f.shape.alike == alike {
			axes[i], fails[i] = f.principalAxes(ctx, drawn, alike)
		}
	})
	if err = cmp.Or(err, fails[0], fails[1]); err != nil {
		return err
	}
	if f.shape == nil {
		trial := &shapeTrial{f: f, axes: axes, x: drawn.Slice(0, min(drawn.Rows, shapeRows)), rows: rows,
			tried: map[shape]shapeResult{}}
		best, err := trial.choose(ctx)
		if err != nil {
			return err
		}
		f.shape = &best
	}
	by := f.shape
	f.unit = axes[at(by.alike)].whitened(by.power)
	v, err := model.Transform(ctx, f.Threads, drawn.Slice(0, min(anchors, drawn.Rows)), f.unit)
	if err != nil {
		return err
	}
	f.basis, err = f.gaussians(ctx, v, by.width)
	return err
}

func at(b bool) int {
	if b {
		return 1
	}
	return 0
}

// draw returns rows that fits may see, drawn at random, and their numbers.
func (f *fit) draw(ctx context.Context, most int, rng *rand.Rand) (vectors.Matrix, []int, error) {
	var learned []int
	for i, fold := range f.Part {
		if fold != Held {
			learned = append(learned, i)
		}
	}
	most = min(most, len(learned))
	for k := range most {
		other := k + rng.IntN(len(learned)-k)
		learned[k], learned[other] = learned[other], learned[k]
	}
	return f.take(ctx, learned[:most])
}

// take returns the rows with the given numbers, missing values filled in, in an order that does not depend on how the
// source is cut: that of the list.
func (f *fit) take(ctx context.Context, list []int) (vectors.Matrix, []int, error) {
	place := make(map[int]int, len(list))
	wanted := make([]bool, f.Rows)
	for k, i := range list {
		wanted[i], place[i] = true, k
	}
	sorted := slices.Sorted(slices.Values(list))
	x := vectors.Matrix{Rows: len(list), Cols: f.Dim(), Data: make([]float32, len(list)*f.Dim())}
	k := 0
	for c, err := range vectors.Select(f.Source, wanted).Chunks(ctx) {
		if err != nil {
			return x, nil, err
		}
		for i := range c.X.Rows {
			copy(x.Row(place[sorted[k]]), c.X.Row(i))
			k++
		}
	}
	return f.filled(x), list, vectors.CheckRows(k, len(list))
}

// principal holds the principal axes of scaled columns.
type principal struct {
	mean, scale []float32
	axes        vectors.Matrix // of length 1, a row each
	deviation   []float64      // of the rows along each
}

// principalAxes finds the axes of some rows.
func (f *fit) principalAxes(ctx context.Context, x vectors.Matrix, alike bool) (*principal, error) {
	p := &principal{mean: f.unit.Mean, scale: f.scale(alike)}
	to := &model.Affine{Weight: vectors.Matrix{Rows: x.Cols, Cols: x.Cols}, Mean: p.mean, Scale: p.scale}
	z, err := model.Transform(ctx, f.Threads, x.Slice(0, min(x.Rows, axisRows)), to)
	if err != nil {
		return nil, err
	}
	var values []float64
	if z.Cols > maxSumSide {
		values, p.axes, err = f.wideAxes(ctx, z)
	} else {
		values, p.axes, err = f.allAxes(ctx, z)
	}
	for _, v := range values {
		p.deviation = append(p.deviation, math.Sqrt(max(v, 0)))
	}
	return p, err
}

// allAxes returns the greatest variances of rows and their axes, by the covariance.
func (f *fit) allAxes(ctx context.Context, z vectors.Matrix) ([]float64, vectors.Matrix, error) {
	c, _, err := linalg.Covariance(ctx, z, nil, f.Threads)
	if err != nil {
		return nil, vectors.Matrix{}, err
	}
	k := keptAxes(z.Cols)
	if z.Cols <= wideRows {
		values, axes, err := linalg.AllEigenvectors(c)
		if err != nil {
			return nil, vectors.Matrix{}, err
		}
		return values[:k], linalg.Single(axes).Slice(0, k), nil
	}
	e, err := linalg.TopEigenvectors(ctx, z.Cols, k, linalg.MatrixProduct(c, f.Threads),
		linalg.TopOptions{Seed: f.Seed, Threads: f.Threads, Tolerance: 1e-4})
	if err != nil {
		return nil, vectors.Matrix{}, err
	}
	return e.Values, linalg.Single(e.Vectors), nil
}

// wideAxes is like allAxes, by the products of a few rows with each other.
func (f *fit) wideAxes(ctx context.Context, z vectors.Matrix) ([]float64, vectors.Matrix, error) {
	z = z.Slice(0, min(z.Rows, wideRows))
	n := z.Rows
	across := mat.NewSymDense(n, nil)
	sum := make([]float64, n*n)
	part := make([]float32, n*n)
	for lo := 0; lo < z.Cols; lo += 512 {
		view := gemm.View{Rows: n, Cols: min(512, z.Cols-lo), RowStep: z.Cols, ColStep: 1, Data: z.Data[lo:]}
		if err := gemm.Mul(ctx, f.Threads, gemm.RowMajor(n, n, part), view, view.T()); err != nil {
			return nil, vectors.Matrix{}, err
		}
		for i, v := range part {
			sum[i] += float64(v)
		}
	}
	for i := range n {
		for j := i; j < n; j++ {
			across.SetSym(i, j, sum[i*n+j]/float64(n))
		}
	}
	values, u, err := linalg.AllEigenvectors(across)
	if err != nil {
		return nil, vectors.Matrix{}, err
	}
	k := min(wideAxes, n)
	for k > 1 && values[k-1] < 1e-6*values[0] {
		k--
	}
	left := linalg.Single(u).Slice(0, k)
	axes := vectors.Matrix{Rows: k, Cols: z.Cols, Data: make([]float32, k*z.Cols)}
	err = gemm.Mul(ctx, f.Threads, linalg.MatrixView(axes), linalg.MatrixView(left), linalg.MatrixView(z))
	if err != nil {
		return nil, axes, err
	}
	for i := range k {
		length := math.Sqrt(float64(n) * values[i])
		for j, v := range axes.Row(i) {
			axes.Row(i)[j] = float32(float64(v) / length)
		}
	}
	return values[:k], axes, nil
}

// whitened returns the map to the axes, divided by their deviations to the power of some quarters. Axes of next to no
// variance are not blown up.
func (p *principal) whitened(quarters int) *model.Affine {
	w := vectors.Matrix{Rows: p.axes.Rows, Cols: p.axes.Cols, Data: slices.Clone(p.axes.Data)}
	for i, s := range p.deviation {
		s = max(s, 1e-3*p.deviation[0])
		root := math.Sqrt(math.Sqrt(s))
		factor := 1.0
		for range quarters {
			factor /= root
		}
		for j := range w.Row(i) {
			w.Row(i)[j] = float32(float64(w.Row(i)[j]) * factor)
		}
	}
	return &model.Affine{Weight: w, Mean: p.mean, Scale: p.scale}
}

// gaussians returns φ around anchors, whose mean squared distance gives the unit of the width.
func (f *fit) gaussians(ctx context.Context, anchors vectors.Matrix, width float64) (model.Map, error) {
	some := anchors.Slice(0, min(anchors.Rows, shapeAnchors))
	far, err := model.Transform(ctx, f.Threads, some, &model.Gaussian{Anchors: some})
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for _, v := range far.Data {
		sum += float64(v)
	}
	absolute := float32(width * sum / float64(len(far.Data)))
	if !(absolute > 0) {
		return nil, ErrSameRows
	}
	return model.NewByteGaussian(anchors, absolute, model.ByteStep(anchors, absolute)), nil
}

// sampleError returns the least cross-validated error of fits to φ of some rows.
func (f *fit) sampleError(
	ctx context.Context, z vectors.Matrix, rows []int, penalties []float64,
) (float64, error) {
	sums := linalg.NewFolds(Parts, z.Cols, len(f.names), f.Threads)
	for i := range z.Rows {
		if err := f.addRow(ctx, sums, rows[i], z.Row(i)); err != nil {
			return 0, err
		}
	}
	errors, err := sums.Errors(ctx, penalties)
	if err != nil {
		return 0, err
	}
	return slices.Min(errors), nil
}

// shapeTrial chooses the shape of a kernel on a sample of the rows.
type shapeTrial struct {
	f    *fit
	axes [2]*principal
	x    vectors.Matrix
	rows []int // their numbers

	tried map[shape]shapeResult
}

// shapeResult is what came of a shape.
type shapeResult struct {
	wrong float64
	err   error
}

// choose returns the shape that predicts the rows best, or nearly: first the power at the middle width, for columns
// scaled each and alike, then the width.
func (t *shapeTrial) choose(ctx context.Context) (best shape, err error) {
	least := math.Inf(1)
	try := func(s shape) error {
		if err := t.fit(ctx, s); err != nil {
			return err
		}
		e, err := t.tried[s].wrong, t.tried[s].err
		if s.width > best.width && best.width > 0 {
			e *= wider
		}
		if err == nil && e < least {
			best, least = s, e
		}
		return err
	}
	first := []shape{{false, 0, 1}, {false, 2, 1}, {true, 0, 1}, {true, 2, 1}}
	if err := t.fit(ctx, first...); err != nil {
		return best, err
	}
	for _, s := range first {
		if err := try(s); err != nil {
			return best, err
		}
	}
	near := []shape{best, best}
	near[0].power--
	near[1].power++
	near = slices.DeleteFunc(near, func(s shape) bool { return s.power < 0 })
	if err := t.fit(ctx, near...); err != nil {
		return best, err
	}
	for _, s := range near {
		if err := try(s); err != nil {
			return best, err
		}
	}
	if err := t.fit(ctx, best.times(0.5), best.times(2)); err != nil {
		return best, err
	}
	for _, factor := range []float64{0.5, 2} {
		for {
			s := best.times(factor)
			if s.width < 0.1 || s.width > 10 {
				break
			}
			if err := try(s); err != nil {
				return best, err
			}
			if best != s {
				break
			}
		}
	}
	return best, nil
}

// times returns the shape with another width.
func (s shape) times(factor float64) shape {
	s.width *= factor
	return s
}

// fit tries those shapes that have not been tried, side by side: the systems of one are too small for many cores.
func (t *shapeTrial) fit(ctx context.Context, shapes ...shape) error {
	var todo []shape
	for _, s := range shapes {
		if _, ok := t.tried[s]; !ok {
			todo = append(todo, s)
		}
	}
	results := make([]shapeResult, len(todo))
	threads := par.Threads(t.f.Threads)
	if side := min(threads, len(todo)); side > 1 {
		threads = threads/side + 1 // one more than its share leaves no core without work
	}
	err := par.For(ctx, t.f.Threads, len(todo), func(i int) {
		results[i].wrong, results[i].err = t.error(ctx, threads, todo[i])
	})
	if err != nil {
		return err
	}
	for i, s := range todo {
		t.tried[s] = results[i]
	}
	return nil
}

// error returns the least cross-validated error of fits with few anchors.
func (t *shapeTrial) error(ctx context.Context, threads int, s shape) (float64, error) {
	f := *t.f
	f.Threads, f.list = threads, nil // which is not shared
	v, err := model.Transform(ctx, f.Threads, t.x, t.axes[at(s.alike)].whitened(s.power))
	if err != nil {
		return 0, err
	}
	kernel, err := f.gaussians(ctx, v.Slice(0, min(v.Rows, shapeAnchors)), s.width)
	if err != nil {
		return 0, err
	}
	z, err := model.Transform(ctx, f.Threads, v, kernel)
	if err != nil {
		return 0, err
	}
	return f.sampleError(ctx, z, t.rows, kernelPenalties[:])
}
