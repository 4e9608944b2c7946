//go:build linux

package store

import (
	"errors"
	"fmt"
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

// overfill writes until the disk is full, and checks that the write is refused, existing items stay, searches continue,
// and writing works again once there is space.
func overfill(path string, makeRoom func() error) error {
	s, err := Open(ctx, path, OpenOptions{Index: index.Config{Tables: -1}})
	if err != nil {
		return err
	}
	defer s.Close()
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
	refused := 0
	for range 2000 {
		err := add(1 + m.IntN(30))
		if err == nil {
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) || !message.Is(err, "disk-full") {
			return fmt.Errorf("a full disk says: %w", err)
		}
		if refused++; refused == 5 {
			break
		}
		if i := s.Info(); i.Items != have || i.Degraded != "" {
			return fmt.Errorf("after a full disk: %+v, want %d items", i, have)
		}
		if r, err := s.Snapshot().Search(ctx, []uint64{1}, 3, index.Options{}); err != nil || len(r.Hits) != 3 {
			return fmt.Errorf("searching: %v, %w", r, err)
		}
		if err := s.Compact(ctx); !errors.Is(err, syscall.ENOSPC) || !message.Is(err, "disk-full") {
			return fmt.Errorf("compacting on a full disk: %w", err)
		}
		if _, err := s.BackupFile(ctx, path+".copy"); !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("a backup on a full disk: %w", err)
		}
		if left, _ := filepath.Glob(path + "?*"); left != nil {
			return fmt.Errorf("left over: %v", left)
		}
	}
	if refused < 5 {
		return errors.New("the disk is never full")
	}
	if err := s.Close(); err != nil {
		return err
	}
	if r, err := Verify(ctx, path, nil); err != nil || r.Items != have {
		return fmt.Errorf("%d items, want %d: %w", r.Items, have, err)
	}
	if s, err = Open(ctx, path, OpenOptions{Index: index.Config{Tables: -1}}); err != nil {
		return err
	}
	if err := makeRoom(); err != nil {
		return err
	}
	if err := add(50); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	if s.Snapshot().Len() != have {
		return errors.New("items are missing")
	}
	return s.Close()
}

// TestDiskFull fills a file system, which only root can mount.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		needs.Skip(t, needs.Mount, "cannot mount a small file system:", err)
	}
	defer func() { ok(t, syscall.Unmount(dir, 0)) }()
	path, ballast := filepath.Join(dir, "photos.hgi"), filepath.Join(dir, "ballast")
	ok(t, os.WriteFile(ballast, make([]byte, 128<<10), 0o600))
	s, err := Create(ctx, path, Options{Bits: 64})
	ok(t, err)
	ok(t, s.Close())
	ok(t, overfill(path, func() error { return os.Remove(ballast) }))
	ok(t, os.WriteFile(ballast, nil, 0o600))
	for f, _ := os.OpenFile(ballast, os.O_WRONLY|os.O_APPEND, 0); ; {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			ok(t, f.Close())
			break
		}
	}
	if _, err := Create(ctx, path+"2", Options{Bits: 64}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a new index on a full disk: %v", err)
	}
	if left, _ := filepath.Glob(path + "2*"); left != nil {
		t.Errorf("left over: %v", left)
	}
}
