package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"hashgrove/internal/message"
)

// closeToMove is set on systems such as Windows that cannot move or replace open files. Files must be closed for the
// move, which releases their locks, so another program may intervene: it keeps the file that it finds, and the move
// fails.
var closeToMove = runtime.GOOS == "windows"

// reopenWait is how long to wait for an index that another program has taken in between.
const reopenWait = 10 * time.Second

// moveFile is os.Rename, except in tests.
var moveFile = os.Rename

// rename moves a file, and explains why another cannot be replaced.
func rename(from, to string) error {
	err := moveFile(from, to)
	if err != nil && closeToMove {
		if _, e := os.Stat(to); e == nil {
			err = message.New("in-use", "%w: it may be open in another program, and then it cannot be replaced: "+
				"close that program and try again", err)
		}
	}
	return err
}

// swap replaces the store's file with a new one and returns that, open for writing: whoever waits for the lock of the
// old one will notice that it was replaced. On failure the old file is in place and in use. The caller holds the write
// lock.
func (s *Store) swap(ctx context.Context, f *file, tmp string) (*file, error) {
	if !closeToMove {
		if err := os.Rename(tmp, s.real); err != nil {
			_ = f.Close()
			return nil, err
		}
		return f, settlePlace(s.real)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	want := f.read.state
	if err := errors.Join(f.Close(), guard(s.file.Close)); err != nil { // waits for backups
		return nil, err
	}
	moved := rename(tmp, s.real)
	if moved != nil {
		want = s.state
	}
	f, err := lock(context.WithoutCancel(ctx), s.real, false, time.Now().Add(reopenWait), func(c *contents) error {
		if c.state != want {
			return errors.New("another program has changed it in the meantime")
		}
		return nil
	})
	if err != nil {
		s.file, s.degraded = nil, "its file was closed to be replaced, and could not be opened again"
		return nil, errors.Join(moved, fmt.Errorf("%w: it can still be searched; open it again to write", err))
	}
	if moved != nil {
		s.file = f
		return nil, moved
	}
	return f, settlePlace(s.real)
}
