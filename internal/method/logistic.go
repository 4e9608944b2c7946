// Logistic regression with an L2 penalty over quantised columns.
//
// With x_i the scaled bins of row i, s_i = W x_i + b its scores, y_i its targets (one class, or any tags),
//
//	f(W, b) = 1/n Σ_i loss(y_i, s_i) + λ/2 |W|²
//	classes   loss = log Σ_c exp(s_ic) - s_i,y_i               residue r_ic = p_ic - [c = y_i],   p softmax of s
//	tags      loss = Σ_c log(1 + exp(s_ic)) - Σ_c∈y_i s_ic     residue r_ic = p_ic - [c ∈ y_i],   p = 1 / (1 + exp(-s))
//	∂f/∂W     = 1/n Σ_i r_i x_i' + λW,   ∂f/∂b = 1/n Σ_i r_i
//
//	scores      X W'      a block of rows per turn       O(n · dim · classes)
//	residues    R         row by row                     O(n · classes)
//	gradient    R' X      a block of columns per turn    O(n · dim · classes)
//
// The columns stay bytes: 50,000 x 11,200 values take 560 MB. Each turn standardises a few of them; the
// sums of single-precision products over 256 terms are added up in double precision, in a fixed order.

package method

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// logistic is f for the columns x.
type logistic struct {
	x       *vectors.Columns
	y       targets
	penalty float64 // λ
	threads int

	out  []bool  // rows held out: they have a loss but no residue; nil for none
	kept int     // rows that are not held out
	held float64 // loss of those that are, at the place moved to last

	mean, spread []float64 // of the bins of every column
	scale        []float64 // x_ij = (bin - mean_j) scale_j; 0 where a column is constant
	mean32       []float32
	scale32      []float32
	w            []float64 // the place: classes rows of dim weights, then the classes values of b
	score        []float32 // n x classes; the residues after residues
}

const (
	logisticSide  = 96  // rows of a turn of scores, columns of a turn of gradient: whole tiles of the kernel
	logisticDepth = 256 // terms of a sum in single precision
)

func newLogistic(ctx context.Context, x *vectors.Columns, y targets, penalty float64, threads int) (*logistic, error) {
	f := &logistic{
		x: x, y: y, penalty: penalty, threads: threads,
		kept: x.Rows, mean: make([]float64, x.Dim()), spread: make([]float64, x.Dim()),
		score: make([]float32, x.Rows*y.Classes),
	}
	err := par.For(ctx, threads, x.Dim(), func(j int) {
		var sum, squares uint64
		for _, b := range x.Column(j) {
			sum += uint64(b)
			squares += uint64(b) * uint64(b)
		}
		n := float64(x.Rows)
		f.mean[j] = float64(sum) / n
		if v := float64(squares)/n - float64(f.mean[j]*f.mean[j]); v > 1e-9 {
			f.spread[j] = math.Sqrt(v)
		}
	})
	f.mean32 = linalg.Float32s(f.mean)
	f.rescale(StandardizeOn)
	return f, err
}

// rescale scales each column to variance 1, or all by one factor to a mean variance of 1. It returns false if that
// is impossible: no column varies, or values are near the limits of float32.
func (f *logistic) rescale(way string) bool {
	f.scale = make([]float64, len(f.spread))
	sum, used := 0.0, 0.0
	for j, v := range f.spread {
		if v > 0 {
			size := v * f.width(j)
			sum += float64(size * size)
			used++
		}
	}
	for j, v := range f.spread {
		switch {
		case v == 0:
		case way == StandardizeOff:
			f.scale[j] = f.width(j) * math.Sqrt(used/sum)
		default:
			f.scale[j] = 1 / v
		}
	}
	f.scale32 = linalg.Float32s(f.scale)
	return way != StandardizeOff || sum > 0 && !math.IsInf(sum, 0)
}

// width returns the width of a bin of column j in the units of its values.
func (f *logistic) width(j int) float64 {
	return (float64(f.x.Hi[j]) - float64(f.x.Lo[j])) / (vectors.Bins - 1)
}

// variables returns the number of entries of W and b.
func (f *logistic) variables() int { return (f.x.Dim() + 1) * f.y.Classes }

