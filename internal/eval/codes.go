package eval

import (
	"context"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// Codes are the codes of both sides, and what the rankings need to know besides.
type Codes struct {
	Queries, Base hamming.Codes
	Margins       vectors.Matrix      // of the queries; empty if there are none
	Expected      vectors.Matrix      // the expected codes of the queries; empty if there are none
	Weights       []hamming.BitWeight // of the bits; nil if there are none
	Detail        int                 // number of bits, the last ones, that are detail
}

// Scores returns what a ranking needs to know of the queries beside their codes; empty if it needs nothing, or if that
// is unknown.
func (c *Codes) Scores(by Ranking) vectors.Matrix {
	switch by {
	case ByMargins:
		return c.Margins
	case ByExpected:
		return c.Expected
	}
	return vectors.Matrix{}
}

// Report ranks the base for every query and evaluates the rankings. It returns nil for margins and expected codes if
// there are none.
func (c *Codes) Report(ctx context.Context, by Ranking, truth Truth, o Options) (r *Report, err error) {
	o.Detail = c.Detail
	switch scores := c.Scores(by); {
	case by == ByWeights:
		r, err = RetrievalWeighted(ctx, c.Queries, c.Base, c.Weights, truth, o)
	case by == ByHamming:
		r, err = Retrieval(ctx, c.Queries, c.Base, truth, o)
	case scores.Rows > 0:
		r, err = RetrievalMargins(ctx, c.Queries, c.Base, scores, truth, o)
	}
	if r != nil {
		r.Ranking = by
	}
	return r, err
}
