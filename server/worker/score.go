package worker

import (
	"cmp"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

type scoreParams struct {
	rows
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
	t, _, err := c.table(&p.rows)
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
	of := truth.Mark
	truth.Mark = func(q int, mark []uint8) {
		of(q, mark)
		mark[q] = eval.Ignored
	}
	codes, err := m.Encode(c.ctx, t.X, threads)
	if err != nil {
		return nil, nil, err
	}
	r, err := retrieval(c, m, t.X, codes, truth, eval.Options{Threads: threads, Detail: m.DetailBits()})
	if err != nil {
		return nil, nil, err
	}
	return map[string]any{"map": min(r.MAP, 1), "precision": min(r.ReachablePrecision, 1), "judged": r.Judged}, nil, nil
}

// retrieval evaluates codes by the ranking that the model chose.
func retrieval(
	c *call, m *model.Model, x vectors.Matrix, codes hamming.Codes, truth eval.Truth, o eval.Options,
) (*eval.Report, error) {
	if m.Rank() == model.ByHamming || codes.Bits > hamming.MaxWeightedBits {
		return eval.Retrieval(c.ctx, codes, codes, truth, o)
	}
	margins, err := m.Margins(c.ctx, x, o.Threads)
	if err == nil && m.Rank() == model.ByExpected {
		err = m.Expect(c.ctx, margins)
	}
	if err != nil {
		return nil, err
	}
	return eval.RetrievalMargins(c.ctx, codes, codes, margins, truth, o)
}
