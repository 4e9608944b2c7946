package model

import (
	"context"

	"hashgrove/dataset"
	"hashgrove/internal/par"
)

// Outputs writes h(x), +1 or -1, for every row of the columns: the bit as training sees it. The function must fit
// the columns.
func Outputs(ctx context.Context, f Function, x *dataset.Columns, threads int, dst []int8) error {
	if len(dst) != x.Rows {
		panic("model: Outputs for another number of rows")
	}
	if err := f.Check(x.Dim()); err != nil {
		return err
	}
	if l, ok := f.(*Linear); ok {
		return par.Blocks(ctx, threads, x.Rows, 1024, func(_, lo, hi int) {
			score := make([]int64, hi-lo)
			for r := range score {
				score[r] = l.Bias
			}
			for j, w := range l.Weight {
				for r, b := range x.Column(j)[lo:hi] {
					score[r] += int64(w) * int64(b)
				}
			}
			for r, s := range score {
				dst[lo+r] = 1 + 2*int8(s>>63)
			}
		})
	}
	p := newPlan([]*Ensemble{f.(*Ensemble)})
	return par.Blocks(ctx, threads, x.Rows, block, func(_, lo, hi int) {
		right := p.scratch.Get().(*[]uint64)
		defer p.scratch.Put(right)
		for c, j := range p.columns {
			var bins [block]uint8
			copy(bins[:], x.Column(int(j))[lo:hi])
			p.tests(*right, c, &bins)
		}
		rows := p.bits[0].rows(*right)
		for r := range dst[lo:hi] {
			dst[lo+r] = int8(rows>>r&1)*2 - 1
		}
	})
}
