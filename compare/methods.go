package compare

import (
	"context"
	"slices"

	"hashgrove/method"
	"hashgrove/model"
)

// The methods that are in every table anyway.
const (
	hashed = "classifier"        // its scores, hashed
	oneHot = "classifier-onehot" // its answer
	sign   = "sign"
)

// Quick are the methods of a comparison that names none: the strongest that take a small part of FastHash's time, and the
// usual ones without labels.
var Quick = []string{method.FastHash, "sdh", "cca-itq", "pca-itq", "lsh"}

// Names lists the methods that can be asked for, FastHash first.
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

// methods adds the tasks of a method: one in all where shorter codes are prefixes of longer ones or the data decide the
// length, else one for each length.
func (s *stage) methods(name string, add adder) {
	d, _ := method.Describe(name) // it was checked
	lengths := [][]int{s.o.Bits}
	switch {
	case d.AnyBits:
		lengths = [][]int{nil}
	case !d.Prefix:
		lengths = slices.Collect(slices.Chunk(s.o.Bits, 1))
	}
	for _, bits := range lengths {
		longest := slices.Max(append([]int{0}, bits...))
		t := &task{method: name, kind: Method, supervised: d.Supervised, bits: bits, steps: 1 + longest/8*s.trainings()}
		if name == method.FastHash {
			t.options, t.steps = s.o.FastHash, longest*s.trainings()
		}
		add(t, s.trained)
	}
}

// trained trains a method once, and once more without the held-out classes.
func (s *stage) trained(ctx context.Context, t *task) ([]Row, error) {
	m, took, err := s.learn(ctx, t, s.base, "base")
	if err != nil {
		return nil, err
	}
	var unseen *model.Model
	if s.held != nil {
		if unseen, _, err = s.learn(ctx, t, s.others, "unseen"); err != nil {
			return nil, err
		}
	}
	return s.measured(ctx, t, m, unseen, took)
}

// measured measures prefixes of a code: those of the task's lengths, or all of it where the data decide the length.
// Unseen is the model that was trained without the held-out classes, or nil; took is the seconds of training to a length.
func (s *stage) measured(ctx context.Context, t *task, m, unseen *model.Model, took func(bits int) float64) ([]Row, error) {
	lengths := t.bits
	if lengths == nil {
		lengths = []int{m.Encoder.Bits()}
	}
	var list []Row
	for _, bits := range lengths {
		short, shortUnseen := m, unseen
		if len(t.bits) > 1 && bits < m.Encoder.Bits() {
			short = m.Prefix(bits)
			if unseen != nil {
				shortUnseen = unseen.Prefix(bits)
			}
		}
		row := t.row(short.Encoder.Bits())
		row.TrainSeconds = s.front.train + took(bits)
		for _, stat := range short.Info.Bits {
			row.Objective = append(row.Objective, stat.Objective)
		}
		if err := s.measure(ctx, &row, short.Encode); err != nil {
			return nil, err
		}
		if unseen != nil {
			if err := s.measureUnseen(ctx, &row, shortUnseen.Encode); err != nil {
				return nil, err
			}
		}
		if s.o.Each != nil {
			whole := &model.Model{Encoder: model.Compose(short.Encoder, s.front.maps...), Info: short.Info}
			s.o.Each(t.method, short.Encoder.Bits(), whole)
		}
		list = append(list, row)
	}
	return list, nil
}

// title is the name of a method in print.
func title(name string) string {
	if d, ok := method.Describe(name); ok {
		return d.Title
	}
	switch name {
	case "random":
		return "Random codes"
	case euclidean:
		return "Float, Euclidean"
	case cosine:
		return "Float, cosine"
	}
	return name
}
