package model

import (
	"bytes"
	"errors"
	"image"
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

// averagedModels add the scores of mirror images, with encoders of several kinds.
func averagedModels(t testing.TB) map[string]*Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(21, 4))
	gist, err := feature.NewGIST(feature.GISTOptions{Size: 8, Orientations: []int{2}, Blocks: 2})
	if err != nil {
		t.Fatal(err)
	}
	as := picture.Preparation{Shape: picture.Shape{Width: 8, Height: 8, Channels: 3}, Mirrored: true, Averaged: true}
	mapped := &Mapped{Maps: []Map{&Affine{Weight: vectors.Matrix{Rows: 8, Cols: 8}, Unit: true}}, Encoder: randomTrees(rng, 70, 8, 3, 4)}
	return map[string]*Model{
		"trees":      {Encoder: randomTrees(rng, 70, 8, 3, 4), Features: gist, Pictures: &as},
		"linear":     {Encoder: randomHyperplanes(rng, 70, 8), Features: gist, Pictures: &as},
		"projection": {Encoder: randomProjection(rng, 70, 8, true), Features: gist, Pictures: &as},
		"mapped":     {Encoder: mapped, Features: gist, Pictures: &as},
	}
}

// pairOf is the vectors of an image and of its mirror image.
func pairOf(t *testing.T, m *Model, img image.Image) vectors.Matrix {
	t.Helper()
	row := make([]uint8, m.Pictures.Values())
	if err := m.Pictures.FromImage(row, img, 1); err != nil {
		t.Fatal(err)
	}
	shape, flipped := m.Pictures.Shape, make([]uint8, len(row))
	for y := range shape.Height {
		for x := range shape.Width {
			copy(flipped[(y*shape.Width+x)*3:][:3], row[(y*shape.Width+shape.Width-1-x)*3:])
		}
	}
	pair := vectors.Matrix{Rows: 2, Cols: m.Encoder.Dim(), Data: make([]float32, 2*m.Encoder.Dim())}
	both := []picture.Picture{shape.Picture(row, nil), shape.Picture(flipped, nil)}
	if err := m.Features.Extract(t.Context(), both, pair, 1); err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestAveragingIsTheDefinition adds the margins of an image and of its mirror image, and compares with every way to
// encode: images one by one, sources, rows, batches.
func TestAveragingIsTheDefinition(t *testing.T) {
	images := picturetest.Images(rand.New(rand.NewPCG(3, 8)), 13, 9)
	for range 5 { // enough for a block
		images = append(images, picturetest.Images(rand.New(rand.NewPCG(uint64(len(images)), 8)), 13, 9)...)
	}
	for name, m := range averagedModels(t) {
		if err := m.Check(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plain, bits := &Model{Encoder: m.Encoder}, m.Encoder.Bits()
		want, margins, wide := hamming.NewCodes(len(images), bits), []float32(nil), vectors.Matrix{Cols: m.Dim()}
		differ := false
		for i, img := range images {
			pair := pairOf(t, m, img)
			both, err := plain.Margins(t.Context(), pair, 1)
			if err != nil {
				t.Fatal(err)
			}
			for k := range bits {
				sum := float64(both.Row(0)[k]) + float64(both.Row(1)[k])
				want.SetBit(i, k, sum >= 0)
				margins = append(margins, settle(sum))
				differ = differ || (sum >= 0) != (both.Row(0)[k] >= 0)
			}
			wide.Rows++
			wide.Data = append(wide.Data, pair.Data...)
			code, err := m.EncodeImage(img)
			if err != nil || !slices.Equal(code, want.Row(i)) {
				t.Errorf("%s: image %d has the code %x, want %x (%v)", name, i, code, want.Row(i), err)
			}
			if code, err := m.EncodeRow(pair.Data); err != nil || !slices.Equal(code, want.Row(i)) {
				t.Errorf("%s: row %d has the code %x, want %x (%v)", name, i, code, want.Row(i), err)
			}
		}
		if !differ {
			t.Errorf("%s: no bit differs from that of the picture alone, so this tests nothing", name)
		}
		if codes, err := m.Encode(t.Context(), wide, 2); err != nil || !slices.Equal(codes.Data, want.Data) {
			t.Errorf("%s: a batch has other codes (%v)", name, err)
		}
		if got, err := m.Margins(t.Context(), wide, 2); err != nil || !slices.Equal(got.Data, margins) {
			t.Errorf("%s: a batch has other margins (%v)", name, err)
		}
		src, err := m.Source(album{images, *m.Pictures}, 1)
		if err != nil {
			t.Fatal(err)
		}
		err = m.EncodeSource(t.Context(), src, 2, func(first int, codes hamming.Codes, _ vectors.Chunk) error {
			if !slices.Equal(codes.Data, want.Data[first*codes.Words:][:len(codes.Data)]) {
				t.Errorf("%s: a data set has other codes from %d on", name, first)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if prefix, err := m.Prefix(9).EncodeImage(images[0]); err != nil || prefix[0] != want.Row(0)[0]>>55<<55 {
			t.Errorf("%s: the first bits are %x (%v)", name, prefix, err)
		}
	}
}

// TestAveragedModelsTakeNoVectors: a vector has no mirror image.
func TestAveragedModelsTakeNoVectors(t *testing.T) {
	for name, m := range averagedModels(t) {
		x := vectors.Matrix{Rows: 1, Cols: m.Encoder.Dim(), Data: make([]float32, m.Encoder.Dim())}
		_, encoded := m.Encode(t.Context(), x, 1)
		_, row := m.EncodeRow(x.Data)
		_, source := m.Source(x, 1)
		_, margins := m.Margins(t.Context(), x, 1)
		for way, err := range map[string]error{"batch": encoded, "row": row, "source": source, "margins": margins} {
			if !errors.Is(err, ErrMirror) {
				t.Errorf("%s, %s: %v", name, way, err)
			}
		}
		if _, err := m.EncodeRow(x.Data[:3]); !errors.Is(err, ErrDim) {
			t.Errorf("%s: a row of another length: %v", name, err)
		}
		bad := *m
		bad.Features = nil
		if bad.Check() == nil {
			t.Errorf("%s: mirror images without an extractor pass", name)
		}
	}
}

// TestAveragedFiles are of version 5 and have a fingerprint of their own.
func TestAveragedFiles(t *testing.T) {
	for name, m := range averagedModels(t) {
		b := bytesOf(t, m)
		got, err := Read(bytes.NewReader(b))
		if err != nil || b[8] != 5 || *got.Pictures != *m.Pictures || !bytes.Equal(bytesOf(t, got), b) {
			t.Errorf("%s: version %d (%v)", name, b[8], err)
		}
		plain, as := *m, *m.Pictures
		as.Averaged = false
		plain.Pictures = &as
		if plain.Fingerprint() == m.Fingerprint() || m.Fingerprint() != plain.Averaging().Fingerprint() || bytesOf(t, &plain)[8] != 4 {
			t.Errorf("%s: the same fingerprint or version as without mirror images", name)
		}
	}
}

// TestGoldenAveragedModel opens a file as it was first written.
func TestGoldenAveragedModel(t *testing.T) {
	path := filepath.Join("testdata", "averaged.v5.hgm")
	m := averagedModels(t)["trees"]
	if *update {
		if err := WriteFile(path, m); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadFile(path)
	if err != nil || got.Fingerprint() != m.Fingerprint() || !got.Pictures.Averaged {
		t.Errorf("the file has become another model (%v)", err)
	}
}
