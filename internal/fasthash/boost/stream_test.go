package boost

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/machine"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// inFile is the same columns in mapped files.
func inFile(t testing.TB, x *vectors.Columns, near int64) *vectors.Columns {
	t.Helper()
	memory := vectors.NewSpill(t.TempDir())
	memory.Allow(near)
	t.Cleanup(func() {
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	})
	rows := vectors.Matrix{Rows: x.Rows, Cols: x.Dim(), Data: make([]float32, x.Rows*x.Dim())}
	q := vectors.Quantizer{Lo: make([]float32, x.Dim()), Hi: slices.Repeat([]float32{255}, x.Dim())}
	for j := range x.Dim() {
		for i, v := range x.Column(j) {
			rows.Data[i*x.Dim()+j] = float32(v)
		}
	}
	out, err := vectors.QuantizeIn(context.Background(), memory, rows, x.Rows, q, 0)
	if errors.Is(err, machine.ErrUnsupported) {
		needs.Skip(t, needs.Mapping, err)
	} else if err != nil {
		t.Fatal(err)
	}
	for j := range x.Dim() {
		if !slices.Equal(out.Column(j), x.Column(j)) {
			t.Fatalf("column %d differs", j)
		}
	}
	return out
}

// TestStreamsMakeTheSameTrees compares the trees of columns in a file with those of columns in memory: all kinds of
// options, numbers of threads, and data with many ties, empty bins and columns that cannot be split.
func TestStreamsMakeTheSameTrees(t *testing.T) {
	data := map[string]func(rng *rand.Rand, i, j int) uint8{
		"even":     func(rng *rand.Rand, _, _ int) uint8 { return uint8(rng.IntN(256)) },
		"few bins": func(rng *rand.Rand, _, j int) uint8 { return uint8(rng.IntN(2+j) * 40) },
		"constant": func(rng *rand.Rand, i, j int) uint8 { return uint8(rng.IntN(9) * (j % 2) * (i % 2)) },
		"copies":   func(_ *rand.Rand, i, j int) uint8 { return uint8(i % 16 * (j + 1)) },
	}
	options := map[string]Options{
		"plain":    {Rounds: 12},
		"deep":     {Rounds: 6, Depth: 8, MinNode: -1, TrimMass: 0.9},
		"stumps":   {Rounds: 9, Depth: 1, TrimMass: -1},
		"lazy":     {Rounds: 9, Depth: 5, NodeFeatures: 3, TrimMass: 0.8},
		"shares":   {Rounds: 9, Depth: 4, RowShare: 0.4, ColumnShare: 0.5},
		"logistic": {Rounds: 9, Depth: 6, Boost: Logistic, ColumnShare: 0.5},
		"newton":   {Rounds: 6, Depth: 3, Boost: Logistic, TrimMass: 0.5, RowShare: 0.7, LeafBits: 3, Rate: 0.9},
	}
	for name, value := range data {
		for kind, o := range options {
			for turn, threads := range []int{1, 3} {
				if !needs.Full() && (turn == 0) == (len(name+kind)%2 == 0) {
					continue
				}
				rng := rand.New(rand.NewPCG(5, uint64(turn)))
				n := 500 + 200*turn
				x := columnsOf(n, 7, func(i, j int) uint8 { return value(rng, i, j) })
				z, weight := make([]int8, n), make([]float64, n)
				for i := range z {
					z[i] = int8(rng.IntN(2)*2 - 1)
					if x.Column(1)[i] > 60 && rng.IntN(5) > 0 {
						z[i] = 1
					}
					weight[i] = float64(rng.IntN(4)) + float64(i%2)
				}
				sameTrees(t, fmt.Sprintf("%s, %s, %d threads", name, kind, threads), x,
					streamCase{o, threads, [][]float64{nil, weight}, z, int64(turn) * 100_000})
			}
		}
	}
}

type streamCase struct {
	o       Options
	threads int
	weights [][]float64
	z       []int8
	near    int64
}

// sameTrees fits both.
func sameTrees(t *testing.T, name string, x *vectors.Columns, p streamCase) {
	t.Helper()
	listed, err := New(x, p.o, p.threads)
	if err != nil {
		t.Fatal(err)
	}
	streamed, err := New(inFile(t, x, p.near), p.o, p.threads)
	if err != nil {
		t.Fatal(err)
	}
	for bit, weight := range p.weights {
		want, output, a := fit(t, listed, p.z, weight, 3, bit+1)
		got, other, b := fit(t, streamed, p.z, weight, 3, bit+1)
		if !reflect.DeepEqual(got, want) || !slices.Equal(output, other) || a != b {
			t.Fatalf("%s, bit %d: the trees differ:\n%+v\n%+v", name, bit+1, got, want)
		}
	}
}

// TestManyBlocksMakeTheSameTrees does so with more rows than a block has.
func TestManyBlocksMakeTheSameTrees(t *testing.T) {
	x, z, weight := hills(rand.New(rand.NewPCG(1, 2)), 2*streamRows+1001, 6)
	for _, o := range []Options{
		{Rounds: 4, Depth: 3, TrimMass: 0.9}, {Rounds: 3, Depth: 4, Boost: Logistic, RowShare: 0.5},
	} {
		sameTrees(t, fmt.Sprintf("%+v", o), x, streamCase{o, 2, [][]float64{weight}, z, 0})
	}
}
