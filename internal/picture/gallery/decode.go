package gallery

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"hashgrove/internal/message"
	"hashgrove/internal/picture"
)

const (
	maxEncoded = 512 << 20 // bytes of a file, checked before memory is allocated

	// Larger pictures are decoded alone, so that memory is bounded by one of them, not by one per core.
	largePixels, largeEncoded = 1 << 24, 32 << 20
)

// codec is a picture format.
type codec struct {
	name    string
	looks   func(head []byte) bool // checks the first sniffed bytes
	endings []string
}

// sniffed is the number of bytes that identify the format.
const sniffed = 32

// codecs are the formats that package hashgrove/format/pictures decodes. TIFF comes last: raw camera files begin like
// it.
var codecs = []codec{
	{"JPEG", begins("\xff\xd8\xff"), []string{".jpg", ".jpeg", ".jpe", ".jfif"}},
	{"PNG", begins("\x89PNG\r\n\x1a\n"), []string{".png"}},
	{"GIF", begins("GIF87a", "GIF89a"), []string{".gif"}},
	{"WebP", looksWebP, []string{".webp"}},
	{"BMP", looksBMP, []string{".bmp", ".dib"}},
	{"TIFF", begins("II*\x00", "MM\x00*"), []string{".tif", ".tiff"}},
}

// codecNames lists the formats for messages.
var codecNames = func() string {
	var names []string
	for _, c := range codecs {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}()

func begins(with ...string) func(head []byte) bool {
	return func(head []byte) bool {
		return slices.ContainsFunc(with, func(s string) bool { return bytes.HasPrefix(head, []byte(s)) })
	}
}

func looksWebP(h []byte) bool {
	return len(h) >= 12 && string(h[:4]) == "RIFF" && string(h[8:12]) == "WEBP"
}

// looksBMP checks more than the two letters, with which a text may begin as well: zeros where they belong and a known
// length of the second header.
func looksBMP(h []byte) bool {
	if len(h) < 18 || string(h[:2]) != "BM" || binary.LittleEndian.Uint32(h[6:]) != 0 {
		return false
	}
	return slices.Contains([]uint32{12, 16, 40, 52, 56, 64, 108, 124}, binary.LittleEndian.Uint32(h[14:]))
}

// sniff returns the format, or nil if it is unknown.
func sniff(head []byte) *codec {
	for i := range codecs {
		if codecs[i].looks(head) {
			return &codecs[i]
		}
	}
	return nil
}

// Endings are the extensions of supported picture files.
var Endings = func() (all []string) {
	for _, c := range codecs {
		all = append(all, c.endings...)
	}
	return all
}()

// foreignEndings are the extensions of unsupported picture files, which are reported instead of skipped.
var foreignEndings = []string{".heic", ".heif", ".avif", ".jxl", ".jp2", ".svg"}

// Promises reports whether a name has the extension of a picture.
func Promises(name string) bool {
	ending := strings.ToLower(path.Ext(name))
	return slices.Contains(Endings, ending) || slices.Contains(foreignEndings, ending)
}

// isPicture reports whether a file is a picture, by its name or else by its first bytes. A broken file with a picture's
// name is a broken picture; other files are ignored.
func isPicture(name string, head func() []byte) bool {
	if Promises(name) {
		return true
	}
	c := sniff(head())
	return c != nil && c.name != "TIFF"
}

// Looks reports whether a file is a single picture, by its name and first bytes.
func Looks(name string, head []byte) bool {
	return isPicture("", func() []byte { return head[:min(len(head), sniffed)] }) || Promises(name) && sniff(head) != nil
}

// Row decodes a picture of at most the given number of pixels and prepares it.
func Row(p picture.Preparation, encoded []byte, pixels int) ([]uint8, error) {
	row := make([]uint8, p.Values())
	return row, decoder{Preparation: p, limit: pixels}.decode(row, "", encoded)
}

// decoder turns encoded pictures into rows.
type decoder struct {
	picture.Preparation
	limit int         // pixels; 0 means picture.MaxPixels
	large *sync.Mutex // held while a large picture is decoded
}

// decode writes the row of an encoded picture to dst. The name is used in messages only.
func (d decoder) decode(dst []uint8, name string, b []byte) (err error) {
	c := sniff(b[:min(len(b), sniffed)])
	switch ending := strings.ToLower(path.Ext(name)); {
	case len(b) == 0:
		return message.New("empty-file", "is empty")
	case c == nil && slices.Contains(foreignEndings, ending):
		return message.New("unread-picture",
			"is a picture of a kind that is not read (%s): convert it to JPEG or PNG", ending[1:])
	case c == nil:
		return message.New("not-a-picture", "is not a picture: it does not begin like %s", codecNames)
	}
	// A decoder's bug, triggered by a hostile file, must not stop the reading of a million others.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("is a broken %s file (%v)", c.name, p)
		}
	}()
	if picture.Decoders == nil {
		return picture.ErrNoDecoders
	}
	config, err := picture.Decoders[c.name].Config(bytes.NewReader(b))
	if err != nil {
		return c.broken(err)
	}
	limit := cmp.Or(d.limit, picture.MaxPixels)
	w, h := config.Width, config.Height
	switch {
	case w < 1 || h < 1:
		return fmt.Errorf("is a %s file without pixels", c.name)
	case w > picture.MaxSide || h > picture.MaxSide:
		return message.New("too-many-pixels",
			"claims %d x %d pixels: more than %d on a side are refused", w, h, picture.MaxSide)
	case w*h > limit:
		return message.New("too-many-pixels",
			"claims %d x %d pixels: more than %d megapixels are refused", w, h, limit/1_000_000)
	}
	if c.name == "JPEG" && jpegScans(b) > maxScans {
		return message.New("too-many-scans",
			"is a JPEG file of more than %d scans, which would take long: save it again", maxScans)
	}
	if d.large != nil && w*h > largePixels {
		d.large.Lock()
		defer d.large.Unlock()
	}
	img, err := picture.Decoders[c.name].Decode(bytes.NewReader(b))
	if err != nil {
		return c.broken(err)
	}
	screen := image.Rect(0, 0, w, h)
	if c.name == "GIF" && img.Bounds() != screen {
		// The first picture of a GIF file may cover only part of the screen; the rest is transparent.
		all := image.NewRGBA(screen)
		draw.Draw(all, img.Bounds(), img, img.Bounds().Min, draw.Src)
		img = all
	}
	if img.Bounds() != screen {
		return fmt.Errorf("is a broken %s file: it promises %d x %d pixels but has %d x %d",
			c.name, w, h, img.Bounds().Dx(), img.Bounds().Dy())
	}
	return d.FromImage(dst, img, orientation(c.name, b))
}

// broken rephrases the error of a decoder.
func (c *codec) broken(err error) error {
	// Package png reports the end of a file only as text.
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		strings.HasSuffix(err.Error(), io.ErrUnexpectedEOF.Error()) {
		return message.New("cut-off", "is cut off: the %s data end too early", c.name)
	}
	return message.New("damaged", "cannot be decoded as %s (%w)", c.name, err)
}
