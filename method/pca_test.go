package method

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/linalg"
	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// normal draws rows of independent columns with falling spread, off the origin.
func normal(seed uint64, rows, cols int) vectors.Matrix {
	rng := rand.New(rand.NewPCG(seed, 3))
	x := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	for i := range x.Data {
		x.Data[i] = 3 + float32(rng.NormFloat64()/(1+float64(i%cols)/8))
	}
	return x
}

// The components of wide vectors, from products, capture the variance that a dense solver says is there.
func TestPrincipalComponents(t *testing.T) {
	ctx := context.Background()
	for _, d := range []int{40, smallSide + 60} {
		x := normal(1, 400, d)
		front, values, err := principal(ctx, x, 9, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := linalg.Covariance(ctx, x, front.Mean, 1)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := linalg.Symmetric(c)
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
				t.Errorf("%d dimensions: component %d has variance %g, is said to have %g, want %g", d, k, variance, values[k], want[k])
			}
			if math.Abs(product) > 1e-3*want[0] {
				t.Errorf("%d dimensions: components %d and %d have covariance %g", d, k, (k+1)%9, product)
			}
		}
	}
}

// What a trainer makes of reduced rows goes behind the map.
func TestReduce(t *testing.T) {
	x, _ := clusters(1, 300, 20, 4)
	front, y, err := PCA{Dims: 6}.Reduce(context.Background(), x)
	if err != nil || y.Dim() != 6 {
		t.Fatal(err)
	}
	inner := train(t, LSH{Bits: 8, Seed: 2}, y)
	outer, err := learnFrom(context.Background(), PCA{Dims: 6, Then: LSH{Bits: 8, Seed: 2}}, x)
	if err != nil {
		t.Fatal(err)
	}
	if outer.Fingerprint(8) != model.Compose(inner, front).Fingerprint(8) {
		t.Error("the wrapper and its parts differ")
	}
	if e, err := learnFrom(context.Background(), PCA{Dims: 50, Then: LSH{Bits: 3}}, x); err != nil || e.Dim() != 20 {
		t.Errorf("more components than dimensions: %v", err)
	}
	if _, err := learnFrom(context.Background(), PCA{Dims: -1, Then: LSH{}}, x); err == nil {
		t.Error("PCA to -1 dimensions")
	}
	pairs := withPairsOf(x, []supervision.Pair{{A: 1, B: 2, Y: 1}, {A: 2, B: 3, Y: -1}, {A: 3, B: 4, Y: 1}})
	if _, err := learnFrom(context.Background(), PCA{Dims: 6, Then: KSH{Bits: 2, Anchors: 4}}, pairs); err != nil {
		t.Errorf("pairs behind PCA: %v", err)
	}
}

// Rows that span fewer dimensions leave components that are nothing but rounding.
func TestReduceLeavesNoRounding(t *testing.T) {
	for _, cols := range []int{40, smallSide + 8} { // C formed, C multiplied with
		x := normal(5, 20, cols)
		_, y, err := PCA{Dims: 30}.Reduce(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := rowsOf(context.Background(), y, x.Rows)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows.Rows {
			for j, v := range rows.Row(i) {
				if (j < x.Rows-1) != (v != 0) { // the mean takes one of 20 dimensions
					t.Fatalf("%d columns: row %d has %v in component %d", cols, i, v, j)
				}
			}
		}
	}
}

func TestITQLossNeverRises(t *testing.T) {
	v := normal(2, 2500, 12)
	centreRows(v)
	for _, bits := range []int{12, 20} { // as many columns as bits, and fewer
		r, loss, err := rotateToCorners(context.Background(), v, bits, 30, 5, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(loss); i++ {
			if loss[i] > loss[i-1]*(1+1e-6) {
				t.Errorf("%d bits: step %d takes the loss from %g to %g", bits, i, loss[i-1], loss[i])
			}
		}
		if loss[29] > 0.99*loss[0] {
			t.Errorf("%d bits: 30 steps take the loss from %g to %g", bits, loss[0], loss[29])
		}
		var gram mat.Dense
		gram.Mul(r, r.T())
		for i := range 12 {
			for j := range 12 {
				want := 0.0
				if i == j {
					want = 1
				}
				if math.Abs(gram.At(i, j)-want) > 1e-9 {
					t.Fatalf("%d bits: rows %d and %d of R have the product %g", bits, i, j, gram.At(i, j))
				}
			}
		}
	}
}

// The hyperplanes over x are the rotated components.
func TestITQEncodesTheRotation(t *testing.T) {
	x := normal(3, 500, 10)
	m := PCAITQ{Bits: 7, Steps: 9, Seed: 4}
	e := train(t, m, x)
	front, _, err := principal(context.Background(), x, 7, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := model.Transform(context.Background(), 1, x, front)
	r, _, err := rotateToCorners(context.Background(), v, 7, 9, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	codes := encode(e, x)
	for i := range x.Rows {
		for b := range 7 {
			y := 0.0
			for k, s := range v.Row(i) {
				y += float64(s) * r.At(k, b)
			}
			if math.Abs(y) > 1e-4 && codes.Bit(i, b) != (y > 0) {
				t.Fatalf("row %d bit %d: %v for %g", i, b, codes.Bit(i, b), y)
			}
		}
	}
	if _, err := learnFrom(context.Background(), PCAITQ{Bits: 11}, x); err == nil {
		t.Error("more bits than dimensions")
	}
}
