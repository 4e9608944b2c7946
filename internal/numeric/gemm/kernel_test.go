package gemm

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/testkit/fencetest"
	"hashgrove/internal/testkit/needs"
)

// TestKernelStaysInside compares the kernel of this machine with the plain one, bit by bit, where memory ends behind
// all that it may touch. The values are of all sizes, zeros of both signs among them, and what lies between the rows
// must stay.
func TestKernelStaysInside(t *testing.T) {
	needs.Kernels(t, hasKernel)
	rng := rand.New(rand.NewPCG(7, 8))
	fill := func(v []float32) {
		for i := range v {
			switch rng.IntN(8) {
			case 0: // a zero, or a value below the normal range
				v[i] = math.Float32frombits(rng.Uint32() & (1<<31 | (1<<rng.IntN(24) - 1)))
			case 1: // any value below 2
				v[i] = math.Float32frombits(rng.Uint32() &^ (1 << 30))
			default:
				v[i] = rng.Float32()*2 - 1
			}
		}
	}
	for k := range 71 {
		for _, stride := range []int{tileCols, tileCols + 3, 100} {
			for _, load := range []bool{false, true} {
				for tiles := 1; tiles <= 2 && (tiles == 1 || pairs != nil); tiles++ {
					a := fencetest.Slice[float32](t, max(1, tiles*k*tileRows))
					b := fencetest.Slice[float32](t, max(1, k*tileCols))
					c := fencetest.Slice[float32](t, (tiles*tileRows-1)*stride+tileCols)
					fill(a)
					fill(b)
					fill(c)
					want := slices.Clone(c)
					if tiles == 1 {
						kernel(k, &a[0], &b[0], &c[0], stride, load)
					} else {
						pairs(k, &a[0], &b[0], &c[0], stride, load)
					}
					for i := range tiles {
						kernelGo(k, a[i*k*tileRows:], b, want[i*tileRows*stride:], stride, load)
					}
					if !same(c, want) {
						t.Errorf("k = %d, stride %d, load %v: the kernels of %d tiles differ", k, stride, load, tiles)
					}
				}
			}
		}
	}
}

// TestNarrow: rows where they are make the tile that they make laid out, bit by bit.
func TestNarrow(t *testing.T) {
	if narrow == nil {
		t.Skip("this machine has no such kernel")
	}
	rng := rand.New(rand.NewPCG(9, 9))
	for k := 1; k < 40; k++ {
		for _, step := range []int{k, k + 5} {
			a := fencetest.Slice[float32](t, (2*tileRows-1)*step+k)
			b, got := fencetest.Slice[float32](t, k*tileCols), fencetest.Slice[float32](t, 2*tileRows*tileCols)
			for _, v := range [][]float32{a, b, got} {
				for i := range v {
					v[i] = rng.Float32()*2 - 1
				}
			}
			var left Left
			left.pack(View{Rows: 2 * tileRows, Cols: k, RowStep: step, ColStep: 1, Data: a}, 0, 2*tileRows, 0, k)
			want := make([]float32, len(got))
			for i := range 2 {
				kernelGo(k, left.data[i*k*tileRows:], b, want[i*tileRows*tileCols:], tileCols, false)
			}
			narrow(k, &a[0], step, &b[0], &got[0])
			if !same(got, want) {
				t.Errorf("k = %d, step %d: the tiles differ", k, step)
			}
		}
	}
}

// TestOneRow: a row alone has the products that it has among others, bit by bit.
func TestOneRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 50 {
		k, cols, rows := 1+rng.IntN(600), 1+rng.IntN(200), 2*tileRows
		a, b := fencetest.Slice[float32](t, rows*k), fencetest.Slice[float32](t, k*cols)
		for _, v := range [][]float32{a, b} {
			for i := range v {
				v[i] = rng.Float32()*2 - 1
			}
		}
		right, all := PackRight(RowMajor(k, cols, b)), make([]float32, rows*cols)
		_ = MulRight(t.Context(), 1, RowMajor(rows, cols, all), RowMajor(rows, k, a), right)
		got, last := fencetest.Slice[float32](t, cols), rows-1
		_ = MulRight(t.Context(), 1, RowMajor(1, cols, got), RowMajor(1, k, a[last*k:]), right)
		if !same(got, all[last*cols:]) {
			t.Errorf("%d x %d: a row alone differs", k, cols)
		}
	}
}

// TestNoRoomForTheProduct: the kernel writes through pointers, so a result that does not fit must not reach it.
func TestNoRoomForTheProduct(t *testing.T) {
	a, b := RowMajor(20, 8, make([]float32, 160)), RowMajor(8, 20, make([]float32, 160))
	right := PackRight(b)
	for name, c := range map[string]View{
		"too short":   {20, 20, 20, 1, make([]float32, 399)},
		"rows share":  {20, 20, 19, 1, make([]float32, 400)},
		"other sizes": {20, 19, 20, 1, make([]float32, 400)},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			_ = MulRight(context.Background(), 1, c, a, right)
		}()
	}
}
