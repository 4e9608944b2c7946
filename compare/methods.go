package compare

import (
	"context"
	"fmt"
	"slices"

	"hashgrove/eval"
	"hashgrove/fasthash"
	"hashgrove/internal/trial"
	"hashgrove/method"
	"hashgrove/model"
)

// The floors and references, which are in every table.
const (
	random    = "random"
	sign      = "sign"
	hashed    = "classifier"        // its scores, hashed
	oneHot    = "classifier-onehot" // its answer
	euclidean = "float-euclidean"
	cosine    = "float-cosine"
)

// Quick are the methods of a comparison that names none: the strongest of those that take a small part of FastHash's
// time, and the usual ones without labels.
var Quick = []string{method.FastHash, "sdh", "cca-itq", "pca-itq", "lsh"}

// Names lists the methods that can be compared, FastHash first.
func Names() []string {
	return slices.DeleteFunc(method.Names(), func(name string) bool {
		return name == sign || name == hashed || name == oneHot
	})
}

// About says in a line where a method comes from.
func About(name string) string {
	d, _ := method.Describe(name)
	if name == method.FastHash {
		d.Source += "; trained at the longest length only"
	}
	return d.Title + ": " + d.Source
}

// methodTasks lists the tasks of a method: one in all where shorter codes are prefixes of longer ones or the data
// decide the length, else one for each length.
func (s *stage) methodTasks(name string) []*task {
	d, _ := method.Describe(name) // it was checked
	lengths := [][]int{s.o.Bits}
	switch {
	case d.AnyBits:
		lengths = [][]int{nil}
	case !d.Prefix:
		lengths = slices.Collect(slices.Chunk(s.o.Bits, 1))
	}
	var list []*task
	for _, bits := range lengths {
		t := &task{method: name, kind: eval.KindMethod, supervised: d.Supervised, bits: bits, work: s.trainMethod}
		t.steps = 1 + t.longest()/8*s.trainings()
		if name == method.FastHash {
			t.options, t.steps = s.o.FastHash, t.longest()*s.trainings()
		}
		list = append(list, t)
	}
	return list
}

// trainMethod trains a method once, and once more without the held-out classes.
func (s *stage) trainMethod(ctx context.Context, t *task) ([]eval.Row, error) {
	all, err := s.train(ctx, t, s.mapped.Base, allRows)
	if err != nil {
		return nil, err
	}
	var unseen *model.Model
	if s.unseen != nil {
		seen, err := s.train(ctx, t, s.unseen.others, seenRows)
		if err != nil {
			return nil, err
		}
		unseen = seen.Model
	}
	return s.measureLengths(ctx, t, all.Model, unseen, all.Seconds)
}

// train trains the method of a task on a part of the base, resuming from a checkpoint where there is one.
func (s *stage) train(ctx context.Context, t *task, p *Part, part string) (*trial.Training, error) {
	o := method.Options{Bits: t.longest(), Seed: s.o.Seed, Threads: s.o.Threads, FastHash: s.o.FastHash}
	o.Run = fasthash.Run{
		Checkpoint: s.checkpoint(t, part), Restart: s.o.Restart,
		Progress: func(fasthash.Bit) { s.finishStep() },
	}
	made, err := trial.Train(ctx, t.method, p.Data, o)
	if err != nil {
		return nil, err
	}
	for range made.Resumed {
		s.finishStep()
	}
	return made, nil
}

// measureLengths measures prefixes of a code: those of the task's lengths, or all of it where the data decide the
// length. Unseen is the model that was trained without the held-out classes, or nil; seconds is the time of training to
// a length.
func (s *stage) measureLengths(
	ctx context.Context, t *task, m, unseen *model.Model, seconds func(bits int) float64,
) ([]eval.Row, error) {
	lengths := t.bits
	if lengths == nil {
		lengths = []int{m.Encoder.Bits()}
	}
	var list []eval.Row
	for _, bits := range lengths {
		short, shortUnseen := m, unseen
		if len(t.bits) > 1 && bits < m.Encoder.Bits() {
			short = m.Prefix(bits)
			if unseen != nil {
				shortUnseen = unseen.Prefix(bits)
			}
		}
		row := t.row(short.Encoder.Bits())
		row.TrainSeconds = s.pca.train + seconds(bits)
		for _, stat := range short.Info.Bits {
			row.Objective = append(row.Objective, stat.Objective)
		}
		if err := s.measure(ctx, &row, trial.ModelCoder(short), trial.ModelCoder(shortUnseen)); err != nil {
			return nil, err
		}
		if s.o.Each != nil {
			whole := &model.Model{Encoder: model.Compose(short.Encoder, s.pca.maps...), Info: short.Info}
			s.o.Each(t.method, short.Encoder.Bits(), whole)
		}
		list = append(list, row)
	}
	return list, nil
}

// classifier judges both codes that a classifier's output gives: its answer, one-hot, and its scores, hashed. They are
// what every supervised method must be compared with (Sablayrolles et al., ICASSP 2017). The scores are learned once for both: the
// longest part by far.
func (s *stage) classifier(ctx context.Context, t *task) ([]eval.Row, error) {
	all, err := s.trainClassifier(ctx, s.mapped.Base)
	if err != nil {
		return nil, err
	}
	var seen classifierCodes
	if s.unseen != nil {
		if seen, err = s.trainClassifier(ctx, s.unseen.others); err != nil {
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

// title is the name of a method in print.
func title(name string) string {
	if d, ok := method.Describe(name); ok {
		return d.Title
	}
	switch name {
	case random:
		return "Random codes"
	case euclidean:
		return "Float, Euclidean"
	case cosine:
		return "Float, cosine"
	}
	return name
}
