package fasthash

import (
	"context"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
)

// validator ranks the training rows for held-out rows after every bit: the tie-aware MAP shows whether the bit helped.
// It keeps the codes of both sides.
type validator struct {
	*training
	base, queries hamming.Codes
	bits          int
	best          int // number of bits with the best MAP
	bestMAP       float64
}

// newValidator replays the bits already learned, whose MAP is in their statistics.
func newValidator(ctx context.Context, t *training, done []model.Function, stats []model.BitStat) (*validator, error) {
	v := &validator{
		training: t,
		base:     hamming.NewCodes(t.x.Rows, t.Bits),
		queries:  hamming.NewCodes(t.held.Rows, t.Bits),
	}
	output := make([]int8, t.x.Rows)
	for k, f := range done {
		if err := model.Outputs(ctx, f, t.x, t.Threads, output); err != nil {
			return nil, err
		}
		if err := v.push(ctx, f, output); err != nil {
			return nil, err
		}
		v.remember(stats[k].Validation)
	}
	return v, nil
}

// add appends a new bit to both codes and returns the MAP with it.
func (v *validator) add(ctx context.Context, bit Bit) (float64, error) {
	if err := v.push(ctx, bit.Function, bit.Output); err != nil {
		return 0, err
	}
	r, err := eval.Retrieval(ctx, v.queries.Prefix(v.bits), v.base.Prefix(v.bits), v.truth,
		eval.Options{Threads: v.Threads})
	if err != nil {
		return 0, err
	}
	v.remember(r.MAP)
	return r.MAP, nil
}

// push appends a bit to both codes.
func (v *validator) push(ctx context.Context, f model.Function, output []int8) error {
	for i, h := range output {
		v.base.SetBit(i, v.bits, h > 0)
	}
	queries := make([]int8, v.held.Rows)
	if err := model.Outputs(ctx, f, v.held, v.Threads, queries); err != nil {
		return err
	}
	for i, h := range queries {
		v.queries.SetBit(i, v.bits, h > 0)
	}
	v.bits++
	return nil
}

// remember records the MAP with the bits so far.
func (v *validator) remember(m float64) {
	if v.best == 0 || m > v.bestMAP {
		v.best, v.bestMAP = v.bits, m
	}
}

// stalled returns the number of bits since the best one.
func (v *validator) stalled() int { return v.bits - v.best }
