package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hashgrove/eval"
	"hashgrove/hamming"
	"hashgrove/internal/trial"
	"hashgrove/method"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// task is one training and the rows that come of it.
type task struct {
	method     string
	kind       eval.Kind
	supervised bool
	bits       []int // lengths of the rows; nil for a method with one length of its own
	steps      int   // of progress
	options    any   // what else decides the rows, for the key of the work folder
	work       func(ctx context.Context, t *task) ([]eval.Row, error)
}

func (t *task) run(ctx context.Context) ([]eval.Row, error) { return t.work(ctx, t) }

// longest is the length of the longest code, 0 for a method with a length of its own.
func (t *task) longest() int { return slices.Max(append([]int{0}, t.bits...)) }

// title names a task for people.
func (t *task) title() string {
	if len(t.bits) == 0 {
		return t.method
	}
	return fmt.Sprintf("%s, %s bits", t.method, strings.Trim(fmt.Sprint(t.bits), "[]"))
}

// row starts a row of the task.
func (t *task) row(bits int) eval.Row {
	return eval.Row{Method: t.method, Kind: t.kind, Supervised: t.supervised, Bits: bits, Bytes: (bits + 7) / 8}
}

// failed returns the rows of a task that failed.
func (t *task) failed(err error) []eval.Row {
	var rows []eval.Row
	for _, bits := range append(slices.Clone(t.bits), 0)[:max(1, len(t.bits))] {
		r := t.row(bits)
		r.Error = err.Error()
		rows = append(rows, r)
	}
	return rows
}

// outcome says in a few words how a task ended.
func (t *task) outcome(rows []eval.Row) string {
	last := rows[len(rows)-1]
	if last.Error != "" {
		return fmt.Sprintf("%s failed: %s", t.title(), last.Error)
	}
	return fmt.Sprintf("%s: MAP %.3f", t.title(), last.MAP)
}

// tasks lists what is to be done, in the order of the rows: methods, floors, ceilings.
func (s *stage) tasks() []*task {
	var list []*task
	for _, name := range s.o.Methods {
		list = append(list, s.methodTasks(name)...)
	}
	for _, bits := range s.o.Bits {
		list = append(list, &task{
			method: random, kind: eval.KindFloor, bits: []int{bits}, steps: 1, work: s.randomCodes,
		})
	}
	return append(list,
		&task{method: sign, kind: eval.KindFloor, steps: 1, work: s.signCodes},
		&task{
			method: hashed, kind: eval.KindCeiling, supervised: true, bits: s.o.Bits,
			steps: 8 * s.trainings(), work: s.classifier,
		},
		&task{method: euclidean, kind: eval.KindCeiling, steps: 4, work: s.floatSearch(eval.RetrievalFloat)},
		&task{method: cosine, kind: eval.KindCeiling, steps: 4, work: s.floatSearch(eval.RetrievalCosine)})
}

// randomCodes judges codes that know nothing.
func (s *stage) randomCodes(ctx context.Context, t *task) ([]eval.Row, error) {
	row := t.row(t.bits[0])
	codes := func(b *trial.Bench) trial.Codes {
		return trial.Codes{
			Base:    method.RandomCodes(b.Base.Rows, row.Bits, s.o.Seed),
			Queries: method.RandomCodes(b.Queries.Rows, row.Bits, s.o.Seed+1),
		}
	}
	if err := s.judge(ctx, &row, codes(s.bench)); err != nil || s.held == nil {
		return []eval.Row{row}, err
	}
	err := s.judgeUnseen(ctx, &row, codes(s.unseen))
	return []eval.Row{row}, err
}

// signCodes judges one bit for each column: whether it is over its mean. It works on the columns themselves, as engines
// do; the projection of method.Sign would take dim² products for it.
func (s *stage) signCodes(ctx context.Context, t *task) ([]eval.Row, error) {
	if s.base.X.Cols > 1<<16-2 {
		return nil, fmt.Errorf("codes of %d bits are longer than can be judged", s.base.X.Cols)
	}
	row := t.row(s.base.X.Cols)
	var mean []float32
	row.TrainSeconds = s.pca.train + trial.Seconds(func() { mean = s.base.X.Mean() })
	err := s.measure(ctx, &row, signCoder(mean))
	if err == nil && s.held != nil {
		err = s.measureUnseen(ctx, &row, signCoder(s.others.X.Mean()))
	}
	return []eval.Row{row}, err
}

// signCoder compares every column with its mean.
func signCoder(mean []float32) trial.Coder {
	return func(_ context.Context, d *supervision.Data, _ int) (hamming.Codes, error) {
		x, _ := trial.Vectors(d) // parts are in memory
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
	}
}

// floatRetrieval is eval.RetrievalFloat or eval.RetrievalCosine.
type floatRetrieval func(context.Context, vectors.Matrix, vectors.Matrix, eval.Truth, eval.Options) (*eval.Report,
	error)

// floatSearch judges the vectors themselves, before PCA: they are what a user searches today.
func (s *stage) floatSearch(retrieval floatRetrieval) func(context.Context, *task) ([]eval.Row, error) {
	return func(ctx context.Context, t *task) ([]eval.Row, error) {
		queries, base := s.data.Queries.X, s.data.Base.X
		row := t.row(32 * base.Cols)
		r, err := retrieval(ctx, queries, base, s.bench.Truth, s.bench.Options)
		if err != nil {
			return nil, err
		}
		r.Fill(&row)
		if row.SearchMicroseconds, err = floatSearchTime(ctx, queries, base); err != nil {
			return nil, err
		}
		if s.held != nil {
			r, err := retrieval(ctx, s.rawQueries.X, s.rawBase.X, s.unseen.Truth, s.unseen.Options)
			if err != nil {
				return nil, err
			}
			row.UnseenMAP = r.MAP
		}
		return []eval.Row{row}, nil
	}
}
