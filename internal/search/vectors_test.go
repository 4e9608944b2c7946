package search

import (
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
	t.Set(b, rows, nil)
	return map[string]Vectors{
		"table": t, "pass": &Pass{Open: func(context.Context) (vectors.Source, error) { return m, nil }},
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
