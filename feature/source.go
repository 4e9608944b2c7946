package feature

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"hashgrove/dataset"
	"hashgrove/vectors"
)

// Vectors is the Source of the vectors that e makes of a source of pictures: rows of pixels, all of one shape. Labels,
// tags and ids stay with their rows. Pictures are worked on a chunk at a time, so memory stays bounded.
func Vectors(e Extractor, pictures vectors.Source, shape dataset.Shape, threads int) (vectors.Source, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	if pictures.Dim() != shape.Width*shape.Height*shape.Channels {
		return nil, fmt.Errorf("rows of %d values are no pictures of %d x %d pixels and %d channels", pictures.Dim(), shape.Width, shape.Height, shape.Channels)
	}
	// An extractor that cannot take this shape should say so before any work is done.
	blank := Picture{shape.Width, shape.Height, shape.Channels, make([]uint8, pictures.Dim())}
	probe := vectors.Matrix{Rows: 1, Cols: e.Dim(), Data: make([]float32, e.Dim())}
	if err := e.Extract(context.Background(), []Picture{blank}, probe, 1); err != nil {
		if inner := errors.Unwrap(err); inner != nil { // which picture it was means nothing
			err = inner
		}
		return nil, fmt.Errorf("%s features: %w", e.Kind(), err)
	}
	return extracted{e, pictures, shape, threads}, nil
}

type extracted struct {
	Extractor
	pictures vectors.Source
	shape    dataset.Shape
	threads  int
}

// Unwrap is the source of the pictures.
func (v extracted) Unwrap() vectors.Source { return v.pictures }

// Chunks implements vectors.Source.
func (v extracted) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		var pictures []Picture
		var out []float32
		// Chunks of vectors are cut so that they stay small although a vector may be longer than its picture.
		step := min(max(1<<22/v.Dim(), 16), 1024)
		for c, err := range v.pictures.Chunks(ctx) {
			if err != nil {
				yield(vectors.Chunk{}, err)
				return
			}
			for lo := 0; lo < c.X.Rows; lo += step {
				part := c.Slice(lo, min(lo+step, c.X.Rows))
				n := part.X.Rows
				for len(pictures) < n {
					pictures = append(pictures, Picture{v.shape.Width, v.shape.Height, v.shape.Channels, make([]uint8, v.pictures.Dim())})
					out = append(out, make([]float32, v.Dim())...)
				}
				for i := range n {
					pixels(pictures[i].Pix, part.X.Row(i), v.shape)
				}
				x := vectors.Matrix{Rows: n, Cols: v.Dim(), Data: out[:n*v.Dim()]}
				if err := v.Extract(ctx, pictures[:n], x, v.threads); err != nil {
					yield(vectors.Chunk{}, fmt.Errorf("rows from %d on: %w", part.First, err))
					return
				}
				part.X = x
				if !yield(part, nil) {
					return
				}
			}
		}
	}
}

// pixels writes a row of values from 0 to 255 as bytes, the channels of a pixel side by side.
func pixels(dst []uint8, row []float32, shape dataset.Shape) {
	if !shape.Planar {
		for i, v := range row {
			dst[i] = uint8(v)
		}
		return
	}
	plane := shape.Width * shape.Height
	for c := range shape.Channels {
		for i, v := range row[c*plane : (c+1)*plane] {
			dst[i*shape.Channels+c] = uint8(v)
		}
	}
}

// NewPicture is the picture of a row of values from 0 to 255.
func NewPicture(row []float32, shape dataset.Shape) Picture {
	p := Picture{shape.Width, shape.Height, shape.Channels, make([]uint8, len(row))}
	pixels(p.Pix, row, shape)
	return p
}
