package model

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"hashgrove/internal/vectors"
)

// ByteGaussian is the Gaussian of a Gaussian with columns of a byte each:
//
//	q_j = x_j / step, rounded to the nearest integer, ties to even, and at least -127 and at most 127
//	d   = sum_j (q_j - a_j)^2                              as an integer, exact
//	y   = exp(-step^2 d / width) = 2^-(scale d)            for every anchor a
//
// One step serves all columns, so they should be equally wide, or narrow where they matter little: an Affine in front
// whitens them. A Gaussian hardly notices the rounding, because it sums over the columns, and the sums have the same
// bits on every machine: integers have no order. What follows them is single operations of float32, each rounded once
// (gaussian, below). The power of two is within 4e-6 of the true one, relatively, and never less than 2^-100.
//
// Cost: a product of bytes per column and anchor, 64 of which are one instruction of AVX-512, and some twenty
// operations per anchor; byteproduct.go has the order. With VNNI it takes a twentieth of the time of a Gaussian, with
// AVX2 a fifth.
//
// Do not change it once it has been used.
type ByteGaussian struct {
	Rows, Cols int     // of the anchors; a row for each value of y
	Anchors    []int8  // row by row, -127 to 127, in steps
	Step       float32 // of x
	Width      float32 // 2 sigma^2 of the Gaussian, in the units of x, as in Gaussian

	once  sync.Once
	ready *byteAnchors
}

const (
	maxByte     = 127     // of a column, in steps
	maxByteCols = 1 << 15 // so that a squared distance is below 2^31
)

// NewByteGaussian returns the Gaussians of a width around anchors, rounded to steps. ByteStep proposes a step.
func NewByteGaussian(anchors vectors.Matrix, width, step float32) *ByteGaussian {
	m := &ByteGaussian{Rows: anchors.Rows, Cols: anchors.Cols, Step: step, Width: width}
	m.Anchors = make([]int8, len(anchors.Data))
	toBytesGo(m.Anchors, anchors.Data, 1/step)
	return m
}

// The rows and anchors that ByteStep looks at.
const stepRows, stepAnchors = 1024, 32

// ByteStep returns the step that changes the Gaussians of a width least, in the mean square over pairs of some of the
// anchors. Too small a step cuts off the tails of the widest columns, too large a one blurs the narrow ones. It tries
// steps from that of the greatest value, which cuts off nothing, down to a thirtieth.
func ByteStep(anchors vectors.Matrix, width float32) float32 {
	x, a := spaced(anchors, stepRows), spaced(anchors, stepAnchors)
	top := float32(0)
	for _, v := range x.Data {
		top = max(top, v, -v)
	}
	values := func(m Map) []float32 {
		y := vectors.Matrix{Rows: x.Rows, Cols: a.Rows, Data: make([]float32, x.Rows*a.Rows)}
		m.apply(y, x)
		return y.Data
	}
	best, least := float32(1), math.Inf(1) // 1 if all are zero
	var want []float32
	for step := top / maxByte; step > top/(30*maxByte) && step >= leastStep; step = float32(float64(step) / 1.1) {
		if want == nil {
			want = values(&Gaussian{Anchors: a, Width: width})
		}
		sum := 0.0
		for i, v := range values(NewByteGaussian(a, width, step)) {
			e := float64(v) - float64(want[i])
			sum += float64(e * e)
		}
		if sum < least {
			best, least = step, sum
		}
	}
	return best
}

// spaced returns at most n rows of x, evenly spaced.
func spaced(x vectors.Matrix, n int) vectors.Matrix {
	y := vectors.Matrix{Rows: min(n, x.Rows), Cols: x.Cols}
	for i := range y.Rows {
		y.Data = append(y.Data, x.Row(i*x.Rows/y.Rows)...)
	}
	return y
}

// Limits of the step and of what follows from the width, far from where float32 loses digits.
const leastStep, leastScale = 0x1p-100, 0x1p-100

