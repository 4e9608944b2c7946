// Bits of detail behind the bits of the class, for a model of any method. Supervised codes give all items of a class
// the same bits, so the order within the class is chance; these bits keep what the vector looks like
// (model.Detailed).
//
//	u = x / |x|                                    after standardising the columns where ScaleOf says so
//	P = first r principal components of u - mean of its class        where the rows have classes, else of u
//	R = the rotation of ITQ for P u (itq.go)
//	bit b = [column b of R P (u - mean) >= 0],   and as a query's margin the projection itself
//
// Directions in which the classes differ are left out of the components, since the class bits know those already: this
// finds up to a fifth more of the nearest items of the class. Cost: PCA and ITQ on up
// to detailRows rows, and one projection for each bit to encode.

package method

import (
	"context"
	"fmt"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// UsualDetail is the number of bits of detail where answers are looked at, as on the page and in the demo.
const UsualDetail = 64

const (
	detailRows   = 20_000
	detailValues = 1 << 26 // most values of these rows
)

// takeDetail removes the bits of detail from the model to grow, since it is the class bits that grow, and returns them
// if there are any.
func (o *Options) takeDetail() model.Encoder {
	grown := o.Run.Grow
	if grown == nil {
		return nil
	}
	e, ok := grown.Encoder.(*model.Detailed)
	if !ok {
		return nil
	}
	o.Run.Grow = grown.Prefix(grown.ClassBits())
	return e.Detail
}

// LearnDetail learns Options.Detail bits of detail, or as many as there are dimensions, from some of the rows.
func LearnDetail(ctx context.Context, d *supervision.Data, o Options) (model.Encoder, error) {
	o = o.withDefaults()
	o.Bits = min(o.Detail, d.Dim())
	front := &model.Affine{Weight: vectors.Matrix{Rows: d.Dim(), Cols: d.Dim()}, Unit: true}
	if !d.Missing {
		s, err := ScaleOf(ctx, d, o)
		if err != nil {
			return nil, err
		}
		if s.Map != nil {
			front.Mean, front.Scale = s.Map.Mean, s.Map.Scale
		}
	}
	some, n := make([]bool, d.Rows), min(d.Rows, detailRows, max(detailValues/d.Dim(), 1000))
	for k := range n {
		some[k*d.Rows/n] = true
	}
	part := d.Only(some)
	x, err := readRows(ctx, vectors.Select(d.Source, some), part.Rows)
	if err != nil {
		return nil, err
	}
	for i, v := range x.Data {
		if v != v {
			x.Data[i] = 0
			if front.Mean != nil {
				x.Data[i] = front.Mean[i%x.Cols]
			}
		}
	}
	if x, err = model.Transform(ctx, o.Threads, x, front); err != nil {
		return nil, err
	}
	mean := x.Mean()
	if part.Labels != nil {
		x = withoutClassMeans(x, part.Labels)
	}
	e, err := pcaITQ{o}.learn(ctx, &supervision.Data{Source: x, Rows: x.Rows})
	if err != nil {
		return nil, err
	}
	// As a map the products take the fast way, and the bits are the signs of its values.
	turn := &model.Affine{
		Mean: mean, Weight: vectors.Matrix{Rows: o.Bits, Cols: d.Dim(), Data: e.(*model.Projection).Weight},
	}
	return model.Compose(axisSigns(o.Bits, make([]float32, o.Bits)), front, turn), nil
}

// addDetail learns the bits of detail that the options ask for and puts them behind those of the model. A model that
// grew keeps those it had, unless others are asked for.
func (o Options) addDetail(ctx context.Context, m *model.Model, d *supervision.Data, kept model.Encoder) error {
	if o.Detail == 0 && kept != nil {
		m.Encoder = &model.Detailed{Class: m.Encoder, Detail: kept}
	}
	if o.Detail == 0 {
		return nil
	}
	bits := min(o.Detail, d.Dim())
	if bits < o.Detail && o.Doubt != nil {
		o.Doubt(fmt.Sprintf("%d bits of detail instead of %d: there is one for each dimension at most", bits, o.Detail))
	}
	e, err := LearnDetail(ctx, d, o)
	if err != nil {
		return fmt.Errorf("bits of detail: %w", err)
	}
	made := &model.Detailed{Class: m.Encoder, Detail: e}
	m.Encoder = made
	return made.Check()
}

// withoutClassMeans returns rows from which the mean of their class is subtracted.
func withoutClassMeans(x vectors.Matrix, l *supervision.Labels) vectors.Matrix {
	sums, counts := make([]float64, len(l.Names)*x.Cols), make([]float64, len(l.Names))
	for i, k := range l.Class {
		counts[k]++
		for j, v := range x.Row(i) {
			sums[int(k)*x.Cols+j] += float64(v)
		}
	}
	out := vectors.Matrix{Rows: x.Rows, Cols: x.Cols, Data: make([]float32, len(x.Data))}
	for i, k := range l.Class {
		row, from := out.Row(i), x.Row(i)
		for j := range row {
			row[j] = float32(float64(from[j]) - sums[int(k)*x.Cols+j]/counts[k])
		}
	}
	return out
}
