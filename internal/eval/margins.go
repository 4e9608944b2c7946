package eval

import (
	"context"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// Ranking by margins. The query knows how certain each of its bits is, while the base has only codes: the distance is
// the sum of the query's weights (hamming.Weights) over the bits that differ from the signs of its margins, an integer
// in sixteenths of a bit. An expected code in place of the margins ranks by that (model.Model.Expect).
//
//	weights    of the query, from its margins                        O(bits)
//	distances  of the distinct codes, as in a search                 O(codes x bytes)
//	order      of all items, by counting (rankers.go)                O(base)

// RetrievalMargins ranks the base by the margins of every query and evaluates the rankings as Retrieval does. The
// margins have a row for each query and a column for each bit, see model.Model.Margins. A radius of 1 is one bit of
// average margin.
//
// It panics if the margins do not match the codes in size, and where Retrieval does.
func RetrievalMargins(
	ctx context.Context, queries, base hamming.Codes, margins vectors.Matrix, truth Truth, o Options,
) (*Report, error) {
	if margins.Rows != queries.Len() || margins.Cols != queries.Bits {
		panic(marginsMisfit)
	}
	j, err := codeJudgement(queries, base, truth)
	if err != nil {
		return nil, err
	}
	return j.weighted(ctx, base, func(q int, code []uint64) ([]uint64, []uint8) {
		hamming.SetSigns(code, margins.Row(q))
		return code, hamming.Weights(margins.Row(q), o.Detail)
	}, o)
}

// weighted judges rankings by weights. look returns the code to look for and the weights of its bits for a query; it
// may use the given memory.
func (j judgement) weighted(
	ctx context.Context, base hamming.Codes, look func(q int, code []uint64) ([]uint64, []uint8), o Options,
) (*Report, error) {
	if base.Bits > hamming.MaxWeightedBits {
		return nil, message.New("too-many-bits", "codes of %d bits are longer than the %d that can be ranked by margins",
			base.Bits, hamming.MaxWeightedBits)
	}
	most := hamming.MaxWeight * base.Bits
	j.radii, j.unit = (most+hamming.BitUnits-1)/hamming.BitUnits+1, hamming.BitUnits
	j.ranker = func(_, _ int, o *Options) ranker {
		code := make([]uint64, base.Words)
		return j.byCodes(func(q int, near []uint16) int {
			query := hamming.NewWeightedQuery(look(q, code))
			all := everything{near, query.Most()}
			j.codes.codes.SweepWeighted(0, len(near), []*hamming.WeightedQuery{query}, []hamming.Sink{all})
			return all.most
		}, most+1, o.Cut)
	}
	return j.run(ctx, o)
}

// distinct holds the distinct codes of some items, and which of them each item has.
type distinct struct {
	codes hamming.Codes
	of    []int32 // by item
}

func distinctOf(base hamming.Codes) distinct {
	order := make([]int32, base.Len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return slices.Compare(base.Row(int(a)), base.Row(int(b))) })
	d := distinct{hamming.NewCodes(0, base.Bits), make([]int32, base.Len())}
	for k, i := range order {
		row := base.Row(int(i))
		if k == 0 || !slices.Equal(row, base.Row(int(order[k-1]))) {
			d.codes.Data = append(d.codes.Data, row...)
		}
		d.of[i] = int32(d.codes.Len() - 1)
	}
	return d
}

// most returns the number of items with the most frequent code.
func (d distinct) most() int {
	count, most := make([]int, d.codes.Len()), 0
	for _, c := range d.of {
		count[c]++
		most = max(most, count[c])
	}
	return most
}

// everything takes all distances that a sweep finds.
type everything struct {
	near []uint16
	most int
}

// Limit implements hamming.Sink.
func (e everything) Limit() int { return e.most }

// Take implements hamming.Sink.
func (e everything) Take(first int, hits []uint32) {
	for _, h := range hits {
		e.near[first+int(h&0xffff)] = uint16(h >> 16)
	}
}