// value moves to w and returns f there.
func (f *logistic) value(ctx context.Context, w []float64) (float64, error) {
	f.w = append(f.w[:0], w...)
	if err := f.scores(ctx); err != nil {
		return 0, err
	}
	loss, err := f.residues(ctx)
	if err != nil {
		return 0, err
	}
	weights := w[:f.x.Dim()*f.y.Classes]
	return loss/float64(f.kept) + float64(f.penalty/2*linalg.Dot(weights, weights)), nil
}

// scores sets score = X W' + b.
func (f *logistic) scores(ctx context.Context) error {
	n, dim, classes := f.x.Rows, f.x.Dim(), f.y.Classes
	factor := parts(gemm.RowMajor(classes, dim, linalg.Float32s(f.w[:dim*classes])).T())
	return par.Blocks(ctx, f.threads, n, logisticSide, func(_, lo, hi int) {
		var column [logisticDepth][]uint8
		rows, sum := make([]float32, (hi-lo)*logisticDepth), make([]float64, 0, (hi-lo)*classes)
		for range hi - lo {
			sum = append(sum, f.w[dim*classes:]...)
		}
		for p, right := range factor {
			first := p * logisticDepth
			k := min(logisticDepth, dim-first)
			for j := range k {
				column[j] = f.x.Column(first + j)[lo:hi]
			}
			mean, scale := f.mean32[first:first+k], f.scale32[first:first+k]
			for i := range hi - lo {
				row := rows[i*k : (i+1)*k]
				for j, m := range mean {
					row[j] = (float32(column[j][i]) - m) * scale[j]
				}
			}
			addProduct(sum, gemm.RowMajor(hi-lo, k, rows), right)
		}
		for i, v := range sum {
			f.score[lo*classes+i] = float32(v)
		}
	})
}

// parts lays out a right factor in parts of logisticDepth rows.
func parts(v gemm.View) (list []*gemm.Right) {
	for lo := 0; lo < v.Rows; lo += logisticDepth {
		part := v
		part.Rows, part.Data = min(logisticDepth, v.Rows-lo), v.Data[lo*v.RowStep:]
		list = append(list, gemm.PackRight(part))
	}
	return list
}

// addProduct adds the product of some rows and a part of the right factor to sum.
func addProduct(sum []float64, rows gemm.View, right *gemm.Right) {
	product := gemm.RowMajor(rows.Rows, len(sum)/rows.Rows, make([]float32, len(sum)))
	gemm.MulHere(product, rows, right)
	for i, v := range product.Data {
		sum[i] += float64(v)
	}
}

// residues turns scores into residues and returns the sum of the losses of the rows that are not held out.
func (f *logistic) residues(ctx context.Context) (float64, error) {
	const block = 1024
	classes := f.y.Classes
	loss := make([]float64, (f.x.Rows+block-1)/block)
	held := make([]float64, len(loss))
	err := par.Blocks(ctx, f.threads, f.x.Rows, block, func(b, lo, hi int) {
		for i := lo; i < hi; i++ {
			s := f.score[i*classes : (i+1)*classes]
			own := 0.0
			for _, c := range f.y.Row(i) {
				own -= float64(s[c])
			}
			if f.y.Several {
				own += sigmoids(s)
			} else {
				own += softmax(s)
			}
			if f.out != nil && f.out[i] {
				held[b] += own
				clear(s)
				continue
			}
			loss[b] += own
			for _, c := range f.y.Row(i) {
				s[c]--
			}
		}
	})
	sum := 0.0
	f.held = 0
	for b, v := range loss {
		sum += v
		f.held += held[b]
	}
	return sum, err
}

// softmax turns scores into probabilities and returns the logarithm of the sum of their exponentials.
func softmax(s []float32) float64 {
	top := s[0]
	for _, v := range s {
		top = max(top, v)
	}
	sum := 0.0
	for c, v := range s {
		e := portable.ExpBelowZero(float64(v - top))
		sum += e
		s[c] = float32(e)
	}
	for c, e := range s {
		s[c] = float32(float64(e) / sum)
	}
	return float64(top) + portable.PreciseLn(sum)
}

// sigmoids turns each score into a probability and returns the sum of log(1 + exp(s)).
func sigmoids(s []float32) float64 {
	sum, product := 0.0, 1.0
	for c, v := range s {
		e := portable.ExpBelowZero(-math.Abs(float64(v)))
		sum += max(0, float64(v))
		if product *= 1 + e; product > 1e100 { // one logarithm for many factors of at most 2
			sum += portable.PreciseLn(product)
			product = 1
		}
		if v < 0 {
			s[c] = float32(e / (1 + e))
		} else {
			s[c] = float32(1 / (1 + e))
		}
	}
	return sum + portable.PreciseLn(product)
}

