package worker

import (
	"cmp"
	"math"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/par"
)

// codes returns an array as codes: a row of words for each, the first bit the highest.
func (c *call) codes(i int) (hamming.Codes, error) {
	a, err := c.array(i, "codes")
	if err != nil {
		return hamming.Codes{}, err
	}
	if a.Type != Int64 || len(a.Shape) != 2 || a.Shape[1] < 1 || a.Shape[1] > hamming.MaxBits/64 {
		return hamming.Codes{}, message.New("bad-frame",
			"codes are arrays of rows of 1 to %d words and of the type i8, not of the shape %v and the type %s",
			hamming.MaxBits/64, a.Shape, a.Type)
	}
	return hamming.Codes{Bits: 64 * a.Shape[1], Words: a.Shape[1], Data: valuesOf[uint64](a)}, nil
}

// sides returns the first two arrays: queries, and codes as long as they are.
func (c *call) sides() (queries, base hamming.Codes, err error) {
	if queries, err = c.codes(0); err == nil {
		base, err = c.codes(1)
	}
	if err == nil && queries.Words != base.Words {
		err = message.New("bad-frame", "queries of %d words and codes of %d", queries.Words, base.Words)
	}
	return queries, base, err
}

// nearestParams are those of nearest and counts.
type nearestParams struct {
	K       int `json:"k"`
	Threads int `json:"threads,omitempty"`
}

// nearest finds the k nearest of the codes for each query: arrays of their rows, and of their distances. Equal
// distances are in order of rows.
func (c *call) nearest(p *nearestParams) (any, []Array, error) {
	queries, base, err := c.sides()
	if err != nil {
		return nil, nil, err
	}
	k := min(p.K, base.Len())
	o := index.Options{Threads: cmp.Or(p.Threads, c.threads)}
	found, err := index.FromCodes(base).Search(c.ctx, queries, k, math.MaxInt, o)
	if err != nil {
		return nil, nil, err
	}
	rows, distances := make([]int32, 0, k*len(found)), make([]int32, 0, k*len(found))
	for _, r := range found {
		for _, h := range r.Hits {
			row, _ := h.ID.Integer()
			rows, distances = append(rows, int32(row)), append(distances, int32(h.Distance))
		}
	}
	return nil, []Array{arrayOf(rows, queries.Len(), k), arrayOf(distances, queries.Len(), k)}, nil
}

// counts counts, for each query and distance, the codes, and those of the query's class: all that MAP and precision
// need. The arrays are queries and codes, then the classes of both by number.
func (c *call) counts(p *nearestParams) (any, []Array, error) {
	queries, base, err := c.sides()
	if err != nil {
		return nil, nil, err
	}
	if len(c.arrays) != 4 || len(c.arrays[2].data) != 4*queries.Len() || len(c.arrays[3].data) != 4*base.Len() {
		return nil, nil, message.New("bad-frame", "counts need a class (i4) for each of the queries and codes")
	}
	asked, classes := valuesOf[int32](&c.arrays[2]), valuesOf[int32](&c.arrays[3])
	width := 2 * (base.Bits + 1)
	sums := make([]int64, queries.Len()*width)
	err = par.For(c.ctx, cmp.Or(p.Threads, c.threads), queries.Len(), func(q int) {
		const block = 1 << 14 // distances that stay in the cache
		distance, sum := make([]uint16, block), sums[q*width:][:width]
		for lo := 0; lo < base.Len(); lo += block {
			hi := min(lo+block, base.Len())
			part := hamming.Codes{Bits: base.Bits, Words: base.Words, Data: base.Data[lo*base.Words : hi*base.Words]}
			part.Distances(distance[:hi-lo], queries.Row(q))
			for i, d := range distance[:hi-lo] {
				sum[2*d]++
				if classes[lo+i] == asked[q] {
					sum[2*d+1]++
				}
			}
		}
	})
	return nil, []Array{arrayOf(sums, queries.Len(), base.Bits+1, 2)}, err
}
