package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/vectors"
)

// few returns an index of n items with few distinct codes, so that most distances tie, and their vectors.
func few(t *testing.T, n int) (*index.Snapshot, vectors.Matrix) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 1))
	x := index.New(8, hamming.Fingerprint{}, index.Config{})
	b := index.NewBatch(8)
	m := vectors.Matrix{Rows: n, Cols: 40}
	for i := range n {
		b.Append(index.Item{ID: index.Int(int64(i)), Code: []uint64{uint64(rng.IntN(4)) << 56}})
		for range m.Cols {
			m.Data = append(m.Data, float32(rng.IntN(5)))
		}
	}
	if err := x.Add(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	return x.Snapshot(), m
}

// asked are queries with codes and vectors of their own.
func asked(codes []uint64, x ...[]float32) *queries {
	q := &queries{names: make([]string, len(codes)), labels: make([]string, len(codes)), vectors: x}
	q.codes = hamming.Codes{Bits: 8, Words: 1, Data: codes}
	return q
}

// bothVectors are vectors in memory and in a source.
func bothVectors(s *index.Snapshot, m vectors.Matrix) map[string]Vectors {
	t, b, rows := NewTable(), index.NewBatch(s.Bits()), [][]float32(nil)
	for i := range m.Rows {
		if it, ok := s.Get(index.Int(int64(i))); ok {
			b.Append(it)
			rows = append(rows, m.Row(i))
		}
	}
	t.Set(b, rows)
	return map[string]Vectors{
		"table": t, "pass": &Pass{Open: func(context.Context) (vectors.Source, error) { return m, nil }},
	}
}

// TestRerankIsTheDefinition compares with sorting everything: the items up to the distance of the last on the
// shortlist, by distance of the vectors, then of the codes, then by id.
func TestRerankIsTheDefinition(t *testing.T) {
	ctx := context.Background()
	s, m := few(t, 500)
	var codes []uint64
	var rows [][]float32
	for i := range 7 {
		codes, rows = append(codes, uint64(i)<<56), append(rows, m.Row(3*i))
	}
	for kind, of := range bothVectors(s, m) {
		for _, name := range []string{"euclidean", "cosine"} {
			q := asked(codes, rows...)
			x := &Items{Snapshot: s, Vectors: of}
			got, err := x.byVectors(ctx, q, 12, &api.Options{Rerank: name}, index.Options{})
			if err != nil || q.doubts != nil {
				t.Fatal(q.doubts, err)
			}
			for i := range got {
				want := sorted(s, m, q, i, name, index.Shortlisted(12))
				if len(want) != q.compared[i] || len(want) < index.Shortlisted(12) {
					t.Fatalf("%s: %d items, want %d", kind, q.compared[i], len(want))
				}
				if !slices.EqualFunc(got[i].Hits, want[:12], func(a, b index.Hit) bool {
					return a.ID == b.ID && a.Distance == b.Distance && a.Score == b.Score
				}) {
					t.Fatalf("%s, %s, query %d:\n got %v\nwant %v", kind, name, i, got[i].Hits, want[:12])
				}
			}
		}
	}
}

func TestRerankRefusals(t *testing.T) {
	ctx := context.Background()
	s, m := few(t, 50)
	x := &Items{Snapshot: s}
	by := &api.Options{Rerank: api.Euclidean}
	if _, err := x.byVectors(ctx, asked([]uint64{0}, m.Row(0)), 3, by, index.Options{}); !errors.Is(err, api.ErrUnsupported) {
		t.Errorf("no vectors are known: %v", err)
	}
	for kind, of := range bothVectors(s, m) {
		x.Vectors = of
		if _, err := x.byVectors(ctx, asked([]uint64{0}, nil), 3, by, index.Options{}); !errors.Is(err, api.ErrNoVector) {
			t.Errorf("%s: a query without a vector: %v", kind, err)
		}
		missing := slices.Clone(m.Row(0))
		missing[3] = float32(math.NaN())
		if _, err := x.byVectors(ctx, asked([]uint64{0}, missing), 3, by, index.Options{}); !errors.Is(err, api.ErrInvalid) {
			t.Errorf("%s: a query with a missing value: %v", kind, err)
		}
	}
	x.Vectors = bothVectors(s, vectors.Matrix{Rows: 100, Cols: 20, Data: m.Data})["pass"]
	if _, err := x.byVectors(ctx, asked([]uint64{0}, m.Row(0)), 3, by, index.Options{}); !errors.Is(err, api.ErrDimension) {
		t.Errorf("vectors of another dimension: %v", err)
	}
}

