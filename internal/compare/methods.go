package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hashgrove"
	"hashgrove/internal/eval"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// The floors and references, which are in every table.
const (
	random    = "random"
	sign      = "sign"
	probable  = "classifier-float"  // its probabilities, as vectors
	oneHot    = "classifier-onehot" // its answer
	hashed    = "classifier"        // its probabilities, hashed
	euclidean = "float-euclidean"
	cosine    = "float-cosine"
)

// Quick lists the default methods: the strongest of those that take a small part of FastHash's time, and the usual ones
// without labels.
var Quick = []string{method.FastHash, "sdh", "cca-itq", "pca-itq", "lsh"}

// Names lists the methods that can be compared, FastHash first.
func Names() []string {
	return slices.DeleteFunc(method.Names(), func(name string) bool {
		return name == sign || name == hashed || name == oneHot
	})
}

// About describes in a line where a method comes from.
func About(name string) string {
	d, _ := method.Describe(name)
	if name == method.FastHash {
		d.Source += "; trained at the longest length only"
	}
	return d.Title + ": " + d.Source
}

// methodTasks lists the tasks of a method: a single one if shorter codes are prefixes of longer ones or the data decide
// the length, else one per length.
func (s *comparison) methodTasks(name string) []*task {
	d, _ := method.Describe(name) // the name is valid by now
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
			t.steps = t.longest() * s.trainings()
		}
		list = append(list, t)
	}
	return list
}

// trainMethod trains a method, and a second time without the held-out classes.
func (s *comparison) trainMethod(ctx context.Context, t *task) ([]eval.Row, error) {
	all, err := s.train(ctx, t, s.data.Base)
	if err == errCapped {
		return []eval.Row{}, nil
	}
	if err != nil {
		return nil, err
	}
	var unseen *model.Model
	if s.unseen != nil {
		seen, err := s.train(ctx, t, s.unseen.others)
		if err != nil {
			return nil, err
		}
		unseen = seen.model
	}
	rows, err := s.measureLengths(ctx, t, all.model, unseen, all.seconds)
	if err != nil || t.method != method.FastHash || s.o.DetailBits == 0 {
		return rows, err
	}
	more, err := s.measureDetail(ctx, t, all, unseen)
	return append(rows, more...), err
}

// errCapped says that a method cannot make this many bits, and that its longest code already has a row.
var errCapped = errors.New("there is a row of as many bits as the method can make")

// train trains the method of a task on a part of the base. A method that cannot make that many bits makes as many as it
// can.
func (s *comparison) train(ctx context.Context, t *task, p *Part) (*training, error) {
	o := s.o.Train
	o.Other.Standardize, o.Validation = s.standardize(), -1
	o = o.For(t.method)
	o.Bits, o.Seed, o.Threads = t.longest(), s.o.Seed, s.o.Threads
	o.Progress = func(p hashgrove.Progress) {
		if p.Learned != nil {
			s.finishStep()
		}
		if p.Note != nil && p.Note.Code == "method" {
			s.notes = append(s.notes, fmt.Errorf("%s: %s", t.method, p.Note.Text))
		}
	}
	made, err := learn(ctx, p, o)
	if e, ok := errors.AsType[*method.BitsError](err); ok && e.Most > 0 {
		if p == s.data.Base && len(t.bits) == 1 {
			if s.capped[t.method] || slices.Contains(s.o.Bits, e.Most) {
				return nil, errCapped
			}
			s.capped[t.method] = true
		}
		o.Bits = e.Most
		made, err = learn(ctx, p, o)
	}
	return made, err
}

// measureLengths measures prefixes of a code: those of the task's lengths, or all of it if the data decide the length.
// Unseen is the model trained without the held-out classes, or nil; seconds returns the training time up to a length.
func (s *comparison) measureLengths(
	ctx context.Context, t *task, m, unseen *model.Model, seconds func(bits int) float64,
) ([]eval.Row, error) {
	lengths := t.bits
	if lengths == nil {
		lengths = []int{m.Encoder.Bits()}
	}
	var list []eval.Row
	prefix := func(m *model.Model, bits int) *model.Model {
		if m == nil || len(t.bits) < 2 && t.detail == nil || bits >= m.Encoder.Bits() {
			return m
		}
		return m.Prefix(bits)
	}
	for _, bits := range lengths {
		short, shortUnseen := withDetail(prefix(m, bits), t.detail), withDetail(prefix(unseen, bits), t.later)
		row := t.row(short.ClassBits())
		if n := short.DetailBits(); n > 0 {
			row.DetailBits, row.Bytes = n, (row.Bits+n+7)/8
		}
		if len(list) > 0 && list[len(list)-1].Bits == row.Bits {
			break // no more bits than before
		}
		if row.Bits < bits {
			row.CappedFrom = bits
		}
		row.TrainSeconds = seconds(bits)
		var err error
		if short, err = s.withRanking(ctx, short); err != nil {
			return nil, err
		}
		if err := s.measure(ctx, &row, modelCoder(short), modelCoder(shortUnseen)); err != nil {
			return nil, err
		}
		if s.o.Each != nil {
			s.o.Each(t.method, short.ClassBits(), short)
		}
		list = append(list, row)
	}
	return list, nil
}

