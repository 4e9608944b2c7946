package fileio

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks a file until it is closed or the process dies. Windows prevents others from reading locked bytes, so
// the locked byte lies beyond the contents of any file.
func tryLock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if err == windows.ERROR_LOCK_VIOLATION {
		return ErrLocked
	}
	return err
}

// giveTo does nothing: a new file inherits the rights of its folder.
func giveTo(*os.File, fs.FileInfo) bool { return true }
