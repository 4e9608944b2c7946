package model

import (
	"cmp"
	"fmt"
	"sync"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// Binned is an encoder over quantised columns: trees or hyperplanes, all functions of one type. Do not change it once
// it has been used.
type Binned struct {
	Quantizer vectors.Quantizer
	Functions []Function // one per bit

	kind   string // while it is read
	prints chain
	// The rest is built when first needed: the columns, then what batches or single rows need.
	columns, batches, rows sync.Once
	scales                 []vectors.Scale // hyperplanes: of all columns
	layout                 layout          // trees: of the columns in use
	plan                   *plan           // trees: for batches
	walks                  []walkBit       // trees: for single rows
}

// Kind implements Encoder: "trees" or "linear".
func (e *Binned) Kind() string {
	if len(e.Functions) > 0 {
		return kindOf(e.Functions[0])
	}
	return cmp.Or(e.kind, kindTrees)
}

func kindOf(f Function) string {
	if _, ok := f.(*Linear); ok {
		return kindLinear
	}
	return kindTrees
}

// Dim implements Encoder.
func (e *Binned) Dim() int { return e.Quantizer.Dim() }

// Bits implements Encoder.
func (e *Binned) Bits() int { return len(e.Functions) }

// maxSplits bounds the splits of all trees: four times the number of a test must fit a uint32 (plan.go), and there is
// one more test than splits.
const maxSplits = 1<<30 - 1

const _ = uint32(4 * maxSplits) // does not compile if too large

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
		if kindOf(f) != e.Kind() {
			return fmt.Errorf("bit %d is a %T in a model of kind %q", k, f, e.Kind())
		}
		if t, ok := f.(*Ensemble); ok {
			splits += int64(len(t.Feature))
		}
	}
	if splits > maxSplits {
		return fmt.Errorf("the trees have %d splits, over %d", splits, maxSplits)
	}
	return nil
}

// Fingerprint implements Encoder.
func (e *Binned) Fingerprint(bits int) hamming.Fingerprint { return e.prints.fingerprint(e, bits) }

func (e *Binned) prefix(bits int) Encoder {
	return &Binned{Quantizer: e.Quantizer, Functions: e.Functions[:bits:bits]}
}

func (e *Binned) base(c *codec, dim int) { codeQuantizer(c, &e.Quantizer, dim) }

func (e *Binned) bit(c *codec, dim, k int) {
	if c.reading {
		e.Functions = append(e.Functions, nil)
	}
	f := &e.Functions[k]
	if codeFunction(c, f); c.reading && c.err == nil && kindOf(*f) != e.kind {
		c.fail(fmt.Errorf("a %T in a model of kind %q", *f, e.kind))
	} else if c.reading && c.err == nil {
		c.fail((*f).Check(dim))
	}
}

// trees returns the functions of an encoder of trees.
func (e *Binned) trees() []*Ensemble {
	fs := make([]*Ensemble, len(e.Functions))
	for k, f := range e.Functions {
		fs[k] = f.(*Ensemble)
	}
	return fs
}

// prepare builds what batches and single rows need, once.
func (e *Binned) prepare() {
	e.columns.Do(func() {
		if e.Kind() == kindTrees {
			e.layout = newLayout(e.trees(), e.Quantizer)
			return
		}
		for j := range e.Dim() {
			e.scales = append(e.scales, e.Quantizer.Scale(j))
		}
	})
}

func (e *Binned) run(to output, x vectors.Matrix) bool {
	e.prepare()
	if e.Kind() == kindLinear {
		e.runLinear(to, x)
		return encodable(x.Data, e.Quantizer.Missing)
	}
	ok := true
	for lo := 0; lo < x.Rows; lo += block {
		ok = e.runTrees(to.from(lo), x.Slice(lo, min(lo+block, x.Rows))) && ok
	}
	return ok
}

// fewRows is the number of rows below which trees are faster row by row than in a block.
const fewRows = 8

// runTrees is run for up to a block of rows and trees.
func (e *Binned) runTrees(to output, x vectors.Matrix) bool {
	if x.Rows < fewRows && 8*len(e.layout.windows) <= mostPlaces {
		e.rows.Do(func() { e.walks = newWalk(e.trees(), e.layout.columns, e.layout.places) })
		for r := range x.Rows {
			e.runRow(to.from(r), x.Row(r))
		}
		return encodable(x.Data, e.Quantizer.Missing)
	}
	e.batches.Do(func() { e.plan = newPlan(e.trees(), e.layout.columns, e.layout.places) })
	s := e.plan.scratch.Get().(*scratch)
	defer e.plan.scratch.Put(s)
	ok := e.layout.planes(s.planes, x)
	var code [64]set
	for i := range e.plan.parts {
		if to.margins.Data != nil {
			e.plan.margins(i, s, to, x.Rows)
			continue
		}
		e.plan.encode(i, s, &code)
		for r := range x.Rows {
			to.codes.Data[(to.first+r)*to.codes.Words+i] = code[r%64][r/64]
		}
	}
	return ok
}

// runLinear is run for hyperplanes. It takes a few rows at a time and keeps their bins; the weights of a bit stay in
// the cache until all of them are done.
func (e *Binned) runLinear(to output, x vectors.Matrix) {
	const step = 16
	bins := make([]uint8, min(step, x.Rows)*x.Cols)
	for lo := 0; lo < x.Rows; lo += step {
		n := min(step, x.Rows-lo)
		for r := range n {
			for j, v := range x.Row(lo + r) {
				bins[r*x.Cols+j] = e.scales[j].Bin(v)
			}
		}
		for k, f := range e.Functions {
			l := f.(*Linear)
			for r := range n {
				score := l.Bias
				row := bins[r*x.Cols : (r+1)*x.Cols]
				for j, w := range l.Weight[:len(row)] {
					score += int64(w) * int64(row[j])
				}
				to.put(lo+r, k, float32(score))
			}
		}
	}
}

// runRow is run for one row and trees.
func (e *Binned) runRow(to output, x []float32) {
	bins := e.layout.bins(x)
	if to.margins.Data != nil {
		for k := range e.walks {
			to.put(0, k, float32(e.walks[k].score(bins)))
		}
		return
	}
	dst := to.codes.Row(to.first)
	clear(dst)
	for k := range e.walks {
		dst[k/64] |= e.walks[k].bit(bins) << (63 - k%64)
	}
}
