package model

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/par"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/vectors"
)

// Encoder turns vectors into codes. Methods are many, encoders are few. Each is a kind of the model file, so only this
// package can add one: a type, a case in codeEncoder, and a line in docs/formats.md.
type Encoder interface {
	// Kind returns the name of the encoder in files.
	Kind() string
	// Dim returns the length of the vectors.
	Dim() int
	// Bits returns the length of the codes.
	Bits() int
	// Check reports an incomplete encoder. One that passes can encode all finite vectors of its dimension, and those
	// with missing values, NaN, if the quantiser of its trees says so.
	Check() error
	// Fingerprint returns the fingerprint of the first bits.
	Fingerprint(bits int) hamming.Fingerprint

	// run writes what it computes of the rows of x, and reports whether all values can be encoded, including those of
	// columns that do not matter. It uses one goroutine; several may share an encoder.
	run(to output, x vectors.Matrix) bool
	// prefix returns the encoder of the first bits. It shares memory with the encoder.
	prefix(bits int) Encoder
	// base and bit go through the canonical bytes of what all bits share, and of bit k.
	base(c *codec, dim int)
	bit(c *codec, dim, k int)
}

// The kinds of encoders.
const (
	kindTrees      = "trees"
	kindLinear     = "linear"
	kindProjection = "projection"
)

// checkSize reports an encoder that exceeds the limits.
func checkSize(e Encoder) error {
	if e.Dim() < 1 || e.Dim() > maxDim {
		return message.New("dimensions-out-of-range", "vectors of %d dimensions, outside of 1 to %d", e.Dim(), maxDim)
	}
	if e.Bits() < 1 || e.Bits() > hamming.MaxBits {
		return message.New("bits-out-of-range", "codes of %d bits, outside of 1 to %d", e.Bits(), hamming.MaxBits)
	}
	return nil
}

// Errors for vectors that cannot be encoded.
var (
	ErrDim   = errors.New("wrong number of dimensions")
	ErrValue = errors.New("value is not finite")
)

// Model is an encoder with the record of its training.
type Model struct {
	Encoder  Encoder
	Features feature.Extractor    // turns pictures into vectors; nil if the vectors are pixels, or not pictures at all
	Pictures *picture.Preparation // how pictures become rows of pixels; nil if the model was trained on vectors
	Ranking  *Ranking             // of items by the scores of a query; nil if none was chosen
	Info     Info
}

// Check reports a model that cannot be used or written.
func (m *Model) Check() error {
	if m.Encoder == nil {
		return errors.New("model without an encoder")
	}
	if err := m.Encoder.Check(); err != nil {
		return err
	}
	if m.Features != nil {
		if err := m.Features.Check(); err != nil {
			return err
		}
		if m.Features.Dim() != m.Encoder.Dim() {
			return fmt.Errorf("features of %d dimensions for an encoder of %d", m.Features.Dim(), m.Encoder.Dim())
		}
	}
	if m.Pictures != nil {
		if err := m.checkPictures(); err != nil {
			return err
		}
	}
	if err := m.Ranking.check(m.ClassBits()); err != nil {
		return err
	}
	return m.Info.check(m.Encoder)
}

// Dim returns the length of the vectors that the model encodes.
func (m *Model) Dim() int { return m.Encoder.Dim() }

// Fingerprint returns the fingerprint of all bits. If the model takes pictures it covers their features and
// preparation.
func (m *Model) Fingerprint() hamming.Fingerprint {
	f := m.Encoder.Fingerprint(m.Encoder.Bits())
	if m.Features != nil {
		features := feature.Fingerprint(m.Features)
		f = sha256.Sum256(append(features[:], f[:]...))
	}
	if m.Pictures != nil {
		c := &codec{b: []byte("hashgrove pictures 1\n")}
		codePreparation(c, m.Pictures)
		f = sha256.Sum256(append(c.b, f[:]...))
	}
	if detail := m.DetailBits(); detail > 0 {
		f = f.WithDetail(detail)
	}
	return f
}

// Prefix returns the model of the first bits, with their record. It shares memory with the model.
func (m *Model) Prefix(bits int) *Model {
	if bits < 1 || bits > m.Encoder.Bits() {
		panic("model: prefix longer than the code")
	}
	return &Model{
		m.Encoder.prefix(bits), m.Features, m.Pictures, m.Ranking.prefix(bits), m.Info.prefix(min(bits, m.ClassBits())),
	}
}

// output is the codes of some rows, or their margins: the scores of the bits before the sign, which say how certain
// each bit is.
//
//	trees        sum of w_q T_q(x)             an exact integer, rounded to float32
//	hyperplanes  bias + sum of w_j bin_j(x)    the same
//	projection   w · (x - mean) - threshold    in float64, rounded to float32
//	maps         the margins of the encoder behind them
//
// A margin is negative only if its bit is 0. (A negative score too small for float32 has the margin -0.)
type output struct {
	codes   hamming.Codes
	margins vectors.Matrix // instead of codes, if it has values
	first   int            // number of the first row
}

// put sets bit k of row r, or its margin.
func (to *output) put(r, k int, margin float32) {
	if to.margins.Data != nil {
		to.margins.Data[(to.first+r)*to.margins.Cols+k] = margin
		return
	}
	to.codes.SetBit(to.first+r, k, !math.Signbit(float64(margin)))
}

