package fileio

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// File is a file being written. Its contents go to a temporary file beside the path; Commit makes them durable and puts
// them in place in one step. Until then an existing file stays as it is.
//
// A path that is not a regular file (a pipe, /dev/null) cannot be replaced and is written directly.
type File struct {
	path string
	f    *os.File
	w    *bufio.Writer
	tmp  string // name of the temporary file, empty if written directly
	done bool
}

// Target follows links and returns the path to write, which need not exist.
func Target(path string) string {
	for range 40 { // more is a cycle, which nobody can open
		link, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(link) {
			link = filepath.Dir(path) + string(filepath.Separator) + link
		}
		path = link
	}
	return path
}

// Create starts a file at path, or at the target of a link there.
func Create(path string) (*File, error) {
	path = Target(path)
	old, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist): // it may be a device, which must not be replaced
		return nil, err
	case err == nil && old.IsDir():
		return nil, &fs.PathError{Op: "create", Path: path, Err: errors.New("it is a folder")}
	case err == nil && !old.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{path: path, f: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
	}
	f, err := NewTemporary(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, f: f, w: bufio.NewWriterSize(f, 1<<16), tmp: f.Name()}, nil
}

// Write appends to the file.
func (f *File) Write(b []byte) (int, error) { return f.w.Write(b) }

// WriteAt overwrites bytes that were already written.
func (f *File) WriteAt(b []byte, at int64) (int, error) {
	if err := f.w.Flush(); err != nil {
		return 0, err
	}
	return f.f.WriteAt(b, at)
}

// Sync makes the data written so far durable, so that Commit has little left to do.
func (f *File) Sync() error {
	if err := f.w.Flush(); err != nil || f.tmp == "" {
		return err
	}
	return f.f.Sync()
}

// Commit makes the file durable and moves it to its path. After an error the path is unchanged, unless only the sync of
// the folder failed: then the new file is there but may not survive a power cut.
func (f *File) Commit() error {
	if f.done {
		panic("fileio: File committed or aborted twice")
	}
	err := f.w.Flush()
	if f.tmp == "" {
		f.done = true
		return errors.Join(err, f.f.Close())
	}
	if err == nil {
		err = f.f.Sync()
	}
	if err != nil {
		f.Abort()
		return err
	}
	f.done = true
	if err = f.f.Close(); err == nil {
		err = os.Rename(f.tmp, f.path)
	}
	if err != nil {
		_ = os.Remove(f.tmp)
		return err
	}
	return SyncFolder(filepath.Dir(f.path))
}

// Abort discards the file. It does nothing after Commit. It returns no error, which would only hide the one that led
// here.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.f.Close()
	if f.tmp != "" {
		_ = os.Remove(f.tmp)
	}
}

// SyncFolder makes new names in a folder durable. Windows cannot sync a folder and does not need to.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// WriteFile atomically replaces the file at path with what write produces.
func WriteFile(path string, write func(w io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit()
}
