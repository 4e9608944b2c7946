package model

import "hashgrove/internal/vectors"

// byteAnchors is the anchors of a ByteKernel, prepared.
type byteAnchors struct {
	m              *ByteKernel
	perStep, scale float32
}

func newByteAnchors(m *ByteKernel) *byteAnchors {
	return &byteAnchors{m: m, perStep: 1 / m.Step, scale: m.scale()}
}

// gaussians writes the values of every row of x.
func (b *byteAnchors) gaussians(dst, x vectors.Matrix) {
	q := make([]int8, x.Cols)
	for i := range x.Rows {
		toBytesGo(q, x.Row(i), b.perStep)
		gaussiansGo(dst.Row(i), q, b.m.Anchors, b.scale)
	}
}

// gaussiansGo writes the values of one row, as ByteKernel defines them.
func gaussiansGo(dst []float32, q, anchors []int8, scale float32) {
	for k := range dst {
		d := int32(0)
		a := anchors[k*len(q):][:len(q)]
		for j, v := range q {
			e := int32(v) - int32(a[j])
			d += e * e
		}
		dst[k] = gaussian(d, scale)
	}
}
