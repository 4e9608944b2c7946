package model

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// sketchSize is the number of hashes that a sketch keeps.
const sketchSize = 1024

// Sketch remembers in a few kilobytes which rows a model was trained on: the 1,024 smallest of their hashes
// (vectors.RowHash.Short), each once. Hashes are uniform, so these are a random sample of the distinct rows, and any
// other set of rows can be compared with it: of two rows with one hash, both are in the range of the sketch or neither
// is. This is the bottom-k sketch of Cohen and Kaplan (PODC 2007).
//
// The rows are those that enter the encoder: features of pictures rather than pixels, and vectors before the encoder
// scales or reduces them. Mirror images are rows too. A method may have sampled the rows it was given; the sketch
// covers all of them.
type Sketch struct {
	hashes []uint64 // ascending, all different
}

// NewSketch returns the sketch of rows with the given hashes, or nil if there are none. It does not change the hashes.
func NewSketch(hashes []uint64) *Sketch { return (*Sketch)(nil).With(hashes) }

// With returns the sketch of the rows of s, which may be nil, together with those of the given hashes.
func (s *Sketch) With(hashes []uint64) *Sketch {
	var kept []uint64
	if s != nil {
		kept = slices.Clone(s.hashes)
	}
	bound := uint64(math.MaxUint64)
	settle := func() {
		slices.Sort(kept)
		kept = slices.Compact(kept)
		if len(kept) >= sketchSize {
			kept = kept[:sketchSize]
			bound = kept[sketchSize-1]
		}
	}
	for _, h := range hashes {
		if h > bound {
			continue
		}
		if kept = append(kept, h); len(kept) >= 4*sketchSize {
			settle()
		}
	}
	if settle(); len(kept) == 0 {
		return nil
	}
	return &Sketch{slices.Clip(kept)}
}

// Len returns the number of rows that are kept.
func (s *Sketch) Len() int {
	if s == nil {
		return 0
	}
	return len(s.hashes)
}

// Merge returns the sketch of the rows of both, either of which may be nil.
func (s *Sketch) Merge(other *Sketch) *Sketch {
	if other == nil {
		return s
	}
	return s.With(other.hashes)
}

// Share estimates what share of the rows with the given hashes the model was trained on, counting repeated rows every
// time. It looks at those in the range of the sketch and returns how many those were: if 0, nothing is known. The
// estimate is exact if the model was trained on fewer than 1,024 distinct rows.
func (s *Sketch) Share(hashes []uint64) (share float64, rows int) {
	if s.Len() == 0 {
		return 0, 0
	}
	bound := uint64(math.MaxUint64)
	if len(s.hashes) == sketchSize {
		bound = s.hashes[sketchSize-1]
	}
	learned := 0
	for _, h := range hashes {
		if h > bound {
			continue
		}
		rows++
		if _, found := slices.BinarySearch(s.hashes, h); found {
			learned++
		}
	}
	return float64(learned) / float64(max(rows, 1)), rows
}

// MarshalText implements encoding.TextMarshaler: the hashes, 8 bytes each, highest first, in base64.
func (s *Sketch) MarshalText() ([]byte, error) {
	b := make([]byte, 0, 8*len(s.hashes))
	for _, h := range s.hashes {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sketch) UnmarshalText(text []byte) error {
	if len(text) > base64.StdEncoding.EncodedLen(8*sketchSize) {
		return fmt.Errorf("a sketch of more than %d rows", sketchSize)
	}
	b, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil || len(b) == 0 || len(b)%8 != 0 {
		return errors.New("a sketch of rows that cannot be read")
	}
	s.hashes = make([]uint64, len(b)/8)
	for i := range s.hashes {
		s.hashes[i] = binary.BigEndian.Uint64(b[8*i:])
		if i > 0 && s.hashes[i] <= s.hashes[i-1] {
			return fmt.Errorf("hash %d of the sketch is not greater than the one before it", i)
		}
	}
	return nil
}
