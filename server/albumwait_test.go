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
	"time"

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
	a.patience = 1
	var later *failure // while it is being made, clients are asked to come back
	if p, err := a.wait(ctx, index.Text("1.png")); p != nil || !errors.As(err, &later) || later.status != 503 || later.header.Get("Retry-After") == "" {
		t.Errorf("%d bytes, %v", len(p), err)
	}
	if made, making := a.progress(); made != 0 || !making {
		t.Errorf("%d pictures before the first, being made: %t", made, making)
	}
	a.patience = 1000
	go func() {
		time.Sleep(50 * time.Millisecond)
		if err := a.fill(ctx, x.Snapshot()); err != nil {
			t.Error(err)
		}
	}()
	if p, err := a.wait(ctx, index.Text("1.png")); len(p) == 0 || err != nil {
		t.Errorf("%d bytes, %v", len(p), err)
	}
	if p, err := a.wait(ctx, index.Text("3.png")); len(p) == 0 || err != nil {
		t.Errorf("of the second folder: %d bytes, %v", len(p), err)
	}
	if p, err := a.wait(ctx, index.Text("2.png")); p != nil || err != nil { // there is no such file
		t.Errorf("%d bytes, %v", len(p), err)
	}
	if _, making := a.progress(); making {
		t.Error("all pictures are made, and still more are said to come")
	}
	if _, making := (*album)(nil).progress(); making {
		t.Error("without an album pictures are being made")
	}
}
