package fasthash

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/model"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Linear columns. A tree compares one column at a time, so a direction across many columns takes it many splits. Here
// the trees are offered such directions as extra columns: for every class, or frequent tag, how much a row looks like
// it.
//
//	score_t(x) = W_t · φ(x) + b_t      ridge regression on "the row is of class t" (linalg/folds.go)
//	φ(x) = (x - mean) / spread         linear;
//	φ_q(x) = exp(-|v - a_q|² / width)  kernel: Gaussians around rows drawn at random, of partly whitened columns v
//	                                   (kernelcolumns.go)
//
// If classes are balanced, rows have the same weights here as in Step 1, and every class is spread evenly over the
// folds: of five rows, four would otherwise often share a fold.
//
// Scores fit the rows they were learned from far better than new ones, and trees would trust them too much. So, as in
// stacking (Wolpert, Neural Networks 1992), the training rows are cut into folds, and each gets the scores of the fit
// to the other folds; new rows get those of the fit to all.
//
//	moments   means and spreads of the columns       one pass
//	sums      products of the columns, by fold       one pass, n d² / 2 products; d at most 2,048, or
//	                                                 projected to 1,024 at random: n d · 1,024
//	fits      76 systems of d equations, 21 of many  d³/6 products each, or n³/6 where rows are fewer
//	scores    of all rows                            one pass, d products for every score
//
// A spread below the median counts as the median: columns that hardly ever change, such as the border of pictures, are
// not blown up, and a column in thousandths of its neighbours' units does not drown them.

// Values of Options.LinearColumns.
const (
	LinearOff    = "off"    // no extra columns; "" means the same
	LinearScores = "linear" // scores that are linear in the columns
	KernelScores = "kernel" // those, and scores that are linear in Gaussians of the columns
	LinearAuto   = "auto"   // linear scores, if they help quick trees predict held-out rows (lineartrial.go)

	KernelAuto = "auto-kernel" // also kernel scores, if they help further; a code takes ten microseconds more
)

const (
	scoreFolds = 5
	heldFold   = math.MaxUint8 // of rows that no fit may see
	maxScores  = 32            // classes or tags with a score, most frequent first
	maxSumSide = 2048          // most columns whose products are summed directly
	sketchSide = 1024          // random directions for more columns
	scoreRows  = 50            // fewer rows than this have no scores
)

// scorePenalties lists the penalties that a fit chooses from, in mean variances of a column.
var scorePenalties = [...]float64{3, 1, 0.3, 0.1, 0.03, 0.01, 0.001}

// checkLinearColumns reports an unknown value.
func (t *Options) checkLinearColumns() error {
	switch t.LinearColumns {
	case "", LinearOff, LinearScores, KernelScores, LinearAuto, KernelAuto:
		return nil
	}
	return fmt.Errorf("unknown linear columns %q; there are %q, %q, %q, %q and %q", t.LinearColumns,
		LinearOff, LinearScores, KernelScores, LinearAuto, KernelAuto)
}

// scores holds extra columns: the map to them, their names, and their values for the rows they were learned with.
type scores struct {
	maps   []model.Map
	names  []string
	values vectors.Matrix
	shape  shape
}

// extension returns the map that adds the columns.
func (s *scores) extension() *model.Extension { return &model.Extension{Maps: s.maps} }

// shape is what the distances or products of a fit are made of, which it chooses on a sample of all its rows. It is
// all that rows in one fold tell the fits without them.
type shape struct {
	known  bool
	alike  bool // all columns are divided by one number
	kernel kernelShape
}

// scoreFit is the state of one fit.
type scoreFit struct {
	*supervision.Data
	kernel  bool
	fold    []uint8 // of each row: below scoreFolds, or heldFold
	seed    uint64
	threads int
	anchors int       // of a kernel, at most
	shape   shape     // chosen already, or to be chosen
	most    int       // classes or tags with a score
	count   []float64 // weight of a row of each class; nil if all rows count equally

	list   []int32         // targets of a row
	target map[int32]int32 // the place of a class or tag among those with a score
	names  []string
	spread []float64     // of each column
	unit   *model.Affine // to standardised columns, or the principal axes of a kernel
	basis  []model.Map   // from those to φ
}

// fitScores learns the scores of a kind from all rows but those in heldFold, which are scored as new rows.
func (t *training) fitScores(ctx context.Context, d *supervision.Data, kind string, fold []uint8) (*scores, error) {
	return t.fitTargets(ctx, d, kind, fold, maxScores)
}

// fitTargets is like fitScores, for the given number of classes or tags at most.
func (t *training) fitTargets(
	ctx context.Context, d *supervision.Data, kind string, fold []uint8, most int,
) (*scores, error) {
	return t.fitShape(ctx, d, kind, fold, most, shape{})
}

