package eval

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// nearestRows finds neighbours by brute force: all distances, sorted, ties by row.
func nearestRows(query []float32, base vectors.Matrix) []int {
	distance, rows := make([]float64, base.Rows), make([]int, base.Rows)
	for i := range rows {
		rows[i] = i
		for j, v := range query {
			d := float64(v) - float64(base.Row(i)[j])
			distance[i] += float64(d * d)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		switch {
		case distance[a] < distance[b]:
			return -1
		case distance[a] > distance[b]:
			return 1
		}
		return 0
	})
	return rows[:min(10, len(rows))]
}

// hardVectors draws vectors for which products in float32 alone would go wrong.
func hardVectors(rng *rand.Rand, kind, rows, cols int) vectors.Matrix {
	m := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	for i := range m.Data {
		switch kind {
		case 0: // many equal distances
			m.Data[i] = float32(rng.IntN(3))
		case 1: // far from the origin, close together
			m.Data[i] = 1e4 + float32(rng.NormFloat64())
		case 2: // products overflow
			m.Data[i] = float32(rng.NormFloat64() * 1e30)
		case 3: // products vanish
			m.Data[i] = float32(rng.NormFloat64() * 1e-30)
		case 4:
			m.Data[i] = float32(rng.NormFloat64())
		}
	}
	if kind == 4 { // two clusters that have nothing to do with the centre, and copies
		for i := range rows / 2 {
			for j := range m.Row(i) {
				m.Row(i)[j] = 1e3 + float32(rng.NormFloat64())*1e-3
			}
		}
		copy(m.Row(rows-1), m.Row(rows/2))
	}
	return m
}

// neighboursIn finds the neighbours in a base that is added at once.
func neighboursIn(queries, base vectors.Matrix, metric Metric, threads int) (*Neighbours, error) {
	n, err := NewNeighbours(queries, metric)
	if err != nil {
		return nil, err
	}
	return n, n.Add(context.Background(), base, threads)
}

func TestNeighboursEqualTheDefinition(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(31, 32))
	for trial := range 40 {
		kind, metric := trial%5, []Metric{Euclidean, Cosine}[trial/5%2]
		nq, nb, cols := 1+rng.IntN(60), 1+rng.IntN(300), 1+rng.IntN(100)
		switch {
		case trial%7 == 0:
			nb = 1 + rng.IntN(12)
		case trial == 1 || trial == 9: // several blocks on either side
			nq, nb, cols = 125, 4096+1030, 8
		}
		queries, base := hardVectors(rng, kind, nq, cols), hardVectors(rng, kind, nb, cols)
		n, err := neighboursIn(queries, base, metric, 1+rng.IntN(3))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := NewNeighbours(queries, metric)
		if err != nil {
			t.Fatal(err)
		}
		for lo := 0; lo < nb; {
			hi := min(nb, lo+1+rng.IntN(700))
			if err := parts.Add(ctx, base.Slice(lo, hi), 2); err != nil {
				t.Fatal(err)
			}
			lo = hi
		}
		q, b := queries, base
		if metric == Cosine {
			q, b = directions(queries), directions(base)
		}
		for i := range nq {
			want := nearestRows(q.Row(i), b)
			if got := n.Rows(i); !slices.Equal(got, want) || !slices.Equal(parts.Rows(i), want) {
				t.Fatalf("trial %d, query %d: %v and in parts %v, by definition %v", trial, i, got, parts.Rows(i), want)
			}
		}
		if n.Queries() != nq || n.Base() != nb || parts.Base() != nb {
			t.Errorf("%d queries, %d and %d rows; want %d and %d", n.Queries(), n.Base(), parts.Base(), nq, nb)
		}
	}
}

