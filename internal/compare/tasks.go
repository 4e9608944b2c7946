package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// task is one training and the rows that result.
type task struct {
	method     string
	kind       eval.Kind
	supervised bool
	bits       []int         // lengths of the rows; nil for a method that decides its own length
	steps      int           // of progress
	detail     model.Encoder // behind every code, or nil; later is that of the second training
	later      model.Encoder
	work       func(ctx context.Context, t *task) ([]eval.Row, error)
}

// longest returns the length of the longest code, or 0 for a method that decides its own length.
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
	if len(rows) == 0 {
		return t.title() + ": more than it can make, as before"
	}
	last := rows[len(rows)-1]
	if last.Error != "" {
		return fmt.Sprintf("%s failed: %s", t.title(), last.Error)
	}
	return fmt.Sprintf("%s: MAP %.3f", t.title(), last.Leading().MAP)
}

// tasks lists the work in the order of the rows: methods, floors, references.
func (s *comparison) tasks() []*task {
	var list []*task
	for _, name := range s.o.Methods {
		list = append(list, s.methodTasks(name)...)
	}
	for _, bits := range s.o.Bits {
		list = append(list, &task{
			method: random, kind: eval.KindFloor, bits: []int{bits}, steps: 1, work: s.randomCodes,
		})
	}
	list = append(list, &task{method: sign, kind: eval.KindFloor, steps: 1, work: s.signCodes})
	return append(list,
		&task{method: hashed, kind: eval.KindReference, supervised: true, bits: s.o.Bits,
			steps: 8 * s.trainings(), work: s.classifier},
		&task{method: euclidean, kind: eval.KindReference, steps: 4, work: s.floatSearch(eval.Euclidean)},
		&task{method: cosine, kind: eval.KindReference, steps: 4, work: s.floatSearch(eval.Cosine)})
}

// randomCodes measures random codes.
func (s *comparison) randomCodes(ctx context.Context, t *task) ([]eval.Row, error) {
	row := t.row(t.bits[0])
	draw := s.randomCoder(row.Bits)
	err := s.measure(ctx, &row, draw, draw)
	row.EncodeMicroseconds = 0
	return []eval.Row{row}, err
}

// randomCoder draws codes; a part has the same ones however often it is encoded.
func (s *comparison) randomCoder(bits int) coder {
	parts := map[*float32]uint64{}
	return coder{code: func(_ context.Context, x vectors.Matrix, _ int) (hamming.Codes, error) {
		part, drawn := parts[&x.Data[0]]
		if !drawn {
			part = uint64(len(parts))
			parts[&x.Data[0]] = part
		}
		return method.RandomCodes(x.Rows, bits, s.o.Seed+part), nil
	}}
}

// signCodes measures one bit per column: whether it exceeds its mean. It works on the columns directly, as engines do;
// the projection of method.Sign would take dim² products.
func (s *comparison) signCodes(ctx context.Context, t *task) ([]eval.Row, error) {
	base := s.data.Base.X
	if base.Cols > 1<<16-2 {
		return nil, fmt.Errorf("codes of %d bits are too long to measure", base.Cols)
	}
	row := t.row(base.Cols)
	var mean []float32
	row.TrainSeconds = seconds(func() { mean = base.Mean() })
	var seen []float32
	if s.unseen != nil {
		seen = s.unseen.others.X.Mean()
	}
	err := s.measure(ctx, &row, signCoder(mean), signCoder(seen))
	return []eval.Row{row}, err
}

// signCoder compares every column with its mean; the difference is the margin.
func signCoder(mean []float32) coder {
	margins := func(_ context.Context, x vectors.Matrix, _ int) (vectors.Matrix, error) {
		y := vectors.Matrix{Rows: x.Rows, Cols: x.Cols, Data: make([]float32, len(x.Data))}
		for i, v := range x.Data {
			y.Data[i] = v - mean[i%x.Cols]
		}
		return y, nil
	}
	return coder{margins: margins, code: func(ctx context.Context, x vectors.Matrix, threads int) (hamming.Codes, error) {
		y, err := margins(ctx, x, threads)
		c := hamming.NewCodes(x.Rows, x.Cols)
		for i := range x.Rows {
			hamming.SetSigns(c.Row(i), y.Row(i))
		}
		return c, err
	}}
}

// floats are vectors to search: the queries, the items that decide and the learned ones, and where classes were held
// out the queries of those and all items.
type floats struct{ queries, items, learned, unseen, all vectors.Matrix }

// judgeFloats fills in a row about a search among vectors.
func (s *comparison) judgeFloats(
	ctx context.Context, row *eval.Row, metric eval.Metric, x floats,
) error {
	found, err := eval.RetrievalFloat(ctx, x.queries, x.items, metric, s.bench.truth, s.bench.options)
	learned := found
	if err == nil && s.learned != nil {
		learned, err = eval.RetrievalFloat(ctx, x.queries, x.learned, metric, s.learned.truth, s.learned.options)
	}
	if err != nil {
		return err
	}
	s.fill(row, found, learned)
	if s.unseen == nil {
		return nil
	}
	r, err := eval.RetrievalFloat(ctx, x.unseen, x.all, metric, s.unseen.truth, s.unseen.options)
	if err == nil {
		row.UnseenMAP, row.UnseenChance = r.MAP, r.Prior
	}
	return err
}

// floatSearch measures the vectors themselves, before PCA: a user searches them today, and would not leave columns on
// different scales.
func (s *comparison) floatSearch(metric eval.Metric) func(context.Context, *task) ([]eval.Row, error) {
	return func(ctx context.Context, t *task) ([]eval.Row, error) {
		x := floats{queries: s.floats.Queries.X, items: s.floats.searched().X, learned: s.floats.Base.X}
		row := t.row(32 * x.items.Cols)
		if s.unseen != nil {
			x.unseen, x.all = s.unseen.raw, s.floats.joined()
		}
		err := s.judgeFloats(ctx, &row, metric, x)
		return []eval.Row{row}, err
	}
}
