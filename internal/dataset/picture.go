package dataset

import (
	"context"
	"fmt"
	"io"
	"iter"

	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/gallery"
)

// Pictures are rows: the vector of a picture is its pixels, values from 0 to 255, and all pictures of a set have the
// same shape. CIFAR and IDX files have their own; pictures from folders, archives and single files become squares of
// Spec.Size pixels, red, green and blue side by side. They have three channels even if all of them are grey: the shape
// must be known before the pictures are read, and one coloured picture among thousands must not change the layout of
// all.

// defaultSize is that of CIFAR and the tiny images: a few thousand values, and the kind of scene is still recognisable.
const defaultSize = 32

// checkPictures reports a form of pictures that cannot be made.
func (spec *Spec) checkPictures() error {
	switch {
	case spec.Size < 0 || spec.Size > picture.MaxSize:
		return message.New("bad-size", "pictures of %d pixels on a side: 1 to %d are allowed", spec.Size, picture.MaxSize)
	case spec.Fit != "" && spec.Fit != "crop" && spec.Fit != "squash":
		return message.New("unknown-fit", "pictures cannot be fitted by %q: crop or squash are the ways", spec.Fit)
	case spec.Pictures != nil && spec.asked():
		return message.New("other-preparation",
			"the model prepares pictures as those it learned from: leave out their size, fit and grey")
	case spec.Pictures != nil:
		return spec.Pictures.Check()
	}
	return nil
}

// asked reports whether pictures should have another form than that of the format.
func (spec *Spec) asked() bool { return spec.Size > 0 || spec.Fit != "" || spec.Grey }

// preparation returns how pictures of a shape become rows.
func (spec *Spec) preparation(own picture.Shape) picture.Preparation {
	if spec.Pictures != nil {
		return *spec.Pictures
	}
	p := picture.Preparation{Shape: own, Squash: spec.Fit == "squash"}
	if spec.Size > 0 {
		p.Width, p.Height = spec.Size, spec.Size
	}
	if spec.Grey {
		p.Channels, p.Planar = 1, false
	}
	return p
}

// gallery returns the options for reading pictures that have no shape of their own.
func (spec *Spec) gallery() gallery.Options {
	supervised := len(spec.LabelsFile) > 0 || len(spec.TagsFile) > 0 // then folders are not classes
	own := picture.Shape{Width: defaultSize, Height: defaultSize, Channels: 3}
	return gallery.Options{Preparation: spec.preparation(own), Threads: spec.Threads, Unlabelled: supervised}
}

// AsPictures returns the source of the pictures, if the rows are pictures.
func (s *Set) AsPictures() (picture.Source, bool) { return picture.Of(s) }

// Preparation implements picture.Source.
func (s *Set) Preparation() picture.Preparation {
	if s.shape == (picture.Shape{}) {
		return picture.Preparation{}
	}
	return s.spec.preparation(s.shape)
}

// Pictures implements picture.Source.
func (s *Set) Pictures(ctx context.Context) iter.Seq2[picture.Chunk, error] {
	return func(yield func(picture.Chunk, error) bool) {
		if err := s.run(ctx, func(c picture.Chunk) bool { return yield(c, nil) }); err != nil {
			yield(picture.Chunk{}, err)
		}
	}
}

// checkShape rejects pictures of different layouts in one set, even if their rows are of one length.
func (s *Set) checkShape(path string, shape picture.Shape) error {
	first := len(s.files) == 1
	switch {
	case first:
		s.shape = shape
	case shape == picture.Shape{} || s.shape == picture.Shape{}:
		s.shape = picture.Shape{} // vectors and pictures together are vectors
	case shape != s.shape:
		return message.New("shape-mismatch",
			"%s: pictures of %v, but those of %s are %v", path, shape, s.files[0].path, s.shape)
	}
	return nil
}

// refit converts the pictures of a file with its own shape to the form asked for.
func (spec *Spec) refit(path string, r reader, h header) (reader, header, error) {
	if h.gallery != nil {
		return r, h, nil
	}
	if h.shape == (picture.Shape{}) {
		if spec.asked() {
			return nil, h, message.New("not-pictures",
				"%s: holds vectors, not pictures: there is nothing to resize or to make grey", path)
		}
		return r, h, nil
	}
	from, to := h.shape, spec.preparation(h.shape)
	if from == to.Shape {
		return r, h, nil
	}
	if from.Width != to.Width || from.Height != to.Height {
		if err := to.CanResize(); err != nil {
			return nil, h, fmt.Errorf("%s: %w", path, err)
		}
	}
	h.shape, h.dim = to.Shape, to.Values()
	return &refitted{r, from, to}, h, nil
}

// refitted reads pictures and changes their size, colours or layout.
type refitted struct {
	reader
	from picture.Shape
	to   picture.Preparation
}

func (r *refitted) next(rec *record) error {
	room := rec.pixels
	err := r.reader.next(rec)
	own := rec.pixels
	rec.pixels = append(room[:0], make([]uint8, r.to.Values())...)
	if err != nil {
		return err
	}
	r.to.FromRow(rec.pixels, own, r.from)
	return nil
}

// openFolder opens a folder of pictures.
func openFolder(dir string, spec *Spec) (reader, header, error) {
	g, err := gallery.Folder(dir, spec.gallery())
	return openGallery("folder", g, err)
}

// openPicture opens a single picture.
func openPicture(in *input, spec *Spec) (reader, header, error) {
	if in.packed != "" {
		return nil, header{}, message.New("packed-inside",
			"%s: is a picture inside %s: decompress it first", in.path, in.packed)
	}
	if err := in.Close(); err != nil {
		return nil, header{}, err
	}
	g, err := gallery.File(in.path, spec.gallery())
	return openGallery("picture", g, err)
}

func looksPicture(s *sample) bool { return gallery.Looks(s.name, s.head) }

func looksTar(s *sample) bool { return len(s.head) >= 512 && string(s.head[257:262]) == "ustar" }

// openTar opens an archive of pictures, plain or compressed with gzip or zstd.
func openTar(in *input, spec *Spec) (reader, header, error) {
	var content io.Reader = in.buf
	if in.at != nil {
		content = io.NewSectionReader(in.at, 0, in.size) // seeks over what is not looked at
	}
	file := in.path
	open := func() (io.ReadCloser, error) {
		in, err := openInput(file)
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{in.buf, in}, nil
	}
	options := spec.gallery()
	options.Hold, options.Most = in.hold, pictureBytes+pictureFactor*in.disk
	g, err := gallery.Archive(file, content, open, options)
	if err != nil {
		return nil, header{}, err
	}
	return openGallery("tar", g, in.Close())
}

// openGallery starts a pass over pictures.
func openGallery(format string, g *gallery.Gallery, err error) (reader, header, error) {
	if err != nil {
		return nil, header{}, err
	}
	r, err := readGallery(context.Background(), g)
	shape := g.Shape()
	return r, header{format: format, rows: g.Len(), dim: shape.Values(), shape: shape, gallery: g}, err
}

func readGallery(ctx context.Context, g *gallery.Gallery) (reader, error) {
	r, err := g.Read(ctx)
	return galleryReader{r}, err
}

// galleryReader turns pictures into records.
type galleryReader struct{ *gallery.Reader }

func (r galleryReader) next(rec *record) error {
	item, err := r.Next()
	if err != nil {
		return err
	}
	*rec = record{pixels: append(rec.pixels[:0], item.Pix...), tags: rec.tags[:0], id: item.ID}
	rec.label, rec.hasLabel = item.Label, item.Labelled
	if item.Err != nil {
		return badRow(item.ID, -1, "", item.Err)
	}
	return nil
}
