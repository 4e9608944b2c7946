package fasthash

import (
	"context"
	"math"
	"time"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// EstimateBytes estimates the memory of training with the default options: the values kept between passes, one byte
// each, some bytes per row, and the sums of products that extra columns are fitted from.
func EstimateBytes(d *supervision.Data) int64 {
	n, side := int64(d.Rows), int64(sumSide(d.Dim()))
	anchors := min(n, int64(Options{Effort: Normal}.anchors(d.Dim())))
	kept := min(4*n*int64(d.Dim()), vectors.TrainBytes())
	return kept + n*int64(d.Dim()) + 450*n + 40*(side*side+anchors*anchors) + 64<<20
}

// sumSide returns the number of columns whose products are summed.
func sumSide(dim int) int {
	if dim > maxSumSide {
		return sketchSide
	}
	return dim
}

// EstimateSeconds estimates the time of training with the default options.
func EstimateSeconds(ctx context.Context, src vectors.Source, d *supervision.Data, threads int) (float64, error) {
	return Options{Threads: threads}.EstimateSeconds(ctx, src, d)
}

// EstimateSeconds estimates the time of training by timing a few trees on the first rows, since the cost is linear in
// rows, trees and bits, and one of the fits of extra columns.
func (t Options) EstimateSeconds(ctx context.Context, src vectors.Source, d *supervision.Data) (float64, error) {
	const sample, rounds = 5000, 8
	t, err := t.fillIn(aboutOf(d))
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
		z[i] = int8(i%2)*2 - 1 // nothing to learn, so nothing is trimmed and the estimate errs on the safe side
		if d.Labels != nil {
			z[i] = int8(d.Labels.Class[i]%2)*2 - 1
		}
	}
	trees := t.Trees
	trees.Rounds = min(rounds, trees.Rounds)
	fit, err := boost.New(x, trees, t.Threads)
	if err != nil {
		return 0, nil // constant columns: training reports them itself
	}
	once, err := timed(func() error {
		_, _, _, err := fit.Fit(ctx, z, nil, 1, 1)
		return err
	})
	if err != nil {
		return 0, err
	}
	tree := once / float64(x.Rows) / float64(trees.Rounds) // per row
	if t.Device != nil {
		tree /= t.Device.Speed(ctx, d.Rows, d.Dim(), t.Trees)
	}
	seconds := float64(tree * float64(d.Rows) * float64(t.Trees.Rounds) * float64(t.Bits))
	if t.Candidates > 1 {
		seconds += float64(seconds / candidatePart)
	}
	columns, err := t.estimateColumns(ctx, d, tree)
	return seconds + columns, err
}

// estimateColumns estimates the time of extra columns, given the time of a tree per row: the trial, if there is one,
// and the fits of the trial and of all rows.
func (t Options) estimateColumns(ctx context.Context, d *supervision.Data, tree float64) (float64, error) {
	if none, _ := t.noScores(d); none != "" || !t.wantsColumns() {
		return 0, nil
	}
	rows, most, tried := []int{d.Rows}, t.LinearColumns, 0.0
	if most == LinearAuto || most == KernelAuto {
		some := min(d.Rows, trialRows)
		rows, tried = append(rows, some), 2
		if most = LinearScores; t.LinearColumns == KernelAuto {
			most, tried = KernelScores, 3
		}
		tried *= tree * trialBits * float64(some) * float64(t.trialTrees(some))
	}
	widths := []int{sumSide(d.Dim())}
	if most == KernelScores {
		widths = append(widths, min(t.anchors(d.Dim()), d.Rows))
	}
	for i, width := range widths {
		side := min(width, d.Rows) // of the systems
		solved, err := timeFit(ctx, side, t.Threads)
		if err != nil {
			return 0, err
		}
		for _, n := range rows {
			products := float64(float64(n) * float64(side) * float64(width) / 2) // these and side³/6 take the measured time
			if i > 0 || d.Dim() > maxSumSide {
				products += float64(float64(n) * float64(width) * float64(d.Dim()))
			}
			tried += float64(solved * (float64(fits(side)) + float64(products/math.Pow(float64(side), 3)*6)))
		}
	}
	return tried, nil
}

// fits returns the number of systems that a fit with this many equations solves.
func fits(side int) int {
	if side > linalg.ManyColumns {
		return (scoreFolds+1)/2*len(kernelPenalties) + scoreFolds + 1
	}
	return scoreFolds*(scoreFolds-1)/2*len(scorePenalties) + scoreFolds + 1
}

// timeFit times one ridge regression with this many columns.
func timeFit(ctx context.Context, side, threads int) (float64, error) {
	a, b := vectors.Matrix{Rows: side, Cols: side, Data: make([]float32, side*side)}, vectors.Matrix{Rows: side, Cols: 1}
	b.Data = make([]float32, side)
	for i := range side {
		a.Row(i)[i], b.Data[i] = 1, 1
	}
	return timed(func() error { return linalg.SolveRidge(ctx, threads, a, 1, b) })
}

// timed returns how many seconds f takes. It repeats f if that is over before the clock ticks, which on Windows happens
// only every few milliseconds.
func timed(f func() error) (float64, error) {
	began := now()
	for n := 1; ; n++ {
		if err := f(); err != nil {
			return 0, err
		}
		if took := now().Sub(began); took > 0 {
			return took.Seconds() / float64(n), nil
		}
	}
}

// now is time.Now, except in tests.
var now = time.Now
