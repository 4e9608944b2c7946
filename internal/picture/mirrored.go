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
func Mirrored(pictures Source) Source { return mirrored{pictures, copyBytes} }

type mirrored struct {
	Source
	limit int
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
			if !yield(c, err) || err != nil {
				return
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
		again := m.Source.Pictures(ctx)
		if bytes <= m.limit {
			again = func(yield func(Chunk, error) bool) {
				for _, c := range kept {
					if !yield(c, context.Cause(ctx)) {
						return
					}
				}
			}
		}
		m.images(again, rows, yield)
	}
}

// images yields the mirror images, which follow a number of rows.
func (m mirrored) images(pictures iter.Seq2[Chunk, error], rows int, yield func(Chunk, error) bool) {
	shape := m.Preparation().Shape
	size := shape.Values()
	var pix []uint8
	var ids []string
	for c, err := range pictures {
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		pix, ids = pix[:0], ids[:0]
		for i := range c.X.Rows {
			pix = shape.appendMirrored(pix, c.Pix[i*size:(i+1)*size])
		}
		for _, id := range c.IDs {
			ids = append(ids, id+"#mirrored")
		}
		c.First += rows
		c.Pix = pix
		if c.IDs != nil {
			c.IDs = ids
		}
		if !yield(c, nil) {
			return
		}
	}
}
