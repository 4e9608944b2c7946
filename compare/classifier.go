package compare

import (
	"context"
	"fmt"

	"hashgrove/method"
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
	unseen := make([]*model.Model, len(codes))
	if s.held != nil {
		without, err := s.classify(ctx, s.others)
		if err != nil {
			return nil, err
		}
		for i, c := range without {
			unseen[i] = c.model
		}
	}
	answer := task{method: oneHot, kind: t.kind, supervised: t.supervised}
	list, err := s.measured(ctx, &answer, codes[0].model, unseen[0], codes[0].took)
	if err != nil {
		return nil, err
	}
	more, err := s.measured(ctx, t, codes[1].model, unseen[1], codes[1].took)
	return append(list, more...), err
}

// timed is a model and the seconds of its training.
type timed struct {
	model   *model.Model
	seconds float64
}

func (t timed) took(int) float64 { return t.seconds }

// classify trains a classifier on a part and returns its one-hot code and its hashed code of the longest length.
func (s *stage) classify(ctx context.Context, p *Part) ([]timed, error) {
	o := method.Options{Bits: s.longest(), Seed: s.o.Seed, Threads: s.o.Threads}
	classifier, err := method.New(oneHot, o)
	if err != nil {
		return nil, err
	}
	planes, err := method.New("lsh", o)
	if err != nil {
		return nil, err
	}
	answer, drawn := timed{}, timed{}
	answer.seconds = seconds(func() { answer.model, err = classifier.Train(ctx, p.Data) })
	if err != nil {
		return nil, err
	}
	behind, ok := answer.model.Encoder.(*model.Mapped)
	if !ok {
		return nil, fmt.Errorf("a classifier without scores, but a %s", answer.model.Encoder.Kind())
	}
	scores := behind.Maps[0]
	drawn.seconds = answer.seconds + seconds(func() {
		drawn.model, err = planes.Train(ctx, p.With(model.Through(p.X, s.o.Threads, scores)))
	})
	if err != nil {
		return nil, err
	}
	drawn.model.Encoder = model.Compose(drawn.model.Encoder, scores)
	return []timed{answer, drawn}, nil
}
