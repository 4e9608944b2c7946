package items

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/vectors"
)

// few is an index of n items with few distinct codes, so that most distances tie, and their vectors.
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

// TestRerankIsTheDefinition compares with sorting everything: the items up to the distance of the last on the
// shortlist, by distance of the vectors, then by distance of the codes, then by id.
func TestRerankIsTheDefinition(t *testing.T) {
	ctx := context.Background()
	s, m := few(t, 500)
	queries := &Queries{Codes: hamming.NewCodes(0, 8)}
	for i := range 7 {
		queries.Add("q", "", []uint64{uint64(i) << 56}, m.Row(3*i))
	}
	for _, name := range []string{"euclidean", "cosine"} {
		for _, shortlist := range []int{0, 1, 100, 300} {
			l, err := s.Shortlist(ctx, queries.Codes, math.MaxInt, index.Options{Shortlist: shortlist})
			if err != nil {
				t.Fatal(err)
			}
			got, missing, err := Rerank(ctx, m, l, queries, Reranking{K: 12, Distance: name, Progress: func(int) {}})
			if err != nil || missing != nil {
				t.Fatal(missing, err)
			}
			for q := range got {
				want := sorted(s, m, queries, q, name, shortlist)
				if len(want) != l.Len(q) || len(want) < shortlist {
					t.Fatalf("shortlist %d: %d items, want %d", shortlist, l.Len(q), len(want))
				}
				if !slices.EqualFunc(got[q].Hits, want[:12], func(a, b index.Hit) bool {
					return a.ID == b.ID && a.Distance == b.Distance && a.Score == b.Score
				}) {
					t.Fatalf("%s, shortlist %d, query %d:\n got %v\nwant %v", name, shortlist, q, got[q].Hits, want[:12])
				}
			}
		}
	}
}

func sorted(s *index.Snapshot, m vectors.Matrix, queries *Queries, q int, name string, shortlist int) []index.Hit {
	var all []index.Hit
	for i := range m.Rows {
		it, _ := s.Get(index.Int(int64(i)))
		h := index.Hit{ID: it.ID, Distance: hamming.Distance(it.Code, queries.Codes.Row(q))}
		if x, y := queries.Vectors.Row(q), m.Row(i); name == "cosine" {
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

func TestRerankErrors(t *testing.T) {
	ctx := context.Background()
	s, m := few(t, 50)
	q := &Queries{Codes: hamming.NewCodes(0, 8)}
	q.Add("q", "", []uint64{0}, m.Row(0))
	for _, c := range []struct {
		of       vectors.Matrix
		distance string
		is       func(error) bool
		facts    string
	}{
		{vectors.Matrix{Rows: 2, Cols: 40, Data: m.Data[:80]}, "euclidean",
			func(err error) bool { return errors.Is(err, ErrNoVector) }, `0 "2"`},
		{vectors.Matrix{Rows: 100, Cols: 20, Data: m.Data}, "euclidean",
			func(err error) bool { return fault.Is(err, "wrong-dimension") }, "20 40"},
		{m, "taste", func(err error) bool { return errors.Is(err, errDistance) }, "euclidean cosine"},
	} {
		l, err := s.Shortlist(ctx, q.Codes, math.MaxInt, index.Options{})
		if err != nil {
			t.Fatal(err)
		}
		o := Reranking{K: 3, Distance: c.distance, Progress: func(int) {}}
		if _, _, err = Rerank(ctx, c.of, l, q, o); !c.is(err) {
			t.Errorf("by %s, vectors of %d dimensions: %v", c.distance, c.of.Cols, err)
			continue
		}
		for fact := range strings.FieldsSeq(c.facts) {
			if !strings.Contains(err.Error(), fact) {
				t.Errorf("%v does not name %s", err, fact)
			}
		}
	}
}

// TestItemsWithoutVectors are left out and told of.
func TestItemsWithoutVectors(t *testing.T) {
	ctx := context.Background()
	s, m := few(t, 50)
	q := &Queries{Codes: hamming.NewCodes(0, 8)}
	q.Add("q", "", []uint64{0}, m.Row(49))
	l, err := s.Shortlist(ctx, q.Codes, math.MaxInt, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	part := vectors.Matrix{Rows: 40, Cols: 40, Data: m.Data[:1600]}
	got, missing, err := Rerank(ctx, part, l, q, Reranking{K: 40, Distance: "euclidean", Progress: func(int) {}})
	if err != nil || len(got[0].Hits) != 40 || missing == nil || *missing != (Missing{10, 50, index.Int(40)}) {
		t.Errorf("%d hits, %+v, %v", len(got[0].Hits), missing, err)
	}
}

func TestDistances(t *testing.T) {
	if got := euclidean([]float32{0, 0.5}, []float32{1, 0}, math.Inf(1)); math.Abs(got-math.Sqrt(1.25)) > 1e-12 {
		t.Errorf("euclidean: %v", got)
	}
	if got := euclidean([]float32{0, 3}, []float32{4, 0}, 5); got != 5 {
		t.Errorf("at the bound: %v", got)
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
