//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fileio

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// TryLock locks a file until it is closed or the process dies, or returns ErrLocked. Others may share a shared lock.
func TryLock(f *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return ErrLocked
	}
	return err
}

// giveTo gives f the owner and group of another file, and reports whether it now has that group.
func giveTo(f *os.File, like fs.FileInfo) (group bool) {
	want, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	own, err := f.Stat()
	if err != nil {
		return false
	}
	if has := own.Sys().(*syscall.Stat_t); has.Uid == want.Uid && has.Gid == want.Gid {
		return true
	}
	if f.Chown(int(want.Uid), int(want.Gid)) == nil {
		return true
	}
	return f.Chown(-1, int(want.Gid)) == nil // only root can change owners, but users can set any group of theirs
}