// classifier measures a classifier's output (Sablayrolles et al., ICASSP 2017): its probabilities as vectors, its
// answer as a one-hot code, and its probabilities hashed. One training serves all three.
func (s *comparison) classifier(ctx context.Context, t *task) ([]eval.Row, error) {
	all, err := s.trainClassifier(ctx, s.data.Base)
	if err != nil {
		return nil, err
	}
	var seen classifierCodes
	if s.unseen != nil {
		if seen, err = s.trainClassifier(ctx, s.unseen.others); err != nil {
			return nil, err
		}
	}
	first, err := s.rankProbabilities(ctx, all, seen)
	if err != nil {
		return nil, err
	}
	answer := task{method: oneHot, kind: t.kind, supervised: t.supervised}
	list, err := s.measureLengths(ctx, &answer, all.answer, seen.answer, func(int) float64 { return all.fitSeconds })
	if err != nil {
		return nil, err
	}
	more, err := s.measureLengths(ctx, t, all.scores, seen.scores, func(int) float64 { return all.scoresSeconds })
	return slices.Concat([]eval.Row{first}, list, more), err
}

// classifierCodes holds a classifier, its two codes, and the seconds it took to train them.
type classifierCodes struct {
	*method.Classifier
	answer, scores            *model.Model
	fitSeconds, scoresSeconds float64
}

// trainClassifier trains a classifier on a part of the base: its one-hot code, and its longest hashed code.
func (s *comparison) trainClassifier(ctx context.Context, p *Part) (c classifierCodes, err error) {
	o := method.Options{
		Bits: s.o.Bits[len(s.o.Bits)-1], Seed: s.o.Seed, Threads: s.o.Threads, Standardize: s.o.Standardize,
	}
	c.answer, c.scores = new(model.Model), new(model.Model)
	c.fitSeconds = seconds(func() { c.Classifier, err = method.FitClassifier(ctx, p.Data, o) })
	if err != nil {
		return c, err
	}
	if c.answer.Encoder, err = c.OneHot(); err != nil {
		return c, err
	}
	c.scoresSeconds = c.fitSeconds + seconds(func() { c.scores.Encoder, err = c.Hashed(ctx, p.Data, o) })
	return c, err
}

// rankProbabilities measures class or tag probabilities as vectors: items are ranked by inner product with the query's.
// The classes of learned items are known.
func (s *comparison) rankProbabilities(ctx context.Context, all, seen classifierCodes) (eval.Row, error) {
	n := len(all.Names)
	t := task{method: probable, kind: eval.KindReference, supervised: true}
	row, data := t.row(32*n), s.data
	row.TrainSeconds = all.fitSeconds
	ofQueries, err := all.Probabilities(ctx, data.Queries.X, s.o.Threads)
	if err != nil {
		return row, err
	}
	took := fastest(func() { _, err = all.Probabilities(ctx, data.Queries.X, 1) })
	if err != nil {
		return row, err
	}
	row.EncodeMicroseconds = took * 1e6 / float64(data.Queries.X.Rows)
	x := floats{queries: ofQueries, learned: all.Known(data.Base.Data)}
	if x.items = x.learned; s.learned != nil {
		x.items, err = all.Probabilities(ctx, data.New.X, s.o.Threads)
	}
	if err == nil && s.unseen != nil {
		x.unseen, x.all, err = s.unseenProbabilities(ctx, seen)
	}
	if err == nil {
		err = s.judgeFloats(ctx, &row, eval.Inner, x)
	}
	return row, err
}

// unseenProbabilities returns those of the queries of the held-out classes and of all items, by the classifier that has
// not seen these classes; the classes of the rows it learned from are known.
func (s *comparison) unseenProbabilities(ctx context.Context, seen classifierCodes) (
	queries, items vectors.Matrix, err error,
) {
	if queries, err = seen.Probabilities(ctx, s.unseen.queries.X, s.o.Threads); err != nil {
		return queries, items, err
	}
	items, err = seen.Probabilities(ctx, s.data.joined(), s.o.Threads)
	known := seen.Known(s.data.Base.Data)
	for i, class := range s.data.Base.Labels.Class {
		if err == nil && !slices.Contains(s.unseen.held, class) {
			copy(items.Row(i), known.Row(i))
		}
	}
	return queries, items, err
}

// isFloat reports whether a row is about vectors rather than codes.
func isFloat(row *eval.Row) bool {
	return row.Method == euclidean || row.Method == cosine || row.Method == probable
}

// title returns the printed name of a method.
func title(name string) string {
	if d, ok := method.Describe(name); ok && name != hashed {
		return d.Title
	}
	switch name {
	case Detailed:
		return "FastHash with detail"
	case hashed:
		return "Classifier, hashed"
	case probable:
		return "Classifier, probabilities"
	case random:
		return "Random codes"
	case euclidean:
		return "Float, Euclidean"
	case cosine:
		return "Float, cosine"
	}
	return name
}
