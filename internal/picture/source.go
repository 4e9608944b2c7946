package picture

import (
	"context"
	"iter"
	"slices"

	"hashgrove/internal/vectors"
)

// Chunk is a run of consecutive pictures of a Source. It is valid only until the next chunk.
type Chunk struct {
	vectors.Chunk         // ids, labels and tags; X has the number of rows but no values
	Pix           []uint8 // one row of the source's Shape per picture
}

// Slice returns pictures lo to hi without copying them.
func (c Chunk) Slice(lo, hi int) Chunk {
	size := len(c.Pix) / max(c.X.Rows, 1)
	return Chunk{c.Chunk.Slice(lo, hi), c.Pix[lo*size : hi*size]}
}

// Source yields pictures in order, any number of times, in bounded memory. As a source of vectors it yields their
// pixels.
type Source interface {
	vectors.Source
	// Preparation describes how every picture became a row. It has no shape if the rows are not pictures.
	Preparation() Preparation
	// Pictures yields all pictures in order. It yields nothing after an error.
	Pictures(ctx context.Context) iter.Seq2[Chunk, error]
}

// Of returns the source of pictures whose pixels are the vectors of src, if src is a data set of pictures.
func Of(src vectors.Source) (Source, bool) {
	pictures, ok := src.(Source)
	return pictures, ok && pictures.Preparation().Shape != Shape{}
}

// PreparationOf returns how the pictures were prepared that vectors, pixels or features, were made from, or nil if they
// were not made from pictures. A model trained on the vectors keeps it.
func PreparationOf(src vectors.Source) *Preparation {
	p, _ := src.Schema().Pictures.(*Preparation)
	if p == nil {
		return nil
	}
	own := *p // a copy, because a model may change it
	return &own
}

// withPreparation returns the schema of a source whose pictures are prepared differently.
func withPreparation(src vectors.Source, p Preparation) vectors.Schema {
	s := src.Schema()
	s.Pictures = &p
	return s
}

// Pixels yields pictures as vectors, to implement Source.Chunks.
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

// FromVectors returns a source of pictures whose pixels, integers from 0 to 255, are the rows of a source of vectors.
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

func (v fromVectors) Schema() vectors.Schema { return withPreparation(v.Source, v.Preparation()) }

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
