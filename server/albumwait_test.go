package server

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"hashgrove/internal/index"
)

// TestPicturesAreWaitedFor asks for a picture before it is made, by the path below the folder.
func TestPicturesAreWaitedFor(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "1.png"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	more := t.TempDir() // a second folder
	if err := os.WriteFile(filepath.Join(more, "3.png"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	x := index.New(8, [32]byte{}, index.Config{})
	batch := index.NewBatch(8)
	batch.Append(index.Item{ID: index.Text("1.png"), Code: []uint64{0}})
	batch.Append(index.Item{ID: index.Text("2.png"), Code: []uint64{0}})
	batch.Append(index.Item{ID: index.Text("3.png"), Code: []uint64{0}})
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
