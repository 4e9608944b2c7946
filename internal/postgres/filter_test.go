package postgres

import (
	"math"
	"testing"

	"hashgrove/internal/index"
)

// TestIntegers compares intervals with filters of an index, which compares ids with numbers exactly.
func TestIntegers(t *testing.T) {
	ids := []int64{
		math.MinInt64, math.MinInt64 + 1, -1<<53 - 1, -1 << 53, -6, -5, -1, 0, 1, 5, 6, 1<<53 - 1, 1 << 53, 1<<53 + 1,
		1 << 60, 1<<60 - 1, 1<<60 + 1, math.MaxInt64 - 1, math.MaxInt64,
	}
	b := index.NewBatch(8)
	for _, id := range ids {
		b.Append(index.Item{ID: index.Int(id), Code: []uint64{0}})
	}
	x := index.New(8, b.Fingerprint, index.Config{})
	if err := x.Add(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	bounds := []float64{0, 0.5, -0.5, 5, 5.5, -5, 1 << 53, -1 << 53, 1<<53 + 2, 1 << 60, 1 << 63, -1 << 63, 1e300, -1e300}
	bounds = append(bounds, math.Nextafter(1<<63, 0), math.Nextafter(-1<<63, 0), math.Nextafter(-1<<63, -1e300))
	for _, op := range []string{"=", "<", "<=", ">", ">="} {
		for _, y := range bounds {
			f, err := index.Parse("id " + op + " " + index.Number(y).String())
			if err != nil {
				t.Fatal(err)
			}
			low, high, some := integers(op, y)
			got := 0
			for _, id := range ids {
				if some && low <= id && id <= high {
					got++
				}
			}
			if want := x.Snapshot().Count(f); got != want {
				t.Errorf("%d ids %s %v, want %d: %d to %d, %v", got, op, y, want, low, high, some)
			}
		}
	}
}
