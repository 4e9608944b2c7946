package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// digitEnsemble has trees with the same splits back to back, as logistic boosting writes them: one for each
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

// TestWalkEqualsGo compares the kernels of single rows with their sameSplits: sums that end early on either side or never,
// the greatest places.
func TestWalkEqualsGo(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(8, 1))
		for turn := range 200 {
			depth, dim := 1+turn%MaxDepth, 1+rng.IntN(50)
			f := digitEnsemble(rng, dim, depth, 1+rng.IntN(20), 1+rng.IntN(3))
			columns, places := columnsOf([]*Ensemble{f}), []uint32{}
			first := uint32(0)
			if turn%3 == 0 {
				first = mostPlaces - uint32(len(columns))
			}
			for c := range columns {
				places = append(places, first+uint32(c))
			}
			bins := make([]uint64, mostPlaces/8)
			for i := range bins {
				bins[i] = rng.Uint64()
			}
			b := newWalkBit(f, columns, places)
			all := walkGo(bins, &b, math.MaxInt32, math.MinInt32)
			if got := walk(bins, &b, math.MaxInt32, math.MinInt32); got != all {
				t.Fatalf("depth %d: the leaves make %d, want %d", depth, got, all)
			}
			for range 20 {
				at := rng.Int32N(b.total + 1)
				if got := walk(bins, &b, at, at) >= at; got != (all >= at) {
					t.Fatalf("depth %d: at least %d is %v, but the leaves make %d", depth, at, got, all)
				}
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
