package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

// Affine is the map
//
//	y = W (scale (x - mean)) + bias,
//
// scaled to length 1 if Unit is set. Do not change it once it has been used.
type Affine struct {
	Weight vectors.Matrix // a row for each value of y; Rows equal to Cols and no Data for the identity
	Mean   []float32      // of every column of x; nil for zeros
	Scale  []float32      // factor of every column of x; nil for ones
	Bias   []float32      // of every value of y; nil for zeros
	Unit   bool           // scale y to length 1; zero stays zero

	once   sync.Once
	factor *factor
}

func (m *Affine) dim() int { return m.Weight.Cols }

// Out implements Map.
func (m *Affine) Out() int { return m.Weight.Rows }

// Check implements Map.
func (m *Affine) Check() error {
	if m.Weight.Data == nil && m.dim() != m.Out() {
		return fmt.Errorf("an affine map of %d to %d values without weights", m.dim(), m.Out())
	}
	return cmp.Or(
		checkMapSize(m), checkValues("weights", m.Weight.Data, m.dim()*m.Out()),
		checkValues("mean", m.Mean, m.dim()), checkValues("scale", m.Scale, m.dim()),
		checkValues("bias", m.Bias, m.Out()),
	)
}

// apply rounds differences and factors to float32, takes sums as mapproduct.go says, and rounds the result once.
func (m *Affine) apply(dst, x vectors.Matrix) {
	if m.Mean != nil || m.Scale != nil {
		from := x
		lent := borrow(len(x.Data))
		defer giveBack(lent)
		x.Data = *lent
		for i := range x.Rows {
			row := x.Row(i)
			if m.Mean == nil {
				copy(row, from.Row(i))
			}
			source := from.Row(i)[:len(row)]
			for j, c := range m.Mean[:min(len(m.Mean), len(row))] {
				row[j] = source[j] - c
			}
			for j, s := range m.Scale {
				row[j] *= s
			}
		}
	}
	if m.Weight.Data == nil {
		addBias(dst, x.Data, m.Bias)
	} else {
		m.once.Do(func() { m.factor = newFactor(m.Weight) })
		if sums := m.factor.times(dst.Data, x); sums != nil {
			addBias(dst, sums, m.Bias)
		} else {
			addBias(dst, dst.Data, m.Bias)
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

// addBias sets the rows of dst to sums with a bias, which may be nil.
func addBias[F float32 | float64](dst vectors.Matrix, sums []F, bias []float32) {
	for i := range dst.Rows {
		row, sums := dst.Row(i), sums[i*dst.Cols:][:dst.Cols]
		for j, b := range bias {
			row[j] = settle(float64(sums[j]) + float64(b))
		}
		for j := len(bias); j < len(row); j++ {
			row[j] = settle(float64(sums[j]) + 0) // -0 becomes 0
		}
	}
}

const (
	affineMean = 1 << iota
	affineScale
	affineWeight
	affineBias
	affineUnit
)

func (m *Affine) tag() byte { return affineTag }

func (m *Affine) code(c *codec) {
	flags := bitIf(affineMean, m.Mean != nil) | bitIf(affineScale, m.Scale != nil) |
		bitIf(affineWeight, m.Weight.Data != nil) | bitIf(affineBias, m.Bias != nil) | bitIf(affineUnit, m.Unit)
	c.flags(&flags, affineMean|affineScale|affineWeight|affineBias|affineUnit)
	if c.reading {
		m.Unit = flags&affineUnit != 0
	}
	c.size(&m.Weight.Cols)
	c.size(&m.Weight.Rows)
	dim, out := int64(m.dim()), int64(m.Out())
	values(c, flags&affineMean != 0, &m.Mean, dim)
	values(c, flags&affineScale != 0, &m.Scale, dim)
	values(c, flags&affineWeight != 0, &m.Weight.Data, dim*out)
	values(c, flags&affineBias != 0, &m.Bias, out)
}

// Gaussian is the map to similarities with anchors,
//
//	y_q = exp(-|x - a_q|^2 / width) - mean_q,
//
// or, if the width is zero, to the squared distances |x - a_q|^2 - mean_q. With Nearest it is the anchor graph (Liu,
// Wang, Kumar, Chang: Hashing with Graphs, ICML 2011), the shares of the s nearest anchors,
//
//	y_q = exp(-|x - a_q|^2 / width) / (sum of the same over the s nearest anchors)   for the s nearest,
//
// and 0 for the others. Of equally near anchors the first count. Do not change it once it has been used.
type Gaussian struct {
	Anchors vectors.Matrix // a row for each value of y
	Width   float32        // 2 sigma^2 of the Gaussian; 0 for squared distances, which an anchor graph cannot have
	Mean    []float32      // of every value of y; nil for zeros, and in an anchor graph
	Nearest int            // s of an anchor graph; 0 for all anchors

	once  sync.Once
	ready *anchors
}

func (m *Gaussian) dim() int { return m.Anchors.Cols }

// Out implements Map.
func (m *Gaussian) Out() int { return m.Anchors.Rows }

// Check implements Map.
func (m *Gaussian) Check() error {
	graph := m.Nearest != 0
	switch {
	case !(m.Width >= 0 && m.Width <= math.MaxFloat32) || graph && m.Width == 0:
		return fmt.Errorf("a Gaussian of width %v", m.Width)
	case m.Nearest < 0 || m.Nearest > m.Out() || graph && m.Mean != nil:
		return fmt.Errorf("the %d nearest of %d anchors, with a mean of %d values", m.Nearest, m.Out(), len(m.Mean))
	case m.Anchors.Data == nil:
		return fmt.Errorf("%d anchors without values", m.Out())
	}
	return cmp.Or(
		checkMapSize(m), checkValues("anchors", m.Anchors.Data, m.Out()*m.dim()), checkValues("mean", m.Mean, m.Out()),
	)
}

func (m *Gaussian) apply(dst, x vectors.Matrix) {
	m.once.Do(func() { m.ready = newAnchors(m.Anchors) })
	d, width := m.ready.distances(x), float64(m.Width)
	if m.Nearest > 0 {
		m.shares(dst, d)
		return
	}
	for i, v := range d {
		if width > 0 {
			v = portable.ExpBelowZero(-v / width)
		}
		if m.Mean != nil {
			v -= float64(m.Mean[i%len(m.Mean)])
		}
		dst.Data[i] = settle(v)
	}
}

// shares writes the shares of the nearest anchors of each row, given the distances of all.
func (m *Gaussian) shares(dst vectors.Matrix, d []float64) {
	near := make([]int, 0, m.Nearest+1)
	share := make([]float64, m.Nearest)
	for i := range dst.Rows {
		row := d[i*m.Out() : (i+1)*m.Out()]
		near = nearest(near, row, m.Nearest)
		// The nearest has the share 1 before normalisation, so the sum is never zero.
		sum := 0.0
		for k, q := range near {
			share[k] = portable.ExpBelowZero((row[near[0]] - row[q]) / float64(m.Width))
			sum += share[k]
		}
		out := dst.Row(i)
		clear(out)
		for k, q := range near {
			out[q] = float32(share[k] / sum)
		}
	}
}

// fewNearest is the number of places up to which insertion is used; more are sorted.
const fewNearest = 32

// nearest puts the places of the s smallest values into near, smallest first, ties by place.
func nearest(near []int, d []float64, s int) []int {
	near = near[:0]
	if s > fewNearest {
		for q := range d {
			near = append(near, q)
		}
		slices.SortFunc(near, func(a, b int) int { return cmp.Or(cmp.Compare(d[a], d[b]), a-b) })
		return near[:s]
	}
	for q, v := range d {
		if len(near) == s && v >= d[near[s-1]] {
			continue
		}
		at := len(near)
		for at > 0 && v < d[near[at-1]] {
			at--
		}
		near = append(near, 0)
		copy(near[at+1:], near[at:])
		near[at] = q
		near = near[:min(len(near), s)]
	}
	return near
}

func (m *Gaussian) tag() byte {
	if m.Nearest > 0 {
		return anchorGraphTag
	}
	return gaussianTag
}

func (m *Gaussian) code(c *codec) {
	graph, flags := m.Nearest > 0, bitIf(1, m.Mean != nil)
	if !graph {
		c.flags(&flags, 1)
	}
	c.size(&m.Anchors.Cols)
	c.size(&m.Anchors.Rows)
	if graph {
		c.size(&m.Nearest)
	}
	c.number(&m.Width)
	values(c, true, &m.Anchors.Data, int64(m.dim())*int64(m.Out()))
	values(c, flags != 0, &m.Mean, int64(m.Out()))
}

// Curves maps single columns through functions that are linear between knots and extrapolate beyond them.
type Curves struct {
	Cols   int     // of the vectors it takes
	Curves []Curve // one for each value of y
}

// Curve is one function: y = Y[i] at x = X[i].
type Curve struct {
	Column int       // of x
	X, Y   []float32 // at least two knots, X rising
}

func (m *Curves) dim() int { return m.Cols }

// Out implements Map.
func (m *Curves) Out() int { return len(m.Curves) }

// Check implements Map.
func (m *Curves) Check() error {
	for k, c := range m.Curves {
		if c.Column < 0 || c.Column >= m.Cols || len(c.X) < 2 || len(c.X) != len(c.Y) {
			return fmt.Errorf("curve %d is of column %d of %d, with knots at %d places and of %d values",
				k, c.Column, m.Cols, len(c.X), len(c.Y))
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
	return checkMapSize(m)
}

func (m *Curves) apply(dst, x vectors.Matrix) {
	for i := range x.Rows {
		from, to := x.Row(i), dst.Row(i)
		for k := range m.Curves {
			to[k] = m.Curves[k].value(from[m.Curves[k].Column])
		}
	}
}

// value returns the value of the curve, in float64 and without fused operations, rounded once.
func (c *Curve) value(v float32) float32 {
	i, found := slices.BinarySearch(c.X, v)
	if !found {
		i--
	}
	i = min(max(i, 0), len(c.X)-2)
	x0, x1, y0, y1 := float64(c.X[i]), float64(c.X[i+1]), float64(c.Y[i]), float64(c.Y[i+1])
	return settle(y0 + float64((float64(v)-x0)*((y1-y0)/(x1-x0))))
}

func (m *Curves) tag() byte { return curvesTag }

func (m *Curves) code(c *codec) {
	c.size(&m.Cols)
	n := len(m.Curves)
	c.size(&n)
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading {
			m.Curves = append(m.Curves, Curve{})
		}
		curve := &m.Curves[i]
		column, knots := uint32(curve.Column), len(curve.X)
		c.number(&column)
		c.size(&knots)
		values(c, true, &curve.X, int64(knots))
		values(c, true, &curve.Y, int64(knots))
		if c.reading {
			curve.Column = int(min(column, maxDim))
		}
	}
}

// Winner maps the largest value, the first in case of ties, to one and the others to zero; or, with Soft, to the shares
// exp(x_k) / (sum of the same over all).
type Winner struct {
	Cols int
	Soft bool
}

func (m *Winner) dim() int { return m.Cols }

// Out implements Map.
func (m *Winner) Out() int { return m.Cols }

// Check implements Map.
func (m *Winner) Check() error { return checkMapSize(m) }

func (m *Winner) apply(dst, x vectors.Matrix) {
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

func (m *Winner) tag() byte { return winnerTag }

func (m *Winner) code(c *codec) {
	flags := bitIf(1, m.Soft)
	if c.flags(&flags, 1); c.reading {
		m.Soft = flags == 1
	}
	c.size(&m.Cols)
}
