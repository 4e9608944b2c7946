// Package feature turns pictures into vectors.
//
//	Pixels     the values as they are
//	GIST       energies of oriented filters in a grid of blocks (Oliva and Torralba, IJCV 2001)
//
// An extractor has canonical bytes, so that a model can store it and a fingerprint can cover it. A picture's vector
// depends on the extractor and the picture alone, byte for byte: not on other pictures, the number of cores, or the
// processor.
package feature

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"hashgrove/internal/message"
	"hashgrove/internal/par"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// Maker turns pictures into vectors.
type Maker interface {
	// Kind returns its name.
	Kind() string
	// Dim returns the length of the vectors.
	Dim() int
	// Fits returns an error if the maker does not accept pictures of this shape.
	Fits(s picture.Shape) error
	// Extract writes the vector of picture i to row i of dst, on the given number of threads (0 for all cores). It
	// panics if a picture does not fit.
	Extract(ctx context.Context, pictures []picture.Picture, dst vectors.Matrix, threads int) error
}

// Extractor is a Maker that a model can carry. All kinds are in this package.
type Extractor interface {
	Maker
	// Check returns an error if the extractor is invalid. Otherwise it can be used.
	Check() error
	// tag returns the first canonical byte; appendBody appends the others.
	tag() byte
	appendBody(dst []byte) []byte
}

// The first canonical byte of every kind.
const (
	pixelsTag = 1
	gistTag   = 2
)

// Append appends the canonical bytes of e, which are unique.
func Append(dst []byte, e Extractor) []byte { return e.appendBody(append(dst, e.tag())) }

// Parse is the inverse of Append: it consumes all of b or returns an error. Its result has passed Check.
func Parse(b []byte) (Extractor, error) {
	if len(b) == 0 {
		return nil, errors.New("a feature extractor of no bytes")
	}
	var (
		e   Extractor
		err error
	)
	switch b[0] {
	case pixelsTag:
		e, err = parsePixels(b[1:])
	case gistTag:
		e, err = parseGIST(b[1:])
	case 3, 4:
		return nil, message.New("codebook-features",
			"the model computes features with a codebook, which Hashgrove no longer "+
				"does: "+
				"train another one with GIST features, or on vectors that another program makes")
	default:
		return nil, message.New("unknown-type", "a feature extractor of unknown type %d", b[0])
	}
	if err != nil {
		return nil, err
	}
	return e, e.Check()
}

// Fingerprint identifies an extractor: the SHA-256 of its canonical bytes.
func Fingerprint(e Extractor) [sha256.Size]byte {
	return sha256.Sum256(Append([]byte("hashgrove features 1\n"), e))
}

// fitsSize returns an error for pictures that do not have the given size.
func fitsSize(s picture.Shape, width, height int) error {
	if s.Width != width || s.Height != height {
		return fmt.Errorf("%d x %d pixels, but the features were made for %d x %d: scale it first",
			s.Width, s.Height, width, height)
	}
	return nil
}

// take reads n 32-bit numbers from the front of b.
func take(b []byte, n int) (numbers []int, rest []byte, err error) {
	if len(b) < 4*n {
		return nil, nil, fmt.Errorf("a feature extractor cut short after %d bytes", len(b))
	}
	for i := range n {
		numbers = append(numbers, int(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return numbers, b[4*n:], nil
}

// put is the inverse of take.
func put(dst []byte, numbers ...int) []byte {
	for _, n := range numbers {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	return dst
}

// Pixels uses the bytes of the picture, 0 to 255, in order, as the vector.
type Pixels struct {
	Width, Height, Channels int
}

// Kind implements Extractor.
func (e *Pixels) Kind() string { return "pixels" }

// Dim implements Extractor.
func (e *Pixels) Dim() int { return e.Width * e.Height * e.Channels }

// Check implements Extractor.
func (e *Pixels) Check() error {
	return picture.Shape{Width: e.Width, Height: e.Height, Channels: e.Channels}.Check()
}

// Fits implements Extractor.
func (e *Pixels) Fits(s picture.Shape) error {
	if s.Channels != e.Channels {
		return fmt.Errorf("%d channels, but the features were made for %d", s.Channels, e.Channels)
	}
	return fitsSize(s, e.Width, e.Height)
}

// Extract implements Extractor.
func (e *Pixels) Extract(ctx context.Context, pictures []picture.Picture, dst vectors.Matrix, threads int) error {
	return par.Blocks(ctx, threads, len(pictures), 64, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := dst.Row(i)
			for j, v := range pictures[i].Pix {
				row[j] = float32(v)
			}
		}
	})
}

func (e *Pixels) tag() byte { return pixelsTag }

func (e *Pixels) appendBody(dst []byte) []byte { return put(dst, e.Width, e.Height, e.Channels) }

func parsePixels(b []byte) (*Pixels, error) {
	n, rest, err := take(b, 3)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes too many for pixels", len(rest))
	}
	return &Pixels{n[0], n[1], n[2]}, nil
}
