// Package export writes models for other programs: as a graph from vectors to codes and margins for ONNX runtimes.
// Exported trees give the model's own bits for every vector: thresholds are the float32 values at which its bins begin.
package export

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// ErrEncoder reports a model that cannot be exported.
var ErrEncoder = errors.New("this model cannot be exported")

// WriteONNX writes a model as one graph (onnx.ai, IR version 8):
//
//	x        float32 [n, dim]          the vectors
//	codes    uint8 [n, bytes]          packed with the first bit highest in the first byte
//	margins  float32 [n, bits]         the scores before the sign
//
// Trees are one TreeEnsemble of ai.onnx.ml version 5, with a target for each bit. A row goes right iff x >= edge, where
// the edge is the least float32 that falls into a bin above the split's, and the sums of weights are integers in
// float64. So trees over the columns of a vector give the model's own bits for every vector of finite values. Columns
// that a model adds, and encoders of hyperplanes, are sums of real numbers, whose last digit depends on the order in
// which a runtime adds them: a bit may differ if its score is within rounding of a threshold.
//
// The metadata has the fingerprint, the number of bits and, if the last ones are detail, which weigh less in a search,
// how many of them are.
func WriteONNX(w io.Writer, m *model.Model) error {
	if err := beginsWithVectors(m); err != nil {
		return err
	}
	g := &graph{}
	scores, err := g.encoder("x", m.Encoder)
	if err != nil {
		return fmt.Errorf("%w: it is %s", err, describe(m))
	}
	bits := m.Encoder.Bits()
	g.codes(scores, bits)
	g.add("Cast", "margins", []string{scores}, numberAttribute("to", floatType))
	_, err = w.Write(g.file(m, bits))
	return err
}

// beginsWithVectors reports a model that encodes pictures, not vectors.
func beginsWithVectors(m *model.Model) error {
	if m.Features != nil {
		return fmt.Errorf("%w: it is %s, and the graph would begin with vectors", ErrEncoder, describe(m))
	}
	if m.Dim() != m.Encoder.Dim() {
		return fmt.Errorf("%w: it adds the scores of a picture and of its mirror image, and a vector has none", ErrEncoder)
	}
	return nil
}

// describe names what a model consists of.
func describe(m *model.Model) string {
	if m.Features != nil {
		return "an encoder of " + m.Features.Kind() + " features of pictures"
	}
	class := model.ClassPart(m.Encoder)
	if e, ok := class.(*model.Mapped); ok {
		return "an encoder of " + e.Encoder.Kind() + " behind maps"
	}
	return class.Kind()
}

// encoder adds the scores of an encoder, in float64.
func (g *graph) encoder(from string, e model.Encoder) (string, error) {
	switch e := e.(type) {
	case *model.Mapped:
		var err error
		for _, step := range e.Maps {
			if from, err = g.mapped(from, step); err != nil {
				return "", err
			}
		}
		return g.encoder(from, e.Encoder)
	case *model.Binned:
		return g.binned(from, e)
	case *model.Projection:
		return g.projection(from, e), nil
	case *model.Detailed:
		return g.detailed(from, e)
	}
	return "", ErrEncoder
}

// detailed adds the scores of the class, then those of detail, for which a missing value becomes its column's mean.
func (g *graph) detailed(from string, e *model.Detailed) (string, error) {
	class, err := g.encoder(from, e.Class)
	if err != nil {
		return "", err
	}
	filler := []float32{0}
	if mean := e.Mean(); mean != nil {
		filler = mean
	}
	isMissing := g.add("IsNaN", "", []string{from})
	filled := g.add("Where", "", []string{isMissing, g.floats(filler, int64(len(filler))), from})
	detail, err := g.encoder(filled, e.Detail)
	if err != nil {
		return "", err
	}
	return g.add("Concat", "", []string{class, detail}, numberAttribute("axis", 1)), nil
}

// Tensor types.
const (
	floatType  = 1
	uint8Type  = 2
	int64Type  = 7
	doubleType = 11
)

// graph collects nodes and constants.
type graph struct {
	nodes, constants [][]byte
	names            int
}