// TestItemsWithoutVectors: they come last, by code, with a warning; if no item has a vector, that is an error.
func TestItemsWithoutVectors(t *testing.T) {
	ctx := context.Background()
	s, m := few(t, 50)
	for kind, of := range bothVectors(s, vectors.Matrix{Rows: 40, Cols: 40, Data: m.Data[:1600]}) {
		x := &Items{Snapshot: s, Vectors: of}
		for _, k := range []int{40, 45, 60} {
			q := asked([]uint64{0}, m.Row(49))
			got, err := x.byVectors(ctx, q, k, &api.Options{Rerank: api.Euclidean}, index.Options{})
			if err != nil || len(got[0].Hits) != min(k, 50) {
				t.Fatalf("%s: %d hits, %v", kind, len(got[0].Hits), err)
			}
			if len(q.doubts) != 1 || !strings.Contains(q.doubts[0], "10 of 50") || !strings.Contains(q.doubts[0], `"4`) {
				t.Errorf("%s: %q", kind, q.doubts)
			}
			last := got[0].Hits[40:]
			for i, h := range last {
				if n, _ := h.ID.Integer(); n < 40 || h.Score != noVector || i > 0 && last[i-1].Distance > h.Distance {
					t.Errorf("%s: hit %d is %+v", kind, 40+i, h)
				}
			}
		}
		f, err := index.Parse("id >= 40")
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.byVectors(ctx, asked([]uint64{0}, m.Row(49)), 3, &api.Options{Rerank: api.Euclidean}, index.Options{Filter: f})
		if !errors.Is(err, ErrNoVectors) || !errors.Is(err, api.ErrInvalid) {
			t.Errorf("%s: no vector at all: %v", kind, err)
		}
	}
}

func TestVectorsOfItems(t *testing.T) {
	s, _ := few(t, 3)
	m := vectors.Matrix{Rows: 3, Cols: 2, Data: []float32{3, 4, 0, 0, 1, 0}}
	for kind, v := range bothVectors(s, m) {
		of, err := v.Of(context.Background(), s, map[index.ID]bool{index.Int(0): true, index.Int(2): true, index.Int(9): true}, 2)
		if err != nil || len(of) != 2 || of[index.Int(0)][1] != 4 {
			t.Errorf("%s: %v, %v", kind, of, err)
		}
	}
}

func sorted(s *index.Snapshot, m vectors.Matrix, queries *queries, q int, name string, shortlist int) []index.Hit {
	var all []index.Hit
	for i := range m.Rows {
		it, _ := s.Get(index.Int(int64(i)))
		h := index.Hit{ID: it.ID, Distance: hamming.Distance(it.Code, queries.codes.Row(q))}
		if x, y := queries.vectors[q], m.Row(i); name == "cosine" {
			h.Score = cosine(x, y)
		} else {
			sum := 0.0
			for j := range x {
				sum += float64(x[j]-y[j]) * float64(x[j]-y[j])
			}
			h.Score = math.Sqrt(sum)
		}
		all = append(all, h)
	}
	slices.SortStableFunc(all, func(a, b index.Hit) int { return a.Distance - b.Distance })
	if shortlist > 0 {
		last := all[shortlist-1].Distance
		all = slices.DeleteFunc(all, func(h index.Hit) bool { return h.Distance > last })
	}
	slices.SortStableFunc(all, func(a, b index.Hit) int { return cmp.Compare(a.Score, b.Score) })
	return all
}

