package eval

import (
	"context"
	"fmt"

	"hashgrove/internal/hamming"
)

// Weighted ranking (Weiss, Fergus and Torralba, "Multidimensional spectral hashing", ECCV 2012). Bits come in groups g
// that look at one dimension each. The affinity of the codes b and b', with values -1 and 1, is
//
//	prod over g of (1 + sum over k in g of w_k b_k b'_k) - 1.
//
// Higher is nearer. Factors are divided by 1 + sum of w_k and the final 1 is not subtracted: the order is the same, and
// nothing overflows. Cost: queries x base x bits, then a sort per query.

// RetrievalWeighted ranks the base by weighted affinity to every query and evaluates the rankings as Retrieval does.
// Affinities are rounded to float32, and equal ones are ties. The precision-recall curve runs over ranks.
//
// It panics unless there is one weight per bit, and where Retrieval does.
func RetrievalWeighted(
	ctx context.Context, queries, base hamming.Codes, weights []hamming.BitWeight, truth Truth, o Options,
) (*Report, error) {
	if len(weights) != base.Bits {
		panic("eval: weights are not one per bit")
	}
	for k, w := range weights {
		if !(w.Weight >= 0 && w.Weight <= 1) {
			return nil, fmt.Errorf("bit %d has the weight %v, outside of 0 to 1", k, w.Weight)
		}
	}
	j, err := codeJudgement(queries, base, truth)
	if err != nil {
		return nil, err
	}
	parts := partsOf(weights)
	j.ranker = func(_, _ int, o *Options) ranker {
		return &weightedRanker{queries, base, parts, make([]uint64, base.Words), newSorter(base.Len(), o.Cut)}
	}
	return j.run(ctx, o)
}

// part is a group.
type part struct {
	bits   []int
	weight []float64
	total  float64 // 1 + sum of w
}

func partsOf(weights []hamming.BitWeight) []part {
	place := map[int]int{}
	var parts []part
	for k, w := range weights {
		at, ok := place[w.Group]
		if !ok {
			at = len(parts)
			place[w.Group] = at
			parts = append(parts, part{total: 1})
		}
		p := &parts[at]
		p.bits, p.weight, p.total = append(p.bits, k), append(p.weight, w.Weight), p.total+w.Weight
	}
	return parts
}

// factorFor returns the group's factor for codes that differ in the given bits.
func (p *part) factorFor(difference []uint64) float64 {
	sum := 1.0
	for i, k := range p.bits {
		sum += float64(p.weight[i] * float64(1-2*int(difference[k/64]>>(63-k&63)&1)))
	}
	return sum / p.total
}

type weightedRanker struct {
	queries, base hamming.Codes
	parts         []part
	difference    []uint64
	sorter
}

func (r *weightedRanker) rank(q int, mark []uint8) *list {
	query := r.queries.Row(q)
	r.keys = r.keys[:0]
	for i := range r.base.Len() {
		if mark[i] == Ignored {
			continue
		}
		for w, b := range r.base.Row(i) {
			r.difference[w] = query[w] ^ b
		}
		affinity := 1.0
		for p := range r.parts {
			affinity *= r.parts[p].factorFor(r.difference)
		}
		r.keys = append(r.keys, uint64(descendingKey(float32(affinity)))<<32|uint64(i))
	}
	return r.sort(mark)
}
