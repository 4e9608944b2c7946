package feature

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"hashgrove/internal/section"
	"hashgrove/internal/vectors"
)

// A file holds one extractor; docs/formats.md draws it.
//
//	"feat"   canonical bytes
//	"made"   how a codebook was learned: CodebookOptions as JSON; empty for other kinds
//	"bins"   from version 2 on: the range of each value if vectors were written as bytes; else empty
//
// Version 1 holds pixels, GIST and codebooks, and is still written for these. Version 2 adds scaled codebooks and the
// ranges of bytes.
const newestVersion = 2

// Limits of a file: the largest codebook, and a page of options.
const (
	maxBytes = 64 + 4*MaxWords*(1+3*maxSquare*maxSquare)
	maxMade  = 1 << 12
)

// Saved is the content of a file: an extractor and, if its vectors were written as bytes, the meaning of these bytes.
// Bytes of other pictures are comparable only if they are made with the same bins.
type Saved struct {
	Extractor Extractor
	Bins      vectors.Quantizer // without columns if no bytes were made
}

// version returns the version of the file.
func (s Saved) version() uint32 {
	if s.Bins.Dim() > 0 || Scaled(s.Extractor) {
		return 2
	}
	return 1
}

// check returns an error if the content cannot be written.
func (s Saved) check() error {
	if err := s.Extractor.Check(); err != nil {
		return err
	}
	if n := s.Bins.Dim(); n > 0 && n != s.Extractor.Dim() {
		return fmt.Errorf("bins of %d values for vectors of %d", n, s.Extractor.Dim())
	}
	return s.Bins.Check()
}

// Write writes a valid extractor and its bins.
func (s Saved) Write(w io.Writer) error {
	if err := s.check(); err != nil {
		return err
	}
	var made []byte
	if c, ok := s.Extractor.(*Codebook); ok {
		options := c.Made
		options.Norm = 0 // implied by the extractor
		b, err := json.Marshal(options)
		if err != nil {
			return fmt.Errorf("how the codebook was learned: %w", err)
		}
		made = b
	}
	out := section.NewWriter(w, section.Features, s.version())
	// Later sections return the errors of earlier ones.
	_ = out.Section("feat", Append(nil, s.Extractor))
	_ = out.Section("made", made)
	if s.version() > 1 {
		var bins []byte
		for _, bounds := range [][]float32{s.Bins.Lo, s.Bins.Hi} {
			bins, _ = binary.Append(bins, binary.LittleEndian, bounds) // cannot fail
		}
		_ = out.Section("bins", bins)
	}
	return out.Close()
}

// ReadSaved is the inverse of Saved.Write. The extractor has passed Check.
func ReadSaved(r io.Reader) (Saved, error) {
	in, err := section.NewReader(r, section.Features, newestVersion)
	if err != nil {
		return Saved{}, err
	}
	b, err := in.Expect("feat", maxBytes)
	if err != nil {
		return Saved{}, err
	}
	var s Saved
	if s.Extractor, err = Parse(b); err != nil {
		return Saved{}, in.Damaged("%v", err)
	}
	made, err := in.Expect("made", maxMade)
	if err != nil {
		return Saved{}, err
	}
	if err := setMade(s.Extractor, made); err != nil {
		return Saved{}, in.Damaged("%v", err)
	}
	if in.Version > 1 {
		if b, err = in.Expect("bins", 8*s.Extractor.Dim()); err != nil {
			return Saved{}, err
		}
		if len(b)%8 != 0 {
			return Saved{}, in.Damaged("bins in %d bytes", len(b))
		}
		bounds := make([]float32, len(b)/4)
		_, _ = binary.Decode(b, binary.LittleEndian, bounds) // cannot fail
		n := len(bounds) / 2
		s.Bins = vectors.Quantizer{Lo: bounds[:n:n], Hi: bounds[n:]}
	}
	if err := s.check(); err != nil {
		return Saved{}, in.Damaged("%v", err)
	}
	if v := s.version(); v != in.Version {
		return Saved{}, in.Damaged("version %d of an extractor that makes a file of version %d", in.Version, v)
	}
	return s, in.End()
}

// setMade records how a codebook was learned.
func setMade(e Extractor, made []byte) error {
	c, ok := e.(*Codebook)
	switch {
	case !ok && len(made) > 0:
		return errors.New("it says how a codebook was learned, but there is none")
	case !ok:
		return nil
	}
	if err := json.Unmarshal(made, &c.Made); err != nil {
		return fmt.Errorf("how the codebook was learned: %w", err)
	}
	// An extractor has exactly one file, so the JSON must be complete and in canonical form.
	if again, err := json.Marshal(c.Made); err != nil || !bytes.Equal(again, made) || c.Made.Norm != 0 {
		return errors.New("the record of how the codebook was learned is not in canonical form")
	}
	c.Made.Norm = c.Norm
	return nil
}

// Write writes e, which must pass Check.
func Write(w io.Writer, e Extractor) error { return Saved{Extractor: e}.Write(w) }

// Read is the inverse of Write. Its result has passed Check.
func Read(r io.Reader) (Extractor, error) {
	s, err := ReadSaved(r)
	return s.Extractor, err
}

// WriteFile writes to the file at path atomically.
func (s Saved) WriteFile(path string) error {
	if err := section.WriteFile(path, s.Write); err != nil {
		return fmt.Errorf("write features to %s: %w", path, err)
	}
	return nil
}

// WriteFile writes e to the file at path atomically.
func WriteFile(path string, e Extractor) error { return Saved{Extractor: e}.WriteFile(path) }

// ReadSavedFile reads the file at path.
func ReadSavedFile(path string) (Saved, error) {
	f, err := os.Open(path)
	if err != nil {
		return Saved{}, err
	}
	defer f.Close()
	s, err := ReadSaved(f)
	if err != nil {
		return Saved{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// ReadFile reads the extractor in the file at path.
func ReadFile(path string) (Extractor, error) {
	s, err := ReadSavedFile(path)
	return s.Extractor, err
}
