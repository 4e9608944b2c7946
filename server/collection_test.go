package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hashgrove/internal/index"
	"hashgrove/internal/store"
)

// TestWritesThatMeetAReload: a write that has begun on a file which is then replaced is made on the new one, and
// counted once. One that meets a closed file in whose place there is no other is an error, and does not try for ever.
func TestWritesThatMeetAReload(t *testing.T) {
	s, _ := serveBatch(t, clusters(0, 10, 32, 2))
	c, err := s.collection("shop")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	item := index.NewBatch(32)
	item.Append(index.Item{ID: index.Text("late"), Code: []uint64{5 << 32}})
	old, tries := c.open(), 0
	n, err := c.write("put", func(o *opened) (int, error) {
		if tries++; tries == 1 { // between the look at the file and the write
			replaceFile(t, c.options.Path, 7)
			if err := s.reopen(ctx, c); err != nil {
				t.Fatal(err)
			}
		}
		return 1, o.store.Upsert(ctx, item)
	})
	if err != nil || n != 1 || tries != 2 || c.open() == old {
		t.Fatalf("%d items after %d tries: %v", n, tries, err)
	}
	if _, there := c.open().snapshot().Get(index.Text("late")); !there || c.open().snapshot().Len() != 8 {
		t.Errorf("the new file has the item: %t, of %d", there, c.open().snapshot().Len())
	}
	if _, there := old.snapshot().Get(index.Text("late")); there {
		t.Error("the old file has the item")
	}
	if recent := c.recent.latest(); len(recent) != 1 || recent[0].Items != 1 {
		t.Errorf("the latest writes are %+v", recent)
	}
	if err := c.open().store.Close(); err != nil {
		t.Fatal(err)
	}
	tries = 0
	_, err = c.write("put", func(o *opened) (int, error) {
		if tries++; tries > 10 {
			return 0, errors.New("it tries again and again")
		}
		return 1, o.store.Upsert(ctx, item)
	})
	if !errors.Is(err, store.ErrClosed) {
		t.Errorf("a write to a closed file: %v", err)
	}
}

// replaceFile puts another index in place of a file.
func replaceFile(t *testing.T, path string, items int) {
	t.Helper()
	next := filepath.Join(filepath.Dir(path), "next.hgi")
	st, err := store.Create(context.Background(), next, store.Options{Bits: 32})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Add(context.Background(), clusters(100, items, 32, 2))
	if err := errors.Join(err, st.Close(), os.Rename(next, path)); err != nil {
		t.Fatal(err)
	}
}
