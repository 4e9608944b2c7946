package compare

import (
	"context"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
)

// Detailed names FastHash with bits of detail behind its own, which are not trained again.
const Detailed = method.FastHash + "-detail"

// measureDetail measures the same codes with bits of detail behind those of the class.
func (s *comparison) measureDetail(ctx context.Context, t *task, made *training, unseen *model.Model) (
	[]eval.Row, error,
) {
	o := method.Options{
		Detail: s.o.DetailBits, Seed: s.o.Seed, Threads: s.o.Threads, Standardize: s.standardize(),
	}
	var detail, later model.Encoder
	var err error
	took := seconds(func() {
		detail, err = method.LearnDetail(ctx, s.data.Base.Data, o)
	})
	if err == nil && unseen != nil {
		later, err = method.LearnDetail(ctx, s.unseen.others.Data, o)
	}
	if err != nil {
		return nil, err
	}
	behind := task{method: Detailed, kind: t.kind, supervised: t.supervised, bits: t.bits, detail: detail, later: later}
	for len(behind.bits) > 0 && behind.longest()+detail.Bits() > hamming.MaxWeightedBits {
		behind.bits = behind.bits[:len(behind.bits)-1]
	}
	if len(behind.bits) == 0 {
		return nil, nil
	}
	return s.measureLengths(ctx, &behind, made.model, unseen, func(bits int) float64 { return made.seconds(bits) + took })
}

// withDetail returns a model with bits of detail behind its own; none if the encoder is nil.
func withDetail(m *model.Model, detail model.Encoder) *model.Model {
	if m == nil || detail == nil {
		return m
	}
	out := *m
	out.Encoder = &model.Detailed{Class: m.Encoder, Detail: detail}
	return &out
}

// withRanking returns the model with its usual ranking, which models that Train made have already.
func (s *comparison) withRanking(ctx context.Context, m *model.Model) (*model.Model, error) {
	if m.Ranking != nil {
		return m, nil
	}
	own := *m
	return &own, method.AddRanking(ctx, &own, s.data.Base.Data, method.Options{Threads: s.o.Threads})
}
