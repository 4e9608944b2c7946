package training

import (
	"context"

	"hashgrove"
	"hashgrove/eval"
	"hashgrove/hamming"
	"hashgrove/model"
	"hashgrove/vectors"
)

// Validation is held-out rows that serve as queries against the training rows: after every bit the tie-aware MAP
// tells whether the bit helped.
type Validation struct {
	X     *vectors.Columns // quantised like the training rows
	Truth eval.Truth       // queries are the rows of X, base is the training rows
}

// validator keeps the codes so far of both sides.
type validator struct {
	job           Job
	base, queries hamming.Codes
	output        []int8
	bits          int
	best          int // number of bits with the best MAP
	bestMAP       float64
}

// newValidator replays the bits that are done, whose MAP the statistics know.
func newValidator(ctx context.Context, j Job, done []model.Function, stats []model.BitStat) (*validator, error) {
	v := &validator{
		job:     j,
		base:    hamming.NewCodes(j.X.Rows, j.Trainer.Bits),
		queries: hamming.NewCodes(j.Validation.X.Rows, j.Trainer.Bits),
		output:  make([]int8, max(j.X.Rows, j.Validation.X.Rows)),
	}
	for k, f := range done {
		if err := model.Outputs(ctx, f, j.X, j.Trainer.Threads, v.output[:j.X.Rows]); err != nil {
			return nil, err
		}
		if err := v.push(ctx, f, v.output[:j.X.Rows]); err != nil {
			return nil, err
		}
		v.note(stats[k].Validation)
	}
	return v, nil
}

// add takes a new bit into both codes and returns the MAP with it.
func (v *validator) add(ctx context.Context, bit hashgrove.Bit) (float64, error) {
	if err := v.push(ctx, bit.Function, bit.Output); err != nil {
		return 0, err
	}
	r, err := eval.Retrieval(ctx, v.queries.Prefix(v.bits), v.base.Prefix(v.bits), v.job.Validation.Truth, eval.Options{Threads: v.job.Trainer.Threads})
	if err != nil {
		return 0, err
	}
	v.note(r.MAP)
	return r.MAP, nil
}

func (v *validator) push(ctx context.Context, f model.Function, output []int8) error {
	for i, h := range output {
		v.base.SetBit(i, v.bits, h > 0)
	}
	rows := v.job.Validation.X.Rows
	queries := make([]int8, rows)
	if err := model.Outputs(ctx, f, v.job.Validation.X, v.job.Trainer.Threads, queries); err != nil {
		return err
	}
	for i, h := range queries {
		v.queries.SetBit(i, v.bits, h > 0)
	}
	v.bits++
	return nil
}

func (v *validator) note(m float64) {
	if v.best == 0 || m > v.bestMAP {
		v.best, v.bestMAP = v.bits, m
	}
}

// stalled is the number of bits since the best one.
func (v *validator) stalled() int { return v.bits - v.best }
