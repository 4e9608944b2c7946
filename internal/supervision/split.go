package supervision

import (
	"fmt"
	"slices"

	"hashgrove/internal/vectors"
)

// Split chooses a share of the rows to hold out: a model learns from the others and is measured on these. If pictures
// have several copies, the rows are all pictures followed by their copies, kind by kind, and no copy of a held-out row
// is in either part.
func (d *Data) Split(share float64, seed uint64, copies int) (learn, held []bool, err error) {
	if !(share > 0 && share < 1) {
		return nil, nil, fmt.Errorf("a validation share of %v is not between 0 and 1", share)
	}
	if held, err = vectors.Alloc[bool](d.Spill, d.Rows); err != nil {
		return nil, nil, err
	}
	of := d
	if copies > 1 {
		first := make([]bool, d.Rows)
		for i := range d.Rows / copies {
			first[i] = true
		}
		of = d.Only(first)
	}
	chosen := of.HoldOut(share, seed)
	for i, in := range chosen {
		held[i] = !in
	}
	return slices.Repeat(chosen, copies), held, nil
}

// Parts returns the two parts chosen by Split. The pairs of h join a held-out row and a row to learn from, in this
// order.
func (d *Data) Parts(learn, held []bool) (l, h *Data) {
	l, h = d.Only(learn), d.Only(held)
	if d.Pairs != nil {
		h.Pairs = PairsBetween(d.Pairs, held, learn)
	}
	return l, h
}
