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

package solve

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

// LogisticOptions control a fit. The zero value tries both scales.
type LogisticOptions struct {
	Scale   Scaling
	Seed    uint64 // of the rows held out
	Threads int
}

// Scaling says how columns are scaled before the penalty applies.
type Scaling string

// Scalings.
const (
	ScaleEither Scaling = ""      // whichever is better on rows held out
	ScaleEach   Scaling = "each"  // every column to variance 1
	ScaleAlike  Scaling = "alike" // all columns by one factor
)

// Logistic holds fitted scores and what was chosen for them.
type Logistic struct {
	Scores  *model.Affine
	Scale   Scaling // ScaleEach or ScaleAlike
	Penalty float64 // λ of the fit on all rows
	Loss    float64 // mean loss of rows held out, at what was chosen; infinite where no row could be
}

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

// FitLogistic learns the scores of y as a map of the values that were quantised.
func FitLogistic(ctx context.Context, x *vectors.Columns, y Targets, o LogisticOptions) (*Logistic, error) {
	f, err := newLogistic(ctx, x, y, 0, o.Threads)
	if err != nil {
		return nil, err
	}
	best := choice{scale: ScaleEach, penalty: 0.01 * float64(x.Rows), loss: math.Inf(1), w: f.start()}
	sample := f.sample(o.Seed)
	part, parts := partsOf(sample.y, o.Seed), 1
	if f.variables() <= tuningAll/max(sample.x.Rows, 1) {
		parts = tuningParts
	}
	for _, scale := range []Scaling{ScaleEach, ScaleAlike} {
		if o.Scale != ScaleEither && o.Scale != scale || !f.rescale(scale) {
			continue
		}
		sample.scale, sample.scale32 = f.scale, f.scale32
		c, err := sample.choose(ctx, part, parts, max(best.at-1, 0))
		if err != nil {
			return nil, err
		}
		if c.scale = scale; c.loss < best.loss {
			best = c
		}
	}
	f.rescale(best.scale)
	f.penalty = best.penalty / float64(x.Rows)
	steps := min(max(int(logisticWork/(int64(x.Rows)*int64(f.variables()))), logisticLeast), logisticSteps)
	if _, _, err := descendTo(ctx, f, best.w, best.enough.limit, steps); err != nil {
		return nil, err
	}
	return &Logistic{Scores: f.affine(best.w), Scale: best.scale, Penalty: f.penalty, Loss: best.loss}, nil
}

// choice is a scale and a penalty, and their result.
type choice struct {
	scale   Scaling
	penalty float64 // λ times the rows
	at      int     // its index among the penalties
	loss    float64 // mean, of the rows held out
	w       []float64
	enough  slope
}

// slope is a length of the gradient at which a descent may end; 0 if unknown.
type slope float64

// limit returns the slope or, if unknown, the usual share of the first one.
func (s slope) limit(first float64) float64 { return cmp.Or(float64(s), logisticEnough*first) }

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
	drawn := DrawDistinct(f.x.Rows, rows, rand.New(rand.NewPCG(seed, 'T')))
	slices.Sort(drawn)
	part.x, part.kept = vectors.NewColumns(rows, f.x.Quantizer), rows
	for j := range f.x.Dim() {
		from, to := f.x.Column(j), part.x.Column(j)
		for i, row := range drawn {
			to[i] = from[row]
		}
	}
	part.y = Targets{Classes: f.y.Classes, Several: f.y.Several, Start: []int{0}}
	for _, row := range drawn {
		part.y.Of = append(part.y.Of, f.y.Row(row)...)
		part.y.Start = append(part.y.Start, len(part.y.Of))
	}
	part.score = make([]float32, rows*f.y.Classes)
	return &part
}

// partsOf distributes the rows over the parts of the sample, those of a class evenly. Rows that are alone in their
// class are in no part.
func partsOf(y Targets, seed uint64) []int8 {
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
	w, enough := make([][]float64, parts), make([]slope, parts)
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
			_, _, err := descendTo(ctx, f, w[k], func(first float64) float64 {
				enough[k] = slope(enough[k].limit(first))
				return float64(enough[k])
			}, tuningSteps)
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
