package supervision

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"hashgrove/internal/vectors"
)

// TestCrowdedColumns: a value far from all others leaves those in one linear step, which has to be said; hybrid bins
// keep them apart.
func TestCrowdedColumns(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  int
		value func(row int, rng *rand.Rand) float64 // of the first column
		facts []string                              // "column 1" and its range, of a warning
	}{
		{"a sentinel", 1797, func(row int, rng *rand.Rand) float64 {
			if row == 1000 {
				return 99999
			}
			return float64(rng.IntN(17))
		}, []string{"column 1", " 0 ", "99999", "256"}},
		{"few rows", 90, func(row int, _ *rand.Rand) float64 { return float64(row) + float64(row/89)*1e6 }, nil},
		{"even", 5000, func(_ int, rng *rand.Rand) float64 { return rng.Float64() }, nil},
		{"a long tail", 5000, func(_ int, rng *rand.Rand) float64 { return math.Exp(rng.NormFloat64()) }, nil},
		{"mostly zeros", 5000, func(row int, rng *rand.Rand) float64 {
			if rng.IntN(200) > 0 {
				return 0
			}
			return rng.Float64()
		}, nil},
		{"two values", 2000, func(row int, _ *rand.Rand) float64 { return float64(row / 1999) }, nil},
		{"in order", 4096, func(row int, _ *rand.Rand) float64 { return float64(row) }, nil},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		m := vectors.Matrix{Rows: c.rows, Cols: 2}
		for row := range c.rows {
			m.Data = append(m.Data, float32(c.value(row, rng)), float32(rng.NormFloat64()))
		}
		d, err := Scan(context.Background(), m, ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Warnings) > 0 {
			t.Errorf("%s: %q with hybrid bins", c.name, d.Warnings)
		}
		got := d.Crowding(vectors.Linear)
		if (got == "") != (c.facts == nil) {
			t.Errorf("%s: %q, want %q", c.name, got, c.facts)
		}
		for _, fact := range c.facts {
			if !strings.Contains(got, fact) {
				t.Errorf("%s: %q does not name %q", c.name, got, fact)
			}
		}
	}
}
