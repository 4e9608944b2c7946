package gallery

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"hashgrove/internal/message"
)

// The entries of a tar archive of pictures, plain or compressed with gzip or zstd, are treated like files of a folder,
// in archive order; a folder that all of them share is removed before looking for classes. Nothing is unpacked to disk,
// and entry names are never used as paths. Opening reads the archive once for its names, and every pass once more.

// Archive lists the pictures of a tar archive. content is the decompressed archive, and open returns it again for every
// pass. Seekable content is listed without reading the pictures.
func Archive(path string, content io.Reader, open func() (io.ReadCloser, error), o Options) (*Gallery, error) {
	g := &Gallery{path: filepath.ToSlash(path), options: o}
	g.open = func() (fileSource, error) {
		in, err := open()
		if err != nil {
			return nil, err
		}
		return &tarSource{Gallery: g, file: path, in: in, entries: tar.NewReader(in)}, nil
	}
	if err := g.listTar(path, tar.NewReader(content)); err != nil {
		return nil, err
	}
	if len(g.names) == 0 {
		return nil, message.New("no-pictures", "%s: is an archive without pictures (%s)", path, codecNames)
	}
	g.top = sharedFolder(g.names)
	return g, g.settle(path)
}

// listTar finds the pictures in an archive.
func (g *Gallery) listTar(file string, entries *tar.Reader) error {
	for place := 0; ; place++ {
		e, err := entries.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return tarError(file, err)
		}
		name := cleanName(e.Name)
		if hidden(name) {
			continue
		}
		head := func() []byte {
			b := make([]byte, sniffed)
			n, e := io.ReadFull(entries, b)
			if e != nil && e != io.EOF && e != io.ErrUnexpectedEOF {
				err = e
			}
			return b[:n]
		}
		switch {
		case (e.Typeflag == tar.TypeLink || e.Typeflag == tar.TypeSymlink) && Promises(name):
			g.spoil(len(g.names), message.New("bad-link", "is a link, and links in an archive are not followed: "+
				"pack the file itself (tar --dereference --hard-dereference)"))
		case e.Typeflag != tar.TypeReg || !isPicture(name, head):
			if err != nil {
				return tarError(file, err)
			}
			continue
		}
		if len(g.names) == maxPictures {
			return fmt.Errorf("%s: holds more than %d pictures", file, maxPictures)
		}
		if hold := g.options.Hold; hold != nil {
			if err := hold(nameBytes + len(name)); err != nil {
				return err
			}
		}
		g.names = append(g.names, name)
		g.places = append(g.places, place)
	}
}

// cleanName returns the name of an entry as a path below a folder, wherever it pretends to lead.
func cleanName(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// hidden reports whether a part of a path begins with a dot.
func hidden(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return true
		}
	}
	return name == ""
}

// sharedFolder returns the length of the first folder, with its slash, if all names begin with it; else 0.
func sharedFolder(names []string) int {
	first, _, found := strings.Cut(names[0], "/")
	if !found {
		return 0
	}
	for _, name := range names {
		if !strings.HasPrefix(name, first+"/") {
			return 0
		}
	}
	return len(first) + 1
}

func tarError(path string, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return message.New("cut-off", "%s: the archive is cut off", path)
	case errors.Is(err, tar.ErrHeader):
		return message.New("damaged", "%s: is damaged, or not a tar archive", path)
	case strings.HasPrefix(err.Error(), path): // from a decompressor, which names the file
		return err
	}
	return fmt.Errorf("%s: cannot read the archive: %w", path, err)
}

// tarSource reads the pictures of a batch one by one and keeps them for the workers.
type tarSource struct {
	*Gallery
	file    string
	in      io.Closer
	entries *tar.Reader
	place   int // number of the next entry
	first   int // of the batch
	batch   [][]byte
	errs    []error
}

// batchBytes bounds the pictures in memory, except for one more.
const batchBytes = 64 << 20

func (s *tarSource) load(first, n int) (int, error) {
	s.first, s.batch, s.errs = first, s.batch[:0], s.errs[:0]
	size := 0
	for k := 0; k < n && size < batchBytes; k++ {
		e, err := s.seek(first + k)
		if err != nil {
			return 0, err
		}
		var b []byte
		if s.bad[first+k] == nil {
			if err = s.checkSize(e.Size); err != nil {
				// It is skipped, like one that cannot be decoded.
			} else if b, err = io.ReadAll(s.entries); err != nil {
				return 0, tarError(s.file, err)
			}
		}
		size += len(b)
		s.batch, s.errs = append(s.batch, b), append(s.errs, err)
	}
	return len(s.batch), nil
}

// checkSize returns an error for an entry that would take too much memory: with compression and holes, a few bytes can
// stand for many.
func (s *tarSource) checkSize(size int64) error {
	if most := s.options.Most; most > 0 && size > most {
		return message.New("too-much-memory",
			"has %d bytes, far more than this archive should contain: unpack it first if that is intended", size)
	}
	return checkEncoded(size)
}

// seek moves to the entry of picture i.
func (s *tarSource) seek(i int) (*tar.Header, error) {
	for {
		e, err := s.entries.Next()
		if err != nil && err != io.EOF {
			return nil, tarError(s.file, err)
		}
		s.place++
		if err == io.EOF || s.place-1 == s.places[i] && cleanName(e.Name) != s.names[i] {
			return nil, message.New("file-changed", "%s: %s is no longer where it was: did the file change while it was read?",
				s.file, path.Base(s.names[i]))
		}
		if s.place-1 == s.places[i] {
			return e, nil
		}
	}
}

func (s *tarSource) use(i int, f func(encoded []byte) error) error {
	if err := s.errs[i-s.first]; err != nil {
		return err
	}
	return f(s.batch[i-s.first])
}

func (s *tarSource) Close() error { return s.in.Close() }
