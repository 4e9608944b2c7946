package dictionary

import (
	"math/rand/v2"
	"testing"
)

// TestKernelAgrees compares the kernel with what it means, bit by bit.
func TestKernelAgrees(t *testing.T) {
	if !hasKernels {
		t.Skip("this machine has the plain kernel only")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 7, 16, 33} {
		z := make([]float32, 16*n)
		for i := range z {
			z[i] = float32(rng.IntN(9)-4) / 2 // many ties
		}
		var v, u [16]float32
		var i, k [16]int32
		greatest(&v, &i, z)
		greatestGo(&u, &k, z)
		if v != u || i != k {
			t.Errorf("greatest of %d rows differs", n)
		}
	}
}
