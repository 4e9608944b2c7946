package compare

import (
	"context"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/par"
	"hashgrove/internal/trial"
	"hashgrove/internal/vectors"
)

// Codes are judged three times over, and the items of each part are encoded once.
//
//	new items       the queries search in them alone: what an index is for, so these numbers lead
//	learned items   the queries search in the base alone: what training made of the rows it saw
//	a mix           as many of each: learned items come first where they lie closer to queries than new ones do
//
// New and learned items are ranked a second time by the margins of the queries, where the method has margins. Hamming
// distance leads: it is the codes that are compared.
//
// The codes of a second training, without some classes, are judged by the queries of those classes in all items.

// codes holds the codes of all parts.
type codes struct {
	trial.Codes               // of the queries, and of the items that decide
	learned     hamming.Codes // of the base
}

// coder encodes for a method: its codes and, if it has them, its margins.
type coder struct {
	code    trial.Coder
	margins trial.Marginer // may be nil
}

// modelCoder returns the coder of a model.
func modelCoder(m *model.Model) coder {
	if m == nil {
		return coder{}
	}
	return coder{trial.ModelCoder(m), m.Margins}
}

// encode encodes all parts.
func (s *comparison) encode(ctx context.Context, by coder) (c codes, err error) {
	code := by.code
	if c.Codes, err = s.bench.Encode(ctx, code); err != nil {
		return c, err
	}
	if by.margins != nil && s.data.labelled() {
		if err := s.bench.AddMargins(ctx, &c.Codes, by.margins); err != nil {
			return c, err
		}
	}
	c.learned = c.Base
	if s.mapped.New != nil {
		c.learned, err = code(ctx, s.mapped.Base.Data, s.o.Threads)
	}
	return c, err
}

// encodeUnseen encodes the queries of the held-out classes and all items.
func (s *comparison) encodeUnseen(ctx context.Context, by coder) (c trial.Codes, err error) {
	code := by.code
	if c.Queries, err = code(ctx, s.unseen.queries.Data, s.o.Threads); err != nil {
		return c, err
	}
	if c.Base, err = code(ctx, s.mapped.Base.Data, s.o.Threads); err != nil || s.mapped.New == nil {
		return c, err
	}
	added, err := code(ctx, s.mapped.New.Data, s.o.Threads)
	c.Base.Data = append(c.Base.Data, added.Data...)
	return c, err
}

// measure fills in a row: codes of all parts, their encoding time and their quality. The coder later, trained without
// the held-out classes, is not called if there are none.
func (s *comparison) measure(ctx context.Context, row *eval.Row, by, later coder) error {
	c, err := s.encode(ctx, by)
	if err != nil {
		return err
	}
	row.EncodeMicroseconds = c.Seconds*1e6/float64(s.mapped.Queries.X.Rows) + s.pca.encode
	var ofLater trial.Codes
	if s.unseen != nil {
		if ofLater, err = s.encodeUnseen(ctx, later); err != nil {
			return err
		}
	}
	return s.judge(ctx, row, c, ofLater)
}

// judge fills in the quality of the codes, and that of the second training for the held-out classes.
func (s *comparison) judge(ctx context.Context, row *eval.Row, c codes, later trial.Codes) error {
	found, err := s.bench.Judge(ctx, c.Codes)
	if err != nil {
		return err
	}
	learned := found
	if s.learned != nil {
		if learned, err = s.learned.Judge(ctx, trial.Codes{Queries: c.Queries, Base: c.learned}); err != nil {
			return err
		}
	}
	s.fill(row, found, learned)
	if err := s.judgeMargins(ctx, row, c); err != nil {
		return err
	}
	row.Usage = eval.UsageOf(c.Base)
	row.SearchMicroseconds = searchTime(c.Queries, c.learned)
	if s.mapped.New != nil {
		row.SearchMicroseconds += searchTime(c.Queries, c.Base)
		if row.MixedLearnedShare, err = mixedShare(ctx, c.Queries, c.learned, c.Base, s.o.Threads); err != nil {
			return err
		}
	}
	if s.unseen != nil {
		r, err := eval.Retrieval(ctx, later.Queries, later.Base, s.unseen.truth, s.unseen.options)
		if err != nil {
			return err
		}
		row.UnseenMAP, row.UnseenChance = r.MAP, r.Prior
	}
	return s.addSearches(ctx, row, c.Codes)
}

