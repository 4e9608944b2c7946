package compare

import (
	"context"
	"fmt"

	"hashgrove/baseline"
	"hashgrove/model"
)

// classifier judges both codes that a classifier's output gives: its answer, one-hot, and its scores, hashed. They are
// ceilings of every supervised method (Sablayrolles et al., ICASSP 2017). The scores are learned once for both: the
// longest part by far.
func (s *stage) classifier(ctx context.Context, t *task) ([]Row, error) {
	codes, err := s.classify(ctx, s.base)
	if err != nil {
		return nil, err
	}
	unseen := make([]model.Encoder, len(codes))
	if s.held != nil {
		without, err := s.classify(ctx, s.seen)
		if err != nil {
			return nil, err
		}
		for i, c := range without {
			unseen[i] = c.encoder
		}
	}
	answer := task{method: oneHot, kind: t.kind, supervised: t.supervised}
	list, err := s.measured(ctx, &answer, codes[0].encoder, unseen[0], codes[0].seconds)
	if err != nil {
		return nil, err
	}
	more, err := s.measured(ctx, t, codes[1].encoder, unseen[1], codes[1].seconds)
	return append(list, more...), err
}

// timed is an encoder and the seconds of its training.
type timed struct {
	encoder model.Encoder
	seconds float64
}

// classify trains a classifier on a part and returns its one-hot code and its hashed code of the longest length.
func (s *stage) classify(ctx context.Context, p *Part) ([]timed, error) {
	var err error
	answer, drawn := timed{}, timed{}
	answer.seconds = seconds(func() {
		answer.encoder, err = baseline.Classifier{OneHot: true, Threads: s.o.Threads}.Train(ctx, rows{p})
	})
	if err != nil {
		return nil, err
	}
	behind, ok := answer.encoder.(*model.Mapped)
	if !ok {
		return nil, fmt.Errorf("a classifier without scores, but a %s", answer.encoder.Kind())
	}
	scores := behind.Maps[0]
	drawn.seconds = answer.seconds + seconds(func() {
		drawn.encoder, err = baseline.LSH{Bits: s.longest(), Seed: s.o.Seed, Centre: true}.Train(ctx, model.Through(p.X, s.o.Threads, scores))
	})
	if err != nil {
		return nil, err
	}
	drawn.encoder = model.Compose(drawn.encoder, scores)
	return []timed{answer, drawn}, nil
}
