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
	after, err := f.txid()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	before, err := s.file.txid()
	if err != nil {
		return nil, err
	}
	if err := guard(s.file.Close); err != nil { // waits for backups
		return nil, err
	}
	moved := rename(tmp, s.real)
	if moved == nil {
		before = after
	}
	if f, err = reopen(ctx, s.real, before); err != nil {
		s.file, s.degraded = nil, "its file was closed to be replaced, and could not be opened again"
		return nil, errors.Join(moved, fmt.Errorf("%w: it can still be searched; open it again to write", err))
	}
	if moved != nil {
		s.file = f
		return nil, moved
	}
	return f, settlePlace(s.real)
}

// reopen opens a file that was closed for a moment, and checks the number of its latest transaction.
func reopen(ctx context.Context, path string, txid uint64) (*file, error) {
	f, err := lock(context.WithoutCancel(ctx), path, false, time.Now().Add(reopenWait), nil)
	if err != nil {
		return nil, err
	}
	if now, err := f.txid(); err != nil || now != txid {
		return nil, errors.Join(errors.New("another program has changed it in the meantime"), err, f.Close())
	}
	return f, nil
}
