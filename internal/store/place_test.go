package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"hashgrove/internal/message"
)

// closingToMove makes a test behave as on Windows.
func closingToMove(t *testing.T) {
	was := closeToMove
	closeToMove = true
	t.Cleanup(func() { closeToMove = was })
}

// TestMovesOfClosedFiles compacts, replaces and continues writing where files must be closed to be moved.
func TestMovesOfClosedFiles(t *testing.T) {
	closingToMove(t)
	s, path := create(t, Options{Bits: 64})
	ok(t, s.Add(ctx, one("first", 1, "")))
	ok(t, s.Compact(ctx))
	ok(t, s.Add(ctx, one("second", 2, "")))
	ok(t, s.Compact(ctx))
	fine(t)(s.BackupFile(ctx, path+".copy"))
	if n := s.Info().Items; n != 2 {
		t.Errorf("%d items", n)
	}
	ok(t, s.Close())
	x, err := Create(ctx, path, Options{Bits: 64, Replace: true})
	ok(t, err)
	ok(t, x.Add(ctx, one("third", 3, "")))
	ok(t, x.Close())
	ok(t, Replace(ctx, path+".copy", path))
	x = open(t, path, OpenOptions{})
	if r := x.Snapshot().Len(); r != 2 {
		t.Errorf("%d items in the copy that took the place", r)
	}
}

// TestFailedMove: an index stays unchanged and in use if another program prevents its replacement.
func TestFailedMove(t *testing.T) {
	closingToMove(t)
	s, path := create(t, Options{Bits: 64})
	ok(t, s.Add(ctx, one("first", 1, "")))
	reader, err := os.Open(path)
	ok(t, err)
	defer reader.Close()
	if runtime.GOOS != "windows" { // which does so itself
		moveFile = func(from, to string) error {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrPermission}
		}
		defer func() { moveFile = os.Rename }()
	}
	if err := s.Compact(ctx); !message.Is(err, "in-use") {
		t.Errorf("a file that is open was replaced: %v", err)
	}
	ok(t, s.Add(ctx, one("second", 2, "")))
	ok(t, s.Close())
	if _, err := Create(ctx, path, Options{Bits: 64, Replace: true}); err == nil {
		t.Error("a file that is open was replaced")
	}
	ok(t, reader.Close())
	moveFile = os.Rename
	s = open(t, path, OpenOptions{})
	ok(t, s.Compact(ctx))
	if n := s.Snapshot().Len(); n != 2 {
		t.Errorf("%d items are left", n)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
