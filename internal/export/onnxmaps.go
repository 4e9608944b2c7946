package export

import (
	"fmt"

	"hashgrove/internal/model"
)

// mapped applies a map of the model to a tensor.
func (g *graph) mapped(from string, step model.Map) (string, error) {
	switch m := step.(type) {
	case *model.Affine:
		return g.affine(from, m), nil
	case *model.Gaussian:
		if m.Nearest > 0 {
			return "", fmt.Errorf("%w: it has an anchor graph", ErrEncoder)
		}
		return g.gaussian(from, m), nil
	case *model.ByteGaussian:
		return g.byteGaussian(from, m), nil
	case *model.Winner:
		if m.Soft {
			return g.add("Softmax", "", []string{from}, numberAttribute("axis", 1)), nil
		}
	case *model.Extension:
		return g.extension(from, m)
	}
	return "", fmt.Errorf("%w: it has a map of type %T", ErrEncoder, step)
}

// affine adds y = W (scale (x - mean)) + bias, scaled to unit length if wanted.
func (g *graph) affine(x string, m *model.Affine) string {
	dim, out := int64(m.Weight.Cols), int64(m.Out())
	if m.Mean != nil {
		x = g.add("Sub", "", []string{x, g.floats(m.Mean, dim)})
	}
	if m.Scale != nil {
		x = g.add("Mul", "", []string{x, g.floats(m.Scale, dim)})
	}
	if m.Weight.Data != nil {
		x = g.times(x, m.Weight.Data, dim, out)
	}
	if m.Bias != nil {
		x = g.add("Add", "", []string{x, g.floats(m.Bias, out)})
	}
	if m.Unit {
		length := g.add("ReduceL2", "", []string{x}, numbersAttribute("axes", []int64{1}))
		isZero := g.add("Equal", "", []string{length, g.floats([]float32{0})})
		length = g.add("Where", "", []string{isZero, g.floats([]float32{1}), length})
		x = g.add("Div", "", []string{x, length})
	}
	return x
}

// turned returns a matrix of out rows of dim values column by column.
func turned(weight []float32, dim, out int) []float32 {
	columns := make([]float32, len(weight))
	for k := range out {
		for j := range dim {
			columns[j*out+k] = weight[k*dim+j]
		}
	}
	return columns
}

// times multiplies rows by the rows of a matrix.
func (g *graph) times(x string, weight []float32, dim, out int64) string {
	return g.add("MatMul", "", []string{x, g.floats(turned(weight, int(dim), int(out)), dim, out)})
}

// gaussian adds y_q = exp(-|x - a_q|^2 / width) - mean_q, or the squared distances, as |x|^2 - 2 x a_q + |a_q|^2 after
// subtracting the mean of the anchors, which loses the least precision.
func (g *graph) gaussian(x string, m *model.Gaussian) string {
	dim, out := int64(m.Anchors.Cols), int64(m.Out())
	centre := make([]float32, dim)
	for j := range centre {
		sum := 0.0
		for q := range m.Anchors.Rows {
			sum += float64(m.Anchors.Row(q)[j])
		}
		centre[j] = float32(sum / float64(m.Anchors.Rows))
	}
	anchors, squares := make([]float32, len(m.Anchors.Data)), make([]float32, out)
	for q := range m.Anchors.Rows {
		sum := 0.0
		for j, v := range m.Anchors.Row(q) {
			d := v - centre[j]
			anchors[q*int(dim)+j] = d
			sum += float64(float64(d) * float64(d))
		}
		squares[q] = float32(sum)
	}
	t := g.distances(g.add("Sub", "", []string{x, g.floats(centre, dim)}), anchors, squares)
	if m.Width > 0 {
		t = g.add("Div", "", []string{t, g.floats([]float32{-m.Width})})
		t = g.add("Exp", "", []string{t})
	}
	if m.Mean != nil {
		t = g.add("Sub", "", []string{t, g.floats(m.Mean, out)})
	}
	return t
}

// distances adds |x|^2 - 2 x a_q + |a_q|^2, at least 0.
func (g *graph) distances(x string, anchors, squares []float32) string {
	out := int64(len(squares))
	own := g.add("ReduceSumSquare", "", []string{x}, numbersAttribute("axes", []int64{1}))
	product := g.add("Mul", "", []string{g.times(x, anchors, int64(len(anchors))/out, out), g.floats([]float32{-2})})
	t := g.add("Add", "", []string{own, product})
	t = g.add("Add", "", []string{t, g.floats(squares, out)})
	return g.add("Max", "", []string{t, g.floats([]float32{0})})
}

// byteGaussian adds the Gaussian of columns in whole steps. Up to 1,040 columns the distances are exact, as integers in
// float32.
func (g *graph) byteGaussian(x string, m *model.ByteGaussian) string {
	x = g.add("Mul", "", []string{x, g.floats([]float32{1 / m.Step})})
	x = g.add("Clip", "", []string{x, g.floats([]float32{-127}), g.floats([]float32{127})})
	x = g.add("Round", "", []string{x}) // ties to even, as the model does
	anchors, squares := make([]float32, len(m.Anchors)), make([]float32, m.Rows)
	for i, a := range m.Anchors {
		anchors[i] = float32(a)
		squares[i/m.Cols] += float32(float32(a) * float32(a))
	}
	step := float64(m.Step)
	t := g.distances(x, anchors, squares)
	t = g.add("Mul", "", []string{t, g.floats([]float32{float32(-step * step / float64(m.Width))})})
	return g.add("Exp", "", []string{t})
}

// extension adds x followed by the values of x under other maps, for which a missing value becomes its column's
// mean.
func (g *graph) extension(x string, m *model.Extension) (string, error) {
	filler := []float32{0}
	if first, ok := m.Maps[0].(*model.Affine); ok && first.Mean != nil {
		filler = first.Mean
	}
	isMissing := g.add("IsNaN", "", []string{x})
	y := g.add("Where", "", []string{isMissing, g.floats(filler, int64(len(filler))), x})
	var err error
	for _, step := range m.Maps {
		if y, err = g.mapped(y, step); err != nil {
			return "", err
		}
	}
	return g.add("Concat", "", []string{x, y}, numberAttribute("axis", 1)), nil
}
