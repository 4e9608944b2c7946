package method

import (
	"context"
	"fmt"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// maxJudged bounds the number of held-out rows, and of training rows, that are measured.
const maxJudged = 1000

// validation holds rows set aside before training, and as many training rows.
type validation struct {
	held         *supervision.Data // all that were set aside
	new, learned judged            // evenly drawn
	codes        eval.Codes        // of the new ones, once there is a model
}

// judged holds rows to measure a model on.
type judged struct {
	*supervision.Data
	x vectors.Matrix
}

// newJudged allocates space for the chosen rows.
func newJudged(d *supervision.Data, chosen []bool) judged {
	part := d.Only(chosen)
	return judged{part, vectors.Matrix{Cols: d.Dim(), Data: make([]float32, 0, part.Rows*d.Dim())}}
}

// setAside sets rows aside if the options ask for it, and returns the others. Its single pass over the rows also finds
// the ranges of the others, which would otherwise take training another pass.
func (o *Options) setAside(ctx context.Context, name string, d *supervision.Data) (
	*supervision.Data, *validation, error,
) {
	if o.Validation == 0 {
		return d, nil, nil
	}
	copies := o.FastHash.Similar.PerPicture()
	keep, aside, err := d.Split(o.Validation, o.withDefaults().Seed, copies)
	if err != nil {
		return nil, nil, err
	}
	learn, held := d.Parts(keep, aside)
	if held.Rows == 0 {
		return d, nil, nil
	}
	if name == FastHash && o.PCA == 0 {
		o.FastHash.Similar.Validation = o.Validation
	}
	v := &validation{held: held}
	n := min(held.Rows, maxJudged)
	inNew, err := drawn(d.Spill, d.Rows, aside, n)
	if err != nil {
		return nil, nil, err
	}
	inLearned, err := drawn(d.Spill, d.Rows, keep[:d.Rows/copies], n)
	if err != nil {
		return nil, nil, err
	}
	v.new, v.learned = newJudged(d, inNew), newJudged(d, inLearned)
	learn.Ranges = d.NewRanges()
	var kept vectors.Chunk // its memory is used again
	rows := 0
	for c, err := range d.Chunks(ctx) {
		if err != nil {
			return nil, nil, err
		}
		if rows = c.First + c.X.Rows; rows > d.Rows {
			break
		}
		c.Only(keep[c.First:rows], &kept)
		learn.Ranges.Add(kept.X)
		v.new.add(c, inNew)
		v.learned.add(c, inLearned)
	}
	return learn, v, vectors.CheckRows(rows, d.Rows)
}

// add takes the chosen rows of a chunk.
func (j *judged) add(c vectors.Chunk, chosen []bool) {
	for i := range c.X.Rows {
		if chosen[c.First+i] {
			j.x.Rows, j.x.Data = j.x.Rows+1, append(j.x.Data, c.X.Row(i)...)
		}
	}
}

// drawn marks n rows of a part, or all, at even distances; rows without an entry in the part are not in it.
func drawn(m *vectors.Spill, rows int, part []bool, n int) ([]bool, error) {
	out, err := vectors.Alloc[bool](m, rows)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, in := range part {
		if in {
			size++
		}
	}
	n = min(n, size)
	place, next := 0, 0
	for i, in := range part {
		if !in {
			continue
		}
		if next < n && place == next*size/n {
			out[i] = true
			next++
		}
		place++
	}
	return out, nil
}

// tells reports whether the rows held out say how good a model is: not if no supervision tells which answers are right,
// nor if the bits that the model grew from may have been learned from them.
func (v *validation) tells(grown *model.Model) bool {
	if kind := v.held.Kind(); kind == "" || kind == supervision.ByPairs {
		return false
	}
	if grown == nil {
		return true
	}
	share, rows := grown.Info.Sketch.Share(v.held.Hashes)
	return rows > 0 && share <= 0.5 // these are copies of other rows
}

// encode makes the codes of the new rows, as queries and as the base, and the margins if codes are short enough.
func (v *validation) encode(ctx context.Context, m *model.Model, o Options) (err error) {
	v.codes = eval.Codes{Detail: m.DetailBits()}
	if v.codes.Queries, err = m.Encode(ctx, v.new.x, o.Threads); err != nil {
		return err
	}
	v.codes.Base = v.codes.Queries
	if v.codes.Base.Bits <= hamming.MaxWeightedBits {
		v.codes.Margins, err = m.Margins(ctx, v.new.x, o.Threads)
	}
	return err
}

// judge records how well the model finds new and learned items. Held-out rows are the queries, and each is left out of
// its own ranking.
func (v *validation) judge(ctx context.Context, m *model.Model, o Options) error {
	c := v.codes
	learned, err := m.Encode(ctx, v.learned.x, o.Threads)
	if err != nil {
		return err
	}
	if c.Expected = c.Margins; m.Ranking != nil {
		if c.Expected, err = m.Expected(ctx, c.Margins); err != nil {
			return err
		}
	}
	one, err := v.figures(ctx, v.new.Data, c, o)
	if err != nil {
		return err
	}
	c.Base = learned
	other, err := v.figures(ctx, v.learned.Data, c, o)
	if err == nil && one != nil && other != nil {
		m.Info.NewItems, m.Info.LearnedItems = one, other
	}
	return err
}

// figures measures one base with the new items as queries, by all rankings.
func (v *validation) figures(
	ctx context.Context, d *supervision.Data, c eval.Codes, o Options,
) (*model.Figures, error) {
	truth, err := eval.TruthOf(v.new.Data, d)
	if err != nil {
		return nil, err
	}
	if d == v.new.Data {
		truth = truth.WithoutItself()
	}
	r, err := c.Report(ctx, eval.ByHamming, truth, eval.Options{Threads: o.Threads})
	if err != nil {
		return nil, fmt.Errorf("judging the rows held out: %w", err)
	}
	if r.Judged == 0 {
		return nil, nil
	}
	f := &model.Figures{
		Rows: r.Base, MAP: min(r.MAP, 1), MAPLow: min(r.MAPLow, 1), MAPHigh: min(r.MAPHigh, 1), // but for rounding
		Precision: min(r.ReachablePrecision, 1), PRArea: min(r.PRArea, 1), DistinctCodes: r.DistinctCodes,
		Chance: min(r.Prior, 1),
	}
	for by, to := range map[eval.Ranking]*model.MarginFigures{eval.ByMargins: &f.Margins, eval.ByExpected: &f.Expected} {
		r, err := c.Report(ctx, by, truth, eval.Options{Threads: o.Threads})
		if err != nil {
			return nil, fmt.Errorf("judging the rows held out by %s: %w", by, err)
		}
		if r != nil {
			*to = model.MarginFigures{
				MAP: min(r.MAP, 1), MAPLow: min(r.MAPLow, 1), MAPHigh: min(r.MAPHigh, 1),
				Precision: min(r.ReachablePrecision, 1), PRArea: min(r.PRArea, 1),
			}
		}
	}
	return f, nil
}
