package section

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// File is a file in the making. What is written goes to a temporary file beside the path; Commit makes it durable
// and puts it in the place of the path in one step. Until then a file that is there stays as it is.
//
// A path that is no regular file (a pipe, /dev/null) cannot be replaced, so it is written directly.
type File struct {
	path string
	f    *os.File
	w    *bufio.Writer
	tmp  string // name of the temporary file, empty when written directly
	done bool
}

// Target is the path that is written where path is a link: what the link names, which need not be there, and not the
// link itself.
func Target(path string) string {
	for range 40 { // more is a circle, which nobody can open
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

// Create starts a file that will stand at path, or where a link at path leads.
func Create(path string) (*File, error) {
	path = Target(path)
	old, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist): // it may be a device, which a file would replace
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

// WriteAt overwrites bytes that were written before.
func (f *File) WriteAt(b []byte, at int64) (int, error) {
	if err := f.w.Flush(); err != nil {
		return 0, err
	}
	return f.f.WriteAt(b, at)
}

// Sync makes durable what was written so far, so that Commit has little left to do.
func (f *File) Sync() error {
	if err := f.w.Flush(); err != nil || f.tmp == "" {
		return err
	}
	return f.f.Sync()
}

// Commit makes the file durable and moves it to its path. After an error the path is as it was before; only when
// the folder cannot be synced the new file stands there, but may not survive a power cut.
func (f *File) Commit() error {
	if f.done {
		panic("section: File committed or aborted twice")
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

// Abort throws the file away, unless Commit was called before. An error while cleaning up would hide the one that
// led here, so none is returned.
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

// SyncFolder makes new names in a folder durable. Windows cannot sync a folder and needs not.
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

// WriteFile lets write make the contents of the file at path, all or nothing.
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
