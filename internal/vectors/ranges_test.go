package vectors

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"hashgrove/internal/message"
)

// TestWideRowsOnManyThreads: ranges and quantised columns are those of the definition, whatever the blocks of columns
// and rows that threads take.
func TestWideRowsOnManyThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	nan := float32(math.NaN())
	for _, cols := range []int{1, 15, 64, 65, 1500} {
		for _, missing := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(uint64(cols), 9))
			x := Matrix{Rows: 300, Cols: cols, Data: make([]float32, 300*cols)}
			for i := range x.Data {
				if x.Data[i] = float32(rng.NormFloat64()); missing && rng.IntN(9) == 0 {
					x.Data[i] = nan
				}
			}
			r := NewRanges(cols)
			if missing {
				r.Missing = make([]int, cols)
			}
			for lo := 0; lo < x.Rows; lo += 70 {
				if err := r.AddChecked(Chunk{First: lo, X: x.Slice(lo, min(lo+70, x.Rows))}); err != nil {
					t.Fatal(err)
				}
			}
			if r.Rows != x.Rows || r.Bytes {
				t.Fatalf("%d columns: %d rows, bytes %v", cols, r.Rows, r.Bytes)
			}
			q, err := r.QuantizerBy(Linear)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Quantize(context.Background(), x, x.Rows, q, 5)
			if err != nil {
				t.Fatal(err)
			}
			for j := range cols {
				least, greatest, lacking := float32(math.Inf(1)), float32(math.Inf(-1)), 0
				for i := range x.Rows {
					v := x.Row(i)[j]
					if v != v {
						lacking++
					} else {
						least, greatest = min(least, v), max(greatest, v)
					}
					if c.Column(j)[i] != q.Scale(j).Bin(v) {
						t.Fatalf("%d columns: row %d, column %d has the bin %d", cols, i, j, c.Column(j)[i])
					}
				}
				if r.Min[j] != least || r.Max[j] != greatest || missing && r.Missing[j] != lacking {
					t.Fatalf("%d columns: column %d has the range %v to %v", cols, j, r.Min[j], r.Max[j])
				}
			}
		}
	}
}

func TestRangesOfBytes(t *testing.T) {
	x := Matrix{Rows: 40, Cols: 100, Data: make([]float32, 4000)}
	for i := range x.Data {
		x.Data[i] = float32(i % 256)
	}
	r := NewRanges(100)
	if r.Add(x); !r.Bytes {
		t.Error("bytes are not seen")
	}
	x.Data[3999] = 0.5
	if r.Add(x); r.Bytes {
		t.Error("a fraction is not seen")
	}
}

func TestRangesReportTheFirstBadValue(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x := Matrix{Rows: 4, Cols: 100, Data: make([]float32, 400)}
		x.Data[250], x.Data[301] = float32(bad), float32(bad)
		r := NewRanges(100)
		err := r.AddChecked(Chunk{First: 10, X: x})
		if d := message.Differs(err, "not-finite", "12", "50"); d != "" {
			t.Errorf("%v: %s", bad, d)
		}
		r.Missing = make([]int, 100)
		if err := r.AddChecked(Chunk{X: x}); (err == nil) != math.IsNaN(bad) {
			t.Errorf("%v where values may be missing: %v", bad, err)
		}
	}
}
