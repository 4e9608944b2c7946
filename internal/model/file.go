package model

import (
	"bytes"
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
	version := versionOf(m)
	out := fileio.NewWriter(w, fileio.Model, version) // keeps the first error for Close
	mark := m.Fingerprint()
	_ = m.sections(version, &mark, func(tag string, _ int, part func(c *codec)) error {
		c := new(codec)
		if part(c); tag == "info" {
			c.b = info
		}
		return out.Section(tag, c.b)
	})
	return out.Close()
}

// sections goes through the sections of a file, of which each takes those since its version; limit is the most bytes of
// a section. It leaves the text of the info to its caller.
func (m *Model) sections(
	version uint32, mark *hamming.Fingerprint, each func(tag string, limit int, part func(c *codec)) error,
) (err error) {
	var dim, bits int
	since := func(first uint32, tag string, limit int, part func(c *codec)) {
		if err == nil && version >= first {
			err = each(tag, limit, part)
		}
	}
	since(1, "head", 64, func(c *codec) {
		if !c.reading {
			dim, bits = m.Encoder.Dim(), m.Encoder.Bits()
		}
		codeEncoder(c, &m.Encoder, "")
		c.size(&dim)
		if c.size(&bits); bits > hamming.MaxBits {
			c.fail(fmt.Errorf("%d bits, outside of 1 to %d", bits, hamming.MaxBits))
		}
	})
	since(1, "info", maxInfo, func(c *codec) {
		if c.reading {
			info, err := parseInfo(c.rest())
			m.Info = info
			c.fail(err)
		}
	})
	since(2, "feat", maxFeatures, func(c *codec) {
		if c.reading && (version < 3 || len(c.b) > 0) {
			features, err := feature.Parse(bytes.Clone(c.rest()))
			m.Features = features
			c.fail(err)
		} else if !c.reading && m.Features != nil {
			c.b = feature.Append(nil, m.Features)
		}
	})
	since(4, "pict", preparationBytes, func(c *codec) {
		if c.reading && (version < 5 || len(c.b) > 0) {
			m.Pictures = new(picture.Preparation)
		}
		if m.Pictures != nil {
			codePreparation(c, m.Pictures)
		}
	})
	since(1, "base", maxMapBytes, func(c *codec) { m.Encoder.base(c, dim) })
	for k := range bits {
		since(1, "bit ", maxMapBytes, func(c *codec) { m.Encoder.bit(c, dim, k) })
	}
	since(7, "rank", maxRanking, func(c *codec) {
		if c.reading && len(c.b) > 0 {
			m.Ranking = &Ranking{Codes: hamming.NewCodes(0, m.ClassBits())}
		}
		if m.Ranking != nil {
			m.Ranking.code(c)
		}
	})
	since(1, "mark", len(mark), func(c *codec) {
		if have := m.Encoder.Dim(); have != dim {
			c.fail(fmt.Errorf("%d dimensions of %d", have, dim))
		}
		for i := range mark {
			c.number(&mark[i])
		}
	})
	return err
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
	m, mark := new(Model), hamming.Fingerprint{}
	err = m.sections(in.Version, &mark, func(tag string, limit int, part func(c *codec)) error {
		b, err := in.Expect(tag, limit)
		if err != nil {
			return err
		}
		c := read(b)
		part(c)
		if err = c.end(); err == nil || errors.Is(err, fileio.ErrKind) || message.Is(err, "codebook-features") {
			return err
		}
		return in.Damaged("%v", err)
	})
	if err != nil {
		return nil, err
	}
	if v := versionOf(m); v != in.Version {
		return nil, in.Damaged("version %d of a model that makes a file of version %d", in.Version, v)
	}
	if err := m.Check(); err != nil {
		return nil, in.Damaged("%v", err)
	}
	if f := m.Fingerprint(); mark != f {
		return nil, in.Damaged("the fingerprint is %x, and that of the hash functions %v", mark[:], f.Full())
	}
	return m, in.End()
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