// fitShape is like fitTargets, with a shape that is known, or to be chosen.
func (t *training) fitShape(
	ctx context.Context, d *supervision.Data, kind string, fold []uint8, most int, of shape,
) (*scores, error) {
	f := &scoreFit{Data: d, kernel: kind == KernelScores, fold: fold, seed: t.Seed, threads: t.Threads,
		anchors: t.anchors(d.Dim()), most: most, shape: of}
	f.chooseTargets(t.Inference.BalanceClasses && t.Learner != Scores) // which has its own weights
	if err := f.standardise(ctx); err != nil {
		return nil, err
	}
	if err := f.chooseBasis(ctx, rand.New(rand.NewPCG(f.seed, 'L'))); err != nil {
		return nil, err
	}
	each, all, err := f.regress(ctx)
	if err != nil {
		return nil, err
	}
	s := &scores{names: f.names, shape: f.shape}
	if s.maps, err = f.chain(ctx, all); err != nil {
		return nil, err
	}
	s.values, err = f.apply(ctx, append(each, all))
	return s, err
}

// chooseTargets numbers the most frequent classes or tags and, if classes are balanced, finds their weights.
func (f *scoreFit) chooseTargets(balanced bool) {
	var names []string
	var counts []int
	count := func(k int32) { counts[k]++ }
	if f.Labels != nil {
		names, counts = f.Labels.Names, make([]int, len(f.Labels.Names))
	} else {
		names, counts = f.Tags.Names, make([]int, len(f.Tags.Names))
	}
	for i := range f.fold { // over all rows, so that fits without some of them have the same columns
		f.each(i, count)
	}
	if f.Labels != nil && balanced {
		for _, n := range counts {
			f.count = append(f.count, inference.BalancedCount(n, slices.Max(counts)))
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
	kind := LinearScores
	if f.kernel {
		kind = KernelScores
	}
	for place, k := range order {
		f.target[k] = int32(place)
		f.names = append(f.names, kind+":"+names[k])
	}
}

// each calls visit with the class or the tags of a row.
func (f *scoreFit) each(row int, visit func(k int32)) {
	if f.Labels != nil {
		visit(f.Labels.Class[row])
		return
	}
	for _, k := range f.Tags.Row(row) {
		visit(k)
	}
}

// momentColumns is the number of columns whose means and spreads one thread finds.
const momentColumns = 64

// standardise finds the means and spreads of the columns. Missing values are left out.
func (f *scoreFit) standardise(ctx context.Context) error {
	d := f.Dim()
	var first []float32 // of each column, subtracted from the sums to lose less precision
	sum, square, count := make([]float64, d), make([]float64, d), make([]float64, d)
	for c, err := range f.Chunks(ctx) {
		if err != nil {
			return err
		}
		if first == nil && c.X.Rows > 0 {
			first = filled(slices.Clone(c.X.Row(0)))
		}
		err = par.Blocks(ctx, f.threads, d, momentColumns, func(_, lo, hi int) {
			for i := range c.X.Rows {
				if f.fold[c.First+i] == heldFold {
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
func (f *scoreFit) scale(alike bool) []float32 {
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

// filled replaces missing values by zeros.
func filled(row []float32) []float32 {
	for j, v := range row {
		if v != v {
			row[j] = 0
		}
	}
	return row
}

// chooseBasis chooses φ: anchors for a kernel, random directions if there are too many columns.
func (f *scoreFit) chooseBasis(ctx context.Context, rng *rand.Rand) error {
	if f.kernel {
		return f.chooseKernel(ctx, rng)
	}
	if f.Dim() <= maxSumSide {
		return f.chooseScale(ctx, rng)
	}
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
	f.basis = []model.Map{&model.Affine{Weight: w}}
	return nil
}

// chooseScale divides columns by their spreads or all by one number, whichever predicts rows of a sample better.
func (f *scoreFit) chooseScale(ctx context.Context, rng *rand.Rand) error {
	if f.shape.known {
		f.unit = &model.Affine{Weight: f.unit.Weight, Mean: f.unit.Mean, Scale: f.scale(f.shape.alike)}
		return f.unit.Check()
	}
	drawn, rows, err := f.draw(ctx, shapeRows, rng)
	if err != nil {
		return err
	}
	best, least := f.unit, math.Inf(1)
	for _, alike := range []bool{false, true} {
		to := &model.Affine{Weight: f.unit.Weight, Mean: f.unit.Mean, Scale: f.scale(alike)}
		z, err := model.Transform(ctx, f.threads, drawn, to)
		if err != nil {
			return err
		}
		e, err := f.sampleError(ctx, z, rows, scorePenalties[:])
		if err != nil {
			return err
		}
		if e < least {
			best, least = to, e
			f.shape = shape{known: true, alike: alike}
		}
	}
	f.unit = best
	return f.unit.Check()
}

var errSameRows = fmt.Errorf("rows drawn at random are all equal")

// standard returns rows in standardised columns, or along the axes of a kernel; missing values count as the mean.
func (f *scoreFit) standard(ctx context.Context, x vectors.Matrix) (vectors.Matrix, error) {
	if f.Missing {
		x.Data = slices.Clone(x.Data)
		for i, v := range x.Data {
			if v != v {
				x.Data[i] = f.unit.Mean[i%len(f.unit.Mean)]
			}
		}
	}
	return model.Transform(ctx, f.threads, x, f.unit)
}