func TestNeighbourRecallEqualsTheDefinition(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(33, 34))
	for trial := range 20 {
		nq, nb := 1+rng.IntN(70), 1+rng.IntN(400)
		queries, base := randomCodes(rng, nq, 24, 8), randomCodes(rng, nb, 24, 8)
		x, y := hardVectors(rng, 4, nq, 5), hardVectors(rng, 4, nb, 5)
		n, err := neighboursIn(x, y, Euclidean, 2)
		if err != nil {
			t.Fatal(err)
		}
		// An item is among the first k by the share of its tied items that are.
		recall := func(k int) float64 {
			sum := 0.0
			for q := range nq {
				rows := n.Rows(q)
				for _, i := range rows {
					own, nearer, tied := hamming.Distance(queries.Row(q), base.Row(i)), 0, 0
					for j := range nb {
						if d := hamming.Distance(queries.Row(q), base.Row(j)); d < own {
							nearer++
						} else if d == own {
							tied++
						}
					}
					sum += min(1, max(0, float64(k-nearer)/float64(tied))) / float64(len(rows)*nq)
				}
			}
			return sum
		}
		alone, err := Retrieval(ctx, queries, base, Truth{}, Options{Neighbours: n, Threads: 1 + trial%3})
		if err != nil {
			t.Fatal(err)
		}
		if !near(alone.NeighbourRecall10, recall(10)) || !near(alone.NeighbourRecall100, recall(100)) || alone.Neighbours != min(10, nb) {
			t.Errorf("trial %d: %d, %v and %v, by definition %v and %v", trial, alone.Neighbours, alone.NeighbourRecall10,
				alone.NeighbourRecall100, recall(10), recall(100))
		}
		// With a truth, whatever it ignores, nothing changes on either side.
		truth := randomTruth(rng, trial%3, nq, nb)
		both, err := Retrieval(ctx, queries, base, truth, Options{Neighbours: n})
		if err != nil {
			t.Fatal(err)
		}
		if both.NeighbourRecall10 != alone.NeighbourRecall10 || both.NeighbourRecall100 != alone.NeighbourRecall100 {
			t.Errorf("trial %d: %v with a truth, %v without", trial, both.NeighbourRecall10, alone.NeighbourRecall10)
		}
		plain, err := Retrieval(ctx, queries, base, truth, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if both.Neighbours, both.NeighbourQueries, both.NeighbourMetric, both.NeighbourRecall10, both.NeighbourRecall100 = 0, 0, "", 0, 0; !reflect.DeepEqual(both, plain) {
			t.Errorf("trial %d: neighbours change other numbers", trial)
		}
	}
}

// A report without a truth has no number that looks like a measure of relevance.
func TestReportOfNeighboursAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	x := hardVectors(rng, 4, 50, 3)
	n, err := neighboursIn(x, x, Euclidean, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := randomCodes(rng, 50, 16, 16)
	r, err := Retrieval(context.Background(), codes, codes, Truth{}, Options{Neighbours: n})
	if err != nil {
		t.Fatal(err)
	}
	if r.Judged != 0 || r.MAP != 0 || len(r.Precision) > 0 || r.DistinctCodes == 0 || r.Queries != 50 || r.Base != 50 || r.Bits != 16 {
		t.Errorf("%+v", r)
	}
	wantNoWarning(t, r, "nothing-relevant")
	wantNoWarning(t, r, "queries-without-relevant")
	wantNoWarning(t, r, "all-relevant")
	wantWarning(t, r, "queries-are-base")
}

func TestNeighbourRefusals(t *testing.T) {
	m := vectors.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 2, 3, 4}}
	if _, err := NewNeighbours(m, "manhattan"); err == nil {
		t.Error("an unknown metric was accepted")
	}
	if _, err := neighboursIn(m, vectors.Matrix{Rows: 1, Cols: 3, Data: make([]float32, 3)}, Euclidean, 0); err == nil {
		t.Error("a base of other dimensions was accepted")
	}
	n, err := NewNeighbours(m, Euclidean)
	if err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if n.Add(stopped, m, 0) == nil {
		t.Error("a stopped search has a result")
	}
}
