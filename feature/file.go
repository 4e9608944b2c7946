package feature

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"hashgrove/internal/section"
)

// A file holds one extractor; docs/formats.md draws it.
//
//	"feat"   canonical bytes
//	"made"   how a codebook was learned: the fields of Learner as JSON; empty for other kinds
//
// version 1: pixels, GIST, codebook.
const version = 1

// What a file may hold: the greatest codebook, and a page of options.
const (
	maxBytes = 64 + 4*MaxWords*(1+3*maxSquare*maxSquare)
	maxMade  = 1 << 12
)

// Write writes e, which must pass Check.
func Write(w io.Writer, e Extractor) error {
	if err := e.Check(); err != nil {
		return err
	}
	var made []byte
	if c, ok := e.(*Codebook); ok {
		b, err := json.Marshal(c.Made)
		if err != nil {
			return fmt.Errorf("how the codebook was learned: %w", err)
		}
		made = b
	}
	out := section.NewWriter(w, section.Features, version)
	// Errors of the first section come back from the others.
	_ = out.Section("feat", Append(nil, e))
	_ = out.Section("made", made)
	return out.Close()
}

// Read is the inverse of Write. What it returns has passed Check.
func Read(r io.Reader) (Extractor, error) {
	in, err := section.NewReader(r, section.Features, version)
	if err != nil {
		return nil, err
	}
	b, err := in.Expect("feat", maxBytes)
	if err != nil {
		return nil, err
	}
	e, err := Parse(b)
	if err != nil {
		return nil, in.Damaged("%v", err)
	}
	made, err := in.Expect("made", maxMade)
	if err != nil {
		return nil, err
	}
	c, ok := e.(*Codebook)
	switch {
	case !ok && len(made) > 0:
		return nil, in.Damaged("it says how a codebook was learned, and there is none")
	case ok:
		if err := json.Unmarshal(made, &c.Made); err != nil {
			return nil, in.Damaged("how the codebook was learned: %v", err)
		}
		// An extractor has one file, so nothing may be missing here, or stand here in other words.
		if again, err := json.Marshal(c.Made); err != nil || !bytes.Equal(again, made) {
			return nil, in.Damaged("how the codebook was learned is not written as this version writes it")
		}
	}
	return e, in.End()
}

// WriteFile writes e to the file at path, all or nothing.
func WriteFile(path string, e Extractor) error {
	err := section.WriteFile(path, func(w io.Writer) error { return Write(w, e) })
	if err != nil {
		return fmt.Errorf("write features to %s: %w", path, err)
	}
	return nil
}

// ReadFile reads the extractor in the file at path.
func ReadFile(path string) (Extractor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	e, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}
