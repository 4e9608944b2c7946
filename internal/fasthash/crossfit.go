package fasthash

import (
	"context"
	"fmt"
	"slices"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Cross-fitting gives the training rows codes like those of new items. The trees know the rows they were fitted to, so
// a training row gets the very bits that Step 1 asked for, a new row only what the trees make of it, and an index that
// holds both prefers the training rows. Here, as in stacking (Wolpert, Neural Networks 1992), the rows are cut into
// folds, and
//
//	for each bit k, once Step 1 has inferred z_k and Step 2 has fitted h_k to all rows
//		for each fold F
//			h = what Step 2 fits to z_k, with the same options and weights, from the rows outside of F
//			bit k of the rows in F is the output of h
//
// All folds predict the same z_k, which h_k predicts for new items, so these codes are comparable with each other and
// with those of the model. Separate models for each fold would not be: each would infer bits of its own. Nothing flows
// back into the model.
//
// Each fold costs as much as Step 2 on its share of the rows: K folds cost about K-1 times the training itself.

// The number of folds.
const minFolds, maxFolds = 2, 20

// CrossFitted holds codes of the training rows, made by trees that did not see them.
type CrossFitted struct {
	Rows  []vectors.RowHash // of each code, all distinct: equal rows share a code
	Codes hamming.Codes
}

// crossFitter fits bits to the rows outside each fold.
type crossFitter struct {
	*training
	hashes []vectors.RowHash // of the training rows
	fold   []uint8           // of the training rows
	stop   []uint8           // folds of early stopping; nil without it
	bits   [][]uint64        // one bit of all rows each, packed
	added  [][][]uint8       // per fold, the bins of all rows in the added columns, from fits without that fold
}

// newCrossFitter reads the rows to hash them. Equal rows share a fold, and so do a picture and its copies.
func newCrossFitter(ctx context.Context, t *training, d *supervision.Data) (*crossFitter, error) {
	if t.CrossFit < minFolds || t.CrossFit > maxFolds {
		return nil, fault.New("wrong-count", "cross-fitting with %d folds: give %d to %d", t.CrossFit, minFolds, maxFolds)
	}
	if t.Grow != nil {
		return nil, fault.New("grown-model", "a model that is grown cannot be cross-fitted: the targets of its first bits "+
			"are not known")
	}
	c := &crossFitter{training: t}
	for chunk, err := range d.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		vectors.HashRows(chunk.X, func(_ int, h vectors.RowHash) { c.hashes = append(c.hashes, h) })
	}
	if err := vectors.CheckRows(len(c.hashes), d.Rows); err != nil {
		return nil, err
	}
	short := make([]uint64, d.Rows)
	for i, h := range c.hashes {
		short[i] = h.Short()
	}
	var different int
	if c.fold, different = rowFolds(short, nil, t.CrossFit, t.Seed, t.Similar.PerPicture()); different < 2*t.CrossFit {
		return nil, fault.New("few-rows", "cross-fitting with %d folds needs %d different rows, and there are %d",
			t.CrossFit, 2*t.CrossFit, different)
	}
	if len(t.added) > 0 {
		return c, c.fitScores(ctx, d)
	}
	return c, nil
}

// fit returns the packed bit of all rows, each predicted from the rows outside its fold.
func (c *crossFitter) fit(ctx context.Context, z []int8, weight []float64, bit int) ([]uint64, error) {
	out := make([]int8, len(z))
	for f := range uint8(c.CrossFit) {
		var in, others []int32
		for i, fold := range c.fold {
			if fold == f {
				in = append(in, int32(i))
			} else {
				others = append(others, int32(i))
			}
		}
		h, err := c.fitOthers(ctx, f, others, z, weight, bit)
		if err != nil {
			return nil, fmt.Errorf("fold %d: %w", f+1, err)
		}
		part, err := c.take(ctx, f, in)
		if err != nil {
			return nil, err
		}
		said := make([]int8, len(in))
		if c.Similar.Averaged {
			err = c.average(ctx, h, part, in, said)
		} else {
			err = model.Outputs(ctx, h, part, c.Threads, said)
		}
		if err != nil {
			return nil, err
		}
		for k, i := range in {
			out[i] = said[k]
		}
	}
	return pack(out), nil
}