// scale returns the factor of a squared distance in the exponent of 2.
func (m *ByteGaussian) scale() float32 {
	step := float64(m.Step)
	return float32(step * step * math.Log2E / float64(m.Width))
}

func (m *ByteGaussian) dim() int { return m.Cols }

// Out implements Map.
func (m *ByteGaussian) Out() int { return m.Rows }

// Check implements Map.
func (m *ByteGaussian) Check() error {
	if err := checkMapSize(m); err != nil {
		return err
	}
	if m.Cols > maxByteCols {
		return fmt.Errorf("a kernel of bytes over %d columns, and at most %d are allowed", m.Cols, maxByteCols)
	}
	if len(m.Anchors) != m.Rows*m.Cols {
		return fmt.Errorf("%d anchors of %d bytes in %d", m.Rows, m.Cols, len(m.Anchors))
	}
	if !(m.Step >= leastStep && m.Step <= 1/leastStep) {
		return fmt.Errorf("a kernel of bytes with steps of %v", m.Step)
	}
	if s := m.scale(); !(m.Width > 0 && m.Width <= math.MaxFloat32 && s >= leastScale && s <= 1/leastScale) {
		return fmt.Errorf("a kernel of bytes of width %v with steps of %v", m.Width, m.Step)
	}
	for i, a := range m.Anchors {
		if a < -maxByte {
			return fmt.Errorf("anchor %d holds %d at %d, below -%d", i/m.Cols, a, i%m.Cols, maxByte)
		}
	}
	return nil
}

func (m *ByteGaussian) apply(dst, x vectors.Matrix) {
	m.once.Do(func() {
		var fastest *byteTiling
		if all := byteTilings(); len(all) > 0 {
			fastest = all[len(all)-1]
		}
		m.ready = newByteAnchors(m, fastest)
	})
	m.ready.gaussians(dst, x)
}

func (m *ByteGaussian) tag() byte { return byteGaussianTag }

func (m *ByteGaussian) code(c *codec) {
	c.size(&m.Cols)
	c.size(&m.Rows)
	c.number(&m.Step)
	c.number(&m.Width)
	values(c, true, &m.Anchors, int64(m.Rows)*int64(m.Cols))
}

// anyBytes reports whether there are columns of bytes among maps.
func anyBytes(maps []Map) bool {
	return slices.ContainsFunc(maps, func(m Map) bool {
		_, bytes := m.(*ByteGaussian)
		within, ok := m.(*Extension)
		return bytes || ok && anyBytes(within.Maps)
	})
}

// toByte returns the byte of a value: x / step, rounded. NaN, which no encoder takes, becomes -127.
func toByte(x, perStep float32) int8 {
	v := float32(x * perStep)
	if !(v > -maxByte) {
		v = -maxByte
	}
	return int8(math.RoundToEven(float64(min(v, maxByte))))
}

// toBytesGo writes the bytes of all values.
func toBytesGo(dst []int8, x []float32, perStep float32) {
	for i, v := range x {
		dst[i] = toByte(v, perStep)
	}
}

// The factors of the polynomial of 2^-r for r from 0 to 1. It is 1 and 1/2 at the ends, and has the least relative
// error, 3.4e-6, of all that are.
const (
	gauss1 = float32(-0.6930558713313241)
	gauss2 = float32(0.23940567669770346)
	gauss3 = float32(-0.0531276789940586)
	gauss4 = float32(0.0067778736276791875)
)

// mostHalvings keeps the exponent of a float32 in its place.
const mostHalvings = 100

// gaussian returns 2^-(scale d): the whole part n of the exponent goes to the exponent of the result, the rest r into
// the polynomial.
func gaussian(d int32, scale float32) float32 {
	t := min(float32(float32(d)*scale), mostHalvings)
	n := int32(t)
	r := t - float32(n)
	p := float32(gauss4*r) + gauss3
	p = float32(p*r) + gauss2
	p = float32(p*r) + gauss1
	p = float32(p*r) + 1
	return math.Float32frombits(math.Float32bits(p) - uint32(n)<<23)
}
