package solve

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestGaussianMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 200_000
	var m1, m2, m4 float64
	for range n {
		v := float64(Gaussian(rng))
		m1, m2, m4 = m1+v/n, m2+v*v/n, m4+v*v*v*v/n
	}
	if math.Abs(m1) > 0.01 || math.Abs(m2-1) > 0.02 || math.Abs(m4-2.9) > 0.1 {
		t.Errorf("moments %.3f, %.3f, %.3f", m1, m2, m4)
	}
}
