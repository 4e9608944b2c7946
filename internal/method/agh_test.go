package method

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/model"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// anchored trains the parts of AGH on rows that hang together.
func anchored(t *testing.T, m agh, x vectors.Matrix) (*model.Gaussian, *shares) {
	t.Helper()
	g, err := m.graph(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	z, err := sharesOf(context.Background(), model.Through(x, 1, g), g.Nearest)
	if err != nil {
		t.Fatal(err)
	}
	return g, z
}

// dense is Z, and A = Z Λ^-1 Z'.
func (z *shares) dense() (dense, a *mat.Dense) {
	dense = mat.NewDense(z.rows, z.cols, nil)
	for i := range z.rows {
		at, share := z.row(i)
		for k, q := range at {
			dense.Set(i, int(q), dense.At(i, int(q))+float64(share[k]))
		}
	}
	scaled := mat.DenseCopyOf(dense)
	degree := z.degrees()
	scaled.Apply(func(_, q int, v float64) float64 {
		if degree[q] == 0 {
			return 0
		}
		return v / degree[q]
	}, scaled)
	a = new(mat.Dense)
	a.Mul(scaled, dense.T())
	return dense, a
}

func TestAnchorGraphEquations(t *testing.T) {
	x := methodtest.NormalRows(5, 300, 4)
	_, z := anchored(t, agh{Options: Options{Bits: 64, Anchors: 40, Seed: 1}, Nearest: 4}, x)
	dense, a := z.dense()
	for i := range z.rows {
		sum, count := 0.0, 0
		for _, v := range dense.RawRowView(i) {
			sum += v
			if v > 0 {
				count++
			}
		}
		if math.Abs(sum-1) > 1e-6 || count > 4 {
			t.Fatalf("row %d of Z has %d values that sum to %g", i, count, sum)
		}
	}
	w, sigma, err := z.eigenvectors(context.Background(), 9, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var y, ay mat.Dense
	y.Mul(w, dense.T())
	ay.Mul(&y, a.T())
	for k, s := range sigma {
		if s >= mostSigma || k > 0 && s > sigma[k-1] {
			t.Errorf("eigenvalues %v", sigma)
		}
		square, sum := 0.0, 0.0
		for i := range z.rows {
			if d := math.Abs(ay.At(k, i) - s*y.At(k, i)); d > 1e-5 {
				t.Fatalf("vector %d: A y and σ y differ by %g", k, d)
			}
			square += y.At(k, i) * y.At(k, i)
			sum += y.At(k, i)
		}
		if math.Abs(square/float64(z.rows)-1) > 1e-5 || math.Abs(sum) > 1e-3 {
			t.Errorf("vector %d: sum of squares %g of %d rows, sum %g", k, square, z.rows, sum)
		}
		checkThresholds(t, z, a, k, w.RawRowView(k), y.RawRowView(k))
	}
}

// checkThresholds: the second layer's thresholds halve the rows, as sums, and no other such pair cuts the graph less.
func checkThresholds(t *testing.T, z *shares, a *mat.Dense, k int, w, y []float64) {
	t.Helper()
	above, below := z.thresholds(w)
	cut := func(above, below float64) (sum, cost float64) {
		h, ah := mat.NewVecDense(z.rows, nil), new(mat.VecDense)
		for i, v := range y {
			if h.SetVec(i, below-v); v > 0 {
				h.SetVec(i, v-above)
			}
			sum += h.AtVec(i)
		}
		ah.MulVec(a, h)
		return sum, mat.Dot(h, h) - mat.Dot(h, ah)
	}
	sum, cost := cut(above, below)
	if math.Abs(sum) > 1e-3 {
		t.Errorf("vector %d: the sides are off by %g", k, sum)
	}
	positive := 0.0
	for _, v := range y {
		if v > 0 {
			positive++
		}
	}
	for _, step := range []float64{-0.1, 0.1} { // others with n+ b+ - n- b- the same
		if _, other := cut(above+step, below+step*positive/(float64(z.rows)-positive)); other < cost-1e-9 {
			t.Errorf("vector %d: cost %g, and %g at %+g", k, cost, other, step)
		}
	}
}
