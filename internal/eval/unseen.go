package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

// Unseen evaluates codes on classes held out of training (Sablayrolles et al., ICASSP 2017): supervised codes that
// merely repeat the class of the training items look perfect on known classes and fail here. Queries of the held-out
// classes are ranked against the whole base, including known classes, as in a real search; chance is Report.Prior.
// AmongMAP is the result when the base has only held-out classes: that is easier, and its chance, AmongPrior, is
// higher. The table by class is always made. o.Classes are the classes of the queries; o.Neighbours and o.OfClass
// are ignored.
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
	q, qc := selectClasses(queries, o.Classes, heldOut)
	b, bc := selectClasses(base, baseClass, heldOut)
	if len(qc) == 0 || len(bc) == 0 {
		return nil, fmt.Errorf("the held-out classes have %d queries and %d base items: both are needed to judge them",
			len(qc), len(bc))
	}
	o.Classes, o.Neighbours, o.OfClass = qc, nil, nil
	r, err := Retrieval(ctx, q, base, ByClass(qc, baseClass), o)
	if err != nil {
		return nil, err
	}
	among, err := Retrieval(ctx, q, b, ByClass(qc, bc), Options{K: []int{}, Threads: o.Threads, Detail: o.Detail})
	if err != nil {
		return nil, err
	}
	r.AmongMAP, r.AmongPrior = among.MAP, among.Prior
	for _, c := range heldOut {
		r.HeldOut = append(r.HeldOut, o.className(c))
		if !slices.Contains(qc, c) {
			r.doubt(message.New("class-without-query", "held-out class %s has no query", o.className(c)))
		}
	}
	return r, nil
}

// selectClasses copies the codes whose class is in the sorted list among.
func selectClasses(codes hamming.Codes, class, among []int32) (hamming.Codes, []int32) {
	kept := hamming.NewCodes(0, codes.Bits)
	var keptClass []int32
	for i, c := range class {
		if _, ok := slices.BinarySearch(among, c); ok {
			kept.Data = append(kept.Data, codes.Row(i)...)
			keptClass = append(keptClass, c)
		}
	}
	return kept, keptClass
}
