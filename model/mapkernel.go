package model

import (
	"fmt"
	"math"
	"sync"

	"hashgrove/internal/portable"
	"hashgrove/vectors"
)

// Kernel is the map to similarities with anchors,
//
//	y_q = exp(-|x - a_q|^2 / width) - mean_q,
//
// or, where the width is zero, to the squared distances |x - a_q|^2 - mean_q. It must not be changed once it was used.
type Kernel struct {
	Anchors vectors.Matrix // a row for each value of y
	Width   float32        // 2 sigma^2 of the Gaussian; 0 for squared distances
	Mean    []float32      // of every value of y; nil for zeros

	once  sync.Once
	ready *anchors
}

// Kind implements Map.
func (m *Kernel) Kind() string { return "kernel" }

// Dim implements Map.
func (m *Kernel) Dim() int { return m.Anchors.Cols }

// Out implements Map.
func (m *Kernel) Out() int { return m.Anchors.Rows }

// Check implements Map.
func (m *Kernel) Check() error {
	if err := checkMapSize(m); err != nil {
		return err
	}
	if !(m.Width >= 0 && m.Width <= math.MaxFloat32) {
		return fmt.Errorf("a kernel of width %v", m.Width)
	}
	if err := checkAnchors(m.Anchors); err != nil {
		return err
	}
	return checkValues("mean", m.Mean, m.Out())
}

func checkAnchors(a vectors.Matrix) error {
	if a.Data == nil {
		return fmt.Errorf("%d anchors without values", a.Rows)
	}
	return checkValues("anchors", a.Data, a.Rows*a.Cols)
}

// Apply implements Map.
func (m *Kernel) Apply(dst, x vectors.Matrix) {
	checkApply(m, dst, x)
	m.once.Do(func() { m.ready = newAnchors(m.Anchors) })
	width := float64(m.Width)
	for i, v := range m.ready.distances(x) {
		if width > 0 {
			v = portable.ExpBelowZero(-v / width)
		}
		if m.Mean != nil {
			v -= float64(m.Mean[i%len(m.Mean)])
		}
		dst.Data[i] = settle(v)
	}
}

func (m *Kernel) appendTo(dst []byte) []byte {
	dst = append(dst, kernelTag, bitIf(1, m.Mean != nil))
	dst = appendSize(appendSize(dst, m.Dim()), m.Out())
	dst = appendFloat(dst, m.Width)
	return appendFloats(appendFloats(dst, m.Anchors.Data), m.Mean)
}

func readKernel(in *reader) *Kernel {
	flags := in.flags(1)
	dim, out := in.size(), in.size()
	m := &Kernel{Width: math.Float32frombits(in.u32())}
	m.Anchors = in.matrix(true, out, dim)
	m.Mean = in.floats(flags != 0, int64(out))
	return m
}

// AnchorGraph is the map to the shares of the nearest anchors (Liu, Wang, Kumar, Chang: Hashing with Graphs, ICML 2011):
//
//	z_q = exp(-|x - a_q|^2 / width) / (sum of the same over the s nearest anchors)   for the s nearest,
//
// and 0 for the others. Of anchors equally near the first ones count. It must not be changed once it was used.
type AnchorGraph struct {
	Anchors vectors.Matrix // a row for each value of z
	Nearest int            // s
	Width   float32        // above 0

	once  sync.Once
	ready *anchors
}

// Kind implements Map.
func (m *AnchorGraph) Kind() string { return "anchor graph" }

// Dim implements Map.
func (m *AnchorGraph) Dim() int { return m.Anchors.Cols }

// Out implements Map.
func (m *AnchorGraph) Out() int { return m.Anchors.Rows }

// Check implements Map.
func (m *AnchorGraph) Check() error {
	if err := checkMapSize(m); err != nil {
		return err
	}
	if !(m.Width > 0 && m.Width <= math.MaxFloat32) {
		return fmt.Errorf("an anchor graph of width %v", m.Width)
	}
	if m.Nearest < 1 || m.Nearest > m.Out() {
		return fmt.Errorf("the %d nearest of %d anchors", m.Nearest, m.Out())
	}
	return checkAnchors(m.Anchors)
}

// Apply implements Map.
func (m *AnchorGraph) Apply(dst, x vectors.Matrix) {
	checkApply(m, dst, x)
	m.once.Do(func() { m.ready = newAnchors(m.Anchors) })
	d := m.ready.distances(x)
	near := make([]int, 0, m.Nearest+1)
	share := make([]float64, m.Nearest)
	for i := range x.Rows {
		row := d[i*m.Out() : (i+1)*m.Out()]
		near = nearest(near, row, m.Nearest)
		// The nearest has the share 1 before they are made to sum to one, so the sum is never zero.
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

// nearest puts the places of the s least values into near, the least first, and of equal ones the first first.
func nearest(near []int, d []float64, s int) []int {
	near = near[:0]
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

func (m *AnchorGraph) appendTo(dst []byte) []byte {
	dst = appendSize(appendSize(append(dst, anchorGraphTag), m.Dim()), m.Out())
	dst = appendFloat(appendSize(dst, m.Nearest), m.Width)
	return appendFloats(dst, m.Anchors.Data)
}

func readAnchorGraph(in *reader) *AnchorGraph {
	dim, out := in.size(), in.size()
	m := &AnchorGraph{Nearest: in.size(), Width: math.Float32frombits(in.u32())}
	m.Anchors = in.matrix(true, out, dim)
	return m
}
