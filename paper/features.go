package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"hashgrove/internal/dataset"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/vectors"
	book "hashgrove/paper/codebook"
)

// recipe describes a kind of features.
type recipe struct {
	Name     string
	GIST     []int         // orientations; nil for a codebook
	Codebook *book.Options // nil for GIST
	Mirror   bool          // also learn from mirror images
	Average  bool          // add the scores of a picture and its mirror image before the sign
}

// Recipes of the features in the paper, and an earlier one of ours of the same length: half as many words, the two
// signs of a response separate, unscaled. Patches of 8 x 8 and vectors scaled to sum 1, on which the paper is silent,
// were chosen on a validation part of CIFAR-10.
func gist320() recipe { return recipe{Name: "gist320", GIST: []int{8, 8, 4}} }
func gist512() recipe { return recipe{Name: "gist512", GIST: []int{8, 8, 8, 8}} }
func codebook(words int) recipe {
	return recipe{Name: fmt.Sprintf("codebook%d", words*14), Codebook: &book.Options{Words: words}}
}
func signed(words int) recipe {
	l := &book.Options{Words: words / 2, Split: true, Unscaled: true}
	return recipe{Name: fmt.Sprintf("signed%d", words*14), Codebook: l}
}

// mirrored returns the recipe with mirror images to learn from.
func (r recipe) mirrored() recipe {
	r.Mirror = true
	return r
}

// averaged returns the recipe with joint codes of pictures and their mirror images.
func (r recipe) averaged() recipe {
	r.Average = true
	return r
}

// short returns features that take no time.
func (r recipe) short() recipe {
	if r.Codebook != nil {
		r.Codebook = &book.Options{Words: 16, Split: r.Codebook.Split, Patches: 2000, Iterations: 3}
	}
	return r
}

// extractor makes or learns the extractor from the base.
func (runner *Runner) extractor(ctx context.Context, c collection, r recipe, base split) (feature.Maker, error) {
	src, err := base.open()
	if err != nil {
		return nil, err
	}
	shape := src.Preparation().Shape
	if r.Codebook == nil {
		return feature.NewGIST(feature.GISTOptions{Size: shape.Width, Orientations: r.GIST, Blocks: 4})
	}
	l := *r.Codebook
	name, key := r.Name+"-"+c.name+"-codebook", keyOf("codebook 4", l.WithDefaults(), base.digest)
	return value(runner, name, key, func() (*book.Codebook, error) {
		var pictures []picture.Picture
		for c, err := range src.Pictures(ctx) {
			if err != nil {
				return nil, err
			}
			for i := range c.X.Rows {
				pictures = append(pictures, shape.Picture(slices.Clone(c.Slice(i, i+1).Pix), nil))
			}
		}
		return book.Learn(ctx, l, pictures, runner.Threads)
	})
}

// vectors writes the features of a split to a NumPy file with a file of labels or tags.
func (runner *Runner) vectors(ctx context.Context, r recipe, e feature.Maker, s split) (path, k string, err error) {
	k = keyOf("vectors 3", r.GIST, e, s.digest)
	path, err = runner.file(r.Name+"-"+s.name, k, ".npy", func(path string) error {
		pictures, err := s.open()
		if err != nil {
			return err
		}
		src, err := feature.Vectors(e, pictures, runner.Threads)
		if err != nil {
			return err
		}
		_, err = dataset.SaveNpy(ctx, src, path, nil)
		return err
	})
	return path, k, err
}

// openVectors opens files of vectors, in sequence, with the labels or tags beside them.
func openVectors(paths ...string) (*dataset.Set, error) {
	spec := dataset.Spec{Paths: paths}
	for _, path := range paths {
		stem := strings.TrimSuffix(path, ".npy")
		if _, err := os.Stat(stem + ".labels.txt"); errors.Is(err, fs.ErrNotExist) {
			spec.TagsFile = append(spec.TagsFile, stem+".tags.txt")
		} else {
			spec.LabelsFile = append(spec.LabelsFile, stem+".labels.txt")
		}
	}
	return dataset.Open(spec)
}

// mirrored returns the mirror images of a split, without the pictures themselves.
func (s split) mirrored() split {
	open := s.open
	s.name, s.digest = s.name+"-mirrored", keyOf("mirrored 1", s.digest)
	s.open = func() (picture.Source, error) {
		src, err := open()
		if err != nil {
			return nil, err
		}
		return picture.MirrorImages(src), nil
	}
	return s
}

// material holds the vectors of a data set, ready to learn from.
type material struct {
	base, queries *dataset.Set
	images        *dataset.Set // the base and its mirror images; nil unless the recipe has Mirror
	// The mirror images of both, alone; nil unless the recipe has Average.
	baseImages, queryImages vectors.Source
	baseKey, queryKey       string
}

// material makes the vectors of a collection with a recipe.
func (runner *Runner) material(ctx context.Context, c collection, r recipe) (m material, err error) {
	base, queries, err := runner.open(ctx, c)
	if err != nil {
		return m, err
	}
	e, err := runner.extractor(ctx, c, r, base)
	if err != nil {
		return m, err
	}
	if m.baseKey, err = runner.load(ctx, r, e, &m.base, base); err != nil {
		return m, err
	}
	if r.Mirror {
		if _, err = runner.load(ctx, r, e, &m.images, base, base.mirrored()); err != nil {
			return m, err
		}
	}
	if r.Average {
		var mirrored [2]*dataset.Set
		for i, s := range []split{base, queries} {
			if _, err = runner.load(ctx, r, e, &mirrored[i], s.mirrored()); err != nil {
				return m, err
			}
		}
		m.baseImages, m.queryImages = mirrored[0], mirrored[1]
	}
	m.queryKey, err = runner.load(ctx, r, e, &m.queries, queries)
	return m, err
}

// load makes the vectors of splits and opens them as one set.
func (runner *Runner) load(
	ctx context.Context, r recipe, e feature.Maker, to **dataset.Set, splits ...split,
) (k string, err error) {
	paths := make([]string, len(splits))
	for i, s := range splits {
		if paths[i], k, err = runner.vectors(ctx, r, e, s); err != nil {
			return "", err
		}
	}
	*to, err = openVectors(paths...)
	return k, err
}
