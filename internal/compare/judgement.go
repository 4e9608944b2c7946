package compare

import (
	"context"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// Codes are judged twice, and the items of each part are encoded once.
//
//	new items       the queries search in them alone: what an index is for, so these numbers lead
//	learned items   the queries search in the base alone: what training made of the rows it saw
//
// New and learned items are ranked by Hamming distance, by the margins of the queries and by their expected codes, as
// far as the method has them. One of these leads: the model's usual one, unless another is better by more than the
// choice of queries explains. All rows are learned from, so there are none on which the model could choose, as it
// does in train; and nothing that is learned or tuned may depend on new items, so they cannot choose for it either.
//
// The codes of a second training, without some classes, are judged by the queries of those classes in all items.

// codes holds the codes of all parts.
type codes struct {
	eval.Codes               // of the queries, and of the items that decide
	learned    hamming.Codes // of the base
	rank       eval.Ranking  // the usual one
	seconds    float64       // to encode all queries on one core
}

// coder encodes for a method: its codes and, if it has them, its margins, and what else its model knows.
type coder struct {
	code    func(ctx context.Context, x vectors.Matrix, threads int) (hamming.Codes, error)
	margins func(ctx context.Context, x vectors.Matrix, threads int) (vectors.Matrix, error) // may be nil
	model   *model.Model                                                                     // may be nil
}

// modelCoder returns the coder of a model.
func modelCoder(m *model.Model) coder {
	if m == nil {
		return coder{}
	}
	return coder{m.Encode, m.Margins, m}
}

// ranking returns the ranking that was asked for, or the usual one of a coder.
func (s *comparison) ranking(by coder) eval.Ranking {
	switch {
	case s.o.Rank != "":
		return s.o.Rank
	case by.model != nil:
		return eval.Ranking(by.model.Rank())
	}
	return eval.ByHamming
}

// encode encodes all parts.
func (s *comparison) encode(ctx context.Context, by coder) (c codes, err error) {
	x := s.data.Queries.X
	if c.Base, err = by.code(ctx, s.data.searched().X, s.o.Threads); err != nil {
		return c, err
	}
	c.seconds = fastest(func() { c.Queries, err = by.code(ctx, x, 1) })
	if err == nil && by.margins != nil && c.Queries.Bits <= hamming.MaxWeightedBits {
		c.Margins, err = by.margins(ctx, x, s.o.Threads)
	}
	if err == nil && by.model != nil {
		c.Detail = by.model.DetailBits()
		c.Expected, err = by.model.Expected(ctx, c.Margins)
	}
	if err != nil {
		return c, err
	}
	if c.rank = s.ranking(by); c.Scores(c.rank).Rows == 0 {
		c.rank = eval.ByHamming
	}
	c.learned = c.Base
	if s.data.New != nil {
		c.learned, err = by.code(ctx, s.data.Base.X, s.o.Threads)
	}
	return c, err
}

// encodeUnseen encodes the queries of the held-out classes and all items.
func (s *comparison) encodeUnseen(ctx context.Context, by coder) (c eval.Codes, err error) {
	if c.Queries, err = by.code(ctx, s.unseen.queries.X, s.o.Threads); err != nil {
		return c, err
	}
	if by.model != nil {
		c.Detail = by.model.DetailBits()
	}
	if c.Base, err = by.code(ctx, s.data.Base.X, s.o.Threads); err != nil || s.data.New == nil {
		return c, err
	}
	added, err := by.code(ctx, s.data.New.X, s.o.Threads)
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
	row.EncodeMicroseconds = c.seconds * 1e6 / float64(s.data.Queries.X.Rows)
	if err := s.judge(ctx, row, c); err != nil || s.unseen == nil {
		return err
	}
	ofLater, err := s.encodeUnseen(ctx, later)
	if err != nil {
		return err
	}
	r, err := ofLater.Report(ctx, eval.ByHamming, s.unseen.truth, s.unseen.options)
	if err == nil {
		row.UnseenMAP, row.UnseenChance = r.MAP, r.Prior
	}
	return err
}

// reports judges a ranking of the items that decide, and of the learned ones; nil if the codes do not have it.
func (s *comparison) reports(ctx context.Context, c *codes, by eval.Ranking) (
	found, learned *eval.Report, err error,
) {
	found, err = c.Report(ctx, by, s.bench.truth, s.bench.options)
	if err != nil || found == nil || s.learned == nil {
		return found, found, err
	}
	in := c.Codes
	in.Base = c.learned
	learned, err = in.Report(ctx, by, s.learned.truth, s.learned.options)
	return found, learned, err
}

// rankedReports holds the reports of one ranking.
type rankedReports struct{ found, learned *eval.Report }

// judge fills in the quality of the codes by Hamming distance, by the queries' margins and by their expected codes, and
// makes one of the rankings lead.
func (s *comparison) judge(ctx context.Context, row *eval.Row, c codes) error {
	var all []rankedReports
	for _, by := range []eval.Ranking{eval.ByHamming, eval.ByMargins, eval.ByExpected} {
		found, learned, err := s.reports(ctx, &c, by)
		if err != nil {
			return err
		}
		switch {
		case found == nil:
			continue
		case by == eval.ByHamming:
			s.fill(row, found, learned)
		case by == eval.ByMargins:
			row.Margins = found.Figures()
		default:
			row.Expected = found.Figures()
		}
		all = append(all, rankedReports{found, learned})
	}
	best := s.leading(all, c.rank)
	row.Lead(best.found.Ranking, best.found)
	row.LearnedItems.Ranked = best.learned.Figures()
	return nil
}

// leading returns the ranking that leads: the usual one, or the best of those that are clearly better.
func (s *comparison) leading(all []rankedReports, usual eval.Ranking) rankedReports {
	first := all[slices.IndexFunc(all, func(r rankedReports) bool { return r.found.Ranking == usual })]
	best := first
	for _, other := range all {
		if s.o.Rank == "" && other.found.MAP > best.found.MAP &&
			other.found.MAP > first.found.MAP+max(costless, chanceOf(first.found.AP, other.found.AP)) {
			best = other
		}
	}
	return best
}

// fill copies the figures for the items that decide, and for the learned ones.
func (s *comparison) fill(row *eval.Row, found, learned *eval.Report) {
	found.Fill(row)
	row.LearnedItems = learned.Items()
}

// joined returns all items: the base, then the new ones.
func (d *Data) joined() vectors.Matrix {
	if d.New == nil {
		return d.Base.X
	}
	return vectors.Matrix{Rows: d.items(), Cols: d.Base.X.Cols, Data: slices.Concat(d.Base.X.Data, d.New.X.Data)}
}
