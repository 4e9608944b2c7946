package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hashgrove/internal/index"
)

// TestDeletedItemsAreGone: after Compact, nothing of a deleted or replaced item is left in the file or in a new backup.
// Before that, it may be in free pages, which backups copy.
func TestDeletedItemsAreGone(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	const secret = "private-c0ffee"
	item := func(i int, word string) index.Item {
		return index.Item{
			ID: index.Text(fmt.Sprintf("item-%04d-%s", i, word)), Code: []uint64{uint64(i)}, Label: "label " + word,
			Tags: []string{"tag " + word}, Attributes: map[string]index.Value{"note": index.String("attribute " + word)},
		}
	}
	b := index.NewBatch(64)
	var ids []index.ID
	for i := range 2000 {
		it := item(i, "public")
		if i%10 == 0 {
			it = item(i, secret)
			ids = append(ids, it.ID)
		}
		b.Append(it)
	}
	ok(t, s.Add(ctx, b))
	for _, label := range []string{"old " + secret, "new"} {
		replaced := index.NewBatch(64)
		it := item(1, "public")
		it.Label = label
		replaced.Append(it)
		ok(t, s.Upsert(ctx, replaced))
	}
	_, err := s.Delete(ctx, ids...)
	ok(t, err)
	early := filepath.Join(filepath.Dir(path), "early")
	fine(t)(s.BackupFile(ctx, early))
	found := func(path string) int {
		content, err := os.ReadFile(path)
		ok(t, err)
		return bytes.Count(content, []byte(secret))
	}
	if found(path) == 0 || found(early) == 0 {
		t.Errorf("%d and %d traces before compacting: this test looks for the wrong bytes", found(path), found(early))
	}
	ok(t, s.Compact(ctx))
	late := filepath.Join(filepath.Dir(path), "late")
	fine(t)(s.BackupFile(ctx, late))
	for _, p := range []string{path, late} {
		if n := found(p); n > 0 {
			t.Errorf("%s: %d traces of deleted items after compacting", filepath.Base(p), n)
		}
	}
	ok(t, s.Close())
	restored := filepath.Join(filepath.Dir(path), "restored")
	fine(t)(Restore(ctx, early, restored))
	s = open(t, restored, OpenOptions{})
	ok(t, s.Compact(ctx))
	ok(t, s.Close())
	if n := found(restored); n > 0 {
		t.Errorf("%d traces of deleted items in a restored backup after compacting", n)
	}
}