// name returns an unused name.
func (g *graph) name() string {
	g.names++
	return "t" + strconv.Itoa(g.names)
}

// add appends a node and returns the name of its output; "" generates one.
func (g *graph) add(op, output string, inputs []string, attributes ...message) string {
	if output == "" {
		output = g.name()
	}
	var n message
	for _, in := range inputs {
		n.text(1, in)
	}
	n.text(2, output)
	n.text(4, op)
	for _, a := range attributes {
		n.bytes(5, a)
	}
	if op == "TreeEnsemble" {
		n.text(7, "ai.onnx.ml")
	}
	g.nodes = append(g.nodes, n)
	return output
}

// Attributes of nodes, by type.
func numberAttribute(name string, v int64) message {
	var a message
	a.text(1, name)
	a.number(3, v)
	a.number(20, 2)
	return a
}

func numbersAttribute(name string, list []int64) message {
	var a message
	a.text(1, name)
	a.numbers(8, list)
	a.number(20, 7)
	return a
}

func tensorAttribute(name string, t message) message {
	var a message
	a.text(1, name)
	a.bytes(5, t)
	a.number(20, 4)
	return a
}

// tensor encodes values of a type given as raw bytes.
func tensor(kind int64, dims []int64, raw []byte) message {
	var t message
	t.numbers(1, dims)
	t.number(2, kind)
	t.bytes(9, raw)
	return t
}

// constant adds a constant tensor and returns its name.
func (g *graph) constant(t message) string {
	name := g.name()
	t.text(8, name)
	g.constants = append(g.constants, t)
	return name
}

// Numbers in memory have the lowest byte first, as tensors do, on all machines with a release.
func (g *graph) floats(list []float32, dims ...int64) string {
	return g.constant(tensor(floatType, dims, vectors.Bytes(list)))
}

func (g *graph) doubles(list []float64, dims ...int64) string {
	return g.constant(doubleTensor(list, dims...))
}

func doubleTensor(list []float64, dims ...int64) message {
	return tensor(doubleType, dims, vectors.Bytes(list))
}

func (g *graph) integers(list ...int64) string {
	return g.constant(tensor(int64Type, []int64{int64(len(list))}, vectors.Bytes(list)))
}

// binned adds the scores of trees or hyperplanes over bins, in float64.
func (g *graph) binned(from string, b *model.Binned) (string, error) {
	double := g.add("Cast", "", []string{from}, numberAttribute("to", doubleType))
	var linear []*model.Linear
	for _, f := range b.Functions {
		if l, ok := f.(*model.Linear); ok {
			linear = append(linear, l)
		}
	}
	if linear == nil {
		return g.trees(double, b), nil
	}
	if !b.Quantizer.Plain() {
		return "", fmt.Errorf("%w: it has hyperplanes over bins of unequal width", ErrEncoder)
	}
	return g.hyperplanes(double, b, linear)
}

// hyperplanes adds score = bias + sum of w_j bin_j, where bin_j is (x - lo) 255 / (hi - lo) + 1/2, truncated to an
// integer from 0 to 255: the model's own arithmetic in the same order.
func (g *graph) hyperplanes(double string, b *model.Binned, functions []*model.Linear) (string, error) {
	dim, bits := b.Dim(), len(functions)
	lo, perUnit := make([]float64, dim), make([]float64, dim)
	for j := range dim {
		lo[j] = float64(b.Quantizer.Lo[j])
		perUnit[j] = (vectors.Bins - 1) / (float64(b.Quantizer.Hi[j]) - lo[j])
	}
	weight, bias := make([]float64, dim*bits), make([]float64, bits)
	for k, f := range functions {
		most := math.Abs(float64(f.Bias))
		for j, w := range f.Weight {
			weight[j*bits+k] = float64(w)
			most += float64(math.Abs(float64(w)) * (vectors.Bins - 1))
		}
		if bias[k] = float64(f.Bias); most >= 1<<53 {
			return "", fmt.Errorf("%w: the weights of bit %d are too large for float64", ErrEncoder, k)
		}
	}
	t := g.add("Sub", "", []string{double, g.doubles(lo, int64(dim))})
	t = g.add("Mul", "", []string{t, g.doubles(perUnit, int64(dim))})
	t = g.add("Add", "", []string{t, g.doubles([]float64{0.5})})
	t = g.add("Clip", "", []string{t, g.doubles([]float64{0}), g.doubles([]float64{vectors.Bins - 1})})
	t = g.add("Floor", "", []string{t})
	t = g.add("MatMul", "", []string{t, g.doubles(weight, int64(dim), int64(bits))})
	return g.add("Add", "", []string{t, g.doubles(bias, int64(bits))}), nil
}

