package model

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
)

// The model file. docs/formats.md draws it.
//
//	head   kind, dimension, bits
//	info   Info as JSON
//	feat   the feature extractor in canonical bytes; from version 2 on
//	pict   how pictures are prepared, in canonical bytes; from version 4 on
//	base   what all bits share, in canonical bytes
//	bit    one section per bit, in canonical bytes
//	rank   how to rank, with the codes of training rows; from version 7 on
//	mark   the fingerprint
//
// Version 1: trees, linear, projection. It is still written for models without a feature extractor.
// Version 2: the feature extractor.
// Version 3: mapped; "feat" is empty where there is no feature extractor.
// Version 4: the preparation of pictures.
// Version 5: columns beside those of the vectors (Extension), edges of columns, missing values;
// "pict" is empty where there are no pictures.
// Version 6: boosters of other libraries, which are not read.
// Version 7: detailed, kernels of bytes (ByteGaussian), and the ranking, which is empty where none was chosen.
//
// A file has the least version that can hold its model.
const fileVersion = 7

// versionOf returns the version of the file of a model.
func versionOf(m *Model) uint32 {
	mapped, _ := m.Encoder.(*Mapped)
	switch {
	case m.Encoder.Kind() == kindDetailed || m.Ranking != nil || mapped != nil && anyBytes(mapped.Maps):
		return 7
	case extensions(m.Encoder) > 0 || !plainBins(m.Encoder):
		return 5
	case m.Pictures != nil:
		return 4
	case mapped != nil:
		return 3
	case m.Features != nil:
		return 2
	}
	return 1
}

// plainBins reports whether an encoder has only linear bins, or none.
func plainBins(e Encoder) bool {
	switch e := e.(type) {
	case *Binned:
		return e.Quantizer.Plain()
	case *Mapped:
		return plainBins(e.Encoder)
	}
	return true
}

// maxFeatures bounds the bytes of a feature extractor.
const maxFeatures = 1 << 28

// maxInfo bounds the JSON of Info, which takes several times its length in memory.
const maxInfo = 4 << 20

// Write writes a model. The bytes depend only on the model.
func Write(w io.Writer, m *Model) error {
	if err := m.Check(); err != nil {
		return err
	}
	info, err := json.Marshal(m.Info)
	if err != nil {
		return err
	}
	if len(info) > maxInfo {
		return fmt.Errorf("names and statistics take %d bytes, and at most %d are allowed: leave out the feature names",
			len(info), maxInfo)
	}
	e := m.Encoder
	head := append([]byte{uint8(len(e.Kind()))}, e.Kind()...)
	head = binary.LittleEndian.AppendUint32(head, uint32(e.Dim()))
	head = binary.LittleEndian.AppendUint32(head, uint32(e.Bits()))
	version := versionOf(m)
	out := fileio.NewWriter(w, fileio.Model, version) // keeps the first error for Close
	c := new(codec)
	put := func(tag string) {
		_ = out.Section(tag, c.b)
		c.b = c.b[:0]
	}
	c.b = head
	put("head")
	c.b = info
	put("info")
	if version > 1 {
		if m.Features != nil {
			c.b = feature.Append(nil, m.Features)
		}
		put("feat")
	}
	if version > 3 {
		if m.Pictures != nil {
			codePreparation(c, m.Pictures)
		}
		put("pict")
	}
	e.base(c, e.Dim())
	put("base")
	for k := range e.Bits() {
		e.bit(c, e.Dim(), k)
		put("bit ")
	}
	if version > 6 {
		if m.Ranking != nil {
			m.Ranking.code(c)
		}
		put("rank")
	}
	mark := m.Fingerprint()
	c.b = mark[:]
	put("mark")
	return out.Close()
}

// WriteFile writes a model to a file, all or nothing.
func WriteFile(path string, m *Model) error {
	err := fileio.WriteFile(path, func(w io.Writer) error { return Write(w, m) })
	if err != nil {
		return fmt.Errorf("model %s was not written: %w", path, err)
	}
	return nil
}

