package picture

import (
	"context"
	"iter"
	"slices"

	"hashgrove/internal/vectors"
)

// copyBytes bounds the pictures held in memory for mirroring; beyond that, the source is read again.
const copyBytes = 1 << 30

// Mirrored returns a Source of pictures followed by their mirror images, with the same labels and tags: what a picture
// shows rarely depends on the side it is seen from.
func Mirrored(pictures Source) Source { return mirrored{pictures, copyBytes, false} }

// MirrorImages returns the mirror images alone.
func MirrorImages(pictures Source) Source { return mirrored{pictures, copyBytes, true} }

type mirrored struct {
	Source
	limit int
	alone bool // without the pictures themselves
}

func (m mirrored) Schema() vectors.Schema { return withPreparation(m.Source, m.Preparation()) }

func (m mirrored) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] { return Pixels(ctx, m) }

func (m mirrored) Preparation() Preparation {
	p := m.Source.Preparation()
	p.Mirrored = true
	return p
}

func (m mirrored) Pictures(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		rows, bytes := 0, 0
		var kept []Chunk
		for c, err := range m.Source.Pictures(ctx) {
			if m.alone {
				c = m.image(c, 0)
			}
			if !yield(c, err) || err != nil {
				return
			}
			if m.alone {
				continue
			}
			rows = c.First + c.X.Rows
			if bytes += len(c.Pix); bytes <= m.limit {
				own := Chunk{vectors.Chunk{First: c.First}, slices.Clone(c.Pix)}
				own.Append(c.Chunk)
				kept = append(kept, own)
			} else {
				kept = nil
			}
		}
		if bytes > m.limit {
			for c, err := range m.Source.Pictures(ctx) {
				if !yield(m.image(c, rows), err) || err != nil {
					return
				}
			}
			return
		}
		for _, c := range kept {
			if err := context.Cause(ctx); !yield(m.image(c, rows), err) || err != nil {
				return
			}
		}
	}
}

// image returns the mirror images of a chunk, which follow a number of rows.
func (m mirrored) image(c Chunk, rows int) Chunk {
	shape := m.Preparation().Shape
	pix := make([]uint8, 0, len(c.Pix))
	for row := range slices.Chunk(c.Pix, shape.Values()) {
		pix = shape.appendMirrored(pix, row)
	}
	c.First, c.Pix, c.IDs = c.First+rows, pix, slices.Clone(c.IDs)
	for i := range c.IDs {
		c.IDs[i] += "#mirrored"
	}
	return c
}
