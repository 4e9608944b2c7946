package inference

// Candidates for a bit, in sequence or side by side. They depend on the bits so far and on their numbers only,
// so the result is the same.

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"hashgrove/internal/par"
)

// stream separates the random numbers of Step 1 from others drawn from the same seed.
const stream = 1 << 63

// worthSide is the number of variables above which goroutines for candidates pay off: each then takes a tenth
// of a millisecond.
const worthSide = 1024

// Infer finds the next bit: +1 or -1 for every row, valid until the next call. It depends on the affinity, the options,
// the seed and the bits pushed, not on earlier calls.
func (p *Inference) Infer(ctx context.Context) ([]int8, error) { return p.InferCandidate(ctx, 0) }

// InferCandidate is like Infer with different random numbers for each candidate number; Infer is candidate 0. The
// candidates are about equally good, and often very different.
func (p *Inference) InferCandidate(ctx context.Context, number int) ([]int8, error) {
	if err := p.infer(ctx, p.p, number, p.z); err != nil {
		return nil, err
	}
	return p.z, nil
}

// InferCandidates writes the first candidates, each to one of the slices: side by side where there are many rows, they
// are in memory and the method does not use all cores and much memory for one.
func (p *Inference) InferCandidates(ctx context.Context, into [][]int8) error {
	states := SideBySide(p.opt.Threads, len(into))
	if states == 1 || p.opt.Spill != nil || p.opt.Method != BlockGC ||
		len(p.p.mass()) < cmp.Or(p.opt.side, worthSide) {
		for number, z := range into {
			if err := p.infer(ctx, p.p, number, z); err != nil {
				return err
			}
		}
		return nil
	}
	for len(p.side) < states {
		threads := par.Threads(p.opt.Threads)
		p.side = append(p.side, p.p.another((threads+states-1)/states))
	}
	free := make(chan problem, states)
	for _, q := range p.side[:states] {
		free <- q
	}
	errs := make([]error, len(into))
	err := par.For(ctx, states, len(into), func(number int) {
		q := <-free
		defer func() { free <- q }()
		errs[number] = p.infer(ctx, q, number, into[number])
	})
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	if err != nil {
		err = fmt.Errorf("bit %d: %w", p.done+1, err)
	}
	return err
}

// SideBySide returns how many candidates of a bit are inferred at the same time.
func SideBySide(threads, candidates int) int { return max(1, min(par.Threads(threads), candidates)) }

// infer writes a candidate, inferred with the given state.
func (p *Inference) infer(ctx context.Context, q problem, number int, z []int8) error {
	k := p.done + 1
	if k > p.bits {
		return fmt.Errorf("all %d bits have been inferred", p.bits)
	}
	rng := rand.New(rand.NewPCG(p.seed, stream|uint64(number)<<32|uint64(k)))
	q.setWeights(p.weights(1))
	var err error
	switch p.opt.Method {
	case BlockGC, ICM:
		err = graphCut(ctx, q, p.opt.Sweeps, rng)
	case Spectral:
		err = spectral(ctx, q, p.weights(1), rng)
	}
	if err != nil {
		return fmt.Errorf("bit %d: %w", k, err)
	}
	variable, _, _ := q.rows()
	signs := q.signs()
	p.eachRow(func(i int) { z[i] = signs[variable[i]] })
	return nil
}

// Parts returns the number of parts in which blocks with too many undecided rows for one cut were minimised since the
// last Push: 0 if every block reached its minimum.
func (p *Inference) Parts() int { return int(p.parts.Load()) }
