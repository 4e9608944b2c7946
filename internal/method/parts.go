package method

import (
	"context"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
)

// Parts of a training for models that are already there, such as a prefix of a code.

// LearnDetail learns bits of detail, as many as asked for or as there are dimensions.
func LearnDetail(ctx context.Context, d *supervision.Data, bits int, o Options) (model.Encoder, error) {
	return o.withDefaults().learnDetail(ctx, d, min(bits, d.Dim()))
}

// AddRanking gives a model the codes of the rows that it learned from, and the usual ranking.
func AddRanking(ctx context.Context, m *model.Model, learned *supervision.Data, o Options) error {
	return o.addRanking(ctx, m, learned, nil)
}
