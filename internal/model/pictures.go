package model

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"

	"hashgrove/internal/fileio"
	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/vectors"
)

// Pictures: a model trained on pictures knows how they became vectors. First they are prepared, all to the same size
// and layout (Model.Pictures); then the extractor turns the pixels into vectors (Model.Features), or the pixels are the
// vectors. The fingerprint covers both: codes of pictures that were prepared differently cannot be compared.

// checkPictures reports a preparation that does not fit the rest of the model.
func (m *Model) checkPictures() error {
	if err := m.Pictures.Check(); err != nil {
		return fmt.Errorf("pictures: %w", err)
	}
	if m.Features != nil {
		if m.Pictures.Planar {
			return errors.New("pictures laid out channel after channel for an extractor, which takes the channels side by side")
		}
		return m.Features.Fits(m.Pictures.Shape)
	}
	if n := m.Pictures.Values(); n != m.Encoder.Dim() {
		return fmt.Errorf("pictures of %d values for an encoder of %d", n, m.Encoder.Dim())
	}
	return nil
}

// Schema describes the training rows, so that later rows can be read the same way.
func (m *Model) Schema() vectors.Schema {
	s := vectors.Schema{Names: m.Info.Features, Vector: m.Info.Vector, Label: m.Info.Label, Tags: m.Info.Tags}
	s.Missing = m.TakesMissing()
	if m.Pictures != nil {
		s.Pictures = m.Pictures
	}
	return s
}

// ErrPreparation reports pictures that were not prepared as the model says.
var ErrPreparation = errors.New("pictures are prepared in another way than those the model was learned from")

// Source returns a source of vectors to encode: the features of pictures if the model computes them, else the columns
// that the model was trained on, by name if both have names. Pictures must have been prepared as the model says, if it
// does.
func (m *Model) Source(src vectors.Source, threads int) (vectors.Source, error) {
	pictures, ok := picture.Of(src)
	if !ok {
		return m.pickColumns(src)
	}
	if m.Pictures != nil {
		have, want := pictures.Preparation(), *m.Pictures
		have.Mirrored = want.Mirrored
		if m.Features != nil {
			have.Planar = false // the extractor does not care
		}
		if have != want {
			return nil, fmt.Errorf("%w: %v, not %v", ErrPreparation, have, want)
		}
	}
	if m.Features == nil {
		return src, nil
	}
	return feature.Vectors(m.Features, pictures, threads)
}

// pickColumns selects the columns of the model by name. Their order and other columns do not matter; a missing column
// is an error.
func (m *Model) pickColumns(src vectors.Source) (vectors.Source, error) {
	names := src.Schema().Names
	if len(m.Info.Features) == 0 || len(names) == 0 || slices.Equal(names, m.Info.Features) {
		return src, nil
	}
	place := make(map[string]int, len(names))
	for j, name := range names {
		if _, twice := place[name]; twice && slices.Contains(m.Info.Features, name) {
			return nil, fmt.Errorf("two columns are called %q, so those of the model cannot be found by name: rename one", name)
		}
		place[name] = j
	}
	columns := make([]int, len(m.Info.Features))
	var missing []string
	for k, name := range m.Info.Features {
		at, ok := place[name]
		if columns[k] = at; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) == 1 {
		return nil, fmt.Errorf("the model was learned from a column %q, and the data have only %s: "+
			"if it has another name there, rename it", missing[0], message.Runs(names))
	} else if len(missing) > 1 {
		return nil, fmt.Errorf("the model was learned from columns that the data lack: %s; they have only %s: "+
			"if they have other names there, rename them",
			message.Runs(missing), message.Runs(names))
	}
	return vectors.Pick(src, columns), nil
}

// EncodeImage returns the code of a picture, prepared and turned into features like those the model was trained on. The
// image must be upright: package image ignores the camera's orientation tag.
func (m *Model) EncodeImage(img image.Image) ([]uint64, error) {
	x, err := m.ImageVector(img)
	if err != nil {
		return nil, err
	}
	return m.EncodeRow(x)
}

// ImageVector returns the vector of a picture, which EncodeImage encodes.
func (m *Model) ImageVector(img image.Image) ([]float32, error) {
	if m.Pictures == nil {
		return nil, errors.New("the model does not say how pictures become vectors: " +
			"it was learned from vectors, or by an older version")
	}
	row := make([]uint8, m.Pictures.Values())
	if err := m.Pictures.FromImage(row, img, 1); err != nil {
		return nil, err
	}
	return m.PixelVector(row)
}

// PixelVector returns the vector of a picture that was prepared as the model says.
func (m *Model) PixelVector(row []uint8) ([]float32, error) {
	x := make([]float32, m.Dim())
	if m.Features != nil {
		one := vectors.Matrix{Rows: 1, Cols: m.Dim(), Data: x}
		images := []picture.Picture{m.Pictures.Picture(row, nil)}
		if err := m.Features.Extract(context.Background(), images, one, 1); err != nil {
			return nil, err
		}
		return x, nil
	}
	for i, v := range row {
		x[i] = float32(v)
	}
	return x, nil
}

const (
	preparationBytes = 10

	flagPlanar   = 1
	flagSquash   = 2
	flagMirrored = 4
	flagAveraged = 8 // of models that are not read any more
)

var errAveraged = fmt.Errorf("%w: its codes add the scores of pictures and of their mirror images, which this program "+
	"does not do", fileio.ErrKind)

// codePreparation takes width and height, the number of channels, and flags.
func codePreparation(c *codec, p *picture.Preparation) {
	width, height, channels := uint32(p.Width), uint32(p.Height), uint8(p.Channels)
	c.number(&width)
	c.number(&height)
	c.number(&channels)
	flags := bitIf(flagPlanar, p.Planar) | bitIf(flagSquash, p.Squash) | bitIf(flagMirrored, p.Mirrored)
	if c.flags(&flags, flagPlanar|flagSquash|flagMirrored|flagAveraged); !c.reading {
		return
	}
	if flags&flagAveraged != 0 {
		c.fail(errAveraged)
	}
	p.Width, p.Height, p.Channels = int(width), int(height), int(channels)
	p.Planar, p.Squash, p.Mirrored = flags&flagPlanar != 0, flags&flagSquash != 0, flags&flagMirrored != 0
	c.fail(p.Check())
}
