package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"hashgrove/internal/fault"
)

// closeToMove tells that the system moves no file that is open, nor into the place of one, as Windows. Files have to be
// closed for that moment. Their locks end with it, so another program may come in between: it keeps the file that it
// finds, and the move fails.
var closeToMove = runtime.GOOS == "windows"

// reopenWait is how long an index is waited for that another program has taken in between.
const reopenWait = 10 * time.Second

// moveFile is os.Rename, but in tests.
var moveFile = os.Rename

// rename moves a file and says what keeps another from being replaced.
func rename(from, to string) error {
	err := moveFile(from, to)
	if err != nil && closeToMove {
		if _, e := os.Stat(to); e == nil {
			err = fault.New("in-use", "%w: it may be open in another program, and then no file can take its place: "+
				"close that one and try again", err)
		}
	}
	return err
}

// swap puts a new file into the place of the one of the store, and returns it, open to be written. Without it the old
// one is in its place and in use. The caller holds the lock of writers.
func (s *Store) swap(ctx context.Context, tmp string) (*file, error) {
	if !closeToMove {
		return swap(ctx, tmp, s.real)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := lock(ctx, tmp, false, time.Now())
	if err != nil {
		return nil, err
	}
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

// reopen opens a file that was closed for a moment and in which the latest transaction has a number.
func reopen(ctx context.Context, path string, txid uint64) (*file, error) {
	f, err := lock(context.WithoutCancel(ctx), path, false, time.Now().Add(reopenWait))
	if err != nil {
		return nil, err
	}
	if now, err := f.txid(); err != nil || now != txid {
		return nil, errors.Join(errors.New("another program has changed it meanwhile"), err, f.Close())
	}
	return f, nil
}
