package feature

import (
	"context"
	"fmt"
	"iter"

	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// Vectors returns a Source of the vectors that e extracts from pictures, with their labels, tags and ids. It processes
// a chunk at a time, so memory stays bounded. Every pass extracts again: wrap it in vectors.Cache to read it more than
// once.
func Vectors(e Maker, pictures picture.Source, threads int) (vectors.Source, error) {
	if err := e.Fits(pictures.Preparation().Shape); err != nil {
		return nil, fmt.Errorf("%s features: %w", e.Kind(), err)
	}
	return source{e, pictures, threads}, nil
}

type source struct {
	Maker
	pictures picture.Source
	threads  int
}

// Schema implements vectors.Source. It is that of the pictures, but features have no names, and an extractor sees the
// channels side by side, whatever the layout was.
func (v source) Schema() vectors.Schema {
	s, p := v.pictures.Schema(), v.pictures.Preparation()
	p.Planar = false
	s.Names, s.Vector, s.Label, s.Tags, s.Pictures = nil, "", "", "", &p
	return s
}

// Chunks implements vectors.Source.
func (v source) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		shape, size := v.pictures.Preparation().Shape, v.pictures.Dim()
		var pictures []picture.Picture
		var room []uint8 // for rearranging channels
		var out []float32
		// Split chunks of vectors, to keep them small although a vector may be longer than its picture.
		dim := v.Dim()
		step := min(max(1<<22/dim, 16), 1024)
		for c, err := range v.pictures.Pictures(ctx) {
			if err != nil {
				yield(vectors.Chunk{}, err)
				return
			}
			for lo := 0; lo < c.X.Rows; lo += step {
				n := min(step, c.X.Rows-lo)
				if len(room) < n*size {
					room, out = make([]uint8, n*size), make([]float32, n*dim)
				}
				pictures = pictures[:0]
				for i := range n {
					own := room[i*size : (i+1)*size : (i+1)*size]
					pictures = append(pictures, shape.Picture(c.Pix[(lo+i)*size:(lo+i+1)*size], own))
				}
				x := vectors.Matrix{Rows: n, Cols: dim, Data: out[:n*dim]}
				if err := v.Extract(ctx, pictures, x, v.threads); err != nil {
					yield(vectors.Chunk{}, fmt.Errorf("rows from %d on: %w", c.First+lo, err))
					return
				}
				part := c.Chunk.Slice(lo, lo+n)
				part.X = x
				if !yield(part, nil) {
					return
				}
			}
		}
	}
}

// Named returns the extractor with a name for pictures of a shape: gist320, gist512 or pixels.
func Named(name string, shape picture.Shape) (Extractor, error) {
	switch name {
	case "gist320":
		return NewGIST(GISTOptions{Size: shape.Width, Orientations: []int{8, 8, 4}, Blocks: 4})
	case "gist512":
		return NewGIST(GISTOptions{Size: shape.Width, Orientations: []int{8, 8, 8, 8}, Blocks: 4})
	case "pixels":
		return &Pixels{Width: shape.Width, Height: shape.Height, Channels: shape.Channels}, nil
	}
	return nil, fmt.Errorf("there are no features called %q: choose gist320, gist512 or pixels", name)
}
