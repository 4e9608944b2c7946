package hashgrove

import (
	"context"
	"errors"
	"fmt"
	"image"
	"iter"

	"hashgrove/internal/feature"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// Pictures say how pictures become vectors. The model keeps it, so that later pictures are treated alike.
type Pictures struct {
	Size   int  // side in pixels of the squares that pictures become; 0 means 32, or their own in CIFAR and IDX files
	Squash bool // take the whole picture and change its aspect, instead of the square in the middle
	Grey   bool // one channel of three

	// Features makes vectors of the pixels: "gist320", "gist512", or a file that the command's features verb saved.
	// "" learns from the pixels themselves.
	Features string
	// Mirror learns from mirror images too; it needs Features.
	Mirror bool
	// Augment learns from other changed copies too: a list of "mirror", "shift" and "crop", where shift and crop may be
	// repeated. It needs Features.
	Augment []string
	// Average lets every code add the scores of a picture and of its mirror image before the sign; it needs Mirror. Such a
	// model encodes pictures only.
	Average bool
}

// augmentation is the copies to learn from.
func (p Pictures) augmentation() (picture.Augmentation, error) {
	a, err := picture.ParseAugmentation(p.Augment)
	if a.Mirror = a.Mirror || p.Mirror; err == nil && p.Average && !a.Mirror {
		err = errors.New("a model that adds the scores of mirror images must learn from mirror images too")
	}
	return a, err
}

// Images is decoded pictures with one class each; labels may be nil for items of an index. They must be upright.
func Images(images []image.Image, labels []string) *Data {
	d := &Data{table: &vectors.Table{X: vectors.Matrix{Rows: len(images)}, Labels: labels}, images: images}
	for i, img := range images {
		if img == nil {
			d.fail(fmt.Errorf("picture %d is nil", i))
		}
	}
	return d
}

// preparation is what the options ask for.
func (p Pictures) preparation() picture.Preparation {
	side, channels := p.Size, 3
	if side == 0 {
		side = 32
	}
	if p.Grey {
		channels = 1
	}
	return picture.Preparation{Shape: picture.Shape{Width: side, Height: side, Channels: channels}, Squash: p.Squash}
}

// learnable is the vectors to learn from, and what makes them of pictures.
func (d *Data) learnable(p Pictures, seed uint64, threads int) (vectors.Source, feature.Extractor, error) {
	learned := *d // classes that come with the files do not hide tags that are named
	learned.spec.TagsAlone = d.spec.Tags != "" && d.spec.Label == "" && d.spec.LabelsFile == nil
	rows, err := learned.rows(p, nil)
	if err != nil {
		return nil, nil, err
	}
	copies, err := p.augmentation()
	if err != nil {
		return nil, nil, err
	}
	if p.Features == "" {
		if copies.PerPicture() > 1 {
			return nil, nil, fmt.Errorf("mirror images and other copies need features to be made of them")
		}
		return rows, nil, nil
	}
	pictures, ok := picture.Of(rows)
	if !ok {
		return nil, nil, fmt.Errorf("the features %q are made of pictures, and the data are vectors", p.Features)
	}
	if copies.PerPicture() > 1 {
		pictures = picture.Augmented(pictures, copies, seed)
	}
	return feature.Learnable(pictures, p.Features, threads)
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
