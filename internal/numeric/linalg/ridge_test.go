package linalg

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// One panel, whole panels, and panels that do not fit.
func TestRidgeSolves(t *testing.T) {
	for _, n := range []int{1, 5, ridgePanel, 2*ridgePanel + 9} {
		x := methodtest.RandomRows(uint64(n), n+50, n)
		b := methodtest.RandomRows(9, n, 3)
		for _, lambda := range []float64{1, 1e-3} {
			g := NewGram(n, 2)
			for lo := 0; lo < x.Rows; lo += 100 {
				if err := g.Add(context.Background(), MatrixView(x.Slice(lo, min(lo+100, x.Rows)))); err != nil {
					t.Fatal(err)
				}
			}
			a := mat.NewSymDense(n, nil)
			for i := range n {
				for j := range i + 1 {
					a.SetSym(i, j, float64(g.sum.Data[i*n+j]))
				}
			}
			for i := range n {
				for j := i % (1 + n/4); j <= i; j += 1 + n/4 {
					sum := 0.0
					for k := range x.Rows {
						sum += float64(x.Row(k)[i]) * float64(x.Row(k)[j])
					}
					if got := a.At(i, j); math.Abs(got-sum) > 1e-4*(1+math.Abs(sum)) {
						t.Fatalf("value %d, %d of X'X is %v instead of %v", i, j, got, sum)
					}
				}
				a.SetSym(i, i, a.At(i, i)+lambda)
			}
			r, took, err := newRidge(context.Background(), 2, g.sum, lambda)
			if err != nil || took != lambda {
				t.Fatalf("%d columns: ridge %v, error %v", n, took, err)
			}
			z := vectors.Matrix{Rows: n, Cols: 3, Data: slices.Clone(b.Data)}
			if err := r.solve(context.Background(), z); err != nil {
				t.Fatal(err)
			}
			full := mat.DenseCopyOf(a).RawMatrix().Data
			for k := range 3 {
				for i := range n {
					sum, size := 0.0, 0.0
					for j := range n {
						v := full[i*n+j] * float64(z.Data[j*3+k])
						sum, size = sum+v, size+math.Abs(v)
					}
					if off := math.Abs(sum - float64(b.Data[i*3+k])); off > 2e-6*size {
						t.Errorf("%d columns, ridge %v: row %d is off by %v of %v", n, lambda, i, off, size)
					}
				}
			}
		}
	}
}

// Copies of columns have no inverse without a ridge; the ridge is raised until there is one.
func TestRidgeIsRaised(t *testing.T) {
	x := methodtest.RandomRows(1, 200, 300)
	for i := range x.Rows {
		copy(x.Row(i)[150:], x.Row(i)[:150])
	}
	g := NewGram(300, 2)
	if err := g.Add(context.Background(), MatrixView(x)); err != nil {
		t.Fatal(err)
	}
	r, lambda, err := newRidge(context.Background(), 2, g.sum, 1e-12)
	if err != nil || lambda <= 1e-12 || lambda > 1 {
		t.Fatalf("ridge %v, error %v", lambda, err)
	}
	b := methodtest.RandomRows(2, 300, 1)
	if err := r.solve(context.Background(), b); err != nil || !isFinite(b.Data) {
		t.Errorf("solution %v, error %v", b.Data[:3], err)
	}
	for i := range g.sum.Data {
		g.sum.Data[i] = float32(math.NaN())
	}
	if _, _, err := newRidge(context.Background(), 2, g.sum, 1); err == nil {
		t.Error("a matrix of NaN was factored")
	}
}

// The factor of several depths, by definition but for the small blocks: what is left of A is less one product for
// each depth, whole or up to the panel.
func TestFactorIsTheDefinition(t *testing.T) {
	const n = 2*ridgeDepth + 3*ridgePanel
	x := methodtest.RandomRows(3, 40, n)
	g := NewGram(n, 3)
	if err := g.Add(context.Background(), MatrixView(x)); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(g.sum.Data)
	r, lambda, err := newRidge(context.Background(), 3, g.sum, 100)
	if err != nil || lambda != 100 {
		t.Fatalf("ridge %v, error %v", lambda, err)
	}
	for i := range n {
		want[i*n+i] = float32(float64(want[i*n+i]) + lambda)
	}
	for lo := 0; lo < n; lo += ridgePanel {
		hi := min(lo+ridgePanel, n)
		inverse := r.inverseBlock(lo).Data
		for i := hi; i < n; i += 37 {
			var row [ridgePanel]float32
			for j := lo; j < hi; j++ {
				sum := want[i*n+j]
				for k := 0; k < lo; k += ridgeDepth {
					sum -= chain(r.a.Row(i)[k:min(k+ridgeDepth, lo)], r.a.Row(j)[k:])
				}
				row[j-lo] = sum
			}
			for j := lo; j < hi; j++ {
				if got := r.a.Row(i)[j]; got != chain(row[:hi-lo], inverse[(j-lo)*(hi-lo):]) {
					t.Fatalf("value (%d, %d) of the factor is %v", i, j, got)
				}
			}
		}
	}
}

// chain returns the inner product as gemm defines it.
func chain(a, b []float32) float32 {
	var c [1]float32
	n := len(a)
	if err := gemm.Mul(context.Background(), 1, gemm.RowMajor(1, 1, c[:]), gemm.RowMajor(1, n, a),
		gemm.RowMajor(n, 1, b)); err != nil {
		panic(err)
	}
	return c[0]
}

func isFinite(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) })
}
