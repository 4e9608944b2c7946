// Package columns fits extra columns that help predict bits. A tree compares one column at a time, so a
// direction across many columns takes it many splits. Here the trees are offered such directions as extra columns: for
// every class, or frequent tag, how much a row looks like it.
//
//	score_t(x) = W_t · φ(x) + b_t      ridge regression on "the row is of class t" (linalg/folds.go)
//	φ(x) = (x - mean) / spread         linear (linear.go)
//	φ_q(x) = exp(-|v - a_q|² / width)  kernel: Gaussians around rows drawn at random, of partly whitened columns v
//	                                   (kernel.go)
//
// Scores fit the rows they were learned from far better than new ones, and trees would trust them too much. So, as in
// stacking (Wolpert, Neural Networks 1992), the training rows are cut into parts (folds.go), and each gets the scores
// of the fit to the other parts; new rows get those of the fit to all. If classes are balanced, rows have the same
// weights here as in Step 1, and every class is spread evenly over the parts: of five rows, four would otherwise often
// share one.
//
//	moments   means and spreads of the columns       one pass
//	sums      products of the columns, by part       one pass, n d² / 2 products; d at most 2,048, or
//	                                                 projected to 1,024 at random: n d · 1,024
//	fits      76 systems of d equations, 21 of many  d³/6 products each, or n³/6 where rows are fewer
//	scores    of all rows                            one pass, d products for every score
package columns

import (
	"context"
	"iter"
	"slices"

	"hashgrove/internal/model"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Kinds of columns.
const (
	Off    = "off"    // none; "" means the same
	Linear = "linear" // scores that are linear in the columns
	Kernel = "kernel" // those, and scores that are linear in Gaussians of the columns
	Auto   = "auto"   // linear scores, if they help quick trees predict held-out rows

	AutoKernel = "auto-kernel" // also kernel scores, if they help further; a code takes ten microseconds more
)

// Parts is the number of parts that rows are cut into, and Held the part of rows that no fit may see.
const (
	Parts = 5
	Held  = 255
)

const maxScores = 32 // classes or tags with a score, most frequent first

// Options say what to fit.
type Options struct {
	Kind         string  // Linear or Kernel, and for FitClasses also Auto and AutoKernel
	Part         []uint8 // of each row, or Held; nil divides the rows (Divide)
	Balanced     bool    // rows of all classes have the same weight together, and are spread evenly over the parts
	Copies       int     // rows of a picture, which share a part
	Microseconds int     // that a code may take, which limits the anchors of a kernel
	Seed         uint64
	Threads      int
}

// Columns are extra columns.
type Columns struct {
	Maps   []model.Map    // from a vector to it with the columns, or, of FitClasses, to the columns alone
	Names  []string       // nil if not known
	Values vectors.Matrix // of the training rows
}

// Fit fits linear scores and, if asked for, as many of a kernel after them. Rows in Held are scored as new rows.
func Fit(ctx context.Context, d *supervision.Data, o Options) (_ *Columns, err error) {
	if o.Part == nil {
		if o.Part, err = Divide(ctx, d, Parts, o); err != nil {
			return nil, err
		}
	}
	c, err := newFit(d, o, false, maxScores).run(ctx)
	if err != nil {
		return nil, err
	}
	linear := &model.Extension{Maps: c.Maps}
	if c.Maps = []model.Map{linear}; o.Kind == Linear {
		return c.named(Linear), nil
	}
	k, err := newFit(d, o, true, maxScores).run(ctx)
	if err != nil {
		return nil, err
	}
	k.Maps[0] = ignoring(k.Maps[0].(*model.Affine), c.Values.Cols)
	both := &Columns{Maps: append(c.Maps, &model.Extension{Maps: k.Maps}), Values: vectors.Matrix{Rows: d.Rows}}
	both.Names = append(c.named(Linear).Names, k.named(Kernel).Names...)
	both.Values.Cols = len(both.Names)
	for i := range d.Rows {
		both.Values.Data = append(append(both.Values.Data, c.Values.Row(i)...), k.Values.Row(i)...)
	}
	return both, nil
}

// named puts a kind before the names.
func (c *Columns) named(kind string) *Columns {
	for k, name := range c.Names {
		c.Names[k] = kind + ":" + name
	}
	return c
}

// ignoring lets a map accept more columns, which it ignores.
func ignoring(m *model.Affine, more int) *model.Affine {
	wide := vectors.Matrix{Rows: m.Weight.Rows, Cols: m.Weight.Cols + more}
	zeros := make([]float32, more)
	for k := range wide.Rows {
		wide.Data = append(append(wide.Data, m.Weight.Row(k)...), zeros...)
	}
	return &model.Affine{Weight: wide, Bias: m.Bias,
		Mean: append(slices.Clone(m.Mean), zeros...), Scale: append(slices.Clone(m.Scale), zeros...)}
}

// Apply computes the columns of rows as for new rows, from maps of Columns.
func Apply(ctx context.Context, d *supervision.Data, maps []model.Map, threads int) (*Columns, error) {
	c, keeps := &Columns{Maps: maps}, 0
	if _, ok := maps[0].(*model.Extension); ok {
		keeps = d.Dim()
	}
	c.Values.Cols = maps[len(maps)-1].Out() - keeps
	for chunk, err := range model.Through(d.Source, threads, maps...).Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range chunk.X.Rows {
			c.Values.Data = append(c.Values.Data, chunk.X.Row(i)[keeps:]...)
		}
		c.Values.Rows += chunk.X.Rows
	}
	return c, nil
}

// Beside returns the rows with the first n columns beside them.
func (c *Columns) Beside(d *supervision.Data, n int) *supervision.Data {
	return d.With(beside{d.Source, c.Values, n})
}

// beside is a source with extra columns.
type beside struct {
	vectors.Source
	values vectors.Matrix // of every row
	n      int
}

func (b beside) Dim() int { return b.Source.Dim() + b.n }

func (b beside) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		var wide []float32
		for c, err := range b.Source.Chunks(ctx) {
			if err == nil {
				err = vectors.CheckRows(min(c.First+c.X.Rows, b.values.Rows), c.First+c.X.Rows)
			}
			if err != nil {
				yield(vectors.Chunk{}, err)
				return
			}
			wide = wide[:0]
			for i := range c.X.Rows {
				wide = append(append(wide, c.X.Row(i)...), b.values.Row(c.First + i)[:b.n]...)
			}
			c.X = vectors.Matrix{Rows: c.X.Rows, Cols: b.Dim(), Data: wide}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// Bytes estimates what columns take: their values, and the largest fit, with its rows and the systems of all parts, of
// which every thread solves one.
func (o Options) Bytes(rows, dim int) int64 {
	side := min(dim, maxSumSide)
	if o.Kind == Kernel || o.Kind == AutoKernel {
		side = Anchors(o.Microseconds, dim)
	}
	n, wide, threads := int64(min(rows, side)), int64(side), int64(min(par.Threads(o.Threads), 2*Parts))
	return int64(rows)*(40+2*maxScores*5) + 4*(min(int64(rows), regressRows)*wide+n*n*(Parts+2*threads))
}
