package method

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// shapes are rows of a few classes, which differ in the first columns, with looks of their own in the others.
func shapes(seed uint64, rows, cols int) vectors.Table {
	rng := rand.New(rand.NewPCG(seed, 27))
	t := vectors.Table{X: vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}}
	for i := range rows {
		class := i % 4
		for j := range cols {
			t.X.Row(i)[j] = float32(rng.NormFloat64())
		}
		t.X.Row(i)[class] += 6
		t.Labels = append(t.Labels, string(rune('a'+class)))
	}
	return t
}

// nearestFound is the share of a row's nearest row of its class among its first ten hits, ties by row.
func nearestFound(t *testing.T, m *model.Model, x vectors.Table) float64 {
	t.Helper()
	codes, err := m.Encode(context.Background(), x.X, 0)
	if err != nil {
		t.Fatal(err)
	}
	weights := hamming.EqualWeights(codes.Bits, m.DetailBits())
	found := 0.0
	for q := range 100 {
		nearest, most, closer := 0, math.Inf(-1), 0
		hit := func(i int) int { return int(hamming.WeightedDistance(codes.Row(q), codes.Row(i), weights)) }
		for i := range x.X.Rows {
			dot, square := 0.0, 0.0
			for j, v := range x.X.Row(i) {
				dot, square = dot+float64(v)*float64(x.X.Row(q)[j]), square+float64(v)*float64(v)
			}
			if cosine := dot / math.Sqrt(square); i != q && x.Labels[i] == x.Labels[q] && cosine > most {
				nearest, most = i, cosine
			}
		}
		for i := range x.X.Rows {
			if i != q && (hit(i) < hit(nearest) || hit(i) == hit(nearest) && i < nearest) {
				closer++
			}
		}
		if closer < 10 {
			found++
		}
	}
	return found / 100
}

func TestDetailFindsTheLook(t *testing.T) {
	x := shapes(1, 800, 24)
	d := hashed(t, x)
	o := few(16)
	plain := trained(t, "fasthash", d, o)
	o.Detail = 20
	m := trained(t, "fasthash", d, o)
	if m.ClassBits() != 16 || m.DetailBits() != 20 || m.Prefix(16).Fingerprint() != plain.Fingerprint() {
		t.Fatalf("%d class bits and %d of detail, or the class bits differ", m.ClassBits(), m.DetailBits())
	}
	without, with := nearestFound(t, plain, x), nearestFound(t, m, x)
	if with < 2*without || with < 0.2 {
		t.Errorf("the nearest of the class among the first ten hits: %.2f with detail, %.2f without", with, without)
	}
}

// Class bits grow in front of the bits of detail, which stay.
func TestDetailOfAGrownModel(t *testing.T) {
	d := hashed(t, shapes(3, 400, 12))
	o := few(8)
	o.Detail = 10
	short := trained(t, "fasthash", d, o)
	o.Bits = 12
	long := trained(t, "fasthash", d, o)
	o.Detail, o.Run.Grow = 0, short
	grown := trained(t, "fasthash", d, o)
	if grown.ClassBits() != 12 || grown.DetailBits() != 10 || grown.Fingerprint() != long.Fingerprint() {
		t.Errorf("%d class bits and %d of detail, or other ones than when learned at once", grown.ClassBits(), grown.DetailBits())
	}
}

// No more bits of detail than dimensions, and missing values count as the mean.
func TestDetailOfFewColumns(t *testing.T) {
	x := shapes(2, 200, 6)
	o := few(8)
	o.Detail = 64
	var doubts []string
	o.Doubt = func(text string) { doubts = append(doubts, text) }
	m := trained(t, "fasthash", hashed(t, x), o)
	if m.DetailBits() != 6 || len(doubts) != 1 || !strings.Contains(doubts[0], "6 bits of detail instead of 64") {
		t.Errorf("%d bits of detail, with the doubts %q", m.DetailBits(), doubts)
	}
	x.X.Row(7)[3] = float32(math.NaN())
	d, err := supervision.Scan(context.Background(), x, supervision.ScanOptions{Hashes: true, Missing: true})
	if err != nil {
		t.Fatal(err)
	}
	m = trained(t, "fasthash", d, o)
	if _, err := m.Encode(context.Background(), x.X, 1); err != nil || m.DetailBits() != 6 {
		t.Errorf("%d bits of detail, %v", m.DetailBits(), err)
	}
}

// The ranking that a model remembers is as good on the rows held out as any other, up to what chance may explain.
func TestRankingIsChosen(t *testing.T) {
	x := clusters(5, 900)
	d := hashed(t, x)
	o := few(24)
	o.Validation = 0.3
	m := trained(t, "fasthash", d, o)
	if m.Ranking == nil || m.Ranking.Codes.Len() == 0 {
		t.Fatal("no ranking")
	}
	f := m.Info.NewItems
	by := map[string]float64{model.ByHamming: f.MAP, model.ByMargins: f.Margins.MAP, model.ByExpected: f.Expected.MAP}
	for rank, found := range by {
		if by[m.Rank()] < found-0.05 {
			t.Errorf("by %s MAP is %.3f, by the chosen ranking %s %.3f", rank, found, m.Rank(), by[m.Rank()])
		}
	}
	_, err := Train(context.Background(), "lsh", hashed(t, x), Options{Bits: hamming.MaxBits})
	if err != nil {
		t.Error("codes too long for margins:", err)
	}
}
