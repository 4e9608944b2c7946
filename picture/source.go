package picture

import (
	"context"
	"iter"
	"slices"

	"hashgrove/vectors"
)

// Chunk is a run of consecutive pictures of a Source. It is lent: everything in it is valid until the next chunk.
type Chunk struct {
	First int     // number of the first picture in the source, counted from 0
	Rows  int     // number of pictures
	Pix   []uint8 // a row of the source's Shape for each

	// One entry per picture, or nil where the source has none of it; as in vectors.Chunk.
	IDs    []string
	Labels []string
	Tags   [][]string
	Places []int
}

// Vectors is the chunk of vectors with what is known about the pictures.
func (c Chunk) Vectors(x vectors.Matrix) vectors.Chunk {
	return vectors.Chunk{First: c.First, X: x, IDs: c.IDs, Labels: c.Labels, Tags: c.Tags, Places: c.Places}
}

// Slice lends pictures lo to hi.
func (c Chunk) Slice(lo, hi int) Chunk {
	about := c.Vectors(vectors.Matrix{Rows: c.Rows}).Slice(lo, hi)
	size := len(c.Pix) / max(c.Rows, 1)
	return Chunk{
		First: about.First, Rows: hi - lo, Pix: c.Pix[lo*size : hi*size],
		IDs: about.IDs, Labels: about.Labels, Tags: about.Tags, Places: about.Places,
	}
}

// Source yields pictures in order, any number of times, in bounded memory.
type Source interface {
	// Preparation is how every picture became a row.
	Preparation() Preparation
	// Pictures yields all pictures in order. After an error nothing more is yielded.
	Pictures(ctx context.Context) iter.Seq2[Chunk, error]
}

// Behind is the source of vectors that pictures were made from, or nil.
func Behind(pictures Source) vectors.Source {
	if w, ok := pictures.(interface{ Unwrap() vectors.Source }); ok {
		return w.Unwrap()
	}
	return nil
}

// Of is the source of the pictures whose pixels are the vectors of src, if they are: a data set of pictures has it.
func Of(src vectors.Source) (Source, bool) {
	set, ok := src.(interface{ AsPictures() (Source, bool) })
	if !ok {
		return nil, false
	}
	return set.AsPictures()
}

// PreparationOf is how the pictures were prepared that vectors, pixels or features, were made from; nil for vectors that
// were not made from pictures. A model that is learned from such vectors keeps it.
func PreparationOf(src vectors.Source) *Preparation {
	if from, ok := vectors.Find[interface{ Prepared() (Preparation, bool) }](src); ok {
		if p, ok := from.Prepared(); ok {
			return &p
		}
	}
	return nil
}

// AsVectors is the source of the pixels as vectors.
func AsVectors(pictures Source) vectors.Source { return asVectors{pictures} }

type asVectors struct{ Source }

// Prepared is for PreparationOf.
func (v asVectors) Prepared() (Preparation, bool) { return v.Preparation(), true }

// AsPictures is for Of.
func (v asVectors) AsPictures() (Source, bool) { return v.Source, true }

func (v asVectors) Dim() int { return v.Preparation().Values() }

func (v asVectors) Unwrap() vectors.Source { return Behind(v.Source) }

func (v asVectors) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		var x []float32
		for c, err := range v.Pictures(ctx) {
			x = slices.Grow(x[:0], len(c.Pix))[:len(c.Pix)]
			for i, b := range c.Pix {
				x[i] = float32(b)
			}
			if !yield(c.Vectors(vectors.Matrix{Rows: c.Rows, Cols: v.Dim(), Data: x}), err) || err != nil {
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
			out := Chunk{First: c.First, Rows: c.X.Rows, Pix: pix, IDs: c.IDs, Labels: c.Labels, Tags: c.Tags, Places: c.Places}
			if !yield(out, err) || err != nil {
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

func (m mirrored) Unwrap() vectors.Source { return Behind(m.Source) }

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
			rows = c.First + c.Rows
			if bytes += len(c.Pix); bytes <= m.limit {
				kept = append(kept, c.clone())
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
		for i := range c.Rows {
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

// clone is a chunk with memory of its own.
func (c Chunk) clone() Chunk {
	c.Pix, c.Places = slices.Clone(c.Pix), slices.Clone(c.Places)
	c.IDs, c.Labels, c.Tags = slices.Clone(c.IDs), slices.Clone(c.Labels), slices.Clone(c.Tags)
	for i, tags := range c.Tags {
		c.Tags[i] = slices.Clone(tags)
	}
	return c
}
