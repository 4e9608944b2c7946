package picture

import (
	"context"
	"iter"
	"slices"

	"hashgrove/vectors"
)

// Chunk is a run of consecutive pictures of a Source. It is lent: everything in it is valid until the next chunk.
type Chunk struct {
	vectors.Chunk         // what is known about the pictures: X has their number and no values
	Pix           []uint8 // a row of the source's Shape for each
}

// Slice lends pictures lo to hi.
func (c Chunk) Slice(lo, hi int) Chunk {
	size := len(c.Pix) / max(c.X.Rows, 1)
	return Chunk{c.Chunk.Slice(lo, hi), c.Pix[lo*size : hi*size]}
}

// Source yields pictures in order, any number of times, in bounded memory. As a source of vectors it yields their
// pixels.
type Source interface {
	vectors.Source
	// Preparation is how every picture became a row. It has no shape when the rows are not pictures.
	Preparation() Preparation
	// Pictures yields all pictures in order. After an error nothing more is yielded.
	Pictures(ctx context.Context) iter.Seq2[Chunk, error]
}

// Of is the source of the pictures whose pixels are the vectors of src, if they are: a data set of pictures has it.
func Of(src vectors.Source) (Source, bool) {
	pictures, ok := src.(Source)
	return pictures, ok && pictures.Preparation().Shape != Shape{}
}

// PreparationOf is how the pictures were prepared that vectors, pixels or features, were made from; nil for vectors
// that were not made from pictures. A model that is learned from such vectors keeps it.
func PreparationOf(src vectors.Source) *Preparation {
	if from, ok := vectors.Find[interface{ Preparation() Preparation }](src); ok {
		if p := from.Preparation(); p.Shape != (Shape{}) {
			return &p
		}
	}
	return nil
}

// Pixels yields pictures as vectors, for the Chunks of a Source.
func Pixels(ctx context.Context, pictures Source) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		var x []float32
		for c, err := range pictures.Pictures(ctx) {
			x = slices.Grow(x[:0], len(c.Pix))[:len(c.Pix)]
			for i, b := range c.Pix {
				x[i] = float32(b)
			}
			c.X.Cols, c.X.Data = pictures.Dim(), x
			if !yield(c.Chunk, err) || err != nil {
				return
			}
		}
	}
}

// FromVectors is the source of pictures whose pixels, whole numbers from 0 to 255, are the rows of a source of vectors.
func FromVectors(src vectors.Source, shape Shape) Source {
	if src.Dim() != shape.Values() {
		panic("picture: rows of another length than the pictures")
	}
	return fromVectors{src, shape}
}

type fromVectors struct {
	vectors.Source
	shape Shape
}

func (v fromVectors) Preparation() Preparation { return Preparation{Shape: v.shape} }

func (v fromVectors) Unwrap() vectors.Source { return v.Source }

func (v fromVectors) Pictures(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		var pix []uint8
		for c, err := range v.Source.Chunks(ctx) {
			pix = slices.Grow(pix[:0], len(c.X.Data))[:len(c.X.Data)]
			for i, x := range c.X.Data {
				pix[i] = uint8(x)
			}
			c.X = vectors.Matrix{Rows: c.X.Rows}
			if !yield(Chunk{c, pix}, err) || err != nil {
				return
			}
		}
	}
}

// MirrorMark ends the id of a mirror image.
const MirrorMark = "#mirrored"

// mirrorBytes bounds the pictures that wait in memory for their mirror images; of more, the source is read again.
const mirrorBytes = 1 << 30

// Mirrored is the Source of pictures and, after all of them, of their mirror images, left and right changed, with the
// same labels and tags. What a picture shows rarely depends on the side it is seen from, so learners get twice the
// examples.
func Mirrored(pictures Source) Source { return mirrored{pictures, mirrorBytes} }

type mirrored struct {
	Source
	limit int
}

func (m mirrored) Unwrap() vectors.Source { return m.Source }

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

// images yields the mirror images of pictures, after the given number of rows.
func (m mirrored) images(pictures iter.Seq2[Chunk, error], rows int, yield func(Chunk, error) bool) {
	shape := m.Preparation().Shape
	var pix []uint8
	var ids []string
	for c, err := range pictures {
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		pix, ids = pix[:0], ids[:0]
		for i := range c.X.Rows {
			pix = shape.appendMirrored(pix, c.Pix[i*shape.Values():(i+1)*shape.Values()])
		}
		for _, id := range c.IDs {
			ids = append(ids, id+MirrorMark)
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
