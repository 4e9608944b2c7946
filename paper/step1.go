package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/supervision"
)

// step1Table is Table 2 (tab:tsh_step1): time and objective of Step 1 alone, all 64 bits, without hash functions.
//
// The objective is the mean over defined pairs of (y - s/m)² with s the Hamming affinity of m bits: the sum of
// eq:opt_step1 divided by m² and by the number of pairs, as in the paper. Its values fit 100 similar and 100 dissimilar
// rows drawn for each row, as in its code; all pairs are included too, unweighted and balanced: with weights that make
// similar and dissimilar ones count alike, as among the drawn. Codes inferred from all pairs are also evaluated on the
// drawn ones, which compares with the paper.
func step1Table(c collection) Experiment {
	paper := map[string][3]struct{ block, seconds, objective float64 }{ // spectral, Block-GC-1, Block-GC
		"cifar10":  {{0, 1363, 0.4912}, {1, 158, 0.5338}, {5000, 788, 0.4158}},
		"iaprtc12": {{0, 426, 0.7237}, {1, 43, 0.7316}, {316, 70, 0.7095}},
	}[c.name]
	methods := []inference.Algorithm{inference.Spectral, inference.ICM, inference.BlockGC}
	labels := []string{"spectral (TSH)", "Block-GC-1 (ICM)", "Block-GC (FastHash)"}
	return Experiment{
		Name: c.name + "-step1",
		About: "Step 1 alone on " + c.title + ", time and objective of spectral, Block-GC-1 and Block-GC:" +
			" the paper's Table 2",
		Run: func(ctx context.Context, runner *Runner) (*Table, error) {
			base, _, err := runner.open(ctx, c)
			if err != nil {
				return nil, err
			}
			t := &Table{
				Title: c.title + ": Step 1 alone (Table 2)",
				Head: []string{
					"step 1", "pairs", "rows", "block size", "paper", "seconds", "paper", "objective", "paper",
					"on drawn pairs", "paper",
				},
				Note: c.parts + `
Each of the 64 bits is inferred in two sweeps, given the bits before it, with loss length k for bit k. The objective is
the mean of (y - s/64)² over the pairs that count, where s is the Hamming affinity: the paper's sum divided by the
squared code length and the number of pairs. "Drawn" means 100 similar and 100 dissimilar rows sampled for each row, as
in the authors' released code, which fits the paper's values; bits inferred from all pairs are evaluated on the drawn
pairs too. "Balanced" weights all pairs so that similar and dissimilar pairs count equally. Seconds do not include
sampling the pairs.`,
			}
			for _, pairs := range pairings {
				for i, name := range methods {
					v, err := runner.inferred(ctx, base, name, pairs)
					if err := t.addFailure(ctx, runner, labels[i]+", "+string(pairs)+" pairs", err); err != nil {
						return nil, err
					}
					p := paper[i]
					if runner.Short {
						p.block, p.seconds, p.objective = 0, 0, 0
					}
					own := "-" // the paper's, on its own pairs
					if pairs == pairsDrawn {
						own = number("%.4f", p.objective)
					}
					t.Rows = append(t.Rows, []string{
						labels[i], string(pairs), number("%.0f", float64(v.Rows)),
						number("%.0f", v.Block), number("%.0f", p.block),
						number("%.2f", v.Seconds), number("%.0f", p.seconds), number("%.4f", v.Objective), own,
						number("%.4f", v.Drawn), number("%.4f", p.objective),
					})
				}
			}
			runner.labelShort(t, c)
			return t, nil
		},
	}
}

// pairing selects which pairs count.
type pairing string

const (
	pairsDrawn    pairing = "drawn"
	pairsAll      pairing = "all"
	pairsBalanced pairing = "all, balanced"
)

var pairings = []pairing{pairsDrawn, pairsAll, pairsBalanced}

// inferred is the outcome of Step 1.
type inferred struct {
	Rows      int
	Block     float64 // mean rows per block; 0 for the spectral method, which has none
	Seconds   float64
	Objective float64 // over the pairs that counted
	Drawn     float64 // over the drawn pairs
}

// inferred runs Step 1 for all bits, using each inferred bit as the output of its hash function.
func (runner *Runner) inferred(
	ctx context.Context, base split, method inference.Algorithm, pairs pairing,
) (inferred, error) {
	bits := 64
	if runner.Short {
		bits = 8
	}
	name := fmt.Sprintf("step1-%s-%s-%s-%d", base.name, method, strings.ReplaceAll(string(pairs), ", ", "-"), bits)
	key := keyOf("step1 1", base.digest, bits, method, pairs, runner.Seed)
	return value(runner, name, key, func() (inferred, error) {
		src, err := base.open()
		if err != nil {
			return inferred{}, err
		}
		d, err := supervision.Scan(ctx, src, supervision.ScanOptions{})
		if err != nil {
			return inferred{}, err
		}
		all, err := d.Affinity(d.Rows)
		if err != nil {
			return inferred{}, err
		}
		return infer(ctx, all, bits, inference.Options{Method: method, Threads: runner.Threads}, pairs, runner.Seed)
	})
}

func infer(
	ctx context.Context, all affinity.Matrix, bits int, o inference.Options, pairs pairing, seed uint64,
) (v inferred, err error) {
	sample, err := affinity.Sample(all, 100, 100, seed)
	if err != nil {
		return v, err
	}
	y := all
	switch pairs {
	case pairsDrawn:
		y = sample
	case pairsBalanced:
		o = o.Balanced(all)
	}
	v.Rows = y.Len()
	began := time.Now()
	p, err := inference.New(y, bits, o, seed)
	if err != nil {
		return v, err
	}
	took := time.Since(began)
	if o.Method != inference.Spectral {
		v.Block = p.MeanBlock()
	}
	judge, err := inference.New(sample, bits, inference.Options{Method: inference.ICM, Threads: o.Threads}, seed)
	if err != nil {
		return v, err
	}
	for range bits {
		began := time.Now()
		z, err := p.Infer(ctx)
		if err != nil {
			return v, err
		}
		p.Push(z)
		took += time.Since(began)
		judge.Push(z)
	}
	v.Seconds = took.Seconds()
	if v.Objective, err = p.Objective(ctx); err != nil {
		return v, err
	}
	v.Drawn, err = judge.Objective(ctx)
	return v, err
}
