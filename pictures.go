package hashgrove

import (
	"context"
	"fmt"
	"image"
	"iter"

	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// Images returns decoded, upright pictures with one class each, by name or by number. For items of an index, labels may
// be nil.
func Images[L string | int](images []image.Image, labels []L) *Data {
	d := &Data{table: &vectors.Table{X: vectors.Matrix{Rows: len(images)}}, images: images}
	if labels != nil {
		d = withLabels(d, labels)
	}
	for i, img := range images {
		if img == nil {
			d.fail(fmt.Errorf("picture %d is nil", i))
		}
	}
	return d
}

// preparation translates the options.
func preparation(p PictureOptions) picture.Preparation {
	side, channels := p.Size, 3
	if side == 0 {
		side = 32
	}
	if p.Grey {
		channels = 1
	}
	return picture.Preparation{Shape: picture.Shape{Width: side, Height: side, Channels: channels}, Squash: p.Squash}
}

// images is a source of prepared pictures.
type images struct {
	table *vectors.Table
	list  []image.Image
	as    picture.Preparation
}

// Dim implements picture.Source.
func (s images) Dim() int { return s.as.Values() }

// Chunks implements picture.Source.
func (s images) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return picture.Pixels(ctx, s)
}

// Schema implements picture.Source.
func (s images) Schema() vectors.Schema { return vectors.Schema{Pictures: &s.as} }

// Preparation implements picture.Source.
func (s images) Preparation() picture.Preparation { return s.as }

// Pictures implements picture.Source.
func (s images) Pictures(ctx context.Context) iter.Seq2[picture.Chunk, error] {
	return func(yield func(picture.Chunk, error) bool) {
		const step = 64
		row := make([]uint8, step*s.as.Values())
		all := vectors.Chunk{IDs: s.table.IDs, Labels: s.table.Labels, Tags: s.table.Tags}
		all.X.Rows = len(s.list)
		for lo := 0; lo < len(s.list); lo += step {
			hi := min(lo+step, len(s.list))
			for i, img := range s.list[lo:hi] {
				err := ctx.Err()
				if err == nil {
					err = s.as.FromImage(row[i*s.as.Values():(i+1)*s.as.Values()], img, 1)
				}
				if err != nil {
					yield(picture.Chunk{}, fmt.Errorf("picture %d: %w", lo+i, err))
					return
				}
			}
			if !yield(picture.Chunk{Chunk: all.Slice(lo, hi), Pix: row[:(hi-lo)*s.as.Values()]}, nil) {
				return
			}
		}
	}
}
