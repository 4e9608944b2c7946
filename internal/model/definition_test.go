package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/vectors"
)

// What the words mean, as slow as they read; the fast code must agree. And random models to try it on.

// slowBit is the definition of one bit.
func slowBit(e Encoder, k int, x []float32) bool {
	return slowMargin(e, k, x) >= 0
}

// slowMargin is the definition of one score before the sign: quantise every value, walk every tree, add up.
func slowMargin(e Encoder, k int, x []float32) float64 {
	switch e := e.(type) {
	case *Binned:
		return float64(slowScore(e.Functions[k], func(j int) uint8 { return e.Quantizer.Scale(j).Bin(x[j]) }))
	case *Projection:
		s := 0.0
		for j, v := range x {
			d := float64(v)
			if e.Mean != nil {
				d -= float64(e.Mean[j])
			}
			product := float64(e.Weight[k*len(x)+j]) * d
			s += float64(product)
		}
		return s - float64(e.Threshold[k])
	case *Detailed:
		if class := e.Class.Bits(); k >= class {
			return slowMargin(e.Detail, k-class, x)
		}
		return slowMargin(e.Class, k, x)
	case *Mapped:
		for _, m := range e.Maps {
			x = slowMap(m, x)
		}
		return slowMargin(e.Encoder, k, x)
	}
	panic("unknown encoder")
}

func slowScore(f Function, bin func(j int) uint8) int64 {
	score := int64(0)
	switch f := f.(type) {
	case *Linear:
		score = f.Bias
		for j, w := range f.Weight {
			score += int64(w) * int64(bin(j))
		}
	case *Ensemble:
		splits := Splits(f.Depth)
		for q, w := range f.Weight {
			node := 0
			for node < splits {
				if bin(int(f.Feature[q*splits+node])) <= f.Bin[q*splits+node] {
					node = 2*node + 1
				} else {
					node = 2*node + 2
				}
			}
			l := node - splits
			if f.Leaf[q*LeafWords(f.Depth)+l/64]>>(l%64)&1 == 1 {
				score += int64(w)
			} else {
				score -= int64(w)
			}
		}
	}
	return score
}

func randomQuantizer(rng *rand.Rand, dim int) vectors.Quantizer {
	q := vectors.Quantizer{Lo: make([]float32, dim), Hi: make([]float32, dim)}
	for j := range dim {
		switch rng.IntN(6) {
		case 0:
			q.Hi[j] = 255
		case 1:
			q.Lo[j], q.Hi[j] = -3e38, 3e38
		case 2:
			q.Lo[j], q.Hi[j] = 1e-45, 4e-44
		case 3:
			q.Lo[j], q.Hi[j] = -1, math.Nextafter32(-1, 0)
		default:
			q.Lo[j] = float32(rng.NormFloat64())
			q.Hi[j] = q.Lo[j] + 0.01 + rng.Float32()
		}
	}
	return q
}

// withOtherBins gives some columns edges of their own, and lets values be missing if told so.
func withOtherBins(rng *rand.Rand, e *Binned, missing bool) *Binned {
	q := &e.Quantizer
	q.Missing, q.Edges = missing, make([][]float32, q.Dim())
	for j := range q.Edges {
		if j > 0 && rng.IntN(2) == 0 {
			continue
		}
		for range 1 + rng.IntN(q.MaxEdges()) {
			q.Edges[j] = append(q.Edges[j], float32(math.Sinh(9*rng.NormFloat64())))
		}
		slices.Sort(q.Edges[j])
		q.Edges[j] = slices.Compact(q.Edges[j])
	}
	return e
}

func randomEnsemble(rng *rand.Rand, dim, depth, trees int) *Ensemble {
	e := &Ensemble{Depth: depth}
	for range trees * Splits(depth) {
		e.Feature = append(e.Feature, uint32(rng.IntN(dim)))
		e.Bin = append(e.Bin, uint8(rng.IntN(256)))
	}
	for range trees * LeafWords(depth) {
		e.Leaf = append(e.Leaf, rng.Uint64()>>max(0, 64-1<<depth))
	}
	for range trees {
		e.Weight = append(e.Weight, 1+rng.Int32N(int32(math.MaxInt32/trees)))
	}
	return e
}