// gradient writes the gradient at the place last moved to.
func (f *logistic) gradient(ctx context.Context, g []float64) error {
	n, dim, classes := f.x.Rows, f.x.Dim(), f.y.Classes
	factor := parts(gemm.RowMajor(n, classes, f.score))
	err := par.Blocks(ctx, f.threads, dim, logisticSide, func(_, lo, hi int) {
		rows, sum := make([]float32, (hi-lo)*logisticDepth), make([]float64, (hi-lo)*classes)
		for p, right := range factor {
			first := p * logisticDepth
			k := min(logisticDepth, n-first)
			for j := lo; j < hi; j++ {
				m, s, row := f.mean32[j], f.scale32[j], rows[(j-lo)*k:][:k]
				for i, b := range f.x.Column(j)[first : first+k] {
					row[i] = (float32(b) - m) * s
				}
			}
			addProduct(sum, gemm.RowMajor(hi-lo, k, rows), right)
		}
		for j := lo; j < hi; j++ {
			for c := range classes {
				g[c*dim+j] = sum[(j-lo)*classes+c]/float64(f.kept) + float64(f.penalty*f.w[c*dim+j])
			}
		}
	})
	bias := g[dim*classes:]
	clear(bias)
	for i, r := range f.score {
		bias[i%classes] += float64(r) / float64(f.kept)
	}
	return err
}

// affine returns the scores at w as a map of raw values: a bin is nearly (x - lo) · perUnit, so (bin - mean) scale =
// (x - (lo + mean / perUnit)) · perUnit · scale.
func (f *logistic) affine(w []float64) *model.Affine {
	dim, classes := f.x.Dim(), f.y.Classes
	a := &model.Affine{
		Weight: vectors.Matrix{Rows: classes, Cols: dim, Data: make([]float32, classes*dim)},
		Mean:   make([]float32, dim), Scale: make([]float32, dim), Bias: linalg.Float32s(w[dim*classes:]),
	}
	for j := range dim {
		perUnit := 1 / f.width(j)
		a.Mean[j] = float32(float64(f.x.Lo[j]) + f.mean[j]/perUnit)
		a.Scale[j] = float32(min(perUnit*f.scale[j], math.MaxFloat32))
	}
	copy(a.Weight.Data, linalg.Float32s(w[:dim*classes]))
	return a
}

// The penalty and the scale of logistic regression, chosen on held-out rows.
//
//	sample      rows to choose by: all of them, or a random sample if there are many
//	folds       of five parts of the sample: each held out once if there are few rows, else only the first
//	for each scale of the columns: separately, all alike
//		for each penalty, from strong to weak, starting where the last one ended
//			descend on the rows kept, add up the loss of those held out
//		until the loss does not fall
//	refit       on all rows with the best of both, from where it ended; the penalty of |W|² for the sum of the losses
//	            stays the same, so λ falls as the rows grow
//
// Cost: the sample is bounded by its products, and a penalty takes few steps because it starts near its end.

const (
	logisticEnough = 3e-3    // a descent ends when the gradient has fallen to this share of the first one
	logisticSteps  = 60      // most steps of the fit on all rows
	logisticLeast  = 15      // the limit on its steps is never below this
	logisticWork   = 1 << 34 // products that the scores of its steps may take

	tuningSteps    = 15      // most steps of a descent to choose by
	tuningParts    = 5       // of the sample
	tuningRows     = 4000    // most rows of the sample
	tuningLeast    = 1000    // the limit on its rows is never below this
	tuningProducts = 1 << 26 // products that its scores may take
	tuningAll      = 1 << 19 // products up to which all parts are held out in turn

	tuningGain    = 0.99 // a weaker penalty must leave no more than this share of the loss
	tuningWeakest = 0.1  // least penalty of the sum of the losses
)

// penalties are tried in this order.
var penalties = [...]float64{0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5}

