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

// expect adds the expected codes of queries.
func (e *encoded) expect(ctx context.Context, m *model.Model) (err error) {
	e.expected, err = m.Expected(ctx, e.margins)
	return err
}

// scores returns what a ranking needs to know of the queries beside their codes; empty if it needs nothing, or if it
// cannot be had.
func (e *encoded) scores(ranking eval.Ranking) vectors.Matrix {
	switch ranking {
	case eval.ByMargins:
		return e.margins
	case eval.ByExpected:
		return e.expected
	}
	return vectors.Matrix{}
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
		if other.ranking == first || other.ranking != eval.ByHamming && s.queries.scores(other.ranking).Rows == 0 {
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
	if err == nil {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return slices.Contains(said, w) })
	}
	return r, err
}

// measureRanking evaluates one ranking.
func (c *evalCommand) measureRanking(ctx context.Context, s *sides, ranking eval.Ranking) (*eval.Report, error) {
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
	report, err := s.rank(ctx, ranking, s.queries.codes, s.queries.scores(ranking), o)
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
	codes := hamming.NewCodes(0, s.queries.codes.Bits)
	all := s.queries.scores(ranking)
	scores := vectors.Matrix{Rows: len(s.floats.sample.rows), Cols: all.Cols}
	for _, i := range s.floats.sample.rows {
		codes.Data = append(codes.Data, s.queries.codes.Row(i)...)
		if all.Rows > 0 {
			scores.Data = append(scores.Data, all.Row(i)...)
		}
	}
	alone := *s
	alone.truth = eval.Truth{}
	r, err := alone.rank(ctx, ranking, codes, scores, eval.Options{Neighbours: s.floats.near, Threads: c.threads})
	if err != nil {
		return nil, err
	}
	r.Queries = s.queries.Rows
	return r, nil
}

// rank evaluates the queries by one ranking.
func (s *sides) rank(
	ctx context.Context, ranking eval.Ranking, queries hamming.Codes, scores vectors.Matrix, o eval.Options,
) (r *eval.Report, err error) {
	o.Detail = s.m.DetailBits()
	switch ranking {
	case eval.ByWeights:
		r, err = eval.RetrievalWeighted(ctx, queries, s.base.codes, s.m.Info.Weights, s.truth, o)
	case eval.ByMargins, eval.ByExpected:
		r, err = eval.RetrievalMargins(ctx, queries, s.base.codes, scores, s.truth, o)
	default:
		r, err = eval.Retrieval(ctx, queries, s.base.codes, s.truth, o)
	}
	if err != nil {
		return nil, err
	}
	r.Ranking = ranking
	return r, nil
}
