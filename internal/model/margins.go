package model

import (
	"context"
	"fmt"

	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Margins: the scores of the bits before the sign, which say how certain each bit is.
//
//	trees        sum of w_q T_q(x)             an exact integer, rounded to float32
//	hyperplanes  bias + sum of w_j bin_j(x)    the same
//	projection   w · (x - mean) - threshold    in float64, rounded to float32
//	maps         the margins of the encoder behind them
//
// A margin is negative only if its bit is 0. (A negative score too small for float32 has the margin -0.) Batches of
// trees take the way of encode (plan.go), and keep the sums of the weights that it compares.

// Margins returns the scores of all rows of x before the sign, one row per row of x and one column per bit, computed on
// the given number of threads (0 for all cores). The model must have passed Check. hamming.Weights defines the distance
// that bits and margins make together.
func (m *Model) Margins(ctx context.Context, x vectors.Matrix, threads int) (vectors.Matrix, error) {
	if err := m.checkDim(x.Cols); err != nil {
		return vectors.Matrix{}, err
	}
	bits := m.Encoder.Bits()
	all := vectors.Matrix{Rows: x.Rows, Cols: bits, Data: make([]float32, x.Rows*bits)}
	errs := make([]error, (x.Rows+block-1)/block)
	err := par.Blocks(ctx, threads, x.Rows, block, func(b, lo, hi int) {
		rows := x.Slice(lo, hi)
		if !m.Encoder.margins(all.Slice(lo, hi), rows) {
			at := m.notEncodable(rows.Data)
			errs[b] = fmt.Errorf("row %d, %w", lo+at/x.Cols, m.valueError(at%x.Cols, rows.Data[at]))
		}
	})
	if err != nil {
		return vectors.Matrix{}, err
	}
	for _, err := range errs {
		if err != nil {
			return vectors.Matrix{}, err
		}
	}
	return all, nil
}

func (e *Binned) margins(dst, x vectors.Matrix) bool {
	e.prepare()
	if e.Kind() == kindLinear {
		e.scoreLinear(x, func(r, k int, score int64) { dst.Data[r*dst.Cols+k] = float32(score) })
		return encodable(x.Data, e.Quantizer.Missing)
	}
	ok := true
	for lo := 0; lo < x.Rows; lo += block {
		hi := min(lo+block, x.Rows)
		ok = e.treeMargins(dst.Slice(lo, hi), x.Slice(lo, hi)) && ok
	}
	return ok
}

// treeMargins writes the margins of up to a block of rows and reports whether all values can be encoded.
func (e *Binned) treeMargins(dst, x vectors.Matrix) bool {
	if e.oneByOne(x.Rows) {
		e.rows.Do(func() { e.walks = newWalk(e.trees(), e.layout.columns, e.layout.places) })
		for r := range x.Rows {
			bins := e.layout.bins(x.Row(r))
			for k := range e.walks {
				dst.Data[r*dst.Cols+k] = float32(e.walks[k].score(bins))
			}
		}
		return encodable(x.Data, e.Quantizer.Missing)
	}
	e.batches.Do(func() { e.plan = newPlan(e.trees(), e.layout.columns, e.layout.places) })
	s := e.plan.scratch.Get().(*scratch)
	defer e.plan.scratch.Put(s)
	ok := e.layout.planes(s.planes, x)
	var score [block]int64
	for i := range e.plan.parts {
		part := &e.plan.parts[i]
		part.ready(s)
		for k := range part.bits {
			part.bits[k].scores(s, score[:x.Rows])
			for r := range x.Rows {
				dst.Data[r*dst.Cols+i*partBits+k] = float32(score[r])
			}
		}
	}
	return ok
}

// scores writes the scores of the first rows of the block.
func (b *planBit) scores(s *scratch, dst []int64) {
	total := int64(0)
	for g := range b.tables {
		for f := range b.tables[g] {
			total += int64(b.tables[g][f][1<<fold-1])
		}
	}
	totals(&s.plus, b.votes(s), b.tables)
	for r := range dst {
		dst[r] = 2*int64(s.plus[totalPlace(r%64, r/64)]) - total
	}
}

func (e *Projection) margins(dst, x vectors.Matrix) bool {
	e.scores(x, func(r, k int, score float64) {
		dst.Data[r*dst.Cols+k] = settle(score - float64(e.Threshold[k]))
	})
	return finite(x.Data)
}

func (e *Mapped) margins(dst, x vectors.Matrix) bool {
	e.through(x, func(lo int, y vectors.Matrix) { e.Encoder.margins(dst.Slice(lo, lo+y.Rows), y) })
	return encodable(x.Data, takesMissing(e))
}