// fitLogistic learns the scores of y as a map of the values that were quantised. Standardised columns are scaled
// separately, others all alike; both ways are tried unless the options name one.
func fitLogistic(ctx context.Context, x *vectors.Columns, y targets, o Options) (*model.Affine, choice, error) {
	f, err := newLogistic(ctx, x, y, 0, o.Threads)
	if err != nil {
		return nil, choice{}, err
	}
	best := choice{scale: StandardizeOn, penalty: 0.01 * float64(x.Rows), loss: math.Inf(1), w: f.start()}
	sample := f.sample(o.Seed)
	part, parts := partsOf(sample.y, o.Seed), 1
	if f.variables() <= tuningAll/max(sample.x.Rows, 1) {
		parts = tuningParts
	}
	for _, scale := range []string{StandardizeOn, StandardizeOff} {
		if o.namesScale() && o.Standardize != scale || !f.rescale(scale) {
			continue
		}
		sample.scale, sample.scale32 = f.scale, f.scale32
		c, err := sample.choose(ctx, part, parts, max(best.at-1, 0))
		if err != nil {
			return nil, best, err
		}
		if c.scale = scale; c.loss < best.loss {
			best = c
		}
	}
	f.rescale(best.scale)
	f.penalty = best.penalty / float64(x.Rows)
	steps := min(max(int(logisticWork/(int64(x.Rows)*int64(f.variables()))), logisticLeast), logisticSteps)
	_, _, err = f.descend(ctx, best.w, &best.enough, steps)
	return f.affine(best.w), best, err
}

// choice is a scale and a penalty, and their result.
type choice struct {
	scale   string  // StandardizeOn or StandardizeOff
	penalty float64 // λ times the rows
	at      int     // its index among the penalties
	loss    float64 // mean, of the rows held out; infinite where no row could be
	w       []float64
	enough  float64 // length of the gradient at which a descent may end; 0 if unknown
}

// start returns the starting point of descents: zero weights, and biases from the shares of the classes or tags.
func (f *logistic) start() []float64 {
	w := make([]float64, f.variables())
	n := float64(f.y.Rows())
	for c, count := range f.y.Counts() {
		share := (count + 0.5) / (n + 1)
		b := &w[f.x.Dim()*f.y.Classes+c]
		if *b = portable.PreciseLn(share); f.y.Several {
			*b -= portable.PreciseLn(1 - share)
		}
	}
	return w
}

// sample returns f on a random sample of rows, with its means; f itself if there are no more.
func (f *logistic) sample(seed uint64) *logistic {
	rows := min(max(tuningProducts/f.variables(), tuningLeast), tuningRows, f.x.Rows)
	part := *f
	if rows == f.x.Rows {
		return &part
	}
	drawn := drawDistinct(f.x.Rows, rows, rand.New(rand.NewPCG(seed, 'T')))
	slices.Sort(drawn)
	part.x, part.kept = vectors.NewColumns(rows, f.x.Quantizer), rows
	for j := range f.x.Dim() {
		from, to := f.x.Column(j), part.x.Column(j)
		for i, row := range drawn {
			to[i] = from[row]
		}
	}
	part.y = targets{Classes: f.y.Classes, Several: f.y.Several, Start: []int{0}}
	for _, row := range drawn {
		part.y.Of = append(part.y.Of, f.y.Row(row)...)
		part.y.Start = append(part.y.Start, len(part.y.Of))
	}
	part.score = make([]float32, rows*f.y.Classes)
	return &part
}

// partsOf distributes the rows over the parts of the sample, those of a class evenly. Rows that are alone in their
// class are in no part.
func partsOf(y targets, seed uint64) []int8 {
	part := make([]int8, y.Rows())
	order := rand.New(rand.NewPCG(seed, 'P')).Perm(len(part))
	count := y.Counts()
	if !y.Several {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(y.Row(a)[0], y.Row(b)[0]) })
	}
	for k, row := range order {
		part[row] = int8(k % tuningParts)
		if !y.Several && count[y.Row(row)[0]] < 2 {
			part[row] = -1
		}
	}
	return part
}

// choose finds the penalty with the least loss on held-out rows, at the scale of f, starting from index first of the
// penalties.
func (f *logistic) choose(ctx context.Context, part []int8, parts, first int) (choice, error) {
	best := choice{loss: math.Inf(1)}
	w, enough := make([][]float64, parts), make([]float64, parts)
	for k := range w {
		w[k] = f.start()
	}
	for at, penalty := range penalties[first:] {
		if f.penalty = penalty; penalty*float64(f.x.Rows) < tuningWeakest && at > 0 {
			break
		}
		loss, rows := 0.0, 0
		for k := range w {
			f.holdOut(part, k)
			rows += f.x.Rows - f.kept
			_, _, err := f.descend(ctx, w[k], &enough[k], tuningSteps)
			if err == nil {
				_, err = f.value(ctx, w[k]) // the last point tried may differ
			}
			if err != nil {
				return best, err
			}
			loss += f.held
		}
		loss /= float64(rows)
		if !(loss < tuningGain*best.loss) {
			break
		}
		best.at, best.penalty, best.loss, best.enough = first+at, penalty*float64(f.kept), loss, enough[0]
		best.w = append(best.w[:0], w[0]...)
	}
	return best, nil
}

