// Package gallery reads pictures from folders, tar archives and single files. It lists them once, decodes them on all
// cores, turns them upright, prepares them, and returns them in order.
//
//	Folder, Archive, File  -> Gallery, the list of pictures
//	Gallery.Read           -> Reader, one pass over them
package gallery

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"hashgrove/internal/message"
	"hashgrove/internal/par"
	"hashgrove/internal/picture"
)

// Options configure how pictures become rows.
type Options struct {
	picture.Preparation
	Threads    int  // decoding threads; 0 means all cores
	Unlabelled bool // folders are not classes

	// Hold is called with the memory that names in an archive take, and returns an error if that is too much; may be
	// nil.
	Hold func(bytes int) error

	// Most is the largest size in bytes of a picture in an archive, so that a small archive cannot unpack to a huge
	// picture; 0 means the limit of any picture.
	Most int64
}

// nameBytes is the memory per picture of a gallery, besides its name.
const nameBytes = 64

// maxPictures bounds the pictures of a gallery.
const maxPictures = 1 << 28

// Gallery is a list of the pictures found in one place. It is made once: all passes see the same pictures in the same
// order.
type Gallery struct {
	path    string // as given by the user, with slashes
	names   []string
	places  []int         // for a tar: the number of each entry
	bad     map[int]error // pictures that cannot be read, and why
	top     int           // length of the shared part of the names, before the classes
	classes bool          // the first folder of a name is the class
	options Options
	open    func() (fileSource, error)
}

// fileSource provides the encoded pictures of a gallery in one pass.
type fileSource interface {
	// load prepares the next pictures, in order, at least one and at most n; an error ends the pass.
	load(first, n int) (int, error)
	// use calls f with the bytes of a prepared picture. Several workers call it at the same time.
	use(i int, f func(encoded []byte) error) error
	Close() error
}

// settle finds the classes once all names are known, and checks the options. Path is that of the pictures.
func (g *Gallery) settle(path string) error {
	if picture.Decoders == nil {
		return fmt.Errorf("%s: %w", path, picture.ErrNoDecoders)
	}
	if err := g.options.CanResize(); err != nil || g.options.Unlabelled {
		return err
	}
	for _, name := range g.names {
		g.classes = g.classes || g.class(name) != ""
	}
	if !g.classes {
		return nil
	}
	for i, name := range g.names {
		if g.class(name) == "" {
			g.spoil(i, message.New("no-class",
				"lies beside the folders that are the classes, so it has none: move it into one of them"))
		}
	}
	return nil
}

func (g *Gallery) spoil(i int, why error) {
	if g.bad == nil {
		g.bad = map[int]error{}
	}
	g.bad[i] = why
}

// class returns the first folder in a name, or "".
func (g *Gallery) class(name string) string {
	class, _, found := strings.Cut(name[g.top:], "/")
	if !found {
		return ""
	}
	return class
}

// Len returns the number of pictures.
func (g *Gallery) Len() int { return len(g.names) }

// Shape returns the layout of the rows.
func (g *Gallery) Shape() picture.Shape { return g.options.Shape }

// Sorted reports whether the pictures are sorted by name as plain text.
func (g *Gallery) Sorted() bool { return slices.IsSorted(g.names) }

// Name returns the path of a picture in the folder or archive, with and without a folder that the whole archive shares.
func (g *Gallery) Name(i int) (name, below string) { return g.names[i], g.names[i][g.top:] }

// ID returns the path of a picture, with slashes; inside an archive it follows the path of the archive.
func (g *Gallery) ID(i int) string {
	switch {
	case g.path == "." || g.path == "":
		return g.names[i]
	case strings.HasSuffix(g.path, "/"):
		return g.path + g.names[i]
	}
	return g.path + "/" + g.names[i]
}

// Read starts a pass.
func (g *Gallery) Read(ctx context.Context) (*Reader, error) {
	s, err := g.open()
	if err != nil {
		return nil, err
	}
	r := &Reader{ctx: ctx, Gallery: g, source: s, dim: g.options.Values()}
	r.decoder = decoder{Preparation: g.options.Preparation, large: &r.alone}
	threads := par.Threads(g.options.Threads)
	r.most = min(max(aheadBytes/r.dim, threads), max(64, 8*threads))
	return r, nil
}

// aheadBytes bounds the pictures decoded ahead.
const aheadBytes = 32 << 20

// Reader decodes pictures on all cores, some ahead, and returns them in order.
type Reader struct {
	ctx context.Context // of the pass, which lasts as long as the reader
	*Gallery
	source  fileSource
	decoder decoder
	alone   sync.Mutex
	dim     int
	most    int // number of pictures decoded together
	row     int // the next picture
	lo, hi  int // the decoded pictures
	pixels  []uint8
	errs    []error
}

// Item is one picture. Its row is valid until the next.
type Item struct {
	ID       string
	Label    string // its class
	Labelled bool
	Pix      []uint8 // in the layout of the Preparation; nil if Err is set
	Err      error
}

// Next returns the next picture, or io.EOF after the last. Any other error ends the pass.
func (r *Reader) Next() (Item, error) {
	if r.row == len(r.names) {
		return Item{}, io.EOF
	}
	if r.row == r.hi {
		if err := r.ahead(); err != nil {
			return Item{}, err
		}
	}
	i := r.row
	r.row++
	item := Item{ID: r.ID(i), Labelled: r.classes, Err: r.errs[i-r.lo]}
	if r.classes {
		item.Label = r.class(r.names[i])
	}
	if item.Err == nil {
		item.Pix = r.pixels[(i-r.lo)*r.dim : (i-r.lo+1)*r.dim]
	}
	return item, nil
}

// ahead decodes the next pictures: one at first, because often no more are needed, then more and more.
func (r *Reader) ahead() error {
	n := min(max(2*(r.hi-r.lo), 1), r.most, len(r.names)-r.hi)
	n, err := r.source.load(r.hi, n)
	if err != nil {
		return err
	}
	r.lo, r.hi = r.hi, r.hi+n
	for len(r.errs) < n {
		r.errs = append(r.errs, nil)
		r.pixels = append(r.pixels, make([]uint8, r.dim)...)
	}
	return par.For(r.ctx, r.options.Threads, n, func(k int) {
		if why := r.bad[r.lo+k]; why != nil {
			r.errs[k] = why
			return
		}
		r.errs[k] = r.source.use(r.lo+k, func(encoded []byte) error {
			return r.decoder.decode(r.pixels[k*r.dim:(k+1)*r.dim], r.names[r.lo+k], encoded)
		})
	})
}

// Close ends the pass.
func (r *Reader) Close() error { return r.source.Close() }
