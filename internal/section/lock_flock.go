//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package section

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of a file, which ends when the file is closed or the process dies.
func tryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return ErrLocked
	}
	return err
}

// sameOwner tells whether two files have one owner and one group.
func sameOwner(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, same := b.Sys().(*syscall.Stat_t)
	return ok && same && x.Uid == y.Uid && x.Gid == y.Gid
}

// giveTo hands a file to the owner and the group of another, and tells whether it has their group then.
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
	return f.Chown(-1, int(want.Gid)) == nil // only root may give files away, but groups of one's own are free
}
