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
		m, err := Trainer{Options: Options{Bits: 2, Learner: learner}}.Train(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if plain := m.Encoder.(*model.Binned).Quantizer.Plain(); plain != (learner == Linear) {
			t.Errorf("%s: all bins are of equal width: %v", learner, plain)
		}
	}
}
