package model

import (
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/portable"
	"hashgrove/vectors"
)

// Curves is the map to functions of single columns, which are linear between knots and go on as they end.
type Curves struct {
	Cols   int     // of the vectors it takes
	Curves []Curve // one for each value of y
}

// Curve is one function: y = Y[i] at x = X[i].
type Curve struct {
	Column int       // of x
	X, Y   []float32 // at least two knots, X rising
}

// Kind implements Map.
func (m *Curves) Kind() string { return "curves" }

// Dim implements Map.
func (m *Curves) Dim() int { return m.Cols }

// Out implements Map.
func (m *Curves) Out() int { return len(m.Curves) }

// Check implements Map.
func (m *Curves) Check() error {
	if err := checkMapSize(m); err != nil {
		return err
	}
	for k, c := range m.Curves {
		if c.Column < 0 || c.Column >= m.Cols || len(c.X) < 2 || len(c.X) != len(c.Y) {
			return fmt.Errorf("curve %d is of column %d of %d, with knots at %d places and of %d values", k, c.Column, m.Cols, len(c.X), len(c.Y))
		}
		if notFinite(c.X) >= 0 || notFinite(c.Y) >= 0 {
			return fmt.Errorf("curve %d holds values that are not finite", k)
		}
		for i := range len(c.X) - 1 {
			if !(c.X[i] < c.X[i+1]) {
				return fmt.Errorf("curve %d: knot %d is at %v, after %v", k, i+1, c.X[i+1], c.X[i])
			}
		}
	}
	return nil
}

// Apply implements Map.
func (m *Curves) Apply(dst, x vectors.Matrix) {
	checkApply(m, dst, x)
	for i := range x.Rows {
		from, to := x.Row(i), dst.Row(i)
		for k := range m.Curves {
			to[k] = m.Curves[k].at(from[m.Curves[k].Column])
		}
	}
}

// at is the value of the curve, in float64 and without fused operations, rounded once.
func (c *Curve) at(v float32) float32 {
	i, found := slices.BinarySearch(c.X, v)
	if !found {
		i--
	}
	i = min(max(i, 0), len(c.X)-2)
	x0, x1, y0, y1 := float64(c.X[i]), float64(c.X[i+1]), float64(c.Y[i]), float64(c.Y[i+1])
	return settle(y0 + float64((float64(v)-x0)*((y1-y0)/(x1-x0))))
}

func (m *Curves) appendTo(dst []byte) []byte {
	dst = appendSize(appendSize(append(dst, curvesTag), m.Cols), len(m.Curves))
	for _, c := range m.Curves {
		dst = appendSize(appendSize(dst, c.Column), len(c.X))
		dst = appendFloats(appendFloats(dst, c.X), c.Y)
	}
	return dst
}

func readCurves(in *reader) *Curves {
	m := &Curves{Cols: in.size()}
	for n := in.size(); n > 0 && !in.bad; n-- {
		c := Curve{Column: int(min(in.u32(), MaxDim))}
		knots := int64(in.size())
		c.X = in.floats(true, knots)
		c.Y = in.floats(true, knots)
		m.Curves = append(m.Curves, c)
	}
	return m
}

// Winner is the map to one for the greatest value, the first of equal ones, and zero for the others; or, with Soft, to
// the shares exp(x_k) / (sum of the same over all).
type Winner struct {
	Cols int
	Soft bool
}

// Kind implements Map.
func (m *Winner) Kind() string { return "winner" }

// Dim implements Map.
func (m *Winner) Dim() int { return m.Cols }

// Out implements Map.
func (m *Winner) Out() int { return m.Cols }

// Check implements Map.
func (m *Winner) Check() error { return checkMapSize(m) }

// Apply implements Map.
func (m *Winner) Apply(dst, x vectors.Matrix) {
	checkApply(m, dst, x)
	share := make([]float64, m.Cols)
	for i := range x.Rows {
		from, to := x.Row(i), dst.Row(i)
		best, top := 0, float32(math.Inf(-1))
		for k, v := range from {
			if v > top {
				best, top = k, v
			}
		}
		clear(to)
		if !m.Soft {
			to[best] = 1
			continue
		}
		sum := 0.0
		for k, v := range from {
			share[k] = portable.ExpBelowZero(float64(v) - float64(top))
			sum += share[k]
		}
		for k, v := range share {
			to[k] = settle(v / sum)
		}
	}
}

func (m *Winner) appendTo(dst []byte) []byte {
	return appendSize(append(dst, winnerTag, bitIf(1, m.Soft)), m.Cols)
}

func readWinner(in *reader) *Winner {
	soft := in.flags(1) == 1
	return &Winner{Cols: in.size(), Soft: soft}
}
