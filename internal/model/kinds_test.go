package model

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/testkit/budgettest"
	"hashgrove/internal/vectors"
)

// largeModels is a model of every kind, and of every kind of map, of up to a few megabytes.
func largeModels(rng *rand.Rand) map[string]Encoder {
	const dim, bits, anchors = 256, 16, 2048
	all := map[string]Encoder{
		"trees": randomTrees(rng, 64, dim, 4, 200), "linear": randomHyperplanes(rng, bits, 1<<15),
		"projection": randomProjection(rng, bits, 1<<15, true),
	}
	all["detailed"] = &Detailed{Class: randomTrees(rng, 64, dim, 4, 200), Detail: randomProjection(rng, 64, dim, true)}
	curves := &Curves{Cols: dim}
	for i := range anchors {
		curves.Curves = append(curves.Curves, Curve{i % dim, []float32{-1, 0.5, 2}, []float32{3, -1, 4}})
	}
	for name, m := range map[string]Map{
		"affine": &Affine{Weight: randomMatrix(rng, anchors, dim)}, "kernel": &Gaussian{Anchors: randomMatrix(rng, anchors, dim), Width: 4},
		"anchors": &Gaussian{Anchors: randomMatrix(rng, anchors, dim), Nearest: anchors, Width: 3}, "curves": curves,
		"bytes":  NewByteGaussian(randomMatrix(rng, anchors, dim), 4, 0.03),
		"winner": &Winner{Cols: anchors, Soft: true}, "extension": &Extension{Maps: []Map{&Affine{Weight: randomMatrix(rng, anchors, dim)}}},
	} {
		all["mapped: "+name] = Compose(randomProjection(rng, bits, m.Out(), false), m)
	}
	return all
}

// TestEveryKindStaysWithinItsBudget reads and uses a large model of every kind: what docs/promises.md says of all.
func TestEveryKindStaysWithinItsBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 17))
	for name, e := range largeModels(rng) {
		t.Run(name, func(t *testing.T) {
			b := bytesOf(t, &Model{Encoder: e})
			budgettest.Within(t, budgettest.MiB+8*uint64(len(b)), func() {
				if _, err := Read(bytes.NewReader(b)); err != nil {
					t.Error(err)
				}
			})
			x := vectors.Matrix{Rows: 300, Cols: e.Dim()}
			x.Data = randomFloats(rng, x.Rows*x.Cols)
			budgettest.Peak(t, 256*budgettest.MiB+8*uint64(len(b)), func() { encodeAll(t, e, x, 2) })
		})
	}
}
