package main

import (
	"context"
	"slices"

	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// sides holds both sides of an evaluation, the truth, and what the vectors themselves find.
type sides struct {
	m             *model.Model
	queries, base *encoded
	truth         eval.Truth
	floats        *floatSearch
}

// checkRanking rejects a ranking that the model does not support.
func (c *evalCommand) checkRanking(m *model.Model) error {
	bits := m.Encoder.Bits()
	switch {
	case c.rank == string(eval.ByWeights) && m.Info.Weights == nil:
		return cli.Usage("no-weights",
			"--rank weighted: the bits of %s have no weights; models of the method mdsh do", c.model)
	case c.rank == string(eval.ByWeights) && m.DetailBits() > 0:
		return cli.Usage("no-weights",
			"--rank weighted: the bits of detail of %s have no weights; --prefix %d leaves them out", c.model, m.ClassBits())
	case (c.rank == api.Margins || c.rank == api.Expected) && bits > hamming.MaxWeightedBits:
		return cli.Usage("too-many-bits", "--rank %s: codes of %d bits are longer than the %d that can be ranked "+
			"by margins; --prefix takes the first bits", c.rank, bits, hamming.MaxWeightedBits)
	case c.rank == api.Expected && m.Ranking == nil:
		return cli.Usage("bad-flag-value", "--rank expected: %s knows no codes of training rows; train it again", c.model)
	}
	return nil
}

// headline returns the ranking that comes first.
func (c *evalCommand) headline(m *model.Model) eval.Ranking {
	if c.rank == api.Auto {
		return eval.Ranking(m.Rank())
	}
	return eval.Ranking(c.rank)
}

// addMargins stores the margins of queries.
func (e *encoded) addMargins(ctx context.Context, m *model.Model, first int, x vectors.Matrix, threads int) error {
	bits := m.Encoder.Bits()
	if bits > hamming.MaxWeightedBits {
		return nil
	}
	if e.margins.Rows == 0 {
		e.margins = vectors.Matrix{Rows: e.Rows, Cols: bits, Data: make([]float32, e.Rows*bits)}
	}
	some, err := m.Margins(ctx, x, threads)
	copy(e.margins.Data[first*bits:], some.Data)
	return err
}

// codes returns the codes of both sides.
func (s *sides) codes() eval.Codes {
	return eval.Codes{
		Queries: s.queries.codes, Base: s.base.codes, Margins: s.queries.margins, Expected: s.queries.expected,
		Weights: s.m.Info.Weights, Detail: s.m.DetailBits(),
	}
}

// measure evaluates the first ranking and the others beside it.
func (c *evalCommand) measure(ctx context.Context, s *sides) (*eval.Report, error) {
	first := c.headline(s.m)
	report, err := c.measureRanking(ctx, s, first)
	if err != nil || report == nil {
		return nil, err
	}
	for _, other := range []struct {
		ranking eval.Ranking
		to      **eval.Report
	}{
		{eval.ByHamming, &report.Hamming}, {eval.ByMargins, &report.Margins}, {eval.ByExpected, &report.Expected},
	} {
		if other.ranking == first {
			continue
		}
		if *other.to, err = c.measureBeside(ctx, s, other.ranking, report.Warnings); err != nil {
			return nil, err
		}
	}
	if s.truth.Mark == nil {
		return report, nil
	}
	return report, c.measureUnseen(ctx, s, report)
}

// measureBeside evaluates a second ranking without repeating warnings.
func (c *evalCommand) measureBeside(ctx context.Context, s *sides, ranking eval.Ranking, said []string) (
	*eval.Report, error,
) {
	r, err := c.measureRanking(ctx, s, ranking)
	if r != nil {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return slices.Contains(said, w) })
	}
	return r, err
}

// measureRanking evaluates one ranking.
func (c *evalCommand) measureRanking(ctx context.Context, s *sides, ranking eval.Ranking) (*eval.Report, error) {
	codes := s.codes()
	if ranking != eval.ByHamming && ranking != eval.ByWeights && codes.Scores(ranking).Rows == 0 {
		return nil, nil
	}
	near, err := c.measureNeighbours(ctx, s, ranking)
	if err != nil || s.truth.Mark == nil {
		return near, err
	}
	p := c.startProgress("measuring", s.queries.Rows, 0)
	o := eval.Options{
		K: c.precisionAt, OfClass: s.floats.ofClass, Threads: c.threads,
		Progress: func(done, _ int) { p.Tick(done) },
	}
	if l := s.queries.Labels; l != nil {
		o.Classes, o.ClassNames = l.Class, l.Names
	}
	report, err := codes.Report(ctx, ranking, s.truth, o)
	p.End()
	if err != nil {
		return nil, err
	}
	if near != nil {
		report.Neighbours, report.NeighbourQueries = near.Neighbours, near.NeighbourQueries
		report.NeighbourMetric = near.NeighbourMetric
		report.NeighbourRecall10, report.NeighbourRecall100 = near.NeighbourRecall10, near.NeighbourRecall100
	}
	return report, nil
}

// measureNeighbours measures only neighbours; it returns nil if they were not asked for.
func (c *evalCommand) measureNeighbours(ctx context.Context, s *sides, ranking eval.Ranking) (*eval.Report, error) {
	if s.floats.near == nil {
		return nil, nil
	}
	some, all := s.codes(), s.codes()
	some.Queries = hamming.NewCodes(0, all.Queries.Bits)
	for _, i := range s.floats.sample.rows {
		some.Queries.Data = append(some.Queries.Data, all.Queries.Row(i)...)
	}
	some.Margins, some.Expected = pick(all.Margins, s.floats.sample.rows), pick(all.Expected, s.floats.sample.rows)
	r, err := some.Report(ctx, ranking, eval.Truth{}, eval.Options{Neighbours: s.floats.near, Threads: c.threads})
	if err != nil {
		return nil, err
	}
	r.Queries = s.queries.Rows
	return r, nil
}

// pick returns a copy of some rows of a matrix; an empty one has none.
func pick(x vectors.Matrix, rows []int) vectors.Matrix {
	some := vectors.Matrix{Cols: x.Cols}
	if x.Rows == 0 {
		return some
	}
	for _, i := range rows {
		some.Data = append(some.Data, x.Row(i)...)
	}
	some.Rows = len(rows)
	return some
}
