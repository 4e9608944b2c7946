package main

import (
	"context"
	"slices"

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
	switch bits := m.Encoder.Bits(); {
	case c.ranking == eval.ByWeights && m.Info.Weights == nil:
		return cli.Usage("no-weights",
			"--ranking weighted: the bits of %s have no weights; models of the method mdsh do", c.model)
	case c.ranking == eval.ByMargins && bits > hamming.MaxWeightedBits:
		return cli.Usage("too-many-bits", "--ranking margins: codes of %d bits are longer than the %d that can be ranked "+
			"by margins; --prefix takes the first bits", bits, hamming.MaxWeightedBits)
	}
	return nil
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

// measure evaluates the requested ranking and, next to it, the one by margins or Hamming distance.
func (c *evalCommand) measure(ctx context.Context, s *sides) (*eval.Report, error) {
	report, err := c.measureRanking(ctx, s, c.ranking)
	if err != nil || report == nil {
		return nil, err
	}
	if c.ranking == eval.ByMargins {
		report.Hamming, err = c.measureBeside(ctx, s, eval.ByHamming, report.Warnings)
	} else if s.queries.margins.Rows > 0 {
		report.Margins, err = c.measureBeside(ctx, s, eval.ByMargins, report.Warnings)
	}
	if err != nil || s.truth.Mark == nil {
		return report, err
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
	o := eval.Options{K: c.precisionAt, Cut: c.cut, Threads: c.threads, Progress: func(done, _ int) { p.Tick(done) }}
	if l := s.queries.Labels; l != nil {
		o.Classes, o.ClassNames = l.Class, l.Names
	}
	report, err := s.rank(ctx, ranking, s.queries.codes, s.queries.margins, o)
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
	margins := vectors.Matrix{Rows: len(s.floats.sample.rows), Cols: s.queries.margins.Cols}
	for _, i := range s.floats.sample.rows {
		codes.Data = append(codes.Data, s.queries.codes.Row(i)...)
		if s.queries.margins.Rows > 0 {
			margins.Data = append(margins.Data, s.queries.margins.Row(i)...)
		}
	}
	alone := *s
	alone.truth = eval.Truth{}
	r, err := alone.rank(ctx, ranking, codes, margins, eval.Options{Neighbours: s.floats.near, Threads: c.threads})
	if err != nil {
		return nil, err
	}
	r.Queries = s.queries.Rows
	return r, nil
}

// rank evaluates the queries by one ranking.
func (s *sides) rank(
	ctx context.Context, ranking eval.Ranking, queries hamming.Codes, margins vectors.Matrix, o eval.Options,
) (r *eval.Report, err error) {
	switch ranking {
	case eval.ByWeights:
		r, err = eval.RetrievalWeighted(ctx, queries, s.base.codes, s.m.Info.Weights, s.truth, o)
	case eval.ByMargins:
		r, err = eval.RetrievalMargins(ctx, queries, s.base.codes, margins, s.truth, o)
	default:
		r, err = eval.Retrieval(ctx, queries, s.base.codes, s.truth, o)
	}
	if err != nil {
		return nil, err
	}
	r.Ranking = ranking
	return r, nil
}