func TestDistances(t *testing.T) {
	if got := euclidean([]float32{0, 0.5}, []float32{1, 0}); math.Abs(got-math.Sqrt(1.25)) > 1e-12 {
		t.Errorf("euclidean: %v", got)
	}
	if got := cosine([]float32{0, 0}, []float32{1, 0}); got != 1 {
		t.Errorf("cosine of zeros: %v", got)
	}
	if got := cosine([]float32{2, 0}, []float32{0.5, 0}); got != 0 {
		t.Errorf("cosine of one direction: %v", got)
	}
	if x := []float32{4.9, 3, 1.4, 0.2}; cosine(x, x) != 0 {
		t.Errorf("rounded: %v", cosine(x, x))
	}
}

// leaving is a context that ends after it has been looked at some times.
type leaving struct {
	context.Context
	left *int
}

func (c leaving) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestSearchesEndWithTheirContext: a reranking and explanations of many queries end soon after nobody waits for them.
func TestSearchesEndWithTheirContext(t *testing.T) {
	s, m := few(t, 3000)
	for name, v := range bothVectors(s, m) {
		x := &Items{Snapshot: s, Vectors: v, Threads: 1}
		r := &api.Request{Options: api.Options{Explain: true}}
		for i := range 50 {
			r.Queries = append(r.Queries, api.Query{ID: api.Int(int64(i))})
		}
		for _, rerank := range []string{"", api.Euclidean} {
			if r.Rerank = rerank; name == "pass" && rerank != "" {
				continue // it reads the file once for all queries
			}
			for left := range 20 {
				if _, err := x.Search(leaving{context.Background(), &left}, r); !errors.Is(err, context.Canceled) {
					t.Fatalf("%s, rerank %q: %v after %d looks", name, rerank, err, left)
				}
			}
		}
	}
}

// TestVectorsWithMissingValues come last, as items without vectors do.
func TestVectorsWithMissingValues(t *testing.T) {
	s, m := few(t, 50)
	for i := range 25 {
		m.Row(2 * i)[i] = float32(math.NaN())
	}
	for name, v := range bothVectors(s, m) {
		x := &Items{Snapshot: s, Vectors: v}
		for _, rerank := range []string{api.Euclidean, api.Cosine} {
			k := 50
			a, err := x.Search(context.Background(), &api.Request{Query: api.Query{ID: "1"}, Options: api.Options{K: &k, Rerank: rerank}})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, h := range a.Results[0].Hits {
				if (h.Score == nil) != (i >= 25) {
					t.Errorf("%s, %s: hit %d, item %s, has the score %v", name, rerank, i, h.ID, h.Score)
				}
			}
		}
	}
}

// TestTiesByVectorsAreTheDefinition compares with sorting everything by the distance of the codes, then of the vectors,
// then by id: what the codes found comes first, and no tie is cut by id.
func TestTiesByVectorsAreTheDefinition(t *testing.T) {
	s, m := few(t, 500)
	for kind, of := range bothVectors(s, m) {
		x := &Items{Snapshot: s, Vectors: of}
		for _, k := range []int{1, 7, 100, 499, 600} {
			r := &api.Request{Options: api.Options{K: &k, Ties: api.Vectors}}
			var codes []uint64
			var rows [][]float32
			for i := range 5 {
				it, _ := s.Get(index.Int(int64(3 * i)))
				r.Queries = append(r.Queries, api.Query{ID: api.Int(int64(3 * i))})
				codes, rows = append(codes, it.Code[0]), append(rows, m.Row(3*i))
			}
			a, err := x.Search(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			for i, result := range a.Results {
				want := sorted(s, m, asked(codes, rows...), i, "euclidean", 0)
				slices.SortStableFunc(want, func(a, b index.Hit) int { return a.Distance - b.Distance })
				want = want[:min(k, len(want))]
				if !slices.EqualFunc(result.Hits, want, func(a api.Hit, b index.Hit) bool {
					return string(a.ID) == b.ID.String() && a.Distance == b.Distance && *a.Score == b.Score
				}) {
					t.Fatalf("%s, k %d, query %d:\n got %v\nwant %v", kind, k, i, result.Hits, want)
				}
			}
		}
	}
	_, err := (&Items{Snapshot: s}).Search(context.Background(), &api.Request{Query: api.Query{ID: "1"}, Options: api.Options{Ties: api.Vectors}})
	if !errors.Is(err, api.ErrUnsupported) {
		t.Errorf("without vectors: %v", err)
	}
}
