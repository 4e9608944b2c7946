package gallery

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hashgrove/internal/message"
)

// In a folder of pictures, every sub-folder is a class of everything below it, however deep; a folder without
// sub-folders has no classes. Pictures come in natural order of their paths. Hidden files and files that are not
// pictures are skipped, and no link is followed out of the folder.

// Folder lists the pictures of a folder.
func Folder(dir string, o Options) (*Gallery, error) {
	g := &Gallery{path: filepath.ToSlash(dir), options: o}
	g.open = func() (fileSource, error) { return openFolder(g, dir) }
	if err := g.list(dir); err != nil {
		return nil, err
	}
	if len(g.names) == 0 {
		return nil, message.New("no-pictures",
			"%s: is a folder without pictures (%s): for vectors name the files in it, for instance %s",
			dir, codecNames, filepath.Join(dir, "*.npy"))
	}
	return g, g.settle(dir)
}

// File returns a gallery of a single picture.
func File(path string, o Options) (*Gallery, error) {
	dir, name := filepath.Split(path)
	g := &Gallery{path: filepath.ToSlash(dir), names: []string{name}, options: o}
	g.open = func() (fileSource, error) { return openFolder(g, cmp.Or(dir, ".")) }
	return g, g.settle(path)
}

// list finds the pictures in a folder.
func (g *Gallery) list(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("cannot read the folder: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: cannot read the folder: %w", filepath.Join(dir, name), err)
		case name != "." && d.Name()[0] == '.' && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || d.Name()[0] == '.':
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			// A link that promises a picture but leads nowhere, or out of the folder, cannot be read later.
			if info, err := root.Stat(name); err != nil && !Promises(name) || err == nil && !info.Mode().IsRegular() {
				return nil
			}
		case !d.Type().IsRegular():
			return nil
		}
		if isPicture(name, func() []byte { return headOf(root, name) }) {
			if len(g.names) == maxPictures {
				return fmt.Errorf("%s: holds more than %d pictures", dir, maxPictures)
			}
			g.names = append(g.names, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(g.names, comparePaths)
	return nil
}

// headOf returns the first bytes of a file, or nothing if it cannot be read.
func headOf(root *os.Root, name string) []byte {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, sniffed)
	n, _ := io.ReadFull(f, b)
	return b[:n]
}

// comparePaths orders paths folder by folder, each in natural order, so that files of one folder stay together.
func comparePaths(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, "/")
		y, restB, moreB := strings.Cut(b, "/")
		if c := NaturalOrder(x, y); c != 0 {
			return c
		}
		if !moreA || !moreB {
			return cmp.Compare(len(restA), len(restB))
		}
		a, b = restA, restB
	}
}

// folderSource reads files on the worker that decodes them.
type folderSource struct {
	*Gallery
	root  *os.Root
	large sync.Mutex // held while a large file is in memory
}

func openFolder(g *Gallery, dir string) (fileSource, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the folder: %w", err)
	}
	return &folderSource{Gallery: g, root: root}, nil
}

func (s *folderSource) load(_, n int) (int, error) { return n, nil }

func (s *folderSource) use(i int, f func(encoded []byte) error) error {
	file, err := s.root.Open(filepath.FromSlash(s.names[i]))
	if err != nil {
		return unreadable(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return unreadable(err)
	}
	if info.Size() > largeEncoded {
		s.large.Lock()
		defer s.large.Unlock()
	}
	b, err := readEncoded(file, info.Size())
	if err != nil {
		return err
	}
	return f(b)
}

// readEncoded reads a picture whose file claims that size; memory grows with the bytes that arrive.
func readEncoded(r io.Reader, size int64) ([]byte, error) {
	if err := checkEncoded(size); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxEncoded))
	if err != nil {
		return nil, unreadable(err)
	}
	return b, nil
}

func checkEncoded(size int64) error {
	if size > maxEncoded {
		return fmt.Errorf("has %d bytes: pictures of more than %d megabytes are refused", size, maxEncoded>>20)
	}
	return nil
}

// unreadable removes the path from an error whose message already has it.
func unreadable(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return message.New("unreadable", "cannot be read: %w", err)
}

func (s *folderSource) Close() error { return s.root.Close() }
