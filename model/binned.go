package model

import (
	"errors"
	"fmt"
	"sync"

	"hashgrove/dataset"
	"hashgrove/hamming"
)

// Binned is an encoder over quantised columns: trees or hyperplanes, all functions of one type. It must not be
// changed once it was used.
type Binned struct {
	Quantizer dataset.Quantizer
	Functions []Function // one per bit

	prints chain
	once   sync.Once
	plan   *plan           // trees, for batches
	scales []dataset.Scale // of the plan's columns; of all columns for hyperplanes
	walk   []walkBit       // trees, for single rows
	onceW  sync.Once
}

// Kind implements Encoder: "trees" or "linear".
func (e *Binned) Kind() string {
	if len(e.Functions) > 0 {
		if _, ok := e.Functions[0].(*Linear); ok {
			return kindLinear
		}
	}
	return kindTrees
}

// Dim implements Encoder.
func (e *Binned) Dim() int { return e.Quantizer.Dim() }

// Bits implements Encoder.
func (e *Binned) Bits() int { return len(e.Functions) }

// Check implements Encoder.
func (e *Binned) Check() error {
	if err := checkSize(e); err != nil {
		return err
	}
	if err := e.Quantizer.Check(); err != nil {
		return err
	}
	splits := int64(0)
	for k, f := range e.Functions {
		if f == nil {
			return fmt.Errorf("bit %d has no hash function", k)
		}
		if err := f.Check(e.Dim()); err != nil {
			return fmt.Errorf("bit %d: %w", k, err)
		}
		t, trees := f.(*Ensemble)
		if _, linear := f.(*Linear); !trees && !linear || linear != (e.Kind() == kindLinear) {
			return fmt.Errorf("bit %d is a %T in a model of kind %q", k, f, e.Kind())
		}
		if trees {
			splits += int64(len(t.Feature))
		}
	}
	if splits >= 1<<31 {
		return errors.New("the trees have more than 2^31 splits")
	}
	return nil
}

// Fingerprint implements Encoder.
func (e *Binned) Fingerprint(bits int) Fingerprint { return e.prints.at(e, bits) }

// Prefix implements Encoder.
func (e *Binned) Prefix(bits int) Encoder {
	return &Binned{Quantizer: e.Quantizer, Functions: e.Functions[:bits:bits]}
}

func (e *Binned) appendBase(dst []byte) []byte {
	return appendFloats(appendFloats(dst, e.Quantizer.Lo), e.Quantizer.Hi)
}

func (e *Binned) appendBit(dst []byte, k int) []byte { return AppendFunction(dst, e.Functions[k]) }

// parseQuantizer is the inverse of Binned.appendBase.
func parseQuantizer(b []byte, dim int) (dataset.Quantizer, error) {
	if len(b) != 8*dim {
		return dataset.Quantizer{}, fmt.Errorf("quantiser of %d columns in %d bytes", dim, len(b))
	}
	v := floats(b)
	q := dataset.Quantizer{Lo: v[:dim:dim], Hi: v[dim:]}
	return q, q.Check()
}

// trees returns the functions of an encoder of trees.
func (e *Binned) trees() []*Ensemble {
	fs := make([]*Ensemble, len(e.Functions))
	for k, f := range e.Functions {
		fs[k] = f.(*Ensemble)
	}
	return fs
}

// prepare makes the encoder ready for batches, once.
func (e *Binned) prepare() {
	e.once.Do(func() {
		if e.Kind() == kindLinear {
			for j := range e.Dim() {
				e.scales = append(e.scales, e.Quantizer.Scale(j))
			}
			return
		}
		e.plan = newPlan(e.trees())
		for _, j := range e.plan.columns {
			e.scales = append(e.scales, e.Quantizer.Scale(int(j)))
		}
	})
}

// EncodeTo implements Encoder.
func (e *Binned) EncodeTo(dst hamming.Codes, first int, x dataset.Matrix) {
	checkEncode(e, dst, first, x)
	e.prepare()
	if e.plan == nil {
		const few = 16 // rows whose bins are kept at a time
		for lo := 0; lo < x.Rows; lo += few {
			e.encodeLinear(dst, first+lo, x.Slice(lo, min(lo+few, x.Rows)))
		}
		return
	}
	right := e.plan.scratch.Get().(*[]uint64)
	defer e.plan.scratch.Put(right)
	for lo := 0; lo < x.Rows; lo += block {
		e.encodeTrees(dst, first+lo, x.Slice(lo, min(lo+block, x.Rows)), *right)
	}
}

// encodeTrees encodes up to 64 rows.
func (e *Binned) encodeTrees(dst hamming.Codes, first int, x dataset.Matrix, right []uint64) {
	// A few columns at a time: the cache lines of x stay near until all their values are used.
	const width = 16
	var bins [width][block]uint8
	p := e.plan
	for c := 0; c < len(p.columns); c += width {
		columns := p.columns[c:min(c+width, len(p.columns))]
		scales := e.scales[c : c+len(columns)]
		for r := range x.Rows {
			row := x.Row(r)
			for i, j := range columns {
				bins[i][r] = scales[i].Bin(row[j])
			}
		}
		for i := range columns {
			p.tests(right, c+i, &bins[i])
		}
	}
	var word [64]uint64
	for lo := 0; lo < len(p.bits); lo += 64 {
		clear(word[:])
		for k := range p.bits[lo:min(lo+64, len(p.bits))] {
			word[63-k] = p.bits[lo+k].rows(right)
		}
		transpose(&word)
		for r := range x.Rows {
			dst.Data[(first+r)*dst.Words+lo/64] = word[r]
		}
	}
}

// encodeLinear encodes a few rows. The weights of a bit stay in the cache until it is done with all of them.
func (e *Binned) encodeLinear(dst hamming.Codes, first int, x dataset.Matrix) {
	bins := make([]uint8, len(x.Data))
	for r := range x.Rows {
		for j, v := range x.Row(r) {
			bins[r*x.Cols+j] = e.scales[j].Bin(v)
		}
	}
	for k, f := range e.Functions {
		l := f.(*Linear)
		for r := range x.Rows {
			score := l.Bias
			row := bins[r*x.Cols : (r+1)*x.Cols]
			for j, w := range l.Weight[:len(row)] {
				score += int64(w) * int64(row[j])
			}
			dst.SetBit(first+r, k, score >= 0)
		}
	}
}

// EncodeRow implements Encoder.
func (e *Binned) EncodeRow(dst []uint64, x []float32) {
	if e.Kind() == kindLinear {
		e.EncodeTo(hamming.Codes{Bits: e.Bits(), Words: len(dst), Data: dst}, 0, dataset.Matrix{Rows: 1, Cols: len(x), Data: x})
		return
	}
	e.onceW.Do(func() { e.walk = newWalk(e.Quantizer, e.trees()) })
	clear(dst)
	for k := range e.walk {
		dst[k/64] |= e.walk[k].bit(x) << (63 - k%64)
	}
}
