package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// checkCodes compares batch, single rows and the definition.
func checkCodes(t *testing.T, e Encoder, x vectors.Matrix) {
	t.Helper()
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	m := &Model{Encoder: e}
	codes, err := m.Encode(context.Background(), x, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Rows {
		row, err := m.EncodeRow(x.Row(i))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(row, codes.Row(i)) {
			t.Fatalf("row %d: alone %x, in the batch %x", i, row, codes.Row(i))
		}
		for k := range e.Bits() {
			if want := slowBit(e, k, x.Row(i)); codes.Bit(i, k) != want {
				t.Fatalf("row %d bit %d: %v, want %v", i, k, codes.Bit(i, k), want)
			}
		}
		if over := e.Bits() % 64; over != 0 && row[len(row)-1]<<over != 0 {
			t.Fatalf("row %d has bits beyond its length", i)
		}
	}
}

func TestTreesFollowTheDefinition(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		for depth := 1; depth <= MaxDepth; depth++ {
			for _, trees := range []int{1, 2, 30, 31, 62} {
				rng := rand.New(rand.NewPCG(uint64(depth), uint64(trees)))
				e := randomTrees(rng, 1+rng.IntN(5), 1+rng.IntN(40), depth, trees)
				pairUp(e)
				checkCodes(t, e, randomRows(rng, e, 1+rng.IntN(150)))
			}
		}
	})
}

// TestOtherBinsFollowTheDefinition: columns with edges of their own, and missing values in a bin of their own.
func TestOtherBinsFollowTheDefinition(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		for trial := range 30 {
			rng := rand.New(rand.NewPCG(uint64(trial), 5))
			e := randomTrees(rng, 1+rng.IntN(5), 1+rng.IntN(40), 1+rng.IntN(5), 1+rng.IntN(40))
			if trial%3 == 0 {
				e = randomHyperplanes(rng, 3, 1+rng.IntN(40))
			}
			missing := trial%2 == 0
			if withOtherBins(rng, e, missing); trial%5 == 0 && missing {
				e.Quantizer.Edges = nil
			}
			x := randomRows(rng, e, 1+rng.IntN(300))
			for i := range x.Data {
				if missing && rng.IntN(4) == 0 {
					x.Data[i] = float32(math.NaN())
				}
			}
			checkCodes(t, e, x)
			m := &Model{Encoder: e}
			bad := x.Row(x.Rows - 1)
			for _, v := range []float32{float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())} {
				bad[x.Cols-1] = v
				want := !missing || v == v // refused
				_, batch := m.Encode(context.Background(), x, 2)
				_, row := m.EncodeRow(bad)
				if errors.Is(batch, ErrValue) != want || errors.Is(row, ErrValue) != want {
					t.Fatalf("trial %d: %v gives %v and %v", trial, v, batch, row)
				}
			}
		}
	})
}

func TestTiesAreOne(t *testing.T) {
	// Two trees of equal weight that always disagree: the score is 0, so the bit is 1.
	f := &Ensemble{Depth: 1, Feature: []uint32{0, 0}, Bin: []uint8{3, 3}, Leaf: []uint64{0b01, 0b10}, Weight: []int32{5, 5}}
	e := &Binned{Quantizer: vectors.Quantizer{Lo: []float32{0}, Hi: []float32{255}}, Functions: []Function{f}}
	x := vectors.Matrix{Rows: 10, Cols: 1, Data: []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}
	eachKernel(t, func(t *testing.T) {
		checkCodes(t, e, x)
		codes, _ := (&Model{Encoder: e}).Encode(context.Background(), x, 1)
		for r := range x.Rows {
			if !codes.Bit(r, 0) {
				t.Errorf("row %d: a tie is not 1", r)
			}
		}
	})
}

