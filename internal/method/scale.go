// The scale of the columns. Distances and directions of variance are in the units of the columns, so a column in
// thousandths counts for nothing beside one in thousands. Standardised, all count equally:
//
//	y_j = (x_j - mean_j) / deviation_j,   0 where a column never changes
//
// That is not always better: the border of pictures hardly ever changes, and its noise would count as much as the
// content. So the labelled rows decide:
//
//	spreads    one pass; nothing to decide where they are within a factor of 100        O(n · dim)
//	sample     up to 400 rows are looked for among 1,500 others, by distance and by angle, with the columns as they
//	           are and standardised; the best ranking wins                              O(400 · 1,500 · dim)
//
// The choice depends only on the rows and the seed, and the map is part of the model.

package method

import (
	"context"
	"fmt"
	"math/rand/v2"

	"hashgrove/internal/eval"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Values of Options.Standardize.
const (
	StandardizeAuto = "auto" // where the scales differ and it is better for a sample of the rows; "" means the same
	StandardizeOn   = "on"   // always
	StandardizeOff  = "off"  // never
)

// Scale says how columns are scaled before a method sees them.
type Scale struct {
	Map    *model.Affine // to standardised columns; nil where they stay as they are
	Reason string        // in words; "" where there was nothing to decide
}

const (
	scaleFactor  = 100     // spreads within this factor are alike
	scaleGain    = 0.01    // least gain of MAP
	scaleQueries = 400     // most rows to look for
	scaleLeast   = 50      // rows to look for, however wide they are
	scaleFew     = 10      // fewer rows than this decide nothing
	scaleOthers  = 1500    // most rows to look among
	scaleValues  = 1 << 23 // most values of those
	scaleWork    = 1 << 29 // most differences of values
)

// ScaleOf decides whether to standardise the columns of rows: StandardizeOn, StandardizeOff or, for StandardizeAuto, by
// trying it on a sample of the rows. Without supervision they stay as they are.
func ScaleOf(ctx context.Context, d *supervision.Data, o Options) (Scale, error) {
	if err := o.checkStandardize(); err != nil {
		return Scale{}, err
	}
	if o.Standardize == StandardizeOff || o.Standardize != StandardizeOn && d.Kind() == "" {
		return Scale{}, nil
	}
	m, factor, err := unitColumns(ctx, d)
	if err != nil {
		return Scale{}, err
	}
	if o.Standardize == StandardizeOn {
		return Scale{m, "columns standardised as asked"}, nil
	}
	if factor <= scaleFactor {
		return Scale{}, nil
	}
	why := fmt.Sprintf("their spreads differ by a factor of %.0f", min(factor, 1e9))
	before, after, err := o.withDefaults().tryScale(ctx, d, m)
	switch {
	case err != nil:
		return Scale{}, err
	case before == 0 && after == 0:
		return Scale{nil, "columns as they are: " + why + ", but the rows are too few to judge by"}, nil
	case after < before+scaleGain:
		return Scale{nil, fmt.Sprintf("columns as they are: %s, but search by vectors in a sample of the rows has MAP %.3f, "+
			"and %.3f when they are standardised", why, before, after)}, nil
	}
	return Scale{m, fmt.Sprintf("columns standardised: %s, and search by vectors in a sample of the rows has MAP %.3f "+
		"instead of %.3f", why, after, before)}, nil
}

// namesScale reports whether the options say how columns are scaled.
func (o Options) namesScale() bool {
	return o.Standardize == StandardizeOn || o.Standardize == StandardizeOff
}

// checkStandardize reports an unknown value.
func (o Options) checkStandardize() error {
	switch o.Standardize {
	case "", StandardizeAuto, StandardizeOn, StandardizeOff:
		return nil
	}
	return message.New("no-such-mode", "standardising columns is %s, %s or %s, not %q", StandardizeAuto, StandardizeOn,
		StandardizeOff, o.Standardize)
}

// tryScale returns the MAP of search in a sample of the rows, by distance or by angle, whichever is better, without and
// with the map. Both are 0 if too few rows can be measured.
func (o Options) tryScale(
	ctx context.Context, d *supervision.Data, m *model.Affine,
) (before, after float64, err error) {
	others := min(scaleOthers, max(scaleValues/d.Dim(), scaleQueries), d.Rows-d.Rows/5)
	queries := min(scaleQueries, max(scaleWork/others/d.Dim(), scaleLeast), d.Rows/5)
	if queries < scaleFew {
		return 0, 0, nil
	}
	asked, among := make([]bool, d.Rows), make([]bool, d.Rows)
	for k, i := range drawDistinct(d.Rows, queries+others, rand.New(rand.NewPCG(o.Seed, 'C'))) {
		asked[i], among[i] = k < queries, k >= queries
	}
	q, b := d.Only(asked), d.Only(among)
	if d.Pairs != nil {
		q.Pairs = supervision.PairsBetween(d.Pairs, asked, among)
	}
	truth, err := eval.TruthOf(q, b)
	if err != nil {
		return 0, 0, err
	}
	left, err := readRows(ctx, vectors.Select(d.Source, asked), queries)
	if err != nil {
		return 0, 0, err
	}
	right, err := readRows(ctx, vectors.Select(d.Source, among), others)
	if err != nil {
		return 0, 0, err
	}
	judging := eval.Options{K: []int{1}, CurveTo: 1, Threads: o.Threads}
	var found [2]float64
	for k := range found {
		for _, x := range []*vectors.Matrix{&left, &right} {
			if k == 1 {
				if *x, err = model.Transform(ctx, o.Threads, *x, m); err != nil {
					return 0, 0, err
				}
			}
		}
		for _, metric := range []eval.Metric{eval.Euclidean, eval.Cosine} {
			r, err := eval.RetrievalFloat(ctx, left, right, metric, truth, judging)
			if err != nil {
				return 0, 0, err
			}
			if r.Judged < scaleFew {
				return 0, 0, nil
			}
			found[k] = max(found[k], r.MAP)
		}
	}
	return found[0], found[1], nil
}

// scaled standardises columns, if asked for, before another method learns from them.
type scaled struct {
	Options
	then Method
}

// Train implements Method.
func (m scaled) Train(ctx context.Context, d *supervision.Data) (*model.Model, error) {
	s, err := ScaleOf(ctx, d, m.Options)
	if err != nil {
		return nil, err
	}
	if s.Map != nil {
		d = d.With(model.Through(d, m.Threads, s.Map))
	}
	made, err := m.then.Train(ctx, d)
	if err != nil {
		return nil, err
	}
	if s.Map != nil {
		made.Encoder = model.Compose(made.Encoder, s.Map)
	}
	made.Info.Scale = s.Reason
	return made, nil
}
