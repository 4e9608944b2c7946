package worker

import (
	"cmp"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/supervision"
)

type scoreParams struct {
	rowParams
	Model     uint64 `json:"model"`
	MinShared int    `json:"min_shared,omitempty"`
	Threads   int    `json:"threads,omitempty"`
}

// score measures how well rows find each other by their codes, ranked as the model chose: MAP, expected over the order
// of ties. Each row is left out of its own ranking.
func (c *call) score(p *scoreParams) (any, []Array, error) {
	own, err := c.model(p.Model)
	if err != nil {
		return nil, nil, err
	}
	m, threads := inside.Model(own), cmp.Or(p.Threads, c.threads)
	t, err := c.table(&p.rowParams)
	if err != nil {
		return nil, nil, err
	}
	d, err := supervision.Scan(c.ctx, t, supervision.ScanOptions{Missing: m.TakesMissing()})
	if err != nil {
		return nil, nil, err
	}
	if p.MinShared > 0 {
		d.MinShared = p.MinShared
	}
	truth, err := eval.TruthOf(d, d)
	if err != nil {
		return nil, nil, err
	}
	made := eval.Codes{Detail: m.DetailBits()}
	if made.Queries, err = m.Encode(c.ctx, t.X, threads); err != nil {
		return nil, nil, err
	}
	made.Base = made.Queries
	rank := eval.Ranking(m.Rank())
	if made.Base.Bits > hamming.MaxWeightedBits {
		rank = eval.ByHamming
	}
	if rank != eval.ByHamming {
		if made.Margins, err = m.Margins(c.ctx, t.X, threads); err != nil {
			return nil, nil, err
		}
		if made.Expected, err = m.Expected(c.ctx, made.Margins); err != nil {
			return nil, nil, err
		}
	}
	r, err := made.Report(c.ctx, rank, truth.WithoutItself(), eval.Options{Threads: threads})
	if err != nil {
		return nil, nil, err
	}
	return map[string]any{"map": min(r.MAP, 1), "precision": min(r.ReachablePrecision, 1), "judged": r.Judged}, nil, nil
}