// TestEveryEdge puts rows exactly on the edge of every split, one float32 below and one above.
func TestEveryEdge(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 7))
		for depth := 1; depth <= MaxDepth; depth++ {
			e := randomTrees(rng, 3, 6, depth, max(1, 60>>depth))
			var x vectors.Matrix
			for _, f := range e.Functions {
				f := f.(*Ensemble)
				for i, j := range f.Feature {
					edge := e.Quantizer.Scale(int(j)).Edge(f.Bin[i])
					if f.Bin[i] == 255 {
						edge = math.MaxFloat32
					}
					base := randomRows(rng, e, 1)
					for step := -1; step <= 1; step++ {
						base.Data[j] = beside(edge, step)
						x.Data = append(x.Data, base.Data...)
						x.Rows++
					}
				}
			}
			x.Cols = e.Dim()
			checkCodes(t, e, x)
		}
	})
}

func TestHyperplanesAndProjections(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, dim := range []int{1, 2, 15, 16, 33} {
		for _, e := range []Encoder{randomHyperplanes(rng, 70, dim), randomProjection(rng, 70, dim, true), randomProjection(rng, 9, dim, false)} {
			checkCodes(t, e, randomRows(rng, e, 50))
		}
	}
}

func TestOutputsFollowTheDefinition(t *testing.T) {
	eachKernel(t, testOutputs)
}

func testOutputs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, rows := range []int{1, 64, 257, 1500} {
		for _, f := range []Function{randomEnsemble(rng, 12, 4, 90), randomEnsemble(rng, 12, 7, 9), randomLinear(rng, 12)} {
			e := &Binned{Quantizer: randomQuantizer(rng, 12), Functions: []Function{f}}
			x := randomRows(rng, e, rows)
			columns, err := vectors.Quantize(context.Background(), x, rows, e.Quantizer, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, threads := range []int{1, 2, 7} {
				got := make([]int8, rows)
				if err := Outputs(context.Background(), f, columns, threads, got); err != nil {
					t.Fatal(err)
				}
				for i, h := range got {
					want := int8(-1)
					if slowBit(e, 0, x.Row(i)) {
						want = 1
					}
					if h != want {
						t.Fatalf("%T row %d: %d, want %d", f, i, h, want)
					}
				}
			}
		}
	}
}

// pieces is a source with chunks of odd sizes and ids, which spoils a chunk when the next one is asked for.
type pieces struct{ vectors.Matrix }

func (p pieces) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for lo, n := 0, 1; lo < p.Rows; n = n*3%200 + 1 {
			hi := min(lo+n, p.Rows)
			c := vectors.Chunk{First: lo, X: p.Slice(lo, hi)}
			c.X.Data = slices.Clone(c.X.Data)
			for i := range hi - lo {
				c.IDs = append(c.IDs, fmt.Sprint("id", lo+i))
				c.Tags = append(c.Tags, []string{fmt.Sprint(lo + i)})
			}
			if !yield(c, nil) {
				return
			}
			clear(c.X.Data)
			clear(c.IDs)
			for _, t := range c.Tags {
				clear(t)
			}
			lo = hi
		}
	}
}

func TestStreamEqualsBatchForAnyThreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 5))
	e := randomTrees(rng, 20, 600, 4, 10) // wide enough for several batches
	m := &Model{Encoder: e}
	x := randomRows(rng, e, 2000)
	want, err := m.Encode(context.Background(), x, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{1, 2, 7} {
		batch, err := m.Encode(context.Background(), x, threads)
		if err != nil || !slices.Equal(batch.Data, want.Data) {
			t.Errorf("%d threads: batch differs (%v)", threads, err)
		}
		n := 0
		err = m.EncodeSource(context.Background(), pieces{x}, threads, func(first int, codes hamming.Codes, c vectors.Chunk) error {
			if first != n || c.First != n || codes.Len() != c.X.Rows || len(c.IDs) != c.X.Rows {
				t.Errorf("chunk at %d with %d codes, %d ids, want row %d", first, codes.Len(), len(c.IDs), n)
			}
			for i := range codes.Len() {
				if !slices.Equal(codes.Row(i), want.Row(n+i)) || c.IDs[i] != fmt.Sprint("id", n+i) || c.Tags[i][0] != fmt.Sprint(n+i) {
					t.Errorf("%d threads: row %d differs", threads, n+i)
				}
			}
			n += codes.Len()
			return nil
		})
		if err != nil || n != x.Rows {
			t.Errorf("%d threads: %d rows, error %v", threads, n, err)
		}
	}
}

