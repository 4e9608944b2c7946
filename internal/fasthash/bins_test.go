package fasthash

import (
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// TestHyperplanesHaveBinsOfEqualWidth: ranks in place of values would change what a hyperplane is.
func TestHyperplanesHaveBinsOfEqualWidth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := vectors.Matrix{Rows: 200, Cols: 2}
	labels := make([]string, x.Rows)
	for i := range x.Rows {
		x.Data = append(x.Data, float32(math.Exp(4*rng.NormFloat64())+float64(i%2)), float32(i%2))
		labels[i] = string(rune('a' + i%2))
	}
	d, err := supervision.Scan(t.Context(), vectors.WithLabels(x, labels), supervision.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, learner := range []Learner{Trees, Linear} {
		m, err := Method{Options: Options{Bits: 2, Learner: learner}}.Train(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if plain := m.Encoder.(*model.Binned).Quantizer.Plain(); plain != (learner == Linear) {
			t.Errorf("%s: all bins are of equal width: %v", learner, plain)
		}
	}
}

// TestBinsOfEfforts: the paper's effort has the paper's bins unless others are asked for, and filling in twice changes
// nothing.
func TestBinsOfEfforts(t *testing.T) {
	for _, c := range []struct {
		effort     Effort
		bins, want vectors.Binning
	}{
		{"", "", ""}, {Normal, vectors.Hybrid, ""}, {Normal, vectors.Linear, vectors.Linear},
		{Best, vectors.Quantile, vectors.Quantile}, {Paper, "", vectors.Linear}, {Paper, vectors.Hybrid, vectors.Hybrid},
	} {
		o := Options{Effort: c.effort, Bins: c.bins}
		for range 2 {
			var err error
			if o, err = o.ForData(1000); err != nil || o.Bins != c.want {
				t.Errorf("effort %q, bins %q: %q, %v", c.effort, c.bins, o.Bins, err)
			}
		}
	}
	if _, err := (Options{Bins: "cubic"}).WithDefaults(); err == nil {
		t.Error("unknown bins are taken")
	}
}
