package method

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

func TestMean(t *testing.T) {
	x := vectors.Matrix{Rows: 20_000, Cols: 2, Data: make([]float32, 40_000)} // several chunks
	for i := range x.Rows {
		x.Data[2*i], x.Data[2*i+1] = float32(i), -math.MaxFloat32
	}
	m, err := meanRow(context.Background(), x)
	if err != nil || m[0] != 9999.5 || m[1] != -math.MaxFloat32 {
		t.Errorf("mean %v, error %v", m, err)
	}
}

// Columns of mean 0 and variance 1 by the definition, in whatever units they were; constant ones are 0.
func TestUnitColumns(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(2, 2))
	unit := []float64{1, 1e-6, 5e4, 0, 1e-39} // the last changes by less than can be told apart
	x := vectors.Matrix{Rows: 3000, Cols: len(unit), Data: make([]float32, 3000*len(unit))}
	for i := range x.Data {
		x.Data[i] = float32(7*unit[i%len(unit)] + unit[i%len(unit)]*rng.NormFloat64())
	}
	m, factor, err := unitColumns(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	if factor < 4e10 || factor > 6e10 {
		t.Errorf("the spreads differ by %v", factor)
	}
	y, err := model.Transform(ctx, 2, x, m)
	if err != nil {
		t.Fatal(err)
	}
	for j := range unit {
		sum, squares := 0.0, 0.0
		for i := range y.Rows {
			v := float64(y.Row(i)[j])
			sum, squares = sum+v, squares+v*v
		}
		want := 1.0
		if j > 2 {
			want = 0
		}
		n := float64(y.Rows)
		if math.Abs(sum/n) > 1e-4 || math.Abs(squares/n-want) > 1e-3 {
			t.Errorf("column %d has mean %v and variance %v", j, sum/n, squares/n)
		}
	}
	flat := vectors.Matrix{Rows: 2, Cols: 1, Data: []float32{3, 3}}
	if m, factor, err = unitColumns(ctx, flat); err != nil || factor != 1 || m.Scale[0] != 0 {
		t.Errorf("a constant column: scale %v, factor %v, %v", m, factor, err)
	}
}

// The components of wide vectors, from products, capture the variance that a dense solver says is there.
func TestPrincipalComponents(t *testing.T) {
	ctx := context.Background()
	for _, d := range []int{40, smallSide + 60} {
		x := methodtest.NormalRows(1, 400, d)
		front, values, err := principalComponents(ctx, x, 9, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := linalg.Covariance(ctx, x, front.Mean, 1)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := linalg.AllEigenvectors(c)
		if err != nil {
			t.Fatal(err)
		}
		y, err := model.Transform(ctx, 1, x, front)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 9 {
			variance, product := 0.0, 0.0
			for i := range y.Rows {
				variance += float64(y.Row(i)[k]) * float64(y.Row(i)[k]) / float64(y.Rows)
				product += float64(y.Row(i)[k]) * float64(y.Row(i)[(k+1)%9]) / float64(y.Rows)
			}
			if math.Abs(variance/want[k]-1) > 1e-3 || math.Abs(values[k]/want[k]-1) > 1e-3 {
				t.Errorf("%d dimensions: component %d has variance %g, is said to have %g, want %g", d, k, variance, values[k],
					want[k])
			}
			if math.Abs(product) > 1e-3*want[0] {
				t.Errorf("%d dimensions: components %d and %d have covariance %g", d, k, (k+1)%9, product)
			}
		}
	}
}

func TestITQLossNeverRises(t *testing.T) {
	v := methodtest.NormalRows(2, 2500, 12)
	centreRows(v)
	for _, bits := range []int{12, 20} { // as many columns as bits, and fewer
		var r *mat.Dense
		first, last := 0.0, math.Inf(1)
		for _, steps := range []int{1, 2, 3, 5, 8, 30} {
			var err error
			if r, err = rotateToCorners(context.Background(), v, steps, Options{Bits: bits, Seed: 5, Threads: 2}); err != nil {
				t.Fatal(err)
			}
			loss := 0.0
			for i := range v.Rows {
				for b := range bits {
					y := 0.0
					for k, x := range v.Row(i) {
						y += float64(x) * r.At(k, b)
					}
					loss += (math.Abs(y) - 1) * (math.Abs(y) - 1)
				}
			}
			if first = max(first, loss); loss > last*(1+1e-6) {
				t.Errorf("%d bits: %d steps take the loss from %g to %g", bits, steps, last, loss)
			}
			last = loss
		}
		if last > 0.99*first {
			t.Errorf("%d bits: 30 steps take the loss from %g to %g", bits, first, last)
		}
	}
}
