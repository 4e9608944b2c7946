package eval

import (
	"context"
	"errors"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

// Unseen evaluates codes on classes held out of training (Sablayrolles et al., ICASSP 2017): supervised codes that
// merely repeat the class of the training items look perfect on known classes and fail here. Queries of the held-out
// classes are ranked against the whole base, including known classes, as in a real search; chance is Report.Prior.
// The table by class is always made. o.Classes are the classes of the queries; o.Neighbours and o.OfClass are ignored.
func Unseen(
	ctx context.Context, queries, base hamming.Codes, baseClass, heldOut []int32, o Options,
) (*Report, error) {
	if len(o.Classes) != queries.Len() || len(baseClass) != base.Len() {
		panic("eval: classes are not one per code")
	}
	heldOut = slices.Clone(heldOut)
	slices.Sort(heldOut)
	heldOut = slices.Compact(heldOut)
	if len(heldOut) == 0 {
		return nil, errors.New("no class is held out: name the classes that training did not see")
	}
	isHeld := func(class int32) bool {
		_, held := slices.BinarySearch(heldOut, class)
		return held
	}
	q, qc := hamming.NewCodes(0, queries.Bits), []int32(nil)
	for i, class := range o.Classes {
		if isHeld(class) {
			q.Data, qc = append(q.Data, queries.Row(i)...), append(qc, class)
		}
	}
	if len(qc) == 0 || !slices.ContainsFunc(baseClass, isHeld) {
		return nil, errors.New("the held-out classes need queries and base items, both of them, to be judged")
	}
	o.Classes, o.Neighbours, o.OfClass = qc, nil, nil
	r, err := Retrieval(ctx, q, base, ByClass(qc, baseClass), o)
	if err != nil {
		return nil, err
	}
	for _, c := range heldOut {
		r.HeldOut = append(r.HeldOut, o.className(c))
		if !slices.Contains(qc, c) {
			r.doubt(message.New("class-without-query", "held-out class %s has no query", o.className(c)))
		}
	}
	return r, nil
}