// judgeMargins fills in the quality of the codes when ranked by the queries' margins.
func (s *comparison) judgeMargins(ctx context.Context, row *eval.Row, c codes) error {
	bench := *s.bench
	bench.Options.Neighbours = nil // they are about the codes
	found, err := bench.JudgeMargins(ctx, c.Codes)
	if err != nil || found == nil {
		return err
	}
	learned := found
	if s.learned != nil {
		in := trial.Codes{Queries: c.Queries, Base: c.learned, Margins: c.Margins}
		if learned, err = s.learned.JudgeMargins(ctx, in); err != nil {
			return err
		}
		row.NewItems.Margins = found.MarginItems()
	}
	row.LearnedItems.Margins = learned.MarginItems()
	row.Margins, row.MarginAP = found.MarginItems(), found.AP
	return nil
}

// fill copies the figures for the items that decide, and for the learned ones.
func (s *comparison) fill(row *eval.Row, found, learned *eval.Report) {
	found.Fill(row)
	if !s.data.labelled() {
		return
	}
	row.LearnedItems = learned.Items()
	if s.learned != nil {
		row.NewItems = found.Items()
	}
}

// mixedHits returns how many hits of a mixed base to look at, given the items of each side: 100, or fewer if those
// would be a large part of all items.
func mixedHits(side int) int { return min(100, max(10, side/10), side) }

// mixedShare returns the share of learned items among the first hits in a base of equally many learned and new items,
// in expectation over ties and averaged over the queries: one half, unless learned items are preferred. The larger side
// contributes an evenly drawn part of its items.
func mixedShare(ctx context.Context, queries, learned, added hamming.Codes, threads int) (float64, error) {
	n := min(learned.Len(), added.Len())
	learned, added = evenly(learned, n), evenly(added, n)
	shares := make([]float64, queries.Len())
	err := par.Blocks(ctx, threads, len(shares), 16, func(_, lo, hi int) {
		distance := make([]uint16, n)
		counts := [2][]int{make([]int, learned.Bits+1), make([]int, learned.Bits+1)}
		for q := lo; q < hi; q++ {
			for side, c := range []hamming.Codes{learned, added} {
				clear(counts[side])
				c.Distances(distance, queries.Row(q))
				for _, d := range distance {
					counts[side][d]++
				}
			}
			shares[q] = firstShare(counts[0], counts[1], mixedHits(n))
		}
	})
	sum := 0.0
	for _, v := range shares {
		sum += v
	}
	return sum / float64(len(shares)), err
}

// firstShare returns the share of one side among the first k items, given how many each side has at every distance.
// Items at the last distance are equally likely.
func firstShare(own, other []int, k int) float64 {
	sum, left := 0.0, k
	for d, n := range own {
		all := n + other[d]
		if all >= left {
			sum += float64(float64(n) * (float64(left) / float64(all)))
			break
		}
		sum, left = sum+float64(n), left-all
	}
	return sum / float64(k)
}

// evenly draws n of the codes at equal steps.
func evenly(c hamming.Codes, n int) hamming.Codes {
	all := c.Len()
	if n == all {
		return c
	}
	out := hamming.NewCodes(n, c.Bits)
	for i := range n {
		copy(out.Row(i), c.Row(i*all/n))
	}
	return out
}

// searchTime returns the microseconds that one core needs for the distances of one query to all codes.
func searchTime(queries, base hamming.Codes) float64 {
	n := min(64, queries.Len())
	distance := make([]uint16, base.Len())
	return trial.Fastest(func() {
		for q := range n {
			base.Distances(distance, queries.Row(q))
		}
	}) * 1e6 / float64(n)
}

// joined returns all items: the base, then the new ones.
func (d *Data) joined() vectors.Matrix {
	if d.New == nil {
		return d.Base.X
	}
	return below(d.Base.X, d.New.X)
}

// below stacks two matrices.
func below(a, b vectors.Matrix) vectors.Matrix {
	return vectors.Matrix{Rows: a.Rows + b.Rows, Cols: a.Cols, Data: slices.Concat(a.Data, b.Data)}
}
