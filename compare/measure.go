package compare

import (
	"cmp"
	"context"
	"slices"

	"hashgrove/eval"
	"hashgrove/index"
	"hashgrove/internal/gemm"
	"hashgrove/internal/trial"
	"hashgrove/vectors"
)

// What a row shows of single searches.
const (
	sampleSearches = 8  // queries whose nearest items are kept
	nearestItems   = 10 // of each query, for Searches and Confusions
	mostConfusions = 20 // pairs of classes at most
)

// measure fills in a row: codes of both sides, their encoding time, and what they are worth.
func (s *stage) measure(ctx context.Context, row *eval.Row, code trial.Coder) error {
	codes, err := s.bench.Encode(ctx, code)
	if err != nil {
		return err
	}
	row.EncodeMicroseconds = codes.Seconds*1e6/float64(s.queries.X.Rows) + s.pca.encode
	return s.judge(ctx, row, codes)
}

// measureUnseen fills in what a coder that was trained without the held-out classes is worth among them.
func (s *stage) measureUnseen(ctx context.Context, row *eval.Row, code trial.Coder) error {
	codes, err := s.unseen.Encode(ctx, code)
	if err != nil {
		return err
	}
	return s.judgeUnseen(ctx, row, codes)
}

// judge fills in what codes are worth.
func (s *stage) judge(ctx context.Context, row *eval.Row, codes trial.Codes) error {
	r, err := s.bench.Judge(ctx, codes)
	if err != nil {
		return err
	}
	r.Fill(row)
	row.Usage = eval.UsageOf(codes.Base)
	row.SearchMicroseconds = searchTime(codes)
	return s.addSearches(ctx, row, codes)
}

func (s *stage) judgeUnseen(ctx context.Context, row *eval.Row, codes trial.Codes) error {
	r, err := s.unseen.Judge(ctx, codes)
	if err != nil {
		return err
	}
	row.UnseenMAP = r.MAP
	return nil
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
