package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hashgrove/eval"
	"hashgrove/hamming"
	"hashgrove/index"
	"hashgrove/internal/gemm"
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
	var heldOut trial.Codes
	if s.held != nil {
		heldOut = codes(s.unseen)
	}
	err := s.judge(ctx, &row, codes(s.bench), heldOut)
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
	var seen []float32
	if s.held != nil {
		seen = s.others.X.Mean()
	}
	err := s.measure(ctx, &row, signCoder(mean), signCoder(seen))
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

// What a row shows of single searches.
const (
	sampleSearches = 8  // queries whose nearest items are kept
	nearestItems   = 10 // of each query, for Searches and Confusions
	mostConfusions = 20 // pairs of classes at most
)

// measure fills in a row: codes of both sides, their encoding time, and what they are worth. The coder unseen, which
// was trained without the held-out classes, encodes those; it is not called where there are none.
func (s *stage) measure(ctx context.Context, row *eval.Row, code, unseen trial.Coder) error {
	codes, err := s.bench.Encode(ctx, code)
	if err != nil {
		return err
	}
	row.EncodeMicroseconds = codes.Seconds*1e6/float64(s.queries.X.Rows) + s.pca.encode
	var heldOut trial.Codes
	if s.held != nil {
		if heldOut, err = s.unseen.Encode(ctx, unseen); err != nil {
			return err
		}
	}
	return s.judge(ctx, row, codes, heldOut)
}

// judge fills in what codes are worth, and what those of the held-out classes are worth among themselves.
func (s *stage) judge(ctx context.Context, row *eval.Row, codes, heldOut trial.Codes) error {
	r, err := s.bench.Judge(ctx, codes)
	if err != nil {
		return err
	}
	r.Fill(row)
	row.Usage = eval.UsageOf(codes.Base)
	row.SearchMicroseconds = searchTime(codes)
	if s.held != nil {
		if r, err = s.unseen.Judge(ctx, heldOut); err != nil {
			return err
		}
		row.UnseenMAP = r.MAP
	}
	return s.addSearches(ctx, row, codes)
}

// addSearches keeps the nearest items of a few queries, and the classes that the nearest items of all queries mix up.
func (s *stage) addSearches(ctx context.Context, row *eval.Row, codes trial.Codes) error {
	n := codes.Queries.Len()
	o := index.Options{Threads: s.o.Threads}
	near, err := index.FromCodes(codes.Base).SearchBatch(ctx, codes.Queries, nearestItems, o)
	if err != nil {
		return err
	}
	for i := range min(sampleSearches, n) {
		q := i * n / min(sampleSearches, n)
		search := eval.Search{Query: q}
		for _, h := range near[q].Hits {
			item, _ := h.ID.Integer()
			search.Items = append(search.Items, int(item))
			search.Distances = append(search.Distances, h.Distance)
		}
		row.Searches = append(row.Searches, search)
	}
	if s.queries.Labels != nil {
		row.Confusions = s.confusions(near)
	}
	return nil
}

// confusions lists the classes that are found most often for queries of other classes.
func (s *stage) confusions(near []index.Result) []eval.Confusion {
	type pair struct{ query, found int32 }
	count, total := map[pair]int{}, map[int32]int{}
	for q, list := range near {
		c := s.queries.Labels.Class[q]
		total[c] += len(list.Hits)
		for _, h := range list.Hits {
			item, _ := h.ID.Integer()
			if f := s.base.Labels.Class[item]; f != c {
				count[pair{c, f}]++
			}
		}
	}
	pairs := make([]pair, 0, len(count))
	for p := range count {
		pairs = append(pairs, p)
	}
	share := func(p pair) float64 { return float64(count[p]) / float64(total[p.query]) }
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(a.query, b.query), cmp.Compare(a.found, b.found))
	})
	names := s.queries.Labels.Names // those of the base first
	var list []eval.Confusion
	for _, p := range pairs[:min(mostConfusions, len(pairs))] {
		list = append(list, eval.Confusion{Query: names[p.query], Found: names[p.found], Share: share(p)})
	}
	return list
}

// searchTime is the microseconds that one core needs for the distances of one query to all codes.
func searchTime(codes trial.Codes) float64 {
	n := min(64, codes.Queries.Len())
	distance := make([]uint16, codes.Base.Len())
	return trial.Fastest(func() {
		for q := range n {
			codes.Base.Distances(distance, codes.Queries.Row(q))
		}
	}) * 1e6 / float64(n)
}

// floatSearchTime is the same for float vectors: products with 16 queries at a time, which give cosine or Euclidean
// distance alike. A search with one query at a time takes longer.
func floatSearchTime(ctx context.Context, queries, base vectors.Matrix) (float64, error) {
	n := min(16, queries.Rows)
	q := gemm.RowMajor(n, queries.Cols, queries.Data[:n*queries.Cols])
	c := gemm.RowMajor(base.Rows, n, make([]float32, base.Rows*n))
	var err error
	took := trial.Fastest(func() { err = gemm.Mul(ctx, 1, c, gemm.RowMajor(base.Rows, base.Cols, base.Data), q.T()) })
	return took * 1e6 / float64(n), err
}
