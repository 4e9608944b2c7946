package fasthash

import (
	"context"
	"time"

	"hashgrove/boost"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// EstimateBytes estimates the memory of training 64 bits with the default options.
func EstimateBytes(d *supervision.Data) int64 {
	return int64(d.Rows)*int64(d.Dim()) + 200*int64(d.Rows) + 64<<20
}

// EstimateSeconds estimates the time of training 64 bits with the default options.
func EstimateSeconds(ctx context.Context, src vectors.Source, d *supervision.Data, threads int) (float64, error) {
	return Options{Threads: threads}.EstimateSeconds(ctx, src, d)
}

// EstimateSeconds estimates the time of training with the options from a few trees on the first rows: the cost is
// linear in rows, trees and bits.
func (t Options) EstimateSeconds(ctx context.Context, src vectors.Source, d *supervision.Data) (float64, error) {
	const sample, rounds = 5000, 8
	t, err := t.ForData(d.Rows)
	if err != nil {
		return 0, err
	}
	q, err := d.Ranges.QuantizerBy(t.Bins)
	if err != nil {
		return 0, err
	}
	x := vectors.NewColumns(min(d.Rows, sample), q)
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return 0, err
		}
		n := min(chunk.X.Rows, x.Rows-chunk.First)
		if err := x.Set(ctx, t.Threads, chunk.First, chunk.X.Slice(0, n)); err != nil {
			return 0, err
		}
		if chunk.First+n == x.Rows {
			break
		}
	}
	z := make([]int8, x.Rows)
	for i := range z {
		z[i] = int8(i%2)*2 - 1 // nothing to learn, so nothing is trimmed: the estimate is on the safe side
		if d.Labels != nil {
			z[i] = int8(d.Labels.Class[i]%2)*2 - 1
		}
	}
	trees := t.Trees
	trees.Rounds = min(rounds, trees.Rounds)
	fit, err := boost.New(x, trees, t.Threads)
	if err != nil {
		return 0, nil // constant columns: training says so itself
	}
	began := time.Now()
	if _, _, _, err := fit.Fit(ctx, z, nil, 1, 1); err != nil {
		return 0, err
	}
	scale := float64(d.Rows) / float64(x.Rows) * float64(t.Trees.Rounds) / float64(trees.Rounds) * float64(t.Bits)
	return time.Since(began).Seconds() * scale, nil
}
