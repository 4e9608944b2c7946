package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/testkit/budgettest"
	"hashgrove/internal/vectors"
)

// encodeAll encodes rows through EncodeSource and throws the codes away.
func encodeAll(t *testing.T, e Encoder, x vectors.Matrix, threads int) {
	t.Helper()
	m := &Model{Encoder: e}
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	rows := 0
	err := m.EncodeSource(context.Background(), x, threads, func(_ int, codes hamming.Codes, _ vectors.Chunk) error {
		rows += codes.Len()
		return nil
	})
	if err != nil || rows != x.Rows {
		t.Fatalf("%d of %d rows, %v", rows, x.Rows, err)
	}
}

// oneBit is a projection to a single bit.
func oneBit(dim int) *Projection {
	return &Projection{Weight: make([]float32, dim), Threshold: []float32{0}}
}

// TestWideMapStaysWithinItsBudget: a map of one value to a million is a model of 4 MB, and took 5 GB to encode 300 rows.
func TestWideMapStaysWithinItsBudget(t *testing.T) {
	const out = 1 << 20
	wide := &Affine{Weight: vectors.Matrix{Rows: out, Cols: 1, Data: make([]float32, out)}}
	x := vectors.Matrix{Rows: 20, Cols: 1, Data: make([]float32, 20)}
	budgettest.Peak(t, 512*budgettest.MiB, func() { encodeAll(t, Compose(oneBit(out), wide), x, 2) })
	budgettest.Peak(t, 512*budgettest.MiB, func() {
		for c, err := range Through(x, 1, wide).Chunks(context.Background()) {
			if err != nil || c.X.Cols != out {
				t.Fatal(c.X.Cols, err)
			}
		}
	})
}

// TestWideVectorsStayWithinTheirBudget: batches of 64 rows at least made four gigabytes of rows of 16 million values,
// twice for every thread.
func TestWideVectorsStayWithinTheirBudget(t *testing.T) {
	for dim := 1; dim <= maxDim; dim *= 2 {
		for _, threads := range []int{1, 2, 16, 256} {
			batch := batchRows(dim) * dim
			if batchRows(dim) < 1 || batch > max(1<<24, dim) {
				t.Errorf("a batch of %d rows of %d values", batchRows(dim), dim)
			}
			if n := turnBatches(dim, threads); n < 1 || n > threads || n*batch > max(turnValues, batch) {
				t.Errorf("%d batches of %d rows of %d values for %d threads", n, batchRows(dim), dim, threads)
			}
			if rows := vectors.ChunkRows(dim); rows < 1 || rows*dim > max(1<<24, dim) {
				t.Errorf("a chunk of %d rows of %d values", rows, dim)
			}
		}
	}
	const dim = 1 << 22
	x := vectors.Matrix{Rows: 3, Cols: dim, Data: make([]float32, 3*dim)}
	budgettest.Peak(t, 512*budgettest.MiB, func() {
		encodeAll(t, Compose(oneBit(1), &Curves{Cols: dim, Curves: []Curve{{X: []float32{0, 1}, Y: []float32{0, 1}}}}), x, 2)
	})
}

// TestThreadsAreBounded: two thousand million threads asked for 368 GB before the first row was read.
func TestThreadsAreBounded(t *testing.T) {
	x := vectors.Matrix{Rows: 3, Cols: 2, Data: make([]float32, 6)}
	budgettest.Within(t, 64*budgettest.MiB, func() { encodeAll(t, oneBit(2), x, 2_000_000_000) })
}

// TestManyNearestAnchors: the nearest of all anchors were found by insertion, in the square of their number.
func TestManyNearestAnchors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{1, 31, 32, 33, 100, 500} {
		d := make([]float64, n)
		for i := range d {
			d[i] = float64(rng.IntN(n/2 + 1)) // many are equal
		}
		want := make([]int, n)
		for i := range want {
			want[i] = i
		}
		slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(d[a], d[b]) })
		for s := 1; s <= n; s++ {
			if got := nearest(nil, d, s); !slices.Equal(got, want[:s]) {
				t.Fatalf("the %d nearest of %v are %v, not %v", s, d, got, want[:s])
			}
		}
	}
	const anchors = 400_000 // a minute for a row, if each is put where it belongs
	d := make([]float64, anchors)
	for i := range d {
		d[i] = float64(anchors - i)
	}
	budgettest.Within(t, 64*budgettest.MiB, func() { nearest(nil, d, anchors) })
}

// TestMapsInARowDoNotMultiply: an extension by the vector itself doubles it, in a few bytes, so 15 of them in a row make
// 16 million values of 512, for every row.
func TestMapsInARowDoNotMultiply(t *testing.T) {
	var maps []Map
	dim := 512
	for range 15 {
		maps = append(maps, &Extension{Maps: []Map{&Affine{Weight: vectors.Matrix{Rows: dim, Cols: dim}}}})
		dim *= 2
	}
	last := &Curves{Cols: dim, Curves: []Curve{{X: []float32{0, 1}, Y: []float32{0, 1}}}}
	e := &Mapped{Maps: append(maps, last), Encoder: oneBit(1)}
	var b bytes.Buffer
	if err := Write(&b, &Model{Encoder: e}); err != nil {
		t.Fatal(err)
	}
	budgettest.Within(t, 16*budgettest.MiB, func() {
		if _, err := Read(&b); !errors.Is(err, hamming.ErrDamaged) {
			t.Errorf("a model that makes %d values of 512 in a few bytes: %v", dim, err)
		}
	})
}
