// Package gallery reads pictures from folders, tar archives and single files. It lists them once, decodes them on all
// cores, turns them upright, prepares them, and returns them in order.
//
//	Folder, Archive, File  -> Gallery, the list of pictures
//	Gallery.Read           -> Reader, one pass over them
package gallery

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"hashgrove/internal/fault"
	"hashgrove/internal/par"
	"hashgrove/internal/picture"
)

// Options is how pictures become rows.
type Options struct {
	picture.Preparation
	Threads    int  // that decode; 0 means all cores
	Unlabelled bool // folders are not classes

	// Hold counts the memory that the names of an archive take, and says when that is too much; nil counts nothing.
	Hold func(bytes int) error

	// Most is how many bytes a picture of an archive may have, because those of the archive are worth no more; 0 means
	// as many as any picture.
	Most int64
}

// nameBytes is the memory for a picture of a gallery, besides its name.
const nameBytes = 64

// maxPictures bounds the pictures of a gallery.
const maxPictures = 1 << 28

// Gallery is a place with pictures and what was found there. It is made once: all passes see the same pictures in the
// same order.
type Gallery struct {
	path    string // as the user named it, in slashes
	names   []string
	places  []int         // of a tar: the number of each entry
	bad     map[int]error // pictures that cannot be read, and why
	top     int           // bytes of the names before the classes begin
	classes bool          // the first folder of a name is the class
	options Options
	open    func() (fileSource, error)
}

// fileSource is where the encoded pictures of a gallery are taken from in one pass.
type fileSource interface {
	// load makes the next pictures ready, in order, at most n of them and at least one; an error ends the pass.
	load(first, n int) (int, error)
	// use lends the bytes of a picture that is ready. It is called by several workers at the same time.
	use(i int, f func(encoded []byte) error) error
	Close() error
}

// settle finds the classes, once all names are known, and checks the options.
func (g *Gallery) settle() error {
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
			g.spoil(i, fault.New("no-class",
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

// class is the first folder in a name, or "".
func (g *Gallery) class(name string) string {
	class, _, found := strings.Cut(name[g.top:], "/")
	if !found {
		return ""
	}
	return class
}

// Len is the number of pictures.
func (g *Gallery) Len() int { return len(g.names) }

// Shape is the layout of the rows.
func (g *Gallery) Shape() picture.Shape { return g.options.Shape }

// Sorted reports whether the pictures are in the order of their names as plain text.
func (g *Gallery) Sorted() bool { return slices.IsSorted(g.names) }

// Name is the path of a picture in the folder or archive, and that below a folder which all of an archive share.
func (g *Gallery) Name(i int) (name, below string) { return g.names[i], g.names[i][g.top:] }

// ID is the path of a picture, in slashes; one inside an archive follows the path of the archive.
func (g *Gallery) ID(i int) string {
	switch {
	case g.path == "." || g.path == "":
		return g.names[i]
	case strings.HasSuffix(g.path, "/"):
		return g.path + g.names[i]
	}
	return g.path + "/" + g.names[i]
}

// Read begins a pass.
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

// aheadBytes bounds the decoded pictures that wait to be handed out.
const aheadBytes = 32 << 20

// Reader decodes pictures on all cores, some ahead, and hands them out in order.
type Reader struct {
	ctx context.Context // of the pass, which is as long as the reader lives
	*Gallery
	source  fileSource
	decoder decoder
	alone   sync.Mutex
	dim     int
	most    int // pictures decoded together
	row     int // the next one
	lo, hi  int // those that are decoded
	pixels  []uint8
	errs    []error
}

// Item is one picture. Its row is lent until the next.
type Item struct {
	ID       string
	Label    string // its class
	Labelled bool
	Pix      []uint8 // as the Preparation says; nil when Err says why there is none
	Err      error
}

// Next returns the next picture, and io.EOF after the last. Every other error ends the pass.
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

// Skip leaves out the next n pictures, or all that are left when there are fewer, without reading them.
func (r *Reader) Skip(n int) {
	if r.row += min(n, len(r.names)-r.row); r.row > r.hi {
		r.lo, r.hi = r.row, r.row
	}
}

// ahead decodes the next pictures: one at first, since the first is often all that is wanted, then more and more.
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
