package model

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// Detailed is an encoder of two parts: bits of the class, which supervision taught, followed by bits of detail, which
// keep what the vector itself looks like. Codes of one class are so alike that the class bits leave most items tied;
// the detail bits tell those apart. They weigh little (hamming.DetailUnits), so they hardly ever change which class
// comes first.
//
//	code(x) = class(x), detail(x)      both of the same vector, in one pass
//
// The first bits have the fingerprint of the class encoder alone, and each bit of detail continues its chain. Do not
// change it once it has been used.
type Detailed struct {
	Class  Encoder // any but a *Detailed
	Detail Encoder // a *Projection, or one behind maps

	once sync.Once
	f    []hamming.Fingerprint // with 1, 2, ... bits of detail
}

const kindDetailed = "detailed"

// Kind implements Encoder.
func (e *Detailed) Kind() string { return kindDetailed }

// Dim implements Encoder.
func (e *Detailed) Dim() int {
	if e.Class == nil {
		return 0
	}
	return e.Class.Dim()
}

// Bits implements Encoder.
func (e *Detailed) Bits() int {
	if e.Class == nil || e.Detail == nil {
		return 0
	}
	return e.Class.Bits() + e.Detail.Bits()
}

// Check implements Encoder.
func (e *Detailed) Check() error {
	if e.Class == nil || e.Detail == nil {
		return errors.New("bits of class or of detail are missing")
	}
	if _, nested := e.Class.(*Detailed); nested {
		return errors.New("bits of detail behind bits of detail")
	}
	detail := e.Detail
	if m, ok := detail.(*Mapped); ok {
		detail = m.Encoder
	}
	if _, ok := detail.(*Projection); !ok {
		return fmt.Errorf("bits of detail by a %T", detail)
	}
	if err := e.Class.Check(); err != nil {
		return err
	}
	if err := e.Detail.Check(); err != nil {
		return fmt.Errorf("bits of detail: %w", err)
	}
	if e.Class.Dim() != e.Detail.Dim() {
		return fmt.Errorf("class bits of %d dimensions and detail bits of %d", e.Class.Dim(), e.Detail.Dim())
	}
	if n := e.Bits(); n > hamming.MaxWeightedBits {
		return fmt.Errorf("codes of %d bits, more than the %d that can be weighted", n, hamming.MaxWeightedBits)
	}
	return checkSize(e)
}

// Fingerprint implements Encoder.
func (e *Detailed) Fingerprint(bits int) hamming.Fingerprint {
	class := e.Class.Bits()
	if bits <= class {
		return e.Class.Fingerprint(bits)
	}
	e.once.Do(func() {
		f := e.Class.Fingerprint(class)
		b := append([]byte("hashgrove detail 1\n"), f[:]...)
		f = sha256.Sum256(e.Detail.appendBase(append(append(b, e.Detail.Kind()...), 0)))
		for k := range e.Detail.Bits() {
			f = sha256.Sum256(e.Detail.appendBit(append([]byte(nil), f[:]...), k))
			e.f = append(e.f, f.WithDetail(k+1))
		}
	})
	return e.f[bits-class-1]
}

func (e *Detailed) prefix(bits int) Encoder {
	class := e.Class.Bits()
	switch {
	case bits < class:
		return e.Class.prefix(bits)
	case bits == class:
		return e.Class
	}
	return &Detailed{Class: e.Class, Detail: e.Detail.prefix(bits - class)}
}

func (e *Detailed) run(to output, x vectors.Matrix) bool {
	class := e.Class.Bits()
	a, b := to.like(x.Rows, class), to.like(x.Rows, e.Detail.Bits())
	ok := e.Class.run(a, x)
	e.Detail.run(b, e.known(x))
	for r := range x.Rows {
		if to.margins.Data == nil {
			hamming.Join(to.codes.Row(to.first+r), a.codes.Row(r), class, b.codes.Row(r))
		} else {
			copy(to.margins.Row(to.first+r), a.margins.Row(r))
			copy(to.margins.Row(to.first + r)[class:], b.margins.Row(r))
		}
	}
	return ok
}

// known returns rows without missing values, which projections cannot take: the mean of the column stands for them.
func (e *Detailed) known(x vectors.Matrix) vectors.Matrix {
	if finite(x.Data) {
		return x
	}
	return filledIn(x, e.Mean())
}

// Mean returns the means of the columns, which stand for missing values in bits of detail; nil means zeros.
func (e *Detailed) Mean() []float32 {
	m, mapped := e.Detail.(*Mapped)
	if !mapped {
		return e.Detail.(*Projection).Mean
	}
	if first, ok := m.Maps[0].(*Affine); ok {
		return first.Mean
	}
	return nil
}

// appendBase holds the kinds and bases of both parts, each after its length, and the number of class bits.
func (e *Detailed) appendBase(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(e.Class.Bits()))
	for _, part := range []Encoder{e.Class, e.Detail} {
		dst = append(append(dst, uint8(len(part.Kind()))), part.Kind()...)
		at := len(dst)
		dst = part.appendBase(append(dst, 0, 0, 0, 0, 0, 0, 0, 0))
		binary.LittleEndian.PutUint64(dst[at:], uint64(len(dst)-at-8))
	}
	return dst
}

func (e *Detailed) appendBit(dst []byte, k int) []byte {
	if class := e.Class.Bits(); k >= class {
		return e.Detail.appendBit(dst, k-class)
	}
	return e.Class.appendBit(dst, k)
}

// parser parses both parts, in sequence.
func (e *Detailed) parser(dim int) *parser {
	p := &parser{maxBase: maxMapBytes}
	p.base = func(b []byte) error {
		in := &reader{b: b}
		class := int(in.u32())
		var parts [2]*parser
		for i := range parts {
			kind := string(in.take(int64(in.u8())))
			size := int64(-1)
			if head := in.take(8); head != nil {
				size = int64(min(binary.LittleEndian.Uint64(head), maxMapBytes+1))
			}
			base := in.take(size)
			if in.bad || kind == kindDetailed {
				return errors.New("bits of class and detail are cut short")
			}
			var err error
			if parts[i], err = newParser(kind, dim); err != nil {
				return err
			}
			if err := parts[i].base(base); err != nil {
				return err
			}
		}
		if len(in.b) > 0 || class < 1 || class > hamming.MaxBits {
			return fmt.Errorf("%d class bits, with %d bytes too many", class, len(in.b))
		}
		p.maxBit = max(parts[0].maxBit, parts[1].maxBit)
		p.bit = func(b []byte) error {
			if class--; class >= 0 {
				return parts[0].bit(b)
			}
			return parts[1].bit(b)
		}
		p.encoder = func() Encoder { return &Detailed{Class: parts[0].encoder(), Detail: parts[1].encoder()} }
		return nil
	}
	return p
}

// DetailBits returns how many bits of an encoder, the last ones, are detail.
func DetailBits(e Encoder) int {
	if d, ok := e.(*Detailed); ok {
		return d.Detail.Bits()
	}
	return 0
}

// ClassPart returns the encoder of the class bits: all of it without detail.
func ClassPart(e Encoder) Encoder {
	if d, ok := e.(*Detailed); ok {
		return d.Class
	}
	return e
}
