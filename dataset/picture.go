package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"hashgrove/internal/par"
)

// Pictures are rows: the vector of a picture is its pixels, values from 0 to 255, all pictures of a set having one
// Shape. CIFAR and IDX files have theirs; pictures from folders, archives and single files get a square of Spec.Size
// pixels, red, green and blue side by side. They have three channels even if all of them are grey: the shape must be
// known before the pictures are read, and one coloured picture among thousands must not change the layout of all.

const (
	defaultSize = 32   // as CIFAR and the tiny images: a few thousand values, and the kind of scene is still seen
	maxSize     = 1024 // 3 million values
)

// pictureOptions is how pictures become rows, as the Spec says.
type pictureOptions struct {
	size       int // 0 is the default of the format
	fit        string
	grey       bool
	threads    int
	unlabelled bool // labels or tags come from files, so folders are no classes
}

func (o pictureOptions) check() error {
	if o.size < 0 || o.size > maxSize {
		return fmt.Errorf("--size %d: give the edge of the pictures in pixels, 1 to %d", o.size, maxSize)
	}
	if o.fit != "" && o.fit != "crop" && o.fit != "squash" {
		return fmt.Errorf("--fit %q: give crop or squash", o.fit)
	}
	return nil
}

// to is how pictures become squares of that size.
func (o pictureOptions) to(size int) fit {
	return fit{size: size, squash: o.fit == "squash", grey: o.grey}
}

// Shape tells the layout of the rows, if they are pictures.
func (s *Set) Shape() (Shape, bool) { return s.shape, s.shape != Shape{} }

// checkShape refuses pictures of different layouts in one set, although their rows may be of one length.
func (s *Set) checkShape(path string, shape Shape) error {
	first := len(s.files) == 1
	switch {
	case first:
		s.shape = shape
	case shape == Shape{} || s.shape == Shape{}:
		s.shape = Shape{} // vectors and pictures together are vectors
	case shape != s.shape:
		return fmt.Errorf("%s: pictures of %v, but those of %s are %v", path, shape, s.files[0].path, s.shape)
	}
	return nil
}

// String describes the layout.
func (s Shape) String() string {
	kind := "grey"
	switch {
	case s.Channels > 1 && s.Planar:
		kind = "colour, channel after channel"
	case s.Channels > 1:
		kind = "colour"
	}
	return fmt.Sprintf("%d x %d pixels, %s", s.Width, s.Height, kind)
}

// refit changes the pictures of a file that has a shape of its own to what is asked for.
func (o pictureOptions) refit(path string, r reader, h header) (reader, header, error) {
	asked := o.size > 0 || o.fit != "" || o.grey
	if h.gallery != nil || !asked {
		return r, h, nil
	}
	if h.shape == (Shape{}) {
		return nil, h, fmt.Errorf("%s: holds vectors, not pictures, which --size, --fit and --grey are for", path)
	}
	from := h.shape
	if o.size > 0 {
		h.shape.Width, h.shape.Height = o.size, o.size
	}
	f := o.to(o.size)
	h.shape.Channels = f.channels(from.Channels)
	h.shape.Planar = from.Planar && h.shape.Channels > 1
	h.dim = h.shape.Width * h.shape.Height * h.shape.Channels
	return &refitted{r, from, h.shape, f, make([]uint8, h.dim)}, h, nil
}

// refitted reads pictures and changes their size or makes them grey.
type refitted struct {
	reader
	from, to Shape
	fit
	pixels []uint8
}

func (r *refitted) next(rec *record) error {
	if err := r.reader.next(rec); err != nil {
		return err
	}
	v := rec.vector
	at := func(x, y, c int) uint8 {
		if r.from.Planar {
			return uint8(v[(c*r.from.Height+y)*r.from.Width+x])
		}
		return uint8(v[(y*r.from.Width+x)*r.from.Channels+c])
	}
	if r.size > 0 {
		r.apply(r.pixels, r.from.Width, r.from.Height, r.from.Channels, 1, func(dst []uint8, x0, x1, y int) {
			for x := x0; x < x1; x++ {
				for c := range r.from.Channels {
					dst[(x-x0)*r.from.Channels+c] = at(x, y, c)
				}
			}
		})
	} else { // grey of the same size
		for i := range r.pixels {
			if x, y := i%r.to.Width, i/r.to.Width; r.from.Channels == 3 {
				r.pixels[i] = luma(at(x, y, 0), at(x, y, 1), at(x, y, 2))
			} else {
				r.pixels[i] = at(x, y, 0)
			}
		}
	}
	rec.vector = rec.vector[:0]
	if !r.to.Planar {
		rec.vector = appendBytes(rec.vector, r.pixels)
		return nil
	}
	for c := range r.to.Channels {
		for i := c; i < len(r.pixels); i += r.to.Channels {
			rec.vector = append(rec.vector, float32(r.pixels[i]))
		}
	}
	return nil
}

func appendBytes(dst []float32, b []uint8) []float32 {
	for _, v := range b {
		dst = append(dst, float32(v))
	}
	return dst
}

