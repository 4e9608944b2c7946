package model

import (
	"math/rand/v2"
	"testing"
)

// digitEnsemble has trees with the same splits one after the other, as logistic boosting writes them: one for each
// binary digit of the leaves.
func digitEnsemble(rng *rand.Rand, dim, depth, trees, digits int) *Ensemble {
	f := &Ensemble{Depth: depth}
	for range trees {
		one := randomEnsemble(rng, dim, depth, 1)
		unit := 1 + rng.Int32N(3000)
		for d := range digits {
			f.Feature = append(f.Feature, one.Feature...)
			f.Bin = append(f.Bin, one.Bin...)
			f.Leaf = append(f.Leaf, randomEnsemble(rng, dim, depth, 1).Leaf...)
			f.Weight = append(f.Weight, unit<<d)
		}
	}
	return f
}

// TestEqualSplits has the same splits in several trees, alone and before and after others.
func TestEqualSplits(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		for depth := 1; depth <= MaxDepth; depth++ {
			for digits := 1; digits <= 5; digits++ {
				rng := rand.New(rand.NewPCG(uint64(depth), uint64(digits)))
				e := randomTrees(rng, 3, 1+rng.IntN(40), depth, 1+rng.IntN(9))
				for k := range e.Functions {
					f := digitEnsemble(rng, e.Dim(), depth, 1+rng.IntN(40), digits)
					if k == 1 {
						other := digitEnsemble(rng, e.Dim(), depth, 1+rng.IntN(5), 1+rng.IntN(3))
						f.Feature, f.Bin = append(f.Feature, other.Feature...), append(f.Bin, other.Bin...)
						f.Leaf, f.Weight = append(f.Leaf, other.Leaf...), append(f.Weight, other.Weight...)
					}
					e.Functions[k] = f
				}
				checkCodes(t, e, randomRows(rng, e, 1+rng.IntN(150)))
			}
		}
	})
}

func TestTwinsHaveTheSameSplits(t *testing.T) {
	f := &Ensemble{
		Depth: 1, Feature: []uint32{1, 1, 1, 2, 2, 1}, Bin: []uint8{7, 7, 8, 8, 8, 8},
		Leaf: make([]uint64, 6), Weight: []int32{1, 2, 3, 4, 5, 6},
	}
	got, want := bySplits(f), []sameSplits{{0, 2}, {2, 3}, {3, 5}, {5, 6}}
	same(t, "twins", got, want)
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
