package feature

import (
	"context"
	"fmt"
	"iter"

	"hashgrove/dataset"
	"hashgrove/vectors"
)

// MirrorMark ends the id of a mirror image.
const MirrorMark = "#mirrored"

// Mirrored is the Source of pictures and, after all of them, of their mirror images, left and right changed, with the same
// labels and tags. What a picture shows rarely depends on the side it is seen from, so learners get twice the examples.
func Mirrored(pictures vectors.Source, shape dataset.Shape) vectors.Source {
	if pictures.Dim() != shape.Width*shape.Height*shape.Channels {
		panic(fmt.Sprintf("feature: rows of %d values are no pictures of %d x %d pixels and %d channels", pictures.Dim(), shape.Width, shape.Height, shape.Channels))
	}
	return mirrored{pictures, shape}
}

type mirrored struct {
	vectors.Source
	shape dataset.Shape
}

// Unwrap is the source of the pictures.
func (m mirrored) Unwrap() vectors.Source { return m.Source }

// Chunks implements vectors.Source.
func (m mirrored) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		rows := 0
		for c, err := range m.Source.Chunks(ctx) {
			if !yield(c, err) || err != nil {
				return
			}
			rows = c.First + c.X.Rows
		}
		var x []float32
		var ids []string
		for c, err := range m.Source.Chunks(ctx) {
			if err != nil {
				yield(vectors.Chunk{}, err)
				return
			}
			x, ids = x[:0], ids[:0]
			for i := range c.X.Rows {
				x = m.appendMirrored(x, c.X.Row(i))
			}
			for _, id := range c.IDs {
				ids = append(ids, id+MirrorMark)
			}
			c.First += rows
			c.X.Data = x
			if c.IDs != nil {
				c.IDs = ids
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// appendMirrored appends a picture with the pixels of every line in opposite order.
func (m mirrored) appendMirrored(dst, row []float32) []float32 {
	planes, side := 1, m.shape.Channels // a pixel is side values beside each other
	if m.shape.Planar {
		planes, side = side, 1
	}
	line := m.shape.Width * side
	for range planes * m.shape.Height {
		for x := line - side; x >= 0; x -= side {
			dst = append(dst, row[x:x+side]...)
		}
		row = row[line:]
	}
	return dst
}
