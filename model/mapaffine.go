package model

import (
	"fmt"
	"math"
	"sync"

	"hashgrove/vectors"
)

// Affine is the map
//
//	y = W (scale (x - mean)) + bias,
//
// scaled to length 1 if Unit is set. It must not be changed once it was used.
type Affine struct {
	Weight vectors.Matrix // a row for each value of y; Rows equal to Cols and no Data for the identity
	Mean   []float32      // of every column of x; nil for zeros
	Scale  []float32      // factor of every column of x; nil for ones
	Bias   []float32      // of every value of y; nil for zeros
	Unit   bool           // scale y to length 1; zero stays zero

	once   sync.Once
	factor *factor
}

// Kind implements Map.
func (m *Affine) Kind() string { return "affine" }

// Dim implements Map.
func (m *Affine) Dim() int { return m.Weight.Cols }

// Out implements Map.
func (m *Affine) Out() int { return m.Weight.Rows }

// Check implements Map.
func (m *Affine) Check() error {
	if err := checkMapSize(m); err != nil {
		return err
	}
	if m.Weight.Data == nil && m.Dim() != m.Out() {
		return fmt.Errorf("an affine map of %d to %d values without weights", m.Dim(), m.Out())
	}
	if err := checkValues("weights", m.Weight.Data, m.Dim()*m.Out()); err != nil {
		return err
	}
	if err := checkValues("mean", m.Mean, m.Dim()); err != nil {
		return err
	}
	if err := checkValues("scale", m.Scale, m.Dim()); err != nil {
		return err
	}
	return checkValues("bias", m.Bias, m.Out())
}

// Apply implements Map. Differences and factors are rounded to float32, sums are taken as mapproduct.go says, and the
// result is rounded once.
func (m *Affine) Apply(dst, x vectors.Matrix) {
	checkApply(m, dst, x)
	if m.Mean != nil || m.Scale != nil {
		x.Data = append([]float32(nil), x.Data...)
		for i := range x.Rows {
			row := x.Row(i)
			for j, c := range m.Mean {
				row[j] -= c
			}
			for j, s := range m.Scale {
				row[j] *= s
			}
		}
	}
	if m.Weight.Data == nil {
		for i, v := range x.Data {
			dst.Data[i] = settle(float64(v) + m.bias(i))
		}
	} else {
		m.once.Do(func() { m.factor = newFactor(m.Weight) })
		for i, v := range m.factor.times(x) {
			dst.Data[i] = settle(v + m.bias(i))
		}
	}
	if m.Unit {
		for i, s := range squares(dst) {
			if s == 0 {
				continue
			}
			length := math.Sqrt(s)
			row := dst.Row(i)
			for j, v := range row {
				row[j] = float32(float64(v) / length)
			}
		}
	}
}

// bias is the bias of value i of a matrix.
func (m *Affine) bias(i int) float64 {
	if m.Bias == nil {
		return 0
	}
	return float64(m.Bias[i%len(m.Bias)])
}

const (
	affineMean = 1 << iota
	affineScale
	affineWeight
	affineBias
	affineUnit
)

func (m *Affine) appendTo(dst []byte) []byte {
	dst = append(dst, affineTag, bitIf(affineMean, m.Mean != nil)|bitIf(affineScale, m.Scale != nil)|
		bitIf(affineWeight, m.Weight.Data != nil)|bitIf(affineBias, m.Bias != nil)|bitIf(affineUnit, m.Unit))
	dst = appendSize(appendSize(dst, m.Dim()), m.Out())
	for _, v := range [][]float32{m.Mean, m.Scale, m.Weight.Data, m.Bias} {
		dst = appendFloats(dst, v)
	}
	return dst
}

func readAffine(in *reader) *Affine {
	flags := in.flags(affineMean | affineScale | affineWeight | affineBias | affineUnit)
	dim, out := in.size(), in.size()
	m := &Affine{Unit: flags&affineUnit != 0}
	m.Mean = in.floats(flags&affineMean != 0, int64(dim))
	m.Scale = in.floats(flags&affineScale != 0, int64(dim))
	m.Weight = in.matrix(flags&affineWeight != 0, out, dim)
	m.Bias = in.floats(flags&affineBias != 0, int64(out))
	return m
}
