//go:build linux

package store

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/testkit/needs"
)

// TestDiskFull fills a file system, which only root can mount: the write is refused, what was there stays and can be
// searched, no other file is left, and writing works again once there is space.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		needs.Skip(t, needs.Mount, "cannot mount a small file system:", err)
	}
	defer func() { ok(t, syscall.Unmount(dir, 0)) }()
	path, ballast := filepath.Join(dir, "photos.hgi"), filepath.Join(dir, "ballast")
	ok(t, os.WriteFile(ballast, make([]byte, 128<<10), 0o600))
	s, err := Create(ctx, path, Options{Bits: 64, Index: index.Config{Tables: -1}})
	ok(t, err)
	full := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, syscall.ENOSPC) || !message.Is(err, "disk-full") && !strings.Contains(what, "new") {
			t.Fatalf("%s on a full disk: %v", what, err)
		}
		if left, _ := filepath.Glob(path + "?*"); left != nil {
			t.Fatalf("left over: %v", left)
		}
	}
	m := maker{rand.New(rand.NewPCG(9, 9)), 64}
	have, next := 0, 0
	add := func(n int) error {
		b := index.NewBatch(64)
		for range n {
			it := m.item(index.Int(int64(next)))
			it.Label = strings.Repeat("x", 300)
			b.Append(it)
			next++
		}
		err := s.Add(ctx, b)
		if err == nil {
			have += n
		}
		return err
	}
	for refused := 0; refused < 5; {
		err := add(1 + m.IntN(30))
		if err == nil {
			continue
		}
		full("writing", err)
		refused++
		if i := s.Info(); i.Items != have || i.Degraded != "" {
			t.Fatalf("after a full disk: %+v, want %d items", i, have)
		}
		if hits, err := s.Snapshot().Matches(index.Filter{}); err != nil || len(hits) != have {
			t.Fatalf("reading: %v, %v", hits, err)
		}
		full("compacting", s.Compact(ctx))
		_, err = s.BackupFile(ctx, path+".copy")
		full("a new copy", err)
	}
	ok(t, s.Close())
	if r, err := Verify(ctx, path, nil); err != nil || r.Items != have {
		t.Fatalf("%d items, want %d: %v", r.Items, have, err)
	}
	s = open(t, path, OpenOptions{Index: index.Config{Tables: -1}})
	ok(t, os.Remove(ballast))
	ok(t, add(50))
	if s.Snapshot().Len() != have {
		t.Error("items are missing")
	}
	ok(t, s.Close())
}