// Read reads and checks a model. The reader must end where the model does. Memory stays within a small multiple of the
// actual bytes, whatever they claim.
func Read(r io.Reader) (*Model, error) {
	in, err := fileio.NewReader(r, fileio.Model, fileVersion)
	if err != nil {
		return nil, err
	}
	b, err := in.Expect("head", 64)
	if err != nil {
		return nil, err
	}
	m := new(Model)
	var dim, bits int
	c := read(b)
	codeEncoder(c, &m.Encoder, "")
	c.size(&dim)
	c.size(&bits)
	if err := c.end(); errors.Is(err, errBoosted) {
		return nil, err
	} else if err != nil {
		return nil, in.Damaged("%v", err)
	}
	if bits > hamming.MaxBits {
		return nil, in.Damaged("%d bits, outside of 1 to %d", bits, hamming.MaxBits)
	}
	if b, err = in.Expect("info", maxInfo); err != nil {
		return nil, err
	}
	if m.Info, err = parseInfo(b); err != nil {
		return nil, in.Damaged("%v", err)
	}
	if err := m.readPictures(in); err != nil {
		return nil, err
	}
	if b, err = in.Expect("base", maxMapBytes); err != nil {
		return nil, err
	}
	c = read(b)
	m.Encoder.base(c, dim)
	if err := c.end(); err != nil {
		return nil, in.Damaged("%v", err)
	}
	for k := range bits {
		if b, err = in.Expect("bit ", maxMapBytes); err != nil {
			return nil, err
		}
		c = read(b)
		m.Encoder.bit(c, dim, k)
		if err := c.end(); err != nil {
			return nil, in.Damaged("bit %d: %v", k, err)
		}
	}
	if have := m.Encoder.Dim(); have != dim {
		return nil, in.Damaged("%d dimensions of %d", have, dim)
	}
	if in.Version > 6 {
		if b, err = in.Expect("rank", maxRanking); err != nil {
			return nil, err
		}
		if len(b) > 0 {
			m.Ranking = &Ranking{Codes: hamming.NewCodes(0, m.ClassBits())}
			c = read(b)
			m.Ranking.code(c)
			if err := c.end(); err != nil {
				return nil, in.Damaged("%v", err)
			}
		}
	}
	if v := versionOf(m); v != in.Version {
		return nil, in.Damaged("version %d of a model that makes a file of version %d", in.Version, v)
	}
	mark, err := in.Expect("mark", len(hamming.Fingerprint{}))
	if err != nil {
		return nil, err
	}
	if err := m.Check(); err != nil {
		return nil, in.Damaged("%v", err)
	}
	if f := m.Fingerprint(); string(mark) != string(f[:]) {
		return nil, in.Damaged("the fingerprint is %x, and that of the hash functions %v", mark, f.Full())
	}
	if err := in.End(); err != nil {
		return nil, err
	}
	return m, nil
}

// readPictures reads how pictures become vectors.
func (m *Model) readPictures(in *fileio.Reader) error {
	if in.Version > 1 {
		b, err := in.Expect("feat", maxFeatures)
		if err != nil {
			return err
		}
		if in.Version < 3 || len(b) > 0 {
			m.Features, err = feature.Parse(bytes.Clone(b))
			if message.Is(err, "codebook-features") {
				return err
			}
			if err != nil {
				return in.Damaged("%v", err)
			}
		}
	}
	if in.Version > 3 {
		b, err := in.Expect("pict", preparationBytes)
		if err != nil {
			return err
		}
		if in.Version < 5 || len(b) > 0 {
			c := read(b)
			m.Pictures = new(picture.Preparation)
			codePreparation(c, m.Pictures)
			if err := cmp.Or(c.end(), m.Pictures.Check()); errors.Is(err, errAveraged) {
				return err
			} else if err != nil {
				return in.Damaged("%v", err)
			}
		}
	}
	return nil
}

// ReadFile reads a model from a file.
func ReadFile(path string) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

var errBoosted = fmt.Errorf("%w: it holds boosters of XGBoost or LightGBM, which this program does not read",
	fileio.ErrKind)

// codeEncoder takes the kind of an encoder within another, or of none, and makes an empty one. It lists all kinds.
func codeEncoder(c *codec, e *Encoder, within string) {
	kind := ""
	if !c.reading {
		kind = (*e).Kind()
	}
	if c.text(&kind); !c.reading {
		return
	}
	switch {
	case kind == kindTrees || kind == kindLinear:
		*e = &Binned{kind: kind}
	case kind == kindProjection:
		*e = new(Projection)
	case kind == kindMapped && within != kindMapped:
		*e = new(Mapped)
	case kind == kindDetailed && within == "":
		*e = new(Detailed)
	case kind == "boosted": // which version 6 was for
		c.fail(errBoosted)
	default:
		c.fail(fmt.Errorf("an encoder of the unknown kind %q", kind))
	}
}
