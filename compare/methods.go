package compare

import (
	"context"
	"slices"

	"hashgrove/baseline"
	"hashgrove/model"
)

// fastHash is the name of our own method; the others are those of package baseline.
const fastHash = "fasthash"

// The methods of package baseline that are in every table anyway.
const (
	hashed = "classifier"        // its scores, hashed
	oneHot = "classifier-onehot" // its answer
	sign   = "sign"
)

// Quick are the methods of a comparison that names none: the strongest that take a small part of FastHash's time, and the
// usual ones without labels.
var Quick = []string{fastHash, "sdh", "cca-itq", "pca-itq", "lsh"}

// Names lists the methods, FastHash first.
func Names() []string {
	return append([]string{fastHash}, slices.DeleteFunc(baseline.Names(), func(name string) bool {
		return name == sign || name == hashed || name == oneHot
	})...)
}

// About says in a line where a method comes from.
func About(name string) string {
	if d, ok := baseline.Describe(name); ok {
		return d.Title + ": " + d.Source
	}
	return "FastHash: Lin, Shen, Shi, van den Hengel and Suter, CVPR 2014; trained at the longest length only"
}

// methods adds the tasks of a method of package baseline: one in all where shorter codes are prefixes of longer ones or
// the data decide the length, else one for each length.
func (s *stage) methods(name string, add adder) {
	d, _ := baseline.Describe(name) // it was checked
	lengths := [][]int{s.o.Bits}
	switch {
	case d.AnyBits:
		lengths = [][]int{nil}
	case !d.Prefix:
		lengths = slices.Collect(slices.Chunk(s.o.Bits, 1))
	}
	for _, bits := range lengths {
		longest := slices.Max(append([]int{0}, bits...))
		add(&task{method: name, kind: Method, supervised: d.Supervised, bits: bits, steps: 1 + longest/8*s.trainings()}, func(ctx context.Context, t *task) ([]Row, error) {
			m, err := baseline.New(name, baseline.Common{Bits: longest, Seed: s.o.Seed, Threads: s.o.Threads, MinShared: s.data.MinShared})
			if err != nil {
				return nil, err
			}
			return s.trained(ctx, t, m)
		})
	}
}

// trained trains a method once, and once more without the held-out classes.
func (s *stage) trained(ctx context.Context, t *task, m baseline.Method) ([]Row, error) {
	var e, unseen model.Encoder
	var err error
	took := seconds(func() { e, err = m.Train(ctx, rows{s.base}) })
	if err != nil {
		return nil, err
	}
	if s.held != nil {
		if unseen, err = m.Train(ctx, rows{s.seen}); err != nil {
			return nil, err
		}
	}
	return s.measured(ctx, t, e, unseen, took)
}

// measured measures prefixes of a code: those of the task's lengths, or all of it where the data decide the length.
// Unseen is the encoder that was trained without the held-out classes, or nil.
func (s *stage) measured(ctx context.Context, t *task, e, unseen model.Encoder, took float64) ([]Row, error) {
	lengths := t.bits
	if lengths == nil {
		lengths = []int{e.Bits()}
	}
	var list []Row
	for _, bits := range lengths {
		short, shortUnseen := e, unseen
		if len(t.bits) > 1 && bits < e.Bits() {
			short = e.Prefix(bits)
			if unseen != nil {
				shortUnseen = unseen.Prefix(bits)
			}
		}
		row := t.row(short.Bits())
		row.TrainSeconds = took + s.front.train
		if err := s.measure(ctx, &row, coderOf(short)); err != nil {
			return nil, err
		}
		if unseen != nil {
			if err := s.measureUnseen(ctx, &row, coderOf(shortUnseen)); err != nil {
				return nil, err
			}
		}
		s.hand(t, short.Bits(), &model.Model{Encoder: short, Info: model.Info{Method: t.method}})
		list = append(list, row)
	}
	return list, nil
}

// hand gives a trained model to whoever asked for it, with what stands in front of it.
func (s *stage) hand(t *task, bits int, m *model.Model) {
	if s.o.Each != nil {
		s.o.Each(t.method, bits, &model.Model{Encoder: model.Compose(m.Encoder, s.front.maps...), Info: m.Info})
	}
}

// title is the name of a method in print.
func title(name string) string {
	if d, ok := baseline.Describe(name); ok {
		return d.Title
	}
	switch name {
	case fastHash:
		return "FastHash"
	case "random":
		return "Random codes"
	case euclidean:
		return "Float, Euclidean"
	case cosine:
		return "Float, cosine"
	}
	return name
}
