package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hashgrove/eval"
	"hashgrove/hamming"
	"hashgrove/method"
	"hashgrove/model"
	"hashgrove/vectors"
)

// stage is where the tasks of one run work: the data as the methods see them, and how far the run is.
type stage struct {
	data          *Data
	o             Options
	base, queries *Part // after PCA, where that is asked for
	truth         eval.Truth
	front         front // what PCA adds to training and encoding

	// The protocol of unseen classes; nil where there is none.
	held                       []int32
	others                     *Part // base rows of the other classes, to learn from
	unseenBase, unseenQueries  *Part // rows of the held-out classes, after PCA
	plainUnseenB, plainUnseenQ *Part // the same before PCA

	notes    []string // doubts about the data
	progress Progress
}

// front is the cost of what stands in front of every method.
type front struct {
	maps   []model.Map
	train  float64 // seconds
	encode float64 // microseconds for a vector
}

func newStage(ctx context.Context, data *Data, o Options) (*stage, error) {
	s := &stage{data: data, o: o, base: data.Base, queries: data.Queries}
	var err error
	if s.truth, err = eval.TruthOf(data.Queries.Data, data.Base.Data); err != nil {
		return nil, err
	}
	if s.held, err = data.unseen(o.Unseen, o.Seed); err != nil {
		return nil, err
	}
	if data.Base.X.Rows < 100 {
		s.notes = append(s.notes, fmt.Sprintf("the base has only %d items: precision@100 is precision@%d here", data.Base.X.Rows, data.Base.X.Rows))
	}
	if o.PCA > 0 {
		if err := s.reduce(ctx); err != nil {
			return nil, err
		}
	}
	if s.held != nil {
		in := func(p *Part, held bool) []bool {
			keep := make([]bool, p.X.Rows)
			for i, c := range p.Labels.Class {
				keep[i] = slices.Contains(s.held, c) == held
			}
			return keep
		}
		s.others = s.base.part(in(s.base, false), fmt.Sprintf("without %v", s.held))
		s.unseenBase, s.unseenQueries = s.base.part(in(s.base, true), "unseen"), s.queries.part(in(s.queries, true), "unseen")
		s.plainUnseenB, s.plainUnseenQ = s.unseenBase, s.unseenQueries
		if o.PCA > 0 {
			s.plainUnseenB, s.plainUnseenQ = data.Base.part(in(s.base, true), "unseen"), data.Queries.part(in(s.queries, true), "unseen")
		}
	} else if o.Unseen == 0 && data.Base.Labels != nil {
		s.notes = append(s.notes, "there are too few classes to keep some out of training: nothing is said about classes that come later")
	}
	return s, nil
}

// summary says what the comparison is made on.
func (s *stage) summary() Summary {
	d := s.data
	out := Summary{
		Name: d.Name, Base: d.Base.X.Rows, Queries: d.Queries.X.Rows, Dim: d.Base.X.Cols,
		Classes: len(d.classes()), Similar: d.similar(), HeldOut: []string{}, Digest: digest(d.Base.Mark, d.Queries.Mark),
	}
	for _, c := range s.held {
		out.HeldOut = append(out.HeldOut, d.Base.Labels.Names[c])
	}
	return out
}

// task is one training and the rows that come of it.
type task struct {
	method     string
	kind       Kind
	supervised bool
	bits       []int // lengths of the rows; nil for a method with one length of its own
	steps      int   // of progress
	options    any   // what else decides the rows, for the key of the work folder
	run        func(ctx context.Context) ([]Row, error)
}

// title names a task for people.
func (t *task) title() string {
	if len(t.bits) == 0 {
		return t.method
	}
	return fmt.Sprintf("%s, %s bits", t.method, strings.Trim(fmt.Sprint(t.bits), "[]"))
}

// row starts a row of the task.
func (t *task) row(bits int) Row {
	return Row{Method: t.method, Kind: t.kind, Supervised: t.supervised, Bits: bits, Bytes: (bits + 7) / 8}
}

// failed is the rows of a task that came to nothing.
func (t *task) failed(err error) []Row {
	var rows []Row
	for _, bits := range append(slices.Clone(t.bits), 0)[:max(1, len(t.bits))] {
		r := t.row(bits)
		r.Error = err.Error()
		rows = append(rows, r)
	}
	return rows
}

