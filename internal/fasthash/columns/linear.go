package columns

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Linear scores, and what they share with those of a kernel: targets, moments, regression. A spread below the median
// counts as the median: columns that hardly ever change, such as the border of pictures, are not blown up, and a column
// in thousandths of its neighbours' units does not drown them.

const (
	maxSumSide  = 2048 // most columns whose products are summed directly
	sketchSide  = 1024 // random directions for more columns
	regressRows = 8192 // whose φ is in memory at a time
)

// linearPenalties lists the penalties that a fit chooses from, in mean variances of a column.
var linearPenalties = [...]float64{3, 1, 0.3, 0.1, 0.03, 0.01, 0.001}

// fit is the state of one fit.
type fit struct {
	*supervision.Data
	Options
	kernel bool
	most   int       // classes or tags with a score
	shape  *shape    // nil until it is chosen, on a sample of all rows: all that rows of a part tell the fits without them
	weight []float64 // of a row of each class; nil if all rows count equally

	list   []int32         // targets of a row
	target map[int32]int32 // the place of a class or tag among those with a score
	names  []string
	spread []float64     // of each column
	unit   *model.Affine // to standardised columns, or the principal axes of a kernel
	basis  model.Map     // from those to φ, if they are not φ
}

func newFit(d *supervision.Data, o Options, kernel bool, most int) *fit {
	return &fit{Data: d, Options: o, kernel: kernel, most: most}
}

// run learns the scores from all rows but those in Held, which are scored as new rows.
func (f *fit) run(ctx context.Context) (*Columns, error) {
	f.chooseTargets()
	if err := f.standardise(ctx); err != nil {
		return nil, err
	}
	choose, rng := f.chooseScale, rand.New(rand.NewPCG(f.Seed, 'L'))
	if f.kernel {
		choose = f.chooseKernel
	} else if f.Dim() > maxSumSide {
		choose = f.chooseDirections
	}
	if err := choose(ctx, rng); err != nil {
		return nil, err
	}
	each, all, err := f.regress(ctx)
	if err != nil {
		return nil, err
	}
	c := &Columns{Names: f.names}
	if c.Maps, err = f.chain(ctx, all); err != nil {
		return nil, err
	}
	c.Values, err = f.apply(ctx, append(each, all))
	return c, err
}

// chooseTargets numbers the most frequent classes or tags and, if classes are balanced, finds their weights.
func (f *fit) chooseTargets() {
	var names []string
	var counts []int
	if f.Labels != nil {
		names, counts = f.Labels.Names, f.Labels.Counts()
	} else {
		names, counts = f.Tags.Names, f.Tags.Counts()
	}
	if f.Labels != nil && f.Balanced {
		for _, n := range counts {
			f.weight = append(f.weight, inference.BalancedCount(n, slices.Max(counts)))
		}
	}
	order := make([]int32, len(names))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(counts[b], counts[a]) })
	order = order[:min(len(order), f.most)]
	slices.Sort(order)
	f.target = map[int32]int32{}
	for place, k := range order {
		f.target[k] = int32(place)
		f.names = append(f.names, names[k])
	}
}

// momentColumns is the number of columns whose means and spreads one thread finds.
const momentColumns = 64

// standardise finds the means and spreads of the columns. Missing values are left out.
func (f *fit) standardise(ctx context.Context) error {
	d := f.Dim()
	var first []float32 // of each column, subtracted from the sums to lose less precision
	sum, square, count := make([]float64, d), make([]float64, d), make([]float64, d)
	for c, err := range f.Chunks(ctx) {
		if err != nil {
			return err
		}
		if first == nil && c.X.Rows > 0 {
			first = zeroed(slices.Clone(c.X.Row(0)))
		}
		err = par.Blocks(ctx, f.Threads, d, momentColumns, func(_, lo, hi int) {
			for i := range c.X.Rows {
				if f.Part[c.First+i] == Held {
					continue
				}
				for j, v := range c.X.Row(i)[lo:hi] {
					if v == v {
						j += lo
						e := float64(v) - float64(first[j])
						sum[j] += e
						square[j] += float64(e * e)
						count[j]++
					}
				}
			}
		})
		if err != nil {
			return err
		}
	}
	mean := make([]float32, d)
	f.spread = make([]float64, d)
	for j := range d {
		n := max(count[j], 1)
		m := sum[j] / n
		mean[j] = float32(float64(first[j]) + m)
		f.spread[j] = math.Sqrt(max(square[j]/n-float64(m*m), 0))
	}
	f.unit = &model.Affine{Weight: vectors.Matrix{Rows: d, Cols: d}, Mean: mean, Scale: f.scale(false)}
	return f.unit.Check()
}

