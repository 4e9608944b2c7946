package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"hashgrove/internal/dataset"
	"hashgrove/internal/index"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/gallery"
)

// album holds thumbnails of the items by id. They are made once, in one pass over the data, and stored in an
// unlinked temporary file. Memory holds only offsets, and no request ever names a file.
type album struct {
	data  picture.Source
	paths []string // of the data

	mu         sync.RWMutex
	unfinished bool // until all pictures are made
	file       *os.File
	at         map[index.ID]span
	size       int64
}

// span locates a picture in the file.
type span struct {
	from int64
	len  int32
}

// Side lengths of thumbnails in pixels: of photos, and the range a request may ask for.
const (
	albumSize = 160
	leastSize = 16
	mostSize  = 512
)

// newAlbum opens a data set of pictures.
func newAlbum(paths []string, id string) (*album, error) {
	set, err := dataset.Open(dataset.Spec{Paths: paths, ID: id})
	if err != nil {
		return nil, err
	}
	if _, ok := set.AsPictures(); ok && slices.Contains([]string{"folder", "tar", "picture"}, set.Format()) {
		// Photos are kept larger than models see them; CIFAR and IDX pictures keep their size.
		spec := dataset.Spec{Paths: paths, ID: id, Size: albumSize, SkipBad: true}
		if set, err = dataset.Open(spec); err != nil {
			return nil, err
		}
	}
	src, ok := set.AsPictures()
	if !ok {
		return nil, fmt.Errorf("%s holds vectors, not pictures", strings.Join(paths, ", "))
	}
	f, err := os.CreateTemp("", "hashgrove-album-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // the file lives while open; systems that refuse this remove it in close
	return &album{data: src, paths: paths, unfinished: true, file: f, at: map[index.ID]span{}}, nil
}

// fill makes the thumbnails of all items.
func (a *album) fill(ctx context.Context, x *index.Snapshot) error {
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.unfinished = false
	}()
	shape := a.data.Preparation().Shape
	var room []uint8
	for chunk, err := range a.data.Pictures(ctx) {
		if err != nil {
			return err
		}
		for i := range chunk.X.Rows {
			it, err := dataset.FromRow(chunk.Chunk, i, chunk.First+i)
			if err != nil {
				return err
			}
			it, known := itemOf(x, it.ID, a.paths...)
			if !known {
				continue // not in the index: the page shows a card instead
			}
			p := shape.Picture(chunk.Slice(i, i+1).Pix, room)
			b, err := encodePicture(p)
			if err == nil {
				err = a.add(it.ID, b)
			}
			if err != nil {
				return err
			}
		}
	}
	if len(a.at) == 0 {
		return fmt.Errorf("no picture in %s belongs to an item: pictures are matched by path or by number",
			strings.Join(a.paths, ", "))
	}
	return nil
}

// encodePicture encodes grey and small pictures as PNG, and larger ones as JPEG.
func encodePicture(p picture.Picture) ([]byte, error) {
	var b bytes.Buffer
	bounds := image.Rect(0, 0, p.Width, p.Height)
	if p.Channels == 1 {
		err := png.Encode(&b, &image.Gray{Pix: p.Pix, Stride: p.Width, Rect: bounds})
		return b.Bytes(), err
	}
	img, err := image.NewRGBA(bounds), error(nil)
	for i := range p.Width * p.Height {
		copy(img.Pix[4*i:], p.Pix[3*i:3*i+3])
		img.Pix[4*i+3] = 255
	}
	if p.Width*p.Height <= 64*64 {
		err = png.Encode(&b, img)
	} else {
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: 85})
	}
	return b.Bytes(), err
}

func (a *album) add(id index.ID, b []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return errors.New("the album is closed")
	}
	if _, err := a.file.WriteAt(b, a.size); err != nil {
		return err
	}
	a.at[id] = span{a.size, int32(len(b))}
	a.size += int64(len(b))
	return nil
}

// get returns an item's thumbnail, or nil. While thumbnails are being made it asks the client to come back.
func (a *album) get(id index.ID) ([]byte, error) {
	if a == nil {
		return nil, nil
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	p, ok := a.at[id]
	switch {
	case !ok && a.unfinished:
		return nil, problem(http.StatusServiceUnavailable,
			"the pictures are still being made, %d so far: try again in a moment", len(a.at))
	case !ok || a.file == nil:
		return nil, nil
	}
	b := make([]byte, p.len)
	_, err := a.file.ReadAt(b, p.from)
	return b, err
}

// progress returns the number of thumbnails, and whether more are being made.
func (a *album) progress() (made int, unfinished bool) {
	if a == nil {
		return 0, false
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	return len(a.at), a.unfinished
}

func (a *album) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return nil
	}
	name, err := a.file.Name(), a.file.Close()
	_ = os.Remove(name)
	a.file = nil
	return err
}

// picture sends an item's thumbnail.
func (s *Server) picture(a *answer, r *http.Request, c *collection, id index.ID) (any, error) {
	size, err := whole(r, "size", albumSize, leastSize, mostSize)
	if err != nil {
		return nil, err
	}
	var b []byte
	if _, known := c.open().snapshot().Get(id); known {
		if b, err = c.album.get(id); err != nil {
			return nil, err
		}
	}
	if b == nil {
		return nil, problem(http.StatusNotFound, "there is no picture of the item %.80q", id)
	}
	if b, err = shrink(b, size); err != nil {
		return nil, err
	}
	a.Header().Set("Cache-Control", "private, max-age=600")
	a.body(http.StatusOK, http.DetectContentType(b), b)
	return nil, nil
}

// shrink scales a picture down to at most size pixels a side.
func shrink(b []byte, size int) ([]byte, error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if config.Width <= size && config.Height <= size {
		return b, nil
	}
	prep := picture.Preparation{Shape: picture.Shape{Width: size, Height: size, Channels: 3}}
	row, err := gallery.Row(prep, b, mostSize*mostSize)
	if err != nil {
		return nil, err
	}
	return encodePicture(prep.Picture(row, nil))
}