// fitScores fits the added columns to the rows outside each fold.
func (c *crossFitter) fitScores(ctx context.Context, d *supervision.Data) error {
	own, err := c.scoreFolds(ctx, d, scoreFolds)
	if err != nil {
		return err
	}
	for f := range uint8(c.CrossFit) {
		fold := slices.Clone(own)
		for i := range fold {
			if c.fold[i] == f {
				fold[i] = heldFold
			}
		}
		var added []*scores
		if c.Learner == Scores {
			var s *scores
			s, _, err = c.fitClassScores(ctx, d, c.kind, fold)
			added = []*scores{s}
		} else {
			added, err = c.fitKind(ctx, d, c.kind, fold)
		}
		if err != nil {
			return fmt.Errorf("fold %d: %w", f+1, err)
		}
		var columns [][]uint8
		at := c.x.Dim() - c.addedColumns()
		for _, s := range added {
			for j := range s.values.Cols {
				scale, bins := c.x.Scale(at), make([]uint8, d.Rows)
				for i := range bins {
					bins[i] = scale.Bin(s.values.Row(i)[j])
				}
				columns = append(columns, bins)
				at++
			}
		}
		c.added = append(c.added, columns)
	}
	return nil
}

// average is like Outputs, for codes that add the scores of a picture and its mirror image, which share a fold: copies
// of pictures come in pairs of two kinds. Like model.Model it adds margins as float32.
func (c *crossFitter) average(
	ctx context.Context, h model.Function, part *vectors.Columns, rows []int32, said []int8,
) error {
	scores := make([]int64, len(rows))
	if err := model.Scores(ctx, h, part, c.Threads, scores); err != nil {
		return err
	}
	margin := make([]float32, len(c.fold))
	for k, i := range rows {
		margin[i] = float32(scores[k])
	}
	pictures := len(c.fold) / c.Similar.PerPicture()
	for k, i := range rows {
		other := (int(i)/pictures^1)*pictures + int(i)%pictures
		if said[k] = 1; float64(margin[i])+float64(margin[other]) < 0 {
			said[k] = -1
		}
	}
	return nil
}

// take copies the given rows with the columns added for a fold.
func (c *crossFitter) take(ctx context.Context, fold uint8, rows []int32) (*vectors.Columns, error) {
	x, err := c.x.Take(ctx, c.Threads, rows)
	if err != nil || c.added == nil {
		return x, err
	}
	at := x.Dim() - len(c.added[fold])
	for j, bins := range c.added[fold] {
		to := x.Column(at + j)
		for k, i := range rows {
			to[k] = bins[i]
		}
	}
	return x, nil
}

// fitOthers fits the bit to the given rows, all outside the fold.
func (c *crossFitter) fitOthers(
	ctx context.Context, fold uint8, rows []int32, z []int8, weight []float64, bit int,
) (model.Function, error) {
	x, err := c.take(ctx, fold, rows)
	if err != nil {
		return nil, err
	}
	var stop []uint8
	if c.stop != nil {
		for _, i := range rows {
			stop = append(stop, c.stop[i])
		}
	}
	var class []int32
	if c.class != nil {
		for _, i := range rows {
			class = append(class, c.class[i])
		}
	}
	step2, err := c.fitter(ctx, x, stop, class)
	if err != nil {
		return nil, err
	}
	defer release(step2)
	target, sum := make([]int8, len(rows)), 0.0
	var heavy []float64
	for k, i := range rows {
		target[k] = z[i]
		if weight != nil {
			heavy = append(heavy, weight[i])
			sum += weight[i]
		}
	}
	if sum == 0 { // no pair involves these rows
		heavy = nil
	}
	h, _, _, err := step2.Fit(ctx, target, heavy, c.Seed, bit)
	return h, err
}

// result returns the codes of all distinct rows.
func (c *crossFitter) result(bits int) *CrossFitted {
	out := &CrossFitted{Codes: hamming.NewCodes(0, bits)}
	seen := make(map[vectors.RowHash]bool, len(c.hashes))
	code := hamming.NewCodes(1, bits)
	for i, h := range c.hashes {
		if seen[h] {
			continue
		}
		seen[h] = true
		for k := range bits {
			code.SetBit(0, k, c.bits[k][i/64]>>(i%64)&1 == 1)
		}
		out.Rows = append(out.Rows, h)
		out.Codes.Data = append(out.Codes.Data, code.Row(0)...)
	}
	return out
}