// from returns the output of the rows from r on.
func (to output) from(r int) output {
	to.first += r
	return to
}

// like returns an output of the same kind for other rows and bits.
func (to output) like(rows, bits int) output {
	if to.margins.Data == nil {
		return output{codes: hamming.NewCodes(rows, bits)}
	}
	return output{margins: vectors.Matrix{Rows: rows, Cols: bits, Data: make([]float32, rows*bits)}}
}

// Encode returns the codes of all rows of x, computed on the given number of threads (0 for all cores). The model must
// have passed Check, as every model read from a file has.
func (m *Model) Encode(ctx context.Context, x vectors.Matrix, threads int) (hamming.Codes, error) {
	if err := m.checkDim(x.Cols); err != nil {
		return hamming.Codes{}, err
	}
	codes := hamming.NewCodes(x.Rows, m.Encoder.Bits())
	return codes, m.encode(ctx, threads, []batch{{vectors.Chunk{X: x}, output{codes: codes}}})
}

// Margins returns the scores of all rows of x before the sign, one row per row of x and one column per bit, computed on
// the given number of threads (0 for all cores). The model must have passed Check. hamming.Weights defines the distance
// that bits and margins make together.
func (m *Model) Margins(ctx context.Context, x vectors.Matrix, threads int) (vectors.Matrix, error) {
	if err := m.checkDim(x.Cols); err != nil {
		return vectors.Matrix{}, err
	}
	to := output{margins: vectors.Matrix{Data: []float32{}}}.like(x.Rows, m.Encoder.Bits())
	return to.margins, m.encode(ctx, threads, []batch{{vectors.Chunk{X: x}, to}})
}

// EncodeRow returns the code of one vector.
func (m *Model) EncodeRow(x []float32) ([]uint64, error) {
	if err := m.checkDim(len(x)); err != nil {
		return nil, err
	}
	code := hamming.NewCodes(1, m.Encoder.Bits())
	if !m.Encoder.run(output{codes: code}, vectors.Matrix{Rows: 1, Cols: len(x), Data: x}) {
		j := m.notEncodable(x)
		return nil, m.valueError(j, x[j])
	}
	return code.Data, nil
}

func (m *Model) checkDim(have int) error {
	if want := m.Dim(); have != want {
		return fmt.Errorf("%w: vectors have %d, the model was trained on %d", ErrDim, have, want)
	}
	return nil
}

func (m *Model) valueError(column int, x float32) error {
	name := ""
	if column < len(m.Info.Features) {
		name = fmt.Sprintf(" (%q)", m.Info.Features[column])
	}
	advice := "leave out or replace such values"
	if x != x {
		advice += ", or train a model that takes missing values"
	}
	return fmt.Errorf("column %d%s: %w: %v; %s", column, name, ErrValue, x, advice)
}

// TakesMissing reports whether the model can encode missing values, NaN.
func (m *Model) TakesMissing() bool { return takesMissing(m.Encoder) }

// takesMissing is TakesMissing for an encoder. Columns that it adds replace a missing value by the mean of its column.
func takesMissing(e Encoder) bool {
	b, _, ok := Behind(e)
	return ok && b.Quantizer.Missing
}

// notEncodable returns the place of the first value that the model refuses.
func (m *Model) notEncodable(x []float32) int {
	if m.TakesMissing() {
		return slices.IndexFunc(x, isInf)
	}
	return notFinite(x)
}

// batch is a run of rows with space for what becomes of them.
type batch struct {
	chunk vectors.Chunk
	to    output
}

// encode checks and encodes batches, a block of rows of one batch per turn. It reports the first bad row.
func (m *Model) encode(ctx context.Context, threads int, batches []batch) error {
	type turn struct{ b, lo, hi int }
	var turns []turn
	for b := range batches {
		rows := batches[b].chunk.X.Rows
		for lo := 0; lo < rows; lo += block {
			turns = append(turns, turn{b, lo, min(lo+block, rows)})
		}
	}
	errs := make([]error, len(turns))
	err := par.For(ctx, threads, len(turns), func(i int) {
		t := turns[i]
		b := &batches[t.b]
		x := b.chunk.X.Slice(t.lo, t.hi)
		if !m.Encoder.run(b.to.from(t.lo), x) {
			at := m.notEncodable(x.Data)
			errs[i] = fmt.Errorf("row %d, %w", b.chunk.First+t.lo+at/x.Cols, m.valueError(at%x.Cols, x.Data[at]))
		}
	})
	if err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// chain caches F_0 to F_bits of an encoder.
type chain struct {
	once sync.Once
	f    []hamming.Fingerprint
}

func (c *chain) fingerprint(e Encoder, bits int) hamming.Fingerprint {
	c.once.Do(func() {
		b := append([]byte("hashgrove encoder 1\n"), e.Kind()...)
		b = append(b, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(e.Dim()))
		out := &codec{b: b}
		e.base(out, e.Dim())
		c.f = append(c.f, sha256.Sum256(out.b))
		for k := range e.Bits() {
			out.b = append(out.b[:0], c.f[k][:]...)
			e.bit(out, e.Dim(), k)
			c.f = append(c.f, sha256.Sum256(out.b))
		}
	})
	if bits < 0 || bits >= len(c.f) {
		panic("model: fingerprint of more bits than the model has")
	}
	return c.f[bits]
}
