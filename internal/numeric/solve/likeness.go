// The similarity matrix of KSH as an operator: S_0 with +1 for similar rows and on the diagonal, -1 for dissimilar rows
// and 0 for unknown. It is never formed.
//
//	classes   S_0 x = 2 (sum of x over the class) - (sum of x)                 O(n)
//	tags      S_0 x = 2 (sum of x over all similar sets of tags) - (sum of x)  O(n + pairs of similar sets)
//	pairs     S_0 x = x + (sum over similar rows) - (sum over dissimilar)      O(n + pairs)

package solve

import (
	"context"
	"errors"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/par"
)

// Likeness is S_0. Rows of one unit are similar to the same rows, including each other.
type Likeness struct {
	unit    []int32 // of each row; nil for pairs
	units   int
	start   []int // units similar to unit u: near[start[u]:start[u+1]], u among them; nil for classes, where it is u alone
	near    []int32
	pairs   *affinity.Pairs
	threads int
}

// maxNear limits the lists of similar units: 1 GB.
const maxNear = 1 << 28

// NewLikeness prepares products with an affinity.
func NewLikeness(ctx context.Context, y affinity.Matrix, threads int) (*Likeness, error) {
	s := &Likeness{threads: threads}
	switch y := y.(type) {
	case *affinity.Classes:
		s.units, s.unit = y.Units(), y.RowUnits()
	case *affinity.Tags:
		s.units, s.unit = y.Units(), y.RowUnits()
		similar := y.SimilarUnits()
		s.start = []int{0}
		for u := range int32(s.units) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			s.near = append(s.near, similar(u)...)
			s.start = append(s.start, len(s.near))
			if len(s.near) > maxNear {
				return nil, errors.New("too many sets of tags are similar to each other: learn from fewer rows")
			}
		}
	case *affinity.Pairs:
		s.pairs = y
	}
	return s, nil
}

// Times sets y = S_0 x.
func (s *Likeness) Times(ctx context.Context, x, y []float64) error {
	const block = 512
	if s.pairs != nil {
		return par.Blocks(ctx, s.threads, len(x), block, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				sum := x[i]
				for _, j := range s.pairs.Similar(i) {
					sum += x[j]
				}
				for _, j := range s.pairs.Dissimilar(i) {
					sum -= x[j]
				}
				y[i] = sum
			}
		})
	}
	total := 0.0
	sum := make([]float64, s.units)
	for i, v := range x {
		sum[s.unit[i]] += v
		total += v
	}
	around := sum
	if s.start != nil {
		around = make([]float64, s.units)
		err := par.Blocks(ctx, s.threads, s.units, block, func(_, lo, hi int) {
			for u := lo; u < hi; u++ {
				for _, o := range s.near[s.start[u]:s.start[u+1]] {
					around[u] += sum[o]
				}
			}
		})
		if err != nil {
			return err
		}
	}
	for i, u := range s.unit {
		y[i] = 2*around[u] - total
	}
	return nil
}