// scale returns the factors of the columns: one over their spreads, or one factor for all.
func (f *fit) scale(alike bool) []float32 {
	var positive []float64
	square := 0.0
	for _, s := range f.spread {
		if s > 0 {
			positive = append(positive, s)
			square += float64(s * s)
		}
	}
	slices.Sort(positive)
	least := 0.0
	if len(positive) > 0 {
		least = positive[len(positive)/2]
	}
	scale := make([]float32, len(f.spread))
	for j, s := range f.spread {
		r := 1 / max(s, least)
		if alike {
			r = math.Sqrt(float64(len(positive)) / square)
		}
		if s > 0 && r < math.MaxFloat32 {
			scale[j] = float32(r)
		}
	}
	return scale
}

// zeroed replaces missing values by zeros.
func zeroed(row []float32) []float32 {
	for j, v := range row {
		if v != v {
			row[j] = 0
		}
	}
	return row
}

// chooseDirections draws random directions, for many columns.
func (f *fit) chooseDirections(_ context.Context, rng *rand.Rand) error {
	w := vectors.Matrix{Rows: sketchSide, Cols: f.Dim(), Data: make([]float32, sketchSide*f.Dim())}
	size := float32(1 / math.Sqrt(float64(f.Dim())))
	for i := 0; i < len(w.Data); i += 64 {
		signs := rng.Uint64()
		for k := range w.Data[i:min(i+64, len(w.Data))] {
			w.Data[i+k] = size
			if signs>>k&1 == 1 {
				w.Data[i+k] = -size
			}
		}
	}
	f.basis = &model.Affine{Weight: w}
	return nil
}

// chooseScale divides columns by their spreads or all by one number, whichever predicts rows of a sample better.
func (f *fit) chooseScale(ctx context.Context, rng *rand.Rand) error {
	drawn, rows, err := f.draw(ctx, shapeRows, rng)
	if err != nil {
		return err
	}
	best, least := f.unit, math.Inf(1)
	for _, alike := range []bool{false, true} {
		if f.shape != nil && f.shape.alike != alike {
			continue
		}
		to := &model.Affine{Weight: f.unit.Weight, Mean: f.unit.Mean, Scale: f.scale(alike)}
		z, err := model.Transform(ctx, f.Threads, drawn, to)
		if err != nil {
			return err
		}
		e, err := f.sampleError(ctx, z, rows, linearPenalties[:])
		if err != nil {
			return err
		}
		if e < least {
			best, least = to, e
		}
	}
	f.unit = best
	return f.unit.Check()
}

// ErrSameRows is returned where there is nothing to tell rows apart by.
var ErrSameRows = errors.New("rows drawn at random are all equal")

// filled returns rows with the means in place of missing values.
func (f *fit) filled(x vectors.Matrix) vectors.Matrix {
	if f.Missing {
		x.Data = slices.Clone(x.Data)
		for i, v := range x.Data {
			if v != v {
				x.Data[i] = f.unit.Mean[i%len(f.unit.Mean)]
			}
		}
	}
	return x
}

// toBasis returns the maps from rows to φ.
func (f *fit) toBasis() []model.Map {
	if f.basis == nil {
		return []model.Map{f.unit}
	}
	return []model.Map{f.unit, f.basis}
}

