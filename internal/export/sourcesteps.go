package export

import (
	"fmt"
	"math"

	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// encoder writes the tables of an encoder and the calls that set its bits, from the bit first on, given a vector.
func (p *source) encoder(x string, first int, e model.Encoder) {
	p.room(e.Dim())
	switch e := e.(type) {
	case *model.Detailed:
		p.encoder(x, first, e.Class)
		p.encoder(p.filled(x, e.Dim(), e.Mean()), first+e.Class.Bits(), e.Detail)
	case *model.Mapped:
		for _, step := range e.Maps {
			x = p.mapped(x, step)
		}
		p.encoder(x, first, e.Encoder)
	case *model.Projection:
		p.steps++
		p.call("projection", "projection", "code", x, first, e.Dim(), e.Bits(),
			p.floats("mean", e.Mean), p.floats("weight", e.Weight), p.floats("threshold", e.Threshold))
	case *model.Boosted:
		p.boosters(x, e)
	case *model.Binned:
		if e.Kind() == "linear" {
			p.hyperplanes(x, e)
		} else {
			p.trees(x, e)
		}
	default:
		panic(fmt.Sprintf("export: the source of a %T", e))
	}
}

// filled returns a vector without missing values.
func (p *source) filled(x string, dim int, mean []float32) string {
	if !p.missing {
		return x
	}
	p.steps++
	y := p.buffer(dim)
	p.call("fill", "fill", y, x, dim, p.floats("filler", mean))
	return y
}

// mapped writes the tables of a map and the call that applies it, and returns its result.
func (p *source) mapped(x string, step model.Map) string {
	if m, ok := step.(*model.Extension); ok {
		return p.extension(x, m)
	}
	p.steps++
	y := p.buffer(step.Out())
	switch m := step.(type) {
	case *model.Affine:
		p.call("affine", "affine", y, x, m.Weight.Cols, m.Out(), p.floats("mean", m.Mean), p.floats("scale", m.Scale),
			p.floats("weight", turned(m.Weight)), p.floats("bias", m.Bias), m.Unit)
	case *model.Kernel:
		p.kernel(y, x, m)
	case *model.ByteKernel:
		p.room(m.Cols)
		step := float64(m.Step)
		scale := float32(step * step * math.Log2E / float64(m.Width))
		p.call("bytes", "bytes", y, x, m.Cols, m.Rows, p.integers8("anchors", m.Anchors), p.number(1/m.Step), p.number(scale))
	case *model.Curves:
		p.curves(y, x, m)
	case *model.Winner:
		name := "winner"
		if m.Soft {
			name = "shares"
		}
		p.call(name, name, y, x, m.Cols)
	default:
		panic(fmt.Sprintf("export: the source of a %T", step))
	}
	return y
}

// extension keeps the columns of x and adds those of other maps.
func (p *source) extension(x string, m *model.Extension) string {
	dim := m.Out() - m.Added()
	var mean []float32
	if first, ok := m.Maps[0].(*model.Affine); ok {
		mean = first.Mean
	}
	added := p.filled(x, dim, mean)
	for _, step := range m.Maps {
		added = p.mapped(added, step)
	}
	p.steps++
	y := p.buffer(m.Out())
	p.call("copy", p.either("copyOf", "copy"), y, x, dim)
	p.call("copy", p.either("copyOf", "copy"), p.from(y, dim), added, m.Added())
	return y
}

// turned returns the values of a matrix column by column, so that the sums of all rows advance together.
func turned(w vectors.Matrix) []float32 {
	if w.Data == nil {
		return nil
	}
	t := make([]float32, len(w.Data))
	for i := range w.Rows {
		for j, v := range w.Row(i) {
			t[j*w.Rows+i] = v
		}
	}
	return t
}

// kernel takes squared distances to centred anchors, as the model does, and then Gaussians or shares of them.
func (p *source) kernel(y, x string, m *model.Kernel) {
	dim, out := m.Anchors.Cols, m.Out()
	centre, sum := make([]float32, dim), make([]float64, dim)
	for q := range out {
		for j, v := range m.Anchors.Row(q) {
			sum[j] += float64(v)
		}
	}
	for j, s := range sum {
		centre[j] = float32(s / float64(out))
	}
	points, squares := vectors.Matrix{Rows: out, Cols: dim}, make([]float64, out)
	for q := range out {
		for j, v := range m.Anchors.Row(q) {
			d := v - centre[j]
			points.Data = append(points.Data, d)
			squares[q] += float64(float64(d) * float64(d))
		}
	}
	p.room(dim)
	d := p.doubles(out)
	p.call("distances", "distances", d, x, dim, out, p.floats("centre", centre), p.floats("points", turned(points)),
		p.table("float64", "squares", numbers(squares, p.double)))
	if m.Nearest > 0 {
		p.call("nearest", p.either("nearestShares", "nearest"), y, d, out, m.Nearest, p.double(float64(m.Width)))
		return
	}
	p.call("kernel", "kernel", y, d, out, p.double(float64(m.Width)), p.floats("mean", m.Mean))
}

func (p *source) curves(y, x string, m *model.Curves) {
	var column []uint32
	first := []uint32{0}
	var places, values []float32
	for _, c := range m.Curves {
		column = append(column, uint32(c.Column))
		places, values = append(places, c.X...), append(values, c.Y...)
		first = append(first, uint32(len(places)))
	}
	p.call("curves", "curves", y, x, len(m.Curves), p.integers("column", column), p.integers("first", first),
		p.floats("places", places), p.floats("values", values))
}

// trees writes the trees of all bits in flat tables, one after the other.
func (p *source) trees(x string, b *model.Binned) {
	var depth, split, leaf, feature []uint32
	first := []uint32{0}
	var edge []float32
	var leaves []uint64
	var weight []int32
	for _, f := range b.Functions {
		e := f.(*model.Ensemble)
		depth = append(depth, uint32(e.Depth))
		split, leaf = append(split, uint32(len(feature))), append(leaf, uint32(len(leaves)))
		for i, j := range e.Feature {
			feature, edge = append(feature, j), append(edge, edgeOf(b, int(j), e.Bin[i]))
		}
		leaves, weight = append(leaves, e.Leaf...), append(weight, e.Weight...)
		first = append(first, uint32(len(weight)))
	}
	p.constants("uint8", "depth", numbers(depth, decimal))
	p.constants("uint32", "firstTree", numbers(first, decimal))
	p.constants("uint32", "firstSplit", numbers(split, decimal))
	p.constants("uint32", "firstLeaf", numbers(leaf, decimal))
	p.constants("uint32", "feature", numbers(feature, decimal))
	p.constants("float32", "edge", numbers(edge, p.number))
	p.constants("uint64", "leaves", numbers(leaves, p.word))
	p.constants("int32", "weight", numbers(weight, decimal))
	p.call("trees", "trees", "code", x, len(b.Functions))
}

// edgeOf returns the least value that goes right at a split.
func edgeOf(b *model.Binned, column int, bin uint8) float32 {
	if bin == math.MaxUint8 {
		return float32(math.Inf(1))
	}
	return b.Quantizer.Scale(column).Edge(bin)
}

// hyperplanes writes scales and weights.
func (p *source) hyperplanes(x string, b *model.Binned) {
	q := b.Quantizer
	first := []uint32{0}
	var edges []float32
	var lowest, perUnit []float64
	for j := range q.Dim() {
		if q.Edges != nil {
			edges = append(edges, q.Edges[j]...)
		}
		first = append(first, uint32(len(edges)))
		lo := float64(q.Lo[j])
		lowest, perUnit = append(lowest, lo), append(perUnit, (vectors.Bins-1)/(float64(q.Hi[j])-lo))
	}
	if edges == nil {
		edges = []float32{0} // C has no empty tables
	}
	var bias []int64
	var weight []int32
	for _, f := range b.Functions {
		l := f.(*model.Linear)
		bias, weight = append(bias, l.Bias), append(weight, l.Weight...)
	}
	p.constants("uint32", "firstEdge", numbers(first, decimal))
	p.constants("float32", "edge", numbers(edges, p.number))
	p.constants("float64", "lowest", numbers(lowest, p.double))
	p.constants("float64", "perUnit", numbers(perUnit, p.double))
	p.constants("int64", "bias", numbers(bias, p.long))
	p.constants("int32", "weight", numbers(weight, decimal))
	least := 0
	if q.Missing {
		least = 1
	}
	p.call("hyperplanes", "hyperplanes", "code", x, q.Dim(), len(b.Functions), least)
}

// boosters writes the nodes of all trees.
func (p *source) boosters(x string, e *model.Boosted) {
	firstTree := []uint32{0}
	var firstNode []uint32
	var column, right []int32
	var value, base []float64
	for _, b := range e.Outputs {
		base = append(base, b.Base)
		for _, t := range b.Trees {
			firstNode = append(firstNode, uint32(len(column)))
			for _, n := range t {
				column, right, value = append(column, n.Column), append(right, n.Right), append(value, n.Value)
			}
		}
		firstTree = append(firstTree, uint32(len(firstNode)))
	}
	p.constants("uint32", "firstTree", numbers(firstTree, decimal))
	p.constants("uint32", "firstNode", numbers(firstNode, decimal))
	p.constants("int32", "column", numbers(column, decimal))
	p.constants("int32", "right", numbers(right, decimal))
	p.constants("float64", "value", numbers(value, p.double))
	p.constants("float64", "base", numbers(base, p.double))
	p.call("boosters", "boosters", "code", x, len(e.Outputs), e.Double)
}
