package vectors

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// TestEdgeAgreesWithBin is the promise of Edge at every bin, exactly on the edge and one float32 beside it.
func TestEdgeAgreesWithBin(t *testing.T) {
	ranges := [][2]float32{{0, 255}, {-1, 1}, {-3.4e38, 3.4e38}, {1e-45, 3e-45}, {5, 5.0000005}, {-1e-3, 7e9},
		{1e38, 1.1e38}}
	for _, r := range ranges {
		s := Quantizer{Lo: r[:1], Hi: r[1:]}.Scale(0)
		for b := range 255 {
			edge := s.Edge(uint8(b))
			under := math.Nextafter32(edge, float32(math.Inf(-1)))
			if s.Bin(edge) <= uint8(b) || s.Bin(under) > uint8(b) {
				t.Fatalf("range %v, bin %d: edge %v is in bin %d and %v in bin %d", r, b, edge, s.Bin(edge), under, s.Bin(under))
			}
		}
		if !math.IsInf(float64(s.Edge(255)), 1) {
			t.Errorf("the last bin ends at %v", s.Edge(255))
		}
	}
}

func TestQuantizerOfBytesIsTheIdentity(t *testing.T) {
	m := Matrix{Rows: 2, Cols: 3, Data: []float32{0, 255, 7, 3, 200, 7}}
	r := NewRanges(m.Cols)
	if err := r.Read(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	q, err := r.QuantizerBy(Linear)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Quantize(context.Background(), m, 2, q, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Rows {
		for j := range m.Cols {
			if float32(c.Column(j)[i]) != m.Row(i)[j] {
				t.Errorf("row %d column %d: bin %d, value %v", i, j, c.Column(j)[i], m.Row(i)[j])
			}
		}
	}
}

func TestQuantizerWidensEveryRange(t *testing.T) {
	for _, values := range [][]float32{{3.5, 3.5}, {0, 0.5}, {math.MaxFloat32, -math.MaxFloat32},
		{math.MaxFloat32, math.MaxFloat32},
		{1e-45, 0}, {-0.25, 1e9}, {math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat32}} {
		r := NewRanges(1)
		r.Add(Matrix{Rows: 2, Cols: 1, Data: values})
		if _, err := r.QuantizerBy(Linear); err != nil {
			t.Errorf("%v: %v", values, err)
		}
	}
}

func TestSelectLeavesTheMatrixAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := Matrix{Rows: 1000, Cols: 700, Data: make([]float32, 700_000)}
	keep := make([]bool, m.Rows)
	var want []float32
	for i := range m.Rows {
		m.Row(i)[0] = float32(i)
		if keep[i] = rng.IntN(3) == 0; keep[i] {
			want = append(want, float32(i))
		}
	}
	n := 0
	for c, err := range Select(m, keep).Chunks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.First != n {
			t.Errorf("chunk starts at %d, want %d", c.First, n)
		}
		for i := range c.X.Rows {
			if c.X.Row(i)[0] != want[n] {
				t.Fatalf("row %d is row %v, want %v", n, c.X.Row(i)[0], want[n])
			}
			n++
		}
	}
	if n != len(want) {
		t.Errorf("%d rows, want %d", n, len(want))
	}
	for i := range m.Rows {
		if m.Row(i)[0] != float32(i) {
			t.Fatalf("row %d was overwritten", i)
		}
	}
}
