package compare

import (
	"cmp"
	"context"
	"slices"
	"time"

	"hashgrove/eval"
	"hashgrove/hamming"
	"hashgrove/internal/gemm"
	"hashgrove/report"
	"hashgrove/vectors"
)

// coder turns vectors into codes.
type coder func(ctx context.Context, x vectors.Matrix, threads int) (hamming.Codes, error)

// What a row shows of single searches.
const (
	sampleSearches = 8  // queries whose nearest items are kept
	nearestItems   = 10 // of each query, for Searches and Confusions
	confusions     = 20 // pairs of classes at most
)

// measure fills in a row: codes of both sides, their encoding time, and what they are worth.
func (s *stage) measure(ctx context.Context, row *Row, code coder) error {
	base, err := code(ctx, s.base.X, s.o.Threads)
	if err != nil {
		return err
	}
	var queries hamming.Codes
	took := fastest(func() { queries, err = code(ctx, s.queries.X, 1) })
	if err != nil {
		return err
	}
	row.EncodeMicroseconds = took*1e6/float64(s.queries.X.Rows) + s.front.encode
	return s.judge(ctx, row, queries, base)
}

// measureUnseen fills in what a coder that was trained without the held-out classes is worth among them.
func (s *stage) measureUnseen(ctx context.Context, row *Row, code coder) error {
	base, err := code(ctx, s.unseenBase.X, s.o.Threads)
	if err != nil {
		return err
	}
	queries, err := code(ctx, s.unseenQueries.X, s.o.Threads)
	if err != nil {
		return err
	}
	return s.judgeUnseen(ctx, row, queries, base)
}

// judge fills in what codes are worth.
func (s *stage) judge(ctx context.Context, row *Row, queries, base hamming.Codes) error {
	r, err := eval.Retrieval(ctx, queries, base, s.truth, s.options())
	if err != nil {
		return err
	}
	row.fill(r)
	row.Usage = report.UsageOf(base)
	row.SearchMicroseconds = s.searchTime(queries, base)
	return s.nearest(ctx, row, queries, base)
}

func (s *stage) judgeUnseen(ctx context.Context, row *Row, queries, base hamming.Codes) error {
	r, err := eval.Unseen(ctx, queries, base, s.unseenQueries.Labels.Class, s.unseenBase.Labels.Class, s.held, eval.Options{Threads: s.o.Threads})
	if err != nil {
		return err
	}
	row.UnseenMAP = r.MAP
	return nil
}

// options is how eval judges.
func (s *stage) options() eval.Options {
	o := eval.Options{K: []int{s.depth()}, Threads: s.o.Threads}
	if l := s.data.Queries.Labels; l != nil {
		o.Classes, o.ClassNames = l.Class, l.Names
	}
	return o
}

// depth is the rank of Precision100: 100, or the whole base where that is smaller.
func (s *stage) depth() int { return min(100, s.base.X.Rows) }

// fill takes over the numbers of a judgement.
func (row *Row) fill(r *eval.Report) {
	row.MAP, row.MAPLow, row.MAPHigh = r.MAP, r.MAPLow, r.MAPHigh
	for _, p := range r.Precision { // the only one
		row.Precision100 = p
	}
	row.PRArea, row.MAP10000, row.PRArea10000 = r.PRArea, r.MAP10000, r.PRArea10000
	row.DistinctCodes, row.LargestBucket = r.DistinctCodes, r.LargestBucket
	row.PerClass, row.PRCurve, row.PrecisionCurve = r.PerClass, r.PRCurve, r.CurvePoints
	row.Warnings = r.Warnings
}

// nearest keeps the nearest items of a few queries, and counts the classes among those of all.
func (s *stage) nearest(ctx context.Context, row *Row, queries, base hamming.Codes) error {
	n := queries.Len()
	near, err := base.Nearest(ctx, queries, nearestItems, s.o.Threads)
	if err != nil {
		return err
	}
	for i := range min(sampleSearches, n) {
		q := i * n / min(sampleSearches, n)
		search := Search{Query: q}
		for _, h := range near[q] {
			search.Items = append(search.Items, int(h.Pos))
			search.Distances = append(search.Distances, int(h.Distance))
		}
		row.Searches = append(row.Searches, search)
	}
	if s.queries.Labels == nil {
		return nil
	}
	type pair struct{ query, found int32 }
	count, total := map[pair]int{}, map[int32]int{}
	for q, list := range near {
		c := s.queries.Labels.Class[q]
		total[c] += len(list)
		for _, h := range list {
			if f := s.base.Labels.Class[h.Pos]; f != c {
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
	for _, p := range pairs[:min(confusions, len(pairs))] {
		row.Confusions = append(row.Confusions, Confusion{names[p.query], names[p.found], share(p)})
	}
	return nil
}

// float judges the vectors themselves. PCA is not for them: they are what a user searches today.
func (s *stage) float(retrieval func(context.Context, vectors.Matrix, vectors.Matrix, eval.Truth, eval.Options) (*eval.Report, error)) runner {
	return func(ctx context.Context, t *task) ([]Row, error) {
		queries, base := s.data.Queries.X, s.data.Base.X
		row := t.row(32 * base.Cols)
		r, err := retrieval(ctx, queries, base, s.truth, s.options())
		if err != nil {
			return nil, err
		}
		row.fill(r)
		if row.SearchMicroseconds, err = floatSearchTime(ctx, queries, base); err != nil {
			return nil, err
		}
		if s.held != nil {
			q, b := s.plainUnseenQ, s.plainUnseenB
			r, err := retrieval(ctx, q.X, b.X, eval.ByClass(q.Labels.Class, b.Labels.Class), eval.Options{Threads: s.o.Threads})
			if err != nil {
				return nil, err
			}
			row.UnseenMAP = r.MAP
		}
		return []Row{row}, nil
	}
}

// searchTime is the microseconds that one core needs for the distances of one query to all codes.
func (s *stage) searchTime(queries, base hamming.Codes) float64 {
	n := min(64, queries.Len())
	distance := make([]uint16, base.Len())
	return fastest(func() {
		for q := range n {
			base.Distances(distance, queries.Row(q))
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
	took := fastest(func() { err = gemm.Mul(ctx, 1, c, gemm.RowMajor(base.Rows, base.Cols, base.Data), q.T()) })
	return took * 1e6 / float64(n), err
}

// seconds times f.
func seconds(f func()) float64 {
	began := time.Now()
	f()
	return time.Since(began).Seconds()
}

// fastest times f at least twice and for 20 ms, up to 20 times, and returns the seconds of the fastest run: the others
// were disturbed, and the first prepares.
func fastest(f func()) float64 {
	best, sum := seconds(f), 0.0
	for turn := 0; turn < 20 && (turn == 0 || sum < 0.02); turn++ {
		took := seconds(f)
		best, sum = min(best, took), sum+took
	}
	return best
}