// gallery is a place with pictures and what was found there. It is made once, when the set is opened: all passes see
// the same pictures in the same order.
type gallery struct {
	path    string // as the user named it, in slashes
	format  string // "folder", "tar" or "picture"
	names   []string
	places  []int          // of a tar: the number of each entry
	bad     map[int]string // pictures that cannot be read, and why
	top     int            // bytes of the names before the classes begin
	classes bool           // the first folder of a name is the class
	options pictureOptions
	shelf   func() (shelf, error)
}

// shelf is where the encoded pictures of a gallery are taken from in one pass.
type shelf interface {
	// load makes the next pictures ready, in order, at most n of them and at least one; an error ends the pass.
	load(first, n int) (int, error)
	// use lends the bytes of a picture that is ready. It is called by several workers at the same time.
	use(i int, f func(encoded []byte) error) error
	Close() error
}

// settle finds the classes, once all names are known.
func (g *gallery) settle() {
	g.classes = false
	if g.options.unlabelled {
		return
	}
	for _, name := range g.names {
		g.classes = g.classes || g.class(name) != ""
	}
	if !g.classes {
		return
	}
	for i, name := range g.names {
		if g.class(name) == "" {
			g.spoil(i, "lies beside the folders that are the classes, so it has none: move it into one of them")
		}
	}
}

func (g *gallery) spoil(i int, why string) {
	if g.bad == nil {
		g.bad = map[int]string{}
	}
	g.bad[i] = why
}

// class is the first folder in a name, or "".
func (g *gallery) class(name string) string {
	class, _, found := strings.Cut(name[g.top:], "/")
	if !found {
		return ""
	}
	return class
}

// id is the path of a picture, in slashes; one inside an archive follows the path of the archive.
func (g *gallery) id(i int) string {
	switch {
	case g.path == "." || g.path == "":
		return g.names[i]
	case strings.HasSuffix(g.path, "/"):
		return g.path + g.names[i]
	}
	return g.path + "/" + g.names[i]
}

func (g *gallery) header() header {
	size := cmp.Or(g.options.size, defaultSize)
	channels := g.options.to(size).channels(3)
	return header{
		format: g.format, rows: len(g.names), dim: size * size * channels, bytes: true,
		shape: Shape{Width: size, Height: size, Channels: channels}, gallery: g,
	}
}

// open begins a pass.
func (g *gallery) open(ctx context.Context) (reader, error) {
	s, err := g.shelf()
	if err != nil {
		return nil, err
	}
	h := g.header()
	r := &pictureReader{ctx: ctx, gallery: g, shelf: s, square: g.options.to(h.shape.Width), dim: h.dim}
	r.square.large = &r.alone
	threads := par.Threads(g.options.threads)
	r.most = min(max(aheadBytes/h.dim, threads), max(64, 8*threads))
	return r, nil
}

// aheadBytes bounds the decoded pictures that wait to be handed out.
const aheadBytes = 32 << 20

// pictureReader decodes pictures on all cores, some ahead, and hands them out in order.
type pictureReader struct {
	ctx context.Context // of the pass, which is as long as the reader lives
	*gallery
	shelf  shelf
	square fit
	alone  sync.Mutex
	dim    int
	most   int // pictures decoded together
	row    int // the next one
	lo, hi int // those that are decoded
	pixels []uint8
	errs   []error
}

func (r *pictureReader) next(rec *record) error {
	*rec = record{vector: rec.vector[:0], tags: rec.tags[:0]}
	if r.row == len(r.names) {
		return io.EOF
	}
	if r.row == r.hi {
		if err := r.ahead(); err != nil {
			return err
		}
	}
	i := r.row
	r.row++
	rec.id = r.id(i)
	if r.classes {
		rec.label, rec.hasLabel = r.class(r.names[i]), true
	}
	if err := r.errs[i-r.lo]; err != nil {
		return &RowError{File: rec.id, Row: -1, Msg: err.Error()}
	}
	rec.vector = appendBytes(rec.vector, r.pixels[(i-r.lo)*r.dim:(i-r.lo+1)*r.dim])
	return nil
}

// ahead decodes the next pictures: one at first, since the first is often all that is wanted, then more and more.
func (r *pictureReader) ahead() error {
	n := min(max(2*(r.hi-r.lo), 1), r.most, len(r.names)-r.hi)
	n, err := r.shelf.load(r.hi, n)
	if err != nil {
		return err
	}
	r.lo, r.hi = r.hi, r.hi+n
	for len(r.errs) < n {
		r.errs = append(r.errs, nil)
		r.pixels = append(r.pixels, make([]uint8, r.dim)...)
	}
	return par.For(r.ctx, r.options.threads, n, func(k int) {
		if why := r.bad[r.lo+k]; why != "" {
			r.errs[k] = errors.New(why)
			return
		}
		r.errs[k] = r.shelf.use(r.lo+k, func(encoded []byte) error {
			return r.square.decode(r.pixels[k*r.dim:(k+1)*r.dim], r.names[r.lo+k], encoded)
		})
	})
}

func (r *pictureReader) Close() error { return r.shelf.Close() }