// broken fails after some chunks.
type broken struct {
	vectors.Matrix
	err error
}

func (b broken) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for c := range (pieces{b.Matrix}).Chunks(ctx) {
			if !yield(c, nil) {
				return
			}
		}
		yield(vectors.Chunk{}, b.err)
	}
}

func TestStreamStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 5))
	e := randomTrees(rng, 2, 3, 1, 1)
	m := &Model{Encoder: e}
	x := randomRows(rng, e, 20000) // more than a batch
	nothing := func(int, hamming.Codes, vectors.Chunk) error { return nil }
	disk := errors.New("disk on fire")
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(disk)
	for name, run := range map[string]func() error{
		"the source fails": func() error { return m.EncodeSource(context.Background(), broken{x, disk}, 2, nothing) },
		"the sink fails": func() error {
			return m.EncodeSource(context.Background(), pieces{x}, 1, func(first int, _ hamming.Codes, _ vectors.Chunk) error {
				if first > 100 {
					return disk
				}
				return nil
			})
		},
		"cancelled": func() error { return m.EncodeSource(ended, pieces{x}, 2, nothing) },
	} {
		if err := run(); !errors.Is(err, disk) {
			t.Errorf("%s: %v", name, err)
		}
	}
	func() {
		defer func() {
			if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "slip") {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = m.EncodeSource(context.Background(), pieces{x}, 2, func(int, hamming.Codes, vectors.Chunk) error { panic("slip") })
	}()
}

func TestBadVectorsAreRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 6))
	e := randomTrees(rng, 2, 3, 1, 1)
	m := &Model{Encoder: e, Info: Info{Features: []string{"a", "b", "c"}}}
	nothing := func(int, hamming.Codes, vectors.Chunk) error { return nil }
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		x := randomRows(rng, e, 500)
		x.Row(170)[1] = bad
		x.Row(480)[0] = bad
		_, batch := m.Encode(context.Background(), x, 2)
		_, margins := m.Margins(context.Background(), x, 2)
		stream := m.EncodeSource(context.Background(), pieces{x}, 3, nothing)
		_, row := m.EncodeRow(x.Row(170))
		for _, err := range []error{batch, margins, stream, row} {
			if !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), `column 1 ("b")`) {
				t.Errorf("%v: %v", bad, err)
			}
		}
		for _, err := range []error{batch, margins, stream} {
			if err == nil || !strings.Contains(err.Error(), "row 170,") {
				t.Errorf("%v: %v", bad, err)
			}
		}
	}
	wide := vectors.Matrix{Rows: 1, Cols: 4, Data: make([]float32, 4)}
	_, batch := m.Encode(context.Background(), wide, 1)
	_, margins := m.Margins(context.Background(), wide, 1)
	_, row := m.EncodeRow(wide.Data)
	for _, err := range []error{batch, margins, row, m.EncodeSource(context.Background(), wide, 1, nothing)} {
		if !errors.Is(err, ErrDim) {
			t.Errorf("wrong width: %v", err)
		}
	}
	if c, err := m.Encode(context.Background(), vectors.Matrix{Cols: 3}, 1); err != nil || c.Len() != 0 {
		t.Errorf("no rows: %v", err)
	}
}

func TestEncodeIsSafeForConcurrentUse(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	e := randomTrees(rng, 8, 5, 2, 4)
	x := randomRows(rng, e, 64)
	m := &Model{Encoder: e}
	done := make(chan []uint64)
	for range 4 {
		go func() { // the first uses of a model, all at once
			c, _ := m.Encode(context.Background(), x, 2)
			_, _ = m.EncodeRow(x.Row(0))
			_ = m.Fingerprint()
			done <- c.Data
		}()
	}
	first := <-done
	for range 3 {
		if !slices.Equal(first, <-done) {
			t.Error("codes differ")
		}
	}
}
