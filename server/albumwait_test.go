package server

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"hashgrove/internal/index"
	"hashgrove/internal/picture"
)

// TestPicturesAreWaitedFor asks for a picture before it is made, by the path below the folder.
func TestPicturesAreWaitedFor(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	more := t.TempDir() // a second folder
	for _, path := range []string{filepath.Join(dir, "1.png"), filepath.Join(more, "3.png")} {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x, batch := index.New(8, [32]byte{}, index.Config{}), index.NewBatch(8)
	for _, id := range []string{"1.png", "2.png", "3.png"} {
		batch.Append(index.Item{ID: index.Text(id), Code: []uint64{0}})
	}
	ctx := context.Background()
	if err := x.Add(ctx, batch); err != nil {
		t.Fatal(err)
	}
	a, err := newAlbum([]string{dir, more}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	var later *failure // while it is being made, clients are asked to come back
	if p, err := a.get(index.Text("1.png")); p != nil || !errors.As(err, &later) || later.status != 503 {
		t.Errorf("%d bytes, %v", len(p), err)
	}
	if made, unfinished := a.progress(); made != 0 || !unfinished {
		t.Errorf("%d pictures before the first, being made: %t", made, unfinished)
	}
	if err := a.fill(ctx, x.Snapshot()); err != nil {
		t.Error(err)
	}
	for id, there := range map[string]bool{"1.png": true, "3.png": true, "2.png": false} {
		if p, err := a.get(index.Text(id)); (len(p) > 0) != there || err != nil {
			t.Errorf("%s: %d bytes, %v", id, len(p), err)
		}
	}
	if _, unfinished := a.progress(); unfinished {
		t.Error("all pictures are made, and still more are said to come")
	}
	if _, unfinished := (*album)(nil).progress(); unfinished {
		t.Error("without an album pictures are being made")
	}
}

// TestPNG: pixels survive, grey and colour.
func TestPNG(t *testing.T) {
	for _, channels := range []int{1, 3} {
		shape := picture.Shape{Width: 2, Height: 1, Channels: channels}
		made, err := encodePicture(shape.Picture([]uint8{10, 20, 30, 40, 50, 60}[:shape.Values()], nil))
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(made))
		if err != nil {
			t.Fatal(err)
		}
		got := color.NRGBAModel.Convert(img.At(1, 0)).(color.NRGBA)
		if want := uint8(20 * (1 + channels/3)); img.Bounds().Dx() != 2 || img.Bounds().Dy() != 1 || got.R != want {
			t.Errorf("%d channels: %v, want %d", channels, got, want)
		}
	}
}