// outcome says in a few words how a task ended.
func (t *task) outcome(rows []Row) string {
	last := rows[len(rows)-1]
	if last.Error != "" {
		return fmt.Sprintf("%s failed: %s", t.title(), last.Error)
	}
	return fmt.Sprintf("%s: MAP %.3f", t.title(), last.MAP)
}

// runner does the work of a task, and adder takes a task into the list.
type (
	runner func(ctx context.Context, t *task) ([]Row, error)
	adder  func(t *task, run runner)
)

// tasks lists what is to be done, in the order of the rows: methods, floors, ceilings.
func (s *stage) tasks() []*task {
	var list []*task
	add := func(t *task, run runner) {
		t.run = func(ctx context.Context) ([]Row, error) { return run(ctx, t) }
		list = append(list, t)
	}
	for _, name := range s.o.Methods {
		s.methods(name, add)
	}
	for _, bits := range s.o.Bits {
		add(&task{method: "random", kind: Floor, bits: []int{bits}, steps: 1}, s.random)
	}
	add(&task{method: sign, kind: Floor, steps: 1}, s.sign)
	add(&task{method: hashed, kind: Ceiling, supervised: true, bits: s.o.Bits, steps: 8 * s.trainings()}, s.classifier)
	add(&task{method: euclidean, kind: Ceiling, steps: 4}, s.float(eval.RetrievalFloat))
	add(&task{method: cosine, kind: Ceiling, steps: 4}, s.float(eval.RetrievalCosine))
	return list
}

// Float search.
const (
	euclidean = "float-euclidean"
	cosine    = "float-cosine"
)

func (s *stage) longest() int { return s.o.Bits[len(s.o.Bits)-1] }

// trainings is how often a method is trained.
func (s *stage) trainings() int {
	if s.held != nil {
		return 2
	}
	return 1
}

// random judges codes that know nothing.
func (s *stage) random(ctx context.Context, t *task) ([]Row, error) {
	bits, seed := t.bits[0], s.o.Seed
	row := t.row(bits)
	q, b := method.RandomCodes(s.queries.X.Rows, bits, seed+1), method.RandomCodes(s.base.X.Rows, bits, seed)
	if err := s.judge(ctx, &row, q, b); err != nil {
		return nil, err
	}
	if s.held != nil {
		q, b = method.RandomCodes(s.unseenQueries.X.Rows, bits, seed+1), method.RandomCodes(s.unseenBase.X.Rows, bits, seed)
		if err := s.judgeUnseen(ctx, &row, q, b); err != nil {
			return nil, err
		}
	}
	return []Row{row}, nil
}

// sign judges one bit for each column: whether it is over its mean. It works on the columns themselves, as engines do;
// the projection of method.Sign would take dim² products for it.
func (s *stage) sign(ctx context.Context, t *task) ([]Row, error) {
	if s.base.X.Cols > 1<<16-2 {
		return nil, fmt.Errorf("codes of %d bits are longer than can be judged", s.base.X.Cols)
	}
	row := t.row(s.base.X.Cols)
	code, took := signs(s.base.X)
	row.TrainSeconds = took + s.front.train
	if err := s.measure(ctx, &row, code); err != nil || s.held == nil {
		return []Row{row}, err
	}
	code, _ = signs(s.others.X)
	return []Row{row}, s.measureUnseen(ctx, &row, code)
}

// signs learns the means of the columns.
func signs(x vectors.Matrix) (coder, float64) {
	var mean []float32
	took := seconds(func() { mean = x.Mean() })
	return func(_ context.Context, x vectors.Matrix, _ int) (hamming.Codes, error) {
		c := hamming.NewCodes(x.Rows, x.Cols)
		for i := range x.Rows {
			row, code := x.Row(i), c.Row(i)
			for w := range code {
				var word uint64
				for j := 64 * w; j < min(64*w+64, x.Cols); j++ {
					if row[j] >= mean[j] {
						word |= 1 << (63 - j&63)
					}
				}
				code[w] = word
			}
		}
		return c, nil
	}, took
}