func randomLinear(rng *rand.Rand, dim int) *Linear {
	l := &Linear{Weight: make([]int32, dim)}
	for j := range l.Weight {
		l.Weight[j] = int32(rng.Uint32())
		l.Bias -= int64(l.Weight[j]) * 128
	}
	return l
}

func randomTrees(rng *rand.Rand, bits, dim, depth, trees int) *Binned {
	e := &Binned{Quantizer: randomQuantizer(rng, dim)}
	for range bits {
		e.Functions = append(e.Functions, randomEnsemble(rng, dim, depth, trees))
	}
	return e
}

// pairUp gives the trees of every other bit the same splits by twos.
func pairUp(e *Binned) {
	for k := 1; k < e.Bits(); k += 2 {
		f := e.Functions[k].(*Ensemble)
		for n, q := Splits(f.Depth), 1; q < f.Trees(); q += 2 {
			copy(f.Feature[q*n:(q+1)*n], f.Feature[(q-1)*n:])
			copy(f.Bin[q*n:(q+1)*n], f.Bin[(q-1)*n:])
		}
	}
}

func randomHyperplanes(rng *rand.Rand, bits, dim int) *Binned {
	e := &Binned{Quantizer: randomQuantizer(rng, dim)}
	for range bits {
		e.Functions = append(e.Functions, randomLinear(rng, dim))
	}
	return e
}

func randomProjection(rng *rand.Rand, bits, dim int, mean bool) *Projection {
	e := &Projection{}
	for range bits * dim {
		e.Weight = append(e.Weight, float32(rng.NormFloat64()))
	}
	for range bits {
		e.Threshold = append(e.Threshold, float32(rng.NormFloat64()))
	}
	for range dim {
		if mean {
			e.Mean = append(e.Mean, rng.Float32())
		}
	}
	return e
}

// hard are values at which careless code goes wrong.
var hard = []float32{0, float32(math.Copysign(0, -1)), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32,
	-math.SmallestNonzeroFloat32, 1e-40, -1e-40, 1, -1, 255, 254.5, 1e38}

// randomRows mixes ordinary values of a column, its hard ones, and edges of bins and their neighbours.
func randomRows(rng *rand.Rand, e Encoder, rows int) vectors.Matrix {
	x := vectors.Matrix{Rows: rows, Cols: e.Dim(), Data: make([]float32, rows*e.Dim())}
	b, _ := e.(*Binned)
	for i := range x.Data {
		j := i % x.Cols
		switch {
		case rng.IntN(4) == 0:
			x.Data[i] = hard[rng.IntN(len(hard))]
		case b == nil:
			x.Data[i] = float32(rng.NormFloat64())
		case rng.IntN(2) == 0:
			lo, hi := b.Quantizer.Lo[j], b.Quantizer.Hi[j]
			x.Data[i] = lo/2 + hi/2 + (hi/2-lo/2)*(2*rng.Float32()-1)
		default:
			v := b.Quantizer.Scale(j).Edge(uint8(rng.IntN(255)))
			v = max(-math.MaxFloat32, min(v, math.MaxFloat32)) // beyond the last edge is nothing
			x.Data[i] = beside(v, rng.IntN(3)-1)
		}
	}
	return x
}

// beside is the float32 before v, v itself, or the one after it, within the finite ones.
func beside(v float32, step int) float32 {
	switch {
	case step < 0 && v > -math.MaxFloat32:
		return math.Nextafter32(v, -math.MaxFloat32)
	case step > 0 && v < math.MaxFloat32:
		return math.Nextafter32(v, math.MaxFloat32)
	}
	return v
}
