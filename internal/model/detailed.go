package model

import (
	"crypto/sha256"
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

	class int // bits of the class, while it is read
}

const kindDetailed = "detailed"

// Kind implements Encoder.
func (e *Detailed) Kind() string { return kindDetailed }

// Dim implements Encoder.
func (e *Detailed) Dim() int { return e.Class.Dim() }

// Bits implements Encoder.
func (e *Detailed) Bits() int { return e.Class.Bits() + e.Detail.Bits() }

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
		c := &codec{b: append(append(b, e.Detail.Kind()...), 0)}
		e.Detail.base(c, e.Dim())
		f = sha256.Sum256(c.b)
		for k := range e.Detail.Bits() {
			c.b = append(c.b[:0], f[:]...)
			e.Detail.bit(c, e.Dim(), k)
			f = sha256.Sum256(c.b)
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

// base holds the kinds and bases of both parts, each after its length, and the number of class bits.
func (e *Detailed) base(c *codec, dim int) {
	class := uint32(0)
	if !c.reading {
		class = uint32(e.Class.Bits())
	}
	if c.number(&class); class < 1 || class > hamming.MaxBits {
		c.fail(fmt.Errorf("%d class bits", class))
	}
	if c.reading {
		e.class = int(class)
	}
	for _, part := range []*Encoder{&e.Class, &e.Detail} {
		if codeEncoder(c, part, kindDetailed); c.err == nil {
			c.part(func(c *codec) { (*part).base(c, dim) })
		}
	}
}

func (e *Detailed) bit(c *codec, dim, k int) {
	class := e.class
	if !c.reading {
		class = e.Class.Bits()
	}
	if k < class {
		e.Class.bit(c, dim, k)
	} else {
		e.Detail.bit(c, dim, k-class)
	}
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
