package model

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hashgrove/hamming"
	"hashgrove/vectors"
)

// Mapped is an encoder behind maps: the vectors go through all maps, in order, and the encoder takes what comes out. It
// must not be changed once it was used.
type Mapped struct {
	Maps    []Map
	Encoder Encoder // a *Projection or a *Binned

	prints chain
}

const kindMapped = "mapped"

const (
	maxMaps     = 16      // in front of one encoder
	maxMapBytes = 1 << 30 // of all maps, and what the bits behind them share
)

// Compose is the encoder that takes vectors through the maps, in order, before e; e may have maps itself.
func Compose(e Encoder, maps ...Map) Encoder {
	if len(maps) == 0 {
		return e
	}
	all := append([]Map(nil), maps...)
	if inner, ok := e.(*Mapped); ok {
		all, e = append(all, inner.Maps...), inner.Encoder
	}
	return &Mapped{Maps: all, Encoder: e}
}

// Kind implements Encoder.
func (e *Mapped) Kind() string { return kindMapped }

// Dim implements Encoder.
func (e *Mapped) Dim() int {
	if len(e.Maps) == 0 || e.Maps[0] == nil {
		return 0
	}
	return e.Maps[0].dim()
}

// Bits implements Encoder.
func (e *Mapped) Bits() int {
	if e.Encoder == nil {
		return 0
	}
	return e.Encoder.Bits()
}

// Check implements Encoder.
func (e *Mapped) Check() error {
	switch e.Encoder.(type) {
	case *Projection, *Binned:
	default:
		return fmt.Errorf("a %T behind maps", e.Encoder)
	}
	if err := e.Encoder.Check(); err != nil {
		return err
	}
	if len(e.Maps) < 1 || len(e.Maps) > maxMaps {
		return fmt.Errorf("%d maps, outside of 1 to %d", len(e.Maps), maxMaps)
	}
	for i, m := range e.Maps {
		if m == nil {
			return fmt.Errorf("map %d is missing", i)
		}
		if err := m.Check(); err != nil {
			return fmt.Errorf("map %d: %w", i, err)
		}
		takes := e.Encoder.Dim()
		if i+1 < len(e.Maps) && e.Maps[i+1] != nil {
			takes = e.Maps[i+1].dim()
		}
		if m.Out() != takes {
			return fmt.Errorf("map %d gives %d values, and what follows takes %d", i, m.Out(), takes)
		}
	}
	return checkSize(e)
}

// Fingerprint implements Encoder.
func (e *Mapped) Fingerprint(bits int) hamming.Fingerprint { return e.prints.at(e, bits) }

// Prefix implements Encoder. The maps stay whole.
func (e *Mapped) Prefix(bits int) Encoder {
	return &Mapped{Maps: e.Maps, Encoder: e.Encoder.Prefix(bits)}
}

func (e *Mapped) appendBase(dst []byte) []byte {
	dst = append(dst, uint8(len(e.Maps)))
	for _, m := range e.Maps {
		at := len(dst)
		dst = m.appendTo(append(dst, 0, 0, 0, 0, 0, 0, 0, 0))
		binary.LittleEndian.PutUint64(dst[at:], uint64(len(dst)-at-8))
	}
	dst = append(dst, uint8(len(e.Encoder.Kind())))
	dst = append(dst, e.Encoder.Kind()...)
	return e.Encoder.appendBase(dst)
}

func (e *Mapped) appendBit(dst []byte, k int) []byte { return e.Encoder.appendBit(dst, k) }

// EncodeTo implements Encoder.
func (e *Mapped) EncodeTo(dst hamming.Codes, first int, x vectors.Matrix) {
	checkEncode(e, dst, first, x)
	y := vectors.Matrix{Cols: e.Encoder.Dim()}
	y.Data = make([]float32, min(block, x.Rows)*y.Cols)
	for lo := 0; lo < x.Rows; lo += block {
		y.Rows = min(block, x.Rows-lo)
		y.Data = y.Data[:y.Rows*y.Cols]
		apply(y, x.Slice(lo, lo+y.Rows), e.Maps)
		e.Encoder.EncodeTo(dst, first+lo, y)
	}
}

func (e *Mapped) encode(dst hamming.Codes, first int, x vectors.Matrix) bool {
	e.EncodeTo(dst, first, x)
	return finite(x.Data)
}

// EncodeRow implements Encoder.
func (e *Mapped) EncodeRow(dst []uint64, x []float32) {
	y := vectors.Matrix{Rows: 1, Cols: e.Encoder.Dim(), Data: make([]float32, e.Encoder.Dim())}
	apply(y, vectors.Matrix{Rows: 1, Cols: len(x), Data: x}, e.Maps)
	e.Encoder.EncodeRow(dst, y.Data)
}

// mappedParser parses the maps, and leaves the rest to the parser of the encoder behind them.
type mappedParser struct {
	dim   int
	maps  []Map
	inner parser
}

func (p *mappedParser) maxBase() int { return maxMapBytes }
func (p *mappedParser) maxBit() int  { return p.inner.maxBit() }

func (p *mappedParser) base(b []byte) error {
	in := &reader{b: b}
	n := int(in.u8())
	if n < 1 || n > maxMaps {
		return fmt.Errorf("%d maps, outside of 1 to %d", n, maxMaps)
	}
	dim := p.dim
	for i := range n {
		size := int64(-1)
		if head := in.take(8); head != nil {
			size = int64(min(binary.LittleEndian.Uint64(head), maxMapBytes+1))
		}
		body := in.take(size)
		if in.bad {
			return fmt.Errorf("map %d is cut short", i)
		}
		m, err := parseMap(body)
		if err != nil {
			return fmt.Errorf("map %d: %w", i, err)
		}
		if m.dim() != dim {
			return fmt.Errorf("map %d takes %d values of %d", i, m.dim(), dim)
		}
		p.maps, dim = append(p.maps, m), m.Out()
	}
	kind := string(in.take(int64(in.u8())))
	if in.bad || kind == kindMapped {
		return errors.New("maps without an encoder behind them")
	}
	var err error
	if p.inner, err = newParser(kind, dim); err != nil {
		return err
	}
	return p.inner.base(in.b)
}

func (p *mappedParser) bit(b []byte) error { return p.inner.bit(b) }

func (p *mappedParser) encoder() Encoder { return &Mapped{Maps: p.maps, Encoder: p.inner.encoder()} }
