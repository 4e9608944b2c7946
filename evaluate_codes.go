package hashgrove

import (
	"context"
	"fmt"
	"slices"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/supervision"
)

// EvaluateCodes is Evaluate for rows that are codes (Columns.Codes): it measures the ranking by Hamming distance.
func EvaluateCodes(ctx context.Context, base, queries *Data, o EvalOptions) (_ *Evaluation, err error) {
	if o.Rank != "" && o.Rank != api.Auto && o.Rank != api.Hamming {
		return nil, badOption("rank", "%s: without a model codes are ranked by hamming", o.Rank)
	}
	o.Neighbours = noNeighbours
	e := &evaluation{EvalOptions: o}
	if e.base, err = e.openCodes(ctx, base); err != nil {
		return nil, fmt.Errorf("base: %w", err)
	}
	if e.queries, err = e.openCodes(ctx, queries); err != nil {
		return nil, fmt.Errorf("queries: %w", err)
	}
	if q, b := e.queries.codes.Bits, e.base.codes.Bits; q != b {
		return nil, wrong("wrong-bits", "queries of %d bits and a base of %d: give codes of one length", q, b)
	}
	if err := e.findTruth(base, queries); err != nil {
		return nil, err
	}
	codes := eval.Codes{Queries: e.queries.codes, Base: e.base.codes}
	report, err := codes.Report(ctx, eval.ByHamming, e.truth, e.reportOptions(nil))
	if err != nil {
		return nil, err
	}
	return &Evaluation{report.MAP, report.ReachablePrecision, report.Warnings, report, 0}, nil
}

// openCodes reads one side of codes.
func (e *evaluation) openCodes(ctx context.Context, d *Data) (*side, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	set, err := dataset.Open(d.spec)
	if err != nil {
		return nil, err
	}
	in, err := dataset.FromPacked(set, d.name())
	if err != nil {
		return nil, err
	}
	sum, err := supervision.Scan(ctx, set, supervision.ScanOptions{})
	if err != nil {
		return nil, err
	}
	if l := sum.Labels; slices.Contains(l.Names, "") { // codes need no labels
		if sum.Labels = nil; len(l.Names) > 1 {
			return nil, wrong("no-label", "%s: row %d has no label, others have: give it one, or leave the row out",
				d.name(), 1+slices.Index(l.Class, int32(slices.Index(l.Names, ""))))
		}
	}
	if len(sum.Tags.Tag) == 0 {
		sum.Tags = nil
	}
	s := &side{Data: sum, codes: hamming.NewCodes(0, in.Bits)}
	return s, in.Each(ctx, e.Threads, func(b *index.Batch) error {
		s.codes.Data = append(s.codes.Data, b.Codes.Data...)
		return nil
	})
}
