package model

import (
	"fmt"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// Mapped is an encoder behind maps: vectors go through all maps, in order, and the encoder takes the result. Do not
// change it once it has been used.
type Mapped struct {
	Maps    []Map
	Encoder Encoder // a *Projection or a *Binned

	prints chain
}

const kindMapped = "mapped"

const (
	maxMaps     = 16      // in front of one encoder
	maxMapBytes = 1 << 30 // of all maps, and what the bits behind them share

	// Limits of a map in a file, beyond the values that the first one takes and the bytes of all.
	fewValues = 1 << 16
)

// Compose returns an encoder that applies the maps, in order, before e, which may have maps itself.
func Compose(e Encoder, maps ...Map) Encoder {
	if len(maps) == 0 {
		return e
	}
	if d, ok := e.(*Detailed); ok {
		return &Detailed{Class: Compose(d.Class, maps...), Detail: Compose(d.Detail, maps...)}
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
func (e *Mapped) Dim() int { return e.Maps[0].dim() }

// Bits implements Encoder.
func (e *Mapped) Bits() int { return e.Encoder.Bits() }

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
func (e *Mapped) Fingerprint(bits int) hamming.Fingerprint { return e.prints.fingerprint(e, bits) }

// prefix leaves the maps whole.
func (e *Mapped) prefix(bits int) Encoder {
	return &Mapped{Maps: e.Maps, Encoder: e.Encoder.prefix(bits)}
}

func (e *Mapped) base(c *codec, dim int) {
	bytes := len(c.b)
	codeMaps(c, &e.Maps, false)
	if c.reading {
		first := dim
		for i, m := range e.Maps {
			if m.dim() != dim {
				c.fail(fmt.Errorf("map %d takes %d values of %d", i, m.dim(), dim))
			}
			if m.Out() > fewValues+first+bytes { // a few bytes of chained maps could ask for years
				c.fail(fmt.Errorf("map %d makes %d values of %d, in %d bytes", i, m.Out(), dim, bytes))
			}
			dim = m.Out()
		}
	}
	codeEncoder(c, &e.Encoder, kindMapped)
	if c.err == nil {
		e.Encoder.base(c, e.behind())
	}
}

func (e *Mapped) bit(c *codec, _, k int) { e.Encoder.bit(c, e.behind(), k) }

// behind returns the number of values behind all maps.
func (e *Mapped) behind() int { return e.Maps[len(e.Maps)-1].Out() }

// run takes a block of rows through all maps at a time.
func (e *Mapped) run(to output, x vectors.Matrix) bool {
	y := vectors.Matrix{Cols: e.Encoder.Dim()}
	step := mapRows(e.Maps)
	lent := borrow(min(step, x.Rows) * y.Cols)
	defer giveBack(lent)
	y.Data = *lent
	for lo := 0; lo < x.Rows; lo += step {
		y.Rows = min(step, x.Rows-lo)
		y.Data = y.Data[:y.Rows*y.Cols]
		apply(y, x.Slice(lo, lo+y.Rows), e.Maps)
		e.Encoder.run(to.from(lo), y)
	}
	return encodable(x.Data, takesMissing(e))
}
