package model

import (
	"context"
	"errors"
	"image"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/testkit/picturetest"
	"hashgrove/internal/vectors"
)

// album is images in memory as a data set of pictures.
type album struct {
	images []image.Image
	as     picture.Preparation
}

func (a album) Preparation() picture.Preparation       { return a.as }
func (a album) Dim() int                               { return a.as.Values() }
func (a album) Schema() vectors.Schema                 { return vectors.Schema{Pictures: &a.as} }
func (a album) Chunks(ctx context.Context) vectorChunk { return picture.Pixels(ctx, a) }

type vectorChunk = iter.Seq2[vectors.Chunk, error]

func (a album) Pictures(context.Context) iter.Seq2[picture.Chunk, error] {
	return func(yield func(picture.Chunk, error) bool) {
		var c picture.Chunk
		c.X.Rows = len(a.images)
		for _, img := range a.images {
			row := make([]uint8, a.as.Values())
			if err := a.as.FromImage(row, img, 1); err != nil {
				yield(c, err)
				return
			}
			c.Pix = append(c.Pix, row...)
		}
		yield(c, nil)
	}
}

// pictureModels take pictures as pixels side by side, as planes, and as features.
func pictureModels(t *testing.T) map[string]*Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, 7))
	gist, err := feature.NewGIST(feature.GISTOptions{Size: 8, Orientations: []int{2}, Blocks: 2})
	if err != nil {
		t.Fatal(err)
	}
	colour := picture.Shape{Width: 8, Height: 8, Channels: 3}
	planes := colour
	planes.Planar = true
	return map[string]*Model{
		"pixels":   {Encoder: randomTrees(rng, 20, 192, 3, 4), Pictures: &picture.Preparation{Shape: colour}},
		"planes":   {Encoder: randomTrees(rng, 20, 192, 3, 4), Pictures: &picture.Preparation{Shape: planes, Squash: true}},
		"features": {Encoder: randomTrees(rng, 20, 8, 3, 4), Features: gist, Pictures: &picture.Preparation{Shape: colour, Squash: true, Mirrored: true}},
	}
}

// TestEncodeImage gives every image the code that it has as a row of a data set.
func TestEncodeImage(t *testing.T) {
	images := picturetest.Images(rand.New(rand.NewPCG(3, 3)), 13, 9)
	for name, m := range pictureModels(t) {
		if err := m.Check(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		src, err := m.Source(album{images, *m.Pictures}, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err = m.EncodeSource(t.Context(), src, 1, func(first int, codes hamming.Codes, _ vectors.Chunk) error {
			for i := range codes.Len() {
				code, err := m.EncodeImage(images[first+i])
				if err != nil || !slices.Equal(code, codes.Row(i)) {
					t.Errorf("%s: image %d has the code %x, in a data set %x (%v)", name, first+i, code, codes.Row(i), err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.EncodeImage(image.NewGray(image.Rect(0, 0, 0, 0))); err == nil {
			t.Errorf("%s: an image without pixels has a code", name)
		}
		m.Pictures = nil
		if _, err := m.EncodeImage(images[0]); err == nil {
			t.Errorf("%s: a model of vectors encodes images", name)
		}
	}
}

// TestOtherPreparationsAreRefused is what keeps codes comparable.
func TestOtherPreparationsAreRefused(t *testing.T) {
	for name, m := range pictureModels(t) {
		size, squash, planar, mirrored := *m.Pictures, *m.Pictures, *m.Pictures, *m.Pictures
		size.Width, size.Height = 9, 9
		squash.Squash = !squash.Squash
		planar.Planar = !planar.Planar
		mirrored.Mirrored = !mirrored.Mirrored
		for what, c := range map[string]struct {
			as      picture.Preparation
			refused bool
		}{"size": {size, true}, "squash": {squash, true}, "layout": {planar, m.Features == nil}, "mirrored": {mirrored, false}} {
			if _, err := m.Source(album{nil, c.as}, 1); errors.Is(err, ErrPreparation) != c.refused {
				t.Errorf("%s, other %s: %v", name, what, err)
			}
		}
		x := vectors.Matrix{Rows: 1, Cols: m.Encoder.Dim(), Data: make([]float32, m.Encoder.Dim())}
		if src, err := m.Source(x, 1); err != nil || src.Dim() != x.Cols {
			t.Errorf("%s takes no vectors: %v", name, err)
		}
		old := *m
		old.Pictures = nil
		if m.Fingerprint() == old.Fingerprint() || bytesOf(t, m)[8] != 4 {
			t.Errorf("%s: the preparation is not in the fingerprint or in the file", name)
		}
		for _, other := range []picture.Preparation{squash, mirrored} {
			old.Pictures = &other
			if m.Fingerprint() == old.Fingerprint() {
				t.Errorf("%s: %v and %v have one fingerprint", name, m.Pictures, other)
			}
		}
	}
}

// TestAveragedModelsAreRefused: of a kind that is not read any more, in one sentence.
func TestAveragedModelsAreRefused(t *testing.T) {
	if _, err := ReadFile(filepath.Join("testdata", "averaged.v5.hgm")); !errors.Is(err, errAveraged) {
		t.Error(err)
	}
}
