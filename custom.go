package hashgrove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Source yields rows of your own, for From.
type Source interface {
	// Dim returns the length of every vector.
	Dim() int
	// Chunks yields all rows in order, and nothing after an error.
	Chunks(ctx context.Context) iter.Seq2[Chunk, error]
}

// Chunk is a run of consecutive rows. It is valid only until the next one.
type Chunk struct {
	X [][]float32 // the vectors

	// One entry per vector, or nil if the rows have none.
	IDs    []string   // all different
	Labels []string   // classes by name
	Tags   [][]string // sets of tags
}

// From reads rows from a source of your own, once. They need not fit in memory.
func From(source Source) *Data {
	if source == nil {
		return &Data{err: errors.New("there is no source of rows")}
	}
	return &Data{source: given{source}}
}

// given adapts a Source of the caller.
type given struct{ source Source }

// Dim implements vectors.Source.
func (g given) Dim() int { return g.source.Dim() }

// Schema implements vectors.Source.
func (g given) Schema() vectors.Schema { return vectors.Schema{} }

// Chunks implements vectors.Source.
func (g given) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		row, dim := 0, g.source.Dim()
		for c, err := range g.source.Chunks(ctx) {
			out := vectors.Chunk{First: row, IDs: c.IDs, Labels: c.Labels, Tags: c.Tags}
			out.X = vectors.Matrix{Rows: len(c.X), Cols: dim, Data: make([]float32, 0, len(c.X)*dim)}
			for i, x := range c.X {
				if len(x) != dim && err == nil {
					err = fmt.Errorf("row %d has %d values, and the source says %d", row+i, len(x), dim)
				}
				out.X.Data = append(out.X.Data, x...)
			}
			for name, n := range map[string]int{"ids": len(c.IDs), "labels": len(c.Labels), "sets of tags": len(c.Tags)} {
				if n != 0 && n != len(c.X) && err == nil {
					err = fmt.Errorf("%d %s for the %d rows from row %d on", n, name, len(c.X), row)
				}
			}
			if !yield(out, err) || err != nil {
				return
			}
			row += len(c.X)
		}
	}
}

// Method is a way of your own to learn codes, for Options.Custom. The model is measured on held-out rows, saved and
// searched like any other.
type Method interface {
	// Train returns a hyperplane for each bit. They should depend only on the rows and on the method's own parameters.
	Train(ctx context.Context, rows *TrainingRows) ([]Hyperplane, error)
}

// Hyperplane is a hash function: the bit of x is 1 if the sum of Weight times x is at least Threshold.
type Hyperplane struct {
	Weight    []float32 // one for each value of a vector
	Threshold float32   // finite, as the weights are
}

// TrainingRows are what a Method learns from: all rows but those held out.
type TrainingRows struct {
	Rows, Dim int      // number of vectors, and their length
	Classes   []string // names of the classes; nil if the rows have none
	Class     []int32  // of each row, an index into Classes
	Pairs     []Pair   // of rows that are known to be similar or dissimilar; nil if there are none

	data *supervision.Data
}

// Chunks yields the rows in order, as often as it is called.
func (r *TrainingRows) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for c, err := range r.data.Chunks(ctx) {
			out := Chunk{IDs: c.IDs, Labels: c.Labels, Tags: c.Tags}
			for i := range c.X.Rows {
				out.X = append(out.X, c.X.Row(i))
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// custom adapts a Method for package method.
type custom struct{ own Method }

// Train implements method.Method.
func (c custom) Train(ctx context.Context, d *supervision.Data) (*model.Model, error) {
	rows := &TrainingRows{Rows: d.Rows, Dim: d.Dim(), data: d}
	if d.Labels != nil {
		rows.Classes, rows.Class = d.Labels.Names, d.Labels.Class
	}
	for _, p := range d.Pairs {
		rows.Pairs = append(rows.Pairs, Pair(p))
	}
	planes, err := c.own.Train(ctx, rows)
	if err != nil {
		return nil, err
	}
	e := &model.Projection{}
	for bit, p := range planes {
		if len(p.Weight) != rows.Dim {
			return nil, fmt.Errorf("the hyperplane of bit %d has %d weights for vectors of %d dimensions", bit,
				len(p.Weight), rows.Dim)
		}
		e.Weight, e.Threshold = append(e.Weight, p.Weight...), append(e.Threshold, p.Threshold)
	}
	if len(planes) == 0 {
		return nil, errors.New("the method returned no hyperplanes")
	}
	return &model.Model{Encoder: e}, e.Check()
}

// Loss judges pairs of rows in a way of your own, for FastHashOptions.CustomLoss: Step 1 chooses bits that lower the
// sum of the losses. A similar pair costs (d/k)², where its codes of k bits differ in d of them.
type Loss interface {
	// Dissimilar returns what a dissimilar pair costs, times 4k²: a whole number from 0 to 4k² that does not rise with d.
	// The hinge of FastHashOptions.Loss, for instance, is max(0, k-2d)².
	Dissimilar(d, k int) int64
}

// Learner predicts bits in a way of your own, for FastHashOptions.CustomLearner.
type Learner interface {
	// Fit returns a hyperplane that predicts a bit, which is +1 or -1 for each row. The weights say how much each row
	// counts; nil counts all alike. It should depend only on what it is given, and keep none of it.
	Fit(ctx context.Context, columns *BinnedColumns, bit []int8, weight []float64) (BinnedPlane, error)
}

// BinnedColumns are rows to learn from, column by column, with values cut into 256 bins.
type BinnedColumns struct {
	Rows, Dim int // number of rows and of columns

	columns *vectors.Columns
}

// Column returns the bin of every row in a column. It must not be changed.
func (c *BinnedColumns) Column(j int) []uint8 { return c.columns.Column(j) }

// BinnedPlane is a hash function: the bit is 1 if Bias plus the sum of Weight times bin is at least 0.
type BinnedPlane struct {
	Weight []int32 // one for each column
	Bias   int64   // of the sum
}

// addOwn hands on a loss and a learner of the caller.
func (f FastHashOptions) addOwn(to *fasthash.Options) {
	if f.CustomLoss != nil {
		to.Inference.Loss = inference.Loss(cmp.Or(f.Loss, "custom"))
		to.Inference.Own = inference.Own(f.CustomLoss.Dissimilar)
	}
	if f.CustomLearner == nil {
		return
	}
	to.Learner, to.OwnName = fasthash.Linear, cmp.Or(f.Learner, "custom")
	to.Own = func(ctx context.Context, x *vectors.Columns, z []int8, weight []float64) (*model.Linear, error) {
		h, err := f.CustomLearner.Fit(ctx, &BinnedColumns{x.Rows, x.Dim(), x}, z, weight)
		return &model.Linear{Weight: h.Weight, Bias: h.Bias}, err
	}
}
