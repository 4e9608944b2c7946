package boost

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// hills is a problem that trees learn but not at once: z is the side of a curved surface, with some noise in it.
func hills(rng *rand.Rand, n, dim int) (*vectors.Columns, []int8, []float64) {
	x := columnsOf(n, dim, func(i, j int) uint8 { return uint8(rng.IntN(256)) })
	z, weight := make([]int8, n), make([]float64, n)
	for i := range z {
		a, b, c := float64(x.Column(0)[i])-128, float64(x.Column(1)[i])-128, float64(x.Column(2)[i])-128
		z[i] = -1
		if a*b/100+c > 60*rng.NormFloat64() {
			z[i] = 1
		}
		weight[i] = 0.5 + rng.Float64()
	}
	return x, z, weight
}

// sayOf follows row i through tree q, node by node.
func sayOf(e *model.Ensemble, q int, x *vectors.Columns, i int) int8 {
	splits := model.Splits(e.Depth)
	at := 0
	for at < splits {
		if x.Column(int(e.Feature[q*splits+at]))[i] <= e.Bin[q*splits+at] {
			at = 2*at + 1
		} else {
			at = 2*at + 2
		}
	}
	leaf := at - splits
	return int8(e.Leaf[q*model.LeafWords(e.Depth)+leaf/64]>>(leaf%64)&1)*2 - 1
}

// fit fits a sound function, and returns it with what it outputs for the rows and the share of them that it gets wrong.
func fit(t testing.TB, b *Trainer, z []int8, weight []float64, seed uint64,
	bit int) (*model.Ensemble, []int8, float64) {
	t.Helper()
	f, err := b.Fit(context.Background(), z, weight, seed, bit)
	if err != nil {
		t.Fatal(err)
	}
	e := f.(*model.Ensemble)
	if err := e.Check(b.x.Dim()); err != nil {
		t.Fatal(err)
	}
	output, mistakes := make([]int8, len(z)), 0
	for i := range z {
		score := int64(0)
		for q, w := range e.Weight {
			score += int64(w) * int64(sayOf(e, q, b.x, i))
		}
		output[i] = -1
		if score >= 0 {
			output[i] = 1
		}
		if output[i] != z[i] {
			mistakes++
		}
	}
	return e, output, float64(mistakes) / float64(len(z))
}

// Trees are the same on any number of threads, also where threads share the rows of a group of columns.
func TestSameOnAnyNumberOfThreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	x, z, weight := hills(rng, maxShares*shareRows+trimBlock+77, 11)
	for _, o := range []Options{{Rounds: 6, NodeFeatures: 5},
		{Rounds: 6, NodeFeatures: 4, Depth: 6, TrimMass: 0.9},
		{Rounds: 6, NodeFeatures: 5, Boost: Logistic}, {Rounds: 6, RowShare: 0.5},
		{Rounds: 6, RowShare: 0.5, ColumnShare: 0.5, Boost: Logistic}, {Rounds: 6, NodeFeatures: -1},
		{Rounds: 4, NodeFeatures: -1, RowShare: 0.9, TrimMass: -1}} {
		var first *model.Ensemble
		var said []int8
		for _, threads := range []int{1, 2, 7, 40} {
			b := newTrainer(t, x, o, threads)
			for range 2 { // and the same again in used memory
				e, output, _ := fit(t, b, z, weight, 3, 4)
				if first == nil {
					first, said = e, slices.Clone(output)
				}
				if !reflect.DeepEqual(e, first) || !slices.Equal(output, said) {
					t.Fatalf("%+v: other trees on %d threads", o, threads)
				}
			}
		}
		if o.NodeFeatures < 0 {
			continue // nothing is drawn
		}
		b := newTrainer(t, x, o, 2)
		if e, _, _ := fit(t, b, z, weight, 3, 5); reflect.DeepEqual(e, first) {
			t.Error("another bit drew the same")
		}
		if e, _, _ := fit(t, b, z, weight, 4, 4); reflect.DeepEqual(e, first) {
			t.Error("another seed drew the same")
		}
	}
}

// The first split of an exact XOR does not lower the error, but must be made.
func TestXOR(t *testing.T) {
	for noise := range 3 {
		x := columnsOf(400, 2+noise, func(i, j int) uint8 { return uint8(i >> j & 1 * 200) })
		z := make([]int8, x.Rows)
		for i := range z {
			z[i] = int8(2*((i^i>>1)&1) - 1)
		}
		e, _, miss := fit(t, newTrainer(t, x, Options{Rounds: 20, Depth: 2}, 1), z, nil, 1, 0)
		if noise == 0 && miss != 0 {
			t.Errorf("error %v with %d trees", miss, e.Trees())
		}
		if noise == 0 && (e.Bin[0] != 99 || e.Feature[0] != 0) {
			t.Errorf("the gap from 0 to 200 is split at %d of column %d", e.Bin[0], e.Feature[0])
		}
	}
}

func TestConstantBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for boost, trees := range map[Algorithm]int{AdaBoost: 1, Logistic: 2} {
		o := Options{Boost: boost, Rounds: 5}
		for _, sign := range []int8{-1, 1} {
			x, _, _ := hills(rng, 100, 3)
			e, output, miss := fit(t, newTrainer(t, x, o, 1), slices.Repeat([]int8{sign}, x.Rows), nil, 1, 0)
			if miss != 0 || output[0] != sign || e.Trees() != trees {
				t.Errorf("%s, z = %d: error %v with %d trees", boost, sign, miss, e.Trees())
			}
		}
		// Nothing to tell the rows apart, and as many of one sign as of the other: no tree is better than chance, one is kept.
		x := columnsOf(20, 2, func(i, j int) uint8 { return uint8(j) })
		e, _, miss := fit(t, newTrainer(t, x, o, 1), slices.Repeat([]int8{-1, 1}, 10), nil, 1, 0)
		if miss != 0.5 || e.Trees() != trees {
			t.Errorf("%s: error %v with %d trees", boost, miss, e.Trees())
		}
	}
	// Five of a sign are too few for a split.
	x := columnsOf(40, 1, func(i, j int) uint8 { return uint8(i) })
	z := slices.Repeat([]int8{1}, x.Rows)
	copy(z, []int8{-1, -1, -1, -1, -1})
	if _, _, miss := fit(t, newTrainer(t, x, Options{Rounds: 5}, 1), z, nil, 1, 0); miss != 5.0/40 {
		t.Errorf("five of a sign: error %v", miss)
	}
	// A tree without mistakes does not end the rounds.
	if e, _, miss := fit(t, newTrainer(t, x, Options{Rounds: 5, MinNode: 4}, 1), z, nil, 1, 0); miss != 0 ||
		e.Trees() != 5 {
		t.Errorf("five of a sign, and four too few: error %v with %d trees", miss, e.Trees())
	}
}

func TestWeightsMatter(t *testing.T) {
	// Column 0 is right for the heavy rows, and nothing is right for the others.
	x := columnsOf(400, 1, func(i, j int) uint8 { return uint8(i / 10 % 2) })
	z, weight := make([]int8, x.Rows), make([]float64, x.Rows)
	for i := range z {
		z[i] = int8(2*(i/10%2) - 1)
		weight[i] = 1
		if i >= 100 {
			z[i] = -z[i]
			weight[i] = 1e-3
		}
	}
	o := Options{Rounds: 1, Depth: 1}
	if _, _, miss := fit(t, newTrainer(t, x, o, 1), z, nil, 1, 0); miss != 0.25 {
		t.Errorf("equal weights: error %v", miss)
	}
	if _, _, miss := fit(t, newTrainer(t, x, o, 1), z, weight, 1, 0); miss != 0.75 {
		t.Errorf("heavy rows: error %v", miss)
	}
	for i := range weight {
		weight[i] *= 1e306
	}
	if _, _, miss := fit(t, newTrainer(t, x, o, 1), z, weight, 1, 0); miss != 0.75 {
		t.Errorf("very heavy rows: error %v", miss)
	}
}

func TestRefusals(t *testing.T) {
	x := columnsOf(3, 1, func(i, j int) uint8 { return uint8(i) })
	for _, o := range []Options{{Rounds: maxRounds + 1}, {Depth: 9}, {TrimMass: math.NaN()},
		{Boost: "gradient"}, {Rate: 0.1}, {Boost: Logistic, Rate: math.NaN()}, {Boost: Logistic, LeafBits: 5}} {
		if _, err := New(x, o, 1); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := New(columnsOf(0, 1, nil), Options{}, 1); err == nil {
		t.Error("no rows were taken")
	}
	if _, err := New(&vectors.Columns{Quantizer: x.Quantizer, Rows: maxRows + 1}, Options{}, 1); err == nil {
		t.Error("too many rows were taken")
	}
	b := newTrainer(t, x, Options{}, 1)
	z := []int8{1, -1, 1}
	for _, weight := range [][]float64{{1, -1, 1}, {1, math.NaN(), 1}, {1, math.Inf(1), 1}, {0, 0, 0}} {
		if _, err := b.Fit(context.Background(), z, weight, 1, 0); err == nil {
			t.Errorf("weights %v were taken", weight)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	cancel(stop)
	if _, err := b.Fit(ctx, z, nil, 1, 0); !errors.Is(err, stop) {
		t.Errorf("after cancelling: %v", err)
	}
	for _, slip := range []func(){
		func() { b.Fit(ctx, z[:2], nil, 1, 0) },
		func() { b.Fit(ctx, z, []float64{1}, 1, 0) },
		func() { b.Fit(ctx, []int8{1, 0, 1}, nil, 1, 0) },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "boost: ") {
					t.Errorf("recovered %v", p)
				}
			}()
			slip()
		}()
	}
}
