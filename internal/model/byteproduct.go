package model

import (
	"sync"

	"hashgrove/internal/vectors"
)

// Squared distances between bytes, taken apart so that processors can multiply bytes:
//
//	d = |q|^2 - 2 q · a + |a|^2
//
//	anchors   in panels as wide as a tile, laid out by groups of four bytes of each        once
//	rows      rounded to bytes, with |q|^2 beside them                                     a block at a time
//	for each panel                       stays in the cache: 64 anchors of 320 columns are 20 KB
//		for every four rows
//			tile     4 rows x 16 or 64 anchors: q · a in registers, and the Gaussians of them
//
// Sums wrap around at 2^32 and end below 2^31, so their order is free, and so are terms that are added and taken away
// again: VNNI multiplies bytes without a sign by bytes with one, so its anchors have 128 added, and q · a is less by
// 128 times the sum of q.

// byteRows is the number of rows of a tile.
const byteRows = 4

// byteTiling is a kernel and how it wants the values.
type byteTiling struct {
	name     string
	width    int   // anchors of a tile, at most mostTiled
	size     int   // bytes of a value: 1 or 2
	together int   // groups of which it takes a multiple
	added    int32 // to every value of the anchors: 0 or 128

	// values writes the values of a row, which begin at x, and returns their sum and that of their squares.
	values func(dst []byte, x []float32, perStep float32) (sum, squares int32)
	// tile writes the Gaussians of four rows, step bytes apart, and the anchors of a panel, both in groups of four
	// bytes: 2^-(scale (own + squares - 2 product)). Rows of dst are stride values apart.
	tile func(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32, scale float32)
}

const mostTiled = 64

// byteAnchors is the anchors of a ByteGaussian, prepared for a kernel.
type byteAnchors struct {
	*byteTiling    // nil for plain Go
	rows, cols     int
	perStep, scale float32

	plain   []int8
	groups  int     // of four bytes in a row
	panels  []byte  // groups * 4 * width bytes each
	squares []int32 // |a|^2 of every anchor, with those that fill the last panel
}

func newByteAnchors(m *ByteGaussian, t *byteTiling) *byteAnchors {
	b := &byteAnchors{byteTiling: t, rows: m.Rows, cols: m.Cols, plain: m.Anchors}
	b.perStep, b.scale = 1/m.Step, m.scale()
	if t == nil {
		return b
	}
	b.groups = upTo(m.Cols*t.size, 4*t.together) / 4
	wide := upTo(m.Rows, t.width)
	b.panels, b.squares = make([]byte, wide*4*b.groups), make([]int32, wide)
	for k := range m.Rows {
		panel := b.panels[k/t.width*t.width*4*b.groups:]
		for j, a := range m.Anchors[k*m.Cols:][:m.Cols] {
			b.squares[k] += int32(a) * int32(a)
			at := j * t.size
			t.put(panel[at/4*4*t.width+k%t.width*4+at%4:], int32(a)+t.added)
		}
	}
	return b
}

// upTo returns the next multiple of a unit.
func upTo(n, unit int) int { return (n + unit - 1) / unit * unit }

// put writes a value.
func (t *byteTiling) put(dst []byte, v int32) {
	dst[0] = byte(v)
	if t.size == 2 {
		dst[1] = byte(v >> 8)
	}
}

// restOf writes values as a kernel does, for the end of a row.
func (t *byteTiling) restOf(dst []byte, x []float32, perStep float32) (sum, squares int32) {
	for j, v := range x {
		q := int32(toByte(v, perStep))
		sum, squares = sum+q, squares+q*q
		t.put(dst[j*t.size:], q)
	}
	return sum, squares
}

// byteBlock is memory for the rows of a block.
type byteBlock struct {
	q    []byte
	own  []int32
	edge [byteRows * mostTiled]float32
}

var byteBlocks = sync.Pool{New: func() any { return new(byteBlock) }}

// round writes the bytes of all rows, and fills up the last tile with rows that nobody reads.
func (c *byteBlock) round(b *byteAnchors, x vectors.Matrix) {
	rows, step := upTo(x.Rows, byteRows), 4*b.groups
	if cap(c.q) < rows*step {
		c.q = make([]byte, rows*step)
	}
	if cap(c.own) < rows {
		c.own = make([]int32, rows)
	}
	c.q, c.own = c.q[:rows*step], c.own[:rows]
	for i := range x.Rows {
		q := c.q[i*step:][:step]
		clear(q[b.cols*b.size:])
		sum, squares := b.values(q, x.Row(i), b.perStep)
		c.own[i] = squares + 2*b.added*sum
	}
}

// gaussians writes the values of every row of x.
func (b *byteAnchors) gaussians(dst, x vectors.Matrix) {
	if b.byteTiling == nil {
		q := make([]int8, x.Cols)
		for i := range x.Rows {
			toBytesGo(q, x.Row(i), b.perStep)
			gaussiansGo(dst.Row(i), q, b.plain, b.scale)
		}
		return
	}
	c := byteBlocks.Get().(*byteBlock)
	defer byteBlocks.Put(c)
	c.round(b, x)
	step := 4 * b.groups
	for k := 0; k < b.rows; k += b.width {
		panel, wide := &b.panels[k*step], min(b.width, b.rows-k)
		for i := 0; i < x.Rows; i += byteRows {
			high := min(byteRows, x.Rows-i)
			whole := high == byteRows && wide == b.width
			to, stride := &c.edge[0], b.width
			if whole {
				to, stride = &dst.Data[i*dst.Cols+k], dst.Cols
			}
			b.tile(to, stride, &c.q[i*step], step, panel, b.groups, &c.own[i], &b.squares[k], b.scale)
			if whole {
				continue
			}
			// A tile at the edge goes to a place of its own first, because the kernel handles only whole tiles.
			for r := range high {
				copy(dst.Row(i + r)[k:k+wide], c.edge[r*b.width:])
			}
		}
	}
}

// gaussiansGo writes the values of one row, as ByteGaussian defines them.
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