// regress takes the sums over all rows and returns the fit without each part, and the fit to all.
func (f *fit) regress(ctx context.Context) ([]linalg.Regression, linalg.Regression, error) {
	maps := f.toBasis()
	sums := linalg.NewFolds(Parts, maps[len(maps)-1].Out(), len(f.names), f.Threads)
	for c, err := range f.Chunks(ctx) {
		if err != nil {
			return nil, linalg.Regression{}, err
		}
		for lo := 0; lo < c.X.Rows; lo += regressRows {
			z, err := model.Transform(ctx, f.Threads, f.filled(c.X.Slice(lo, min(lo+regressRows, c.X.Rows))), maps...)
			if err != nil {
				return nil, linalg.Regression{}, err
			}
			for i := range z.Rows {
				if err := f.addRow(ctx, sums, c.First+lo+i, z.Row(i)); err != nil {
					return nil, linalg.Regression{}, err
				}
			}
		}
	}
	if f.kernel {
		return sums.CrossFit(ctx, kernelPenalties[:])
	}
	return sums.CrossFit(ctx, linearPenalties[:])
}

// addRow adds φ of a row to the sums, unless no fit may see it.
func (f *fit) addRow(ctx context.Context, sums *linalg.Folds, row int, z []float32) error {
	if f.Part[row] == Held {
		return nil
	}
	of, weight := []int32(nil), 1.0
	if f.Labels != nil {
		of = f.Labels.Class[row : row+1]
	} else {
		of = f.Tags.Row(row)
	}
	f.list = f.list[:0]
	for _, k := range of {
		if place, ok := f.target[k]; ok {
			f.list = append(f.list, place)
		}
	}
	if f.weight != nil {
		weight = f.weight[of[0]]
	}
	return sums.Add(ctx, int(f.Part[row]), z, f.list, weight)
}

// chain returns the successive maps from vectors to the scores of regressions.
func (f *fit) chain(ctx context.Context, fits ...linalg.Regression) ([]model.Map, error) {
	out := &model.Affine{}
	for _, r := range fits {
		out.Weight.Rows += r.Weight.Rows
		out.Weight.Data = append(out.Weight.Data, r.Weight.Data...)
		out.Bias = append(out.Bias, linalg.Float32s(r.Bias)...)
	}
	out.Weight.Cols = fits[0].Weight.Cols
	if f.kernel {
		return []model.Map{f.unit, f.basis, out}, nil
	}
	if f.basis != nil {
		var err error
		if out.Weight, err = f.product(ctx, out.Weight, f.basis.(*model.Affine).Weight); err != nil {
			return nil, err
		}
	}
	// One step instead of two: fold the scale into the weights.
	out.Mean = f.unit.Mean
	for k := range out.Weight.Rows {
		row := out.Weight.Row(k)
		for j, s := range f.unit.Scale {
			row[j] *= s
		}
	}
	return []model.Map{out}, nil
}

// product returns a b.
func (f *fit) product(ctx context.Context, a, b vectors.Matrix) (vectors.Matrix, error) {
	across := vectors.Matrix{Rows: a.Cols, Cols: a.Rows, Data: make([]float32, len(a.Data))}
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			across.Row(j)[i] = v
		}
	}
	sum, err := linalg.TransposeProduct(ctx, f.Threads, across, b)
	return vectors.Matrix{Rows: a.Rows, Cols: b.Cols, Data: linalg.Float32s(sum)}, err
}

// apply scores every row by the fit to the parts other than its own; rows in Held use the last fit.
func (f *fit) apply(ctx context.Context, fits []linalg.Regression) (vectors.Matrix, error) {
	n := len(f.names)
	y := vectors.Matrix{Rows: f.Rows, Cols: n, Data: make([]float32, f.Rows*n)}
	maps, err := f.chain(ctx, fits...)
	if err != nil {
		return y, err
	}
	all := model.Extension{Maps: maps}
	for c, err := range f.Chunks(ctx) {
		if err != nil {
			return y, err
		}
		z, err := model.Transform(ctx, f.Threads, c.X, &all)
		if err != nil {
			return y, err
		}
		for i := range z.Rows {
			at := min(int(f.Part[c.First+i]), Parts)*n + c.X.Cols
			copy(y.Row(c.First+i), z.Row(i)[at:at+n])
		}
	}
	return y, nil
}
