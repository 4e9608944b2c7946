package compare

import (
	"context"
	"fmt"

	"hashgrove/eval"
	"hashgrove/internal/trial"
	"hashgrove/method"
	"hashgrove/model"
)

// classifier judges both codes that a classifier's output gives: its answer, one-hot, and its scores, hashed. They are
// ceilings of every supervised method (Sablayrolles et al., ICASSP 2017). The scores are learned once for both: the
// longest part by far.
func (s *stage) classifier(ctx context.Context, t *task) ([]eval.Row, error) {
	all, err := s.trainClassifier(ctx, s.base)
	if err != nil {
		return nil, err
	}
	var seen classifierCodes
	if s.held != nil {
		if seen, err = s.trainClassifier(ctx, s.others); err != nil {
			return nil, err
		}
	}
	answer := task{method: oneHot, kind: t.kind, supervised: t.supervised}
	list, err := s.measureLengths(ctx, &answer, all.answer, seen.answer, func(int) float64 { return all.answerSeconds })
	if err != nil {
		return nil, err
	}
	more, err := s.measureLengths(ctx, t, all.scores, seen.scores, func(int) float64 { return all.scoresSeconds })
	return append(list, more...), err
}

// classifierCodes are the two codes of a classifier and the seconds that training them took.
type classifierCodes struct {
	answer, scores               *model.Model
	answerSeconds, scoresSeconds float64
}

// trainClassifier trains a classifier on a part of the base: its one-hot code, and its hashed code of the longest
// length.
func (s *stage) trainClassifier(ctx context.Context, p *Part) (c classifierCodes, err error) {
	o := method.Options{Bits: s.o.Bits[len(s.o.Bits)-1], Seed: s.o.Seed, Threads: s.o.Threads}
	classifier, err := method.New(oneHot, o)
	if err != nil {
		return c, err
	}
	planes, err := method.New("lsh", o)
	if err != nil {
		return c, err
	}
	c.answerSeconds = trial.Seconds(func() { c.answer, err = classifier.Train(ctx, p.Data) })
	if err != nil {
		return c, err
	}
	mapped, ok := c.answer.Encoder.(*model.Mapped)
	if !ok {
		return c, fmt.Errorf("the classifier has no scores: it is a %s", c.answer.Encoder.Kind())
	}
	scores := mapped.Maps[0]
	c.scoresSeconds = c.answerSeconds + trial.Seconds(func() {
		c.scores, err = planes.Train(ctx, p.With(model.Through(p.X, s.o.Threads, scores)))
	})
	if err == nil {
		c.scores.Encoder = model.Compose(c.scores.Encoder, scores)
	}
	return c, err
}