// projection adds score = w (x - mean) - threshold in float64.
func (g *graph) projection(from string, e *model.Projection) string {
	dim, bits := e.Dim(), e.Bits()
	t := g.add("Cast", "", []string{from}, numberAttribute("to", doubleType))
	if e.Mean != nil {
		t = g.add("Sub", "", []string{t, g.doubles(widened(e.Mean), int64(dim))})
	}
	weight := widened(turned(e.Weight, dim, bits))
	t = g.add("MatMul", "", []string{t, g.doubles(weight, int64(dim), int64(bits))})
	return g.add("Sub", "", []string{t, g.doubles(widened(e.Threshold), int64(bits))})
}

func widened(list []float32) []float64 {
	wide := make([]float64, len(list))
	for i, v := range list {
		wide[i] = float64(v)
	}
	return wide
}

// codes packs the signs of scores: eight bits to a byte, as a product with 128, 64, ..., 1.
func (g *graph) codes(scores string, bits int) {
	t := g.add("GreaterOrEqual", "", []string{scores, g.doubles([]float64{0})})
	t = g.add("Cast", "", []string{t}, numberAttribute("to", floatType))
	bytes := int64(bits+7) / 8
	if rest := 8*bytes - int64(bits); rest > 0 {
		t = g.add("Pad", "", []string{t, g.integers(0, 0, 0, rest)})
	}
	t = g.add("Reshape", "", []string{t, g.integers(-1, bytes, 8)})
	t = g.add("MatMul", "", []string{t, g.floats([]float32{128, 64, 32, 16, 8, 4, 2, 1}, 8)})
	g.add("Cast", "codes", []string{t}, numberAttribute("to", uint8Type))
}

// file encodes the whole model.
func (g *graph) file(m *model.Model, bits int) []byte {
	var b message
	for _, n := range g.nodes {
		b.bytes(1, n)
	}
	b.text(2, "hashgrove")
	for _, c := range g.constants {
		b.bytes(5, c)
	}
	b.bytes(11, value("x", floatType, m.Encoder.Dim()))
	b.bytes(12, value("codes", uint8Type, (bits+7)/8))
	b.bytes(12, value("margins", floatType, bits))

	var all message
	all.number(1, 8)
	all.text(2, "hashgrove")
	all.text(3, model.Version)
	all.bytes(7, b)
	for _, set := range []struct {
		domain  string
		version int64
	}{{"", 17}, {"ai.onnx.ml", 5}} {
		var m message
		m.text(1, set.domain)
		m.number(2, set.version)
		all.bytes(8, m)
	}
	properties := [][2]string{{"fingerprint", m.Fingerprint().Full()}, {"bits", strconv.Itoa(bits)}}
	if n := m.DetailBits(); n > 0 {
		properties = append(properties, [2]string{"detail_bits", strconv.Itoa(n)})
	}
	for _, p := range properties {
		var entry message
		entry.text(1, p[0])
		entry.text(2, p[1])
		all.bytes(14, entry)
	}
	return all
}

// value describes an input or output: any number of rows of cols values.
func value(name string, kind int64, cols int) message {
	var rows, values, shape, typed, of, v message
	rows.text(2, "n")
	values.number(1, int64(cols))
	shape.bytes(1, rows)
	shape.bytes(1, values)
	typed.number(1, kind)
	typed.bytes(2, shape)
	of.bytes(1, typed)
	v.text(1, name)
	v.bytes(2, of)
	return v
}