// holdOut holds out a part of the rows.
func (f *logistic) holdOut(part []int8, k int) {
	f.out, f.kept = make([]bool, len(part)), 0
	for i, p := range part {
		if f.out[i] = int(p) == k; !f.out[i] {
			f.kept++
		}
	}
}

// It is minimised by limited-memory BFGS (Nocedal, 1980; Liu and Nocedal, 1989).
//
// With g the gradient, s the last few steps and y the changes of g along them, the direction is -H g, where H is built
// from (s, y) by the two-loop recursion and never stored.
//
//	repeat until |g| is small
//		direction   two loops over the pairs kept              O(kept · variables)
//		line        halve the step until f falls enough        one value each, usually one in all
//		gradient    at the new point
//
// For a convex function s·y is never negative, so halving is enough and no slope condition is needed.

const keptSteps = 5 // pairs of the recursion: two vectors of the size of w each

// descend minimises f from w, which it overwrites, until |g| is at most enough. If that is 0, it is set to the usual
// share of the first |g|. It returns f and the number of steps.
func (f *logistic) descend(ctx context.Context, w []float64, enough *float64, steps int) (float64, int, error) {
	n := len(w)
	g, next, slope, d := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	var pairs []stepPair
	at, err := f.value(ctx, w)
	if err == nil {
		err = f.gradient(ctx, g)
	}
	if err != nil {
		return 0, 0, err
	}
	*enough = cmp.Or(*enough, logisticEnough*linalg.Norm(g))
	for step := range steps {
		length := linalg.Norm(g)
		if length <= *enough {
			return at, step, nil
		}
		setDirection(d, g, pairs)
		promise := linalg.Dot(d, g)
		size := 1.0
		if len(pairs) == 0 {
			size = 1 / length // the scale is still unknown
		}
		var value float64
		for ; ; size /= 2 {
			if size < 1e-12 {
				return at, step, nil // no better point at this precision
			}
			for i := range next {
				next[i] = w[i] + float64(size*d[i])
			}
			if value, err = f.value(ctx, next); err != nil {
				return 0, 0, err
			}
			if value <= at+float64(1e-4*size*promise) {
				break
			}
		}
		if err := f.gradient(ctx, slope); err != nil {
			return 0, 0, err
		}
		var p stepPair
		if len(pairs) < keptSteps {
			p = stepPair{s: make([]float64, n), y: make([]float64, n)}
		} else {
			p, pairs = pairs[0], pairs[1:]
		}
		for i := range w {
			p.s[i], p.y[i] = next[i]-w[i], slope[i]-g[i]
		}
		p.sy = linalg.Dot(p.s, p.y)
		if p.sy > 1e-12*linalg.Dot(p.y, p.y) { // otherwise the curvature is lost to rounding
			pairs = append(pairs, p)
		}
		at = value
		copy(w, next)
		g, slope = slope, g
	}
	return at, steps, nil
}

// stepPair is a step, the change of the gradient along it, and their product.
type stepPair struct {
	s, y []float64
	sy   float64
}

// setDirection sets d = -H g.
func setDirection(d, g []float64, pairs []stepPair) {
	for i, v := range g {
		d[i] = -v
	}
	var a [keptSteps]float64
	for k := len(pairs) - 1; k >= 0; k-- {
		p := pairs[k]
		a[k] = linalg.Dot(p.s, d) / p.sy
		linalg.Axpy(-a[k], p.y, d)
	}
	if last := len(pairs) - 1; last >= 0 {
		scale := pairs[last].sy / linalg.Dot(pairs[last].y, pairs[last].y)
		for i := range d {
			d[i] *= scale
		}
	}
	for k, p := range pairs {
		linalg.Axpy(a[k]-linalg.Dot(p.y, d)/p.sy, p.s, d)
	}
}
