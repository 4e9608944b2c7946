package fileio

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// folderLock is the file in a temporary folder that its process holds locked.
const folderLock = ".lock"

// TempFolder makes a folder in the system's temporary folder, and removes those with the same prefix that dead
// processes of the same user have left. Remove removes the new one.
func TempFolder(prefix string) (path string, remove func() error, err error) {
	for {
		if path, err = os.MkdirTemp("", prefix); err != nil {
			return "", nil, err
		}
		release, err := Lock(filepath.Join(path, folderLock))
		if errors.Is(err, ErrLocked) || errors.Is(err, os.ErrNotExist) {
			continue // another process has just taken it for one that was left
		}
		if err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(path))
		}
		sweepFolders(prefix, path)
		return path, func() error {
			_ = os.RemoveAll(path) // while the lock keeps sweeps away
			release()
			return os.RemoveAll(path) // Windows keeps a file that is open
		}, nil
	}
}

// sweepFolders removes the folders with a prefix whose lock nobody holds. Those without a lock are not ours, or too
// new.
func sweepFolders(prefix, own string) {
	mine, err := os.Stat(own)
	all, e := os.ReadDir(filepath.Dir(own))
	if err != nil || e != nil || !hasLocks {
		return
	}
	for _, entry := range all {
		path := filepath.Join(filepath.Dir(own), entry.Name())
		if !entry.IsDir() || path == own || !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		if info, err := os.Lstat(path); err != nil || !sameOwner(mine, info) {
			continue
		}
		lock := filepath.Join(path, folderLock)
		if info, err := os.Lstat(lock); err != nil || !info.Mode().IsRegular() {
			continue
		}
		release, err := Lock(lock)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(path)
		release()
		_ = os.RemoveAll(path)
	}
}
