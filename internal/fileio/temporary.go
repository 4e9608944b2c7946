package fileio

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// ErrLocked is returned if another process is working on a file or folder.
var ErrLocked = errors.New("another process is working on it")

// NewTemporary creates an empty file with a new name beside path: path.xxxxxxxx.tmp. It has the owner, group and mode
// of the file at path if there is one, and at no time can anyone read it who cannot read that file. It removes
// temporary files left behind by killed processes.
func NewTemporary(path string) (*os.File, error) {
	Sweep(path, sweepAge)
	old, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newTemporary(path, 0o666)
	case err != nil: // we cannot tell who may read it
		return nil, err
	case !old.Mode().IsRegular():
		return newTemporary(path, 0o666)
	}
	f, err := newTemporary(path, 0o600)
	if err == nil {
		mode := old.Mode().Perm()
		if !giveTo(f, old) {
			mode = withoutGroup(mode)
		}
		_ = f.Chmod(mode) // some file systems have no modes
	}
	return f, err
}

// NewCopy is NewTemporary for a copy of another file, with the permissions of that file as far as the umask allows.
func NewCopy(path string, of fs.FileInfo) (*os.File, error) {
	Sweep(path, sweepAge)
	f, err := newTemporary(path, of.Mode().Perm()|0o600)
	if err != nil || giveTo(f, of) {
		return f, err
	}
	if has, err := f.Stat(); err == nil {
		_ = f.Chmod(withoutGroup(has.Mode().Perm()))
	}
	return f, err
}

// withoutGroup returns the mode for a file whose group has changed: the group may do no more than everybody.
func withoutGroup(mode fs.FileMode) fs.FileMode { return mode&^0o070 | mode&(mode<<3)&0o070 }

func newTemporary(path string, mode fs.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		// The name is random so that two writers do not collide; it never enters the contents.
		f, err := os.OpenFile(fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32()), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		// The caller asked for the path, not for the temporary name.
		if pe := new(fs.PathError); errors.As(err, &pe) {
			pe.Path = path
		}
		if err == nil {
			_ = TryLock(f, false) // nobody else can hold it; it keeps Sweep away
		}
		return f, err
	}
}

// sweepAge is the age at which a temporary file may be an orphan: a new one may not be locked yet.
const sweepAge = time.Minute

// Sweep removes temporary files of path of at least the given age that were left behind by killed processes. Those of
// live processes are locked.
func Sweep(path string, age time.Duration) {
	others, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	name := regexp.MustCompile("^" + regexp.QuoteMeta(filepath.Base(path)) + `\.[0-9a-f]{8}\.tmp$`)
	for _, o := range others {
		if !name.MatchString(o.Name()) || !o.Type().IsRegular() {
			continue
		}
		tmp := filepath.Join(filepath.Dir(path), o.Name())
		if info, err := o.Info(); err != nil || time.Since(info.ModTime()) < age {
			continue
		}
		f, err := os.OpenFile(tmp, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		free := TryLock(f, false) == nil
		_ = f.Close() // Windows does not remove open files
		if free {
			_ = os.Remove(tmp)
		}
	}
}

// Lock takes the lock named by a file, which it creates, until the returned function is called or the process dies. It
// returns ErrLocked if another process, or this one, already holds it.
func Lock(path string) (release func(), err error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if err := TryLock(f, false); err != nil {
			_ = f.Close()
			return nil, err
		}
		own, err := f.Stat()
		there, e := os.Stat(path)
		if err == nil && e == nil && os.SameFile(own, there) {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close() // the previous holder has removed it meanwhile
		if err != nil {
			return nil, err
		}
	}
}
