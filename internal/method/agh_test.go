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
func anchored(t *testing.T, m agh, x vectors.Matrix) (*model.Kernel, *shares) {
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
	}
}

// The second layer's thresholds halve the rows, as sums, and no other such pair cuts the graph less.
func TestAGHThresholds(t *testing.T) {
	x := methodtest.NormalRows(6, 250, 3)
	_, z := anchored(t, agh{Options: Options{Bits: 64, Anchors: 30, Seed: 1}, Nearest: 3}, x)
	dense, a := z.dense()
	w, _, err := z.eigenvectors(context.Background(), 5, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 5 {
		var y mat.VecDense
		y.MulVec(dense, mat.NewVecDense(z.cols, w.RawRowView(k)))
		above, below := z.thresholds(w.RawRowView(k))
		cut := func(above, below float64) (sum, cost float64) {
			h, ah := mat.NewVecDense(z.rows, nil), new(mat.VecDense)
			for i := range z.rows {
				if v := y.AtVec(i); v > 0 {
					h.SetVec(i, v-above)
				} else {
					h.SetVec(i, below-v)
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
		for i := range z.rows {
			if y.AtVec(i) > 0 {
				positive++
			}
		}
		for _, step := range []float64{-0.1, -0.01, 0.01, 0.1} { // others with n+ b+ - n- b- the same
			if _, other := cut(above+step, below+step*positive/(float64(z.rows)-positive)); other < cost-1e-9 {
				t.Errorf("vector %d: cost %g, and %g at %+g", k, cost, other, step)
			}
		}
	}
}

// Both layers encode what the equations say.
func TestAGHBits(t *testing.T) {
	x := methodtest.NormalRows(7, 400, 5)
	const bits = 7 // four vectors, and a second bit for three of them
	m := agh{Options: Options{Bits: bits, Anchors: 50, Seed: 3}, Layers: 2, Nearest: 3}
	e, err := learnFrom(context.Background(), m, x)
	if err != nil {
		t.Fatal(err)
	}
	m.Layers, m.Bits = 1, 4
	one, err := learnFrom(context.Background(), m, x)
	if err != nil {
		t.Fatal(err)
	}
	_, z := anchored(t, m, x)
	w, _, err := z.eigenvectors(context.Background(), 4, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	codes, first := encode(e, x), encode(one, x)
	ones := 0
	for i := range x.Rows {
		at, share := z.row(i)
		for k := range 4 {
			y := 0.0
			for a, q := range at {
				y += float64(share[a]) * w.At(k, int(q))
			}
			if math.Abs(y) < 1e-4 {
				continue
			}
			if codes.Bit(i, k) != (y > 0) || first.Bit(i, k) != (y > 0) {
				t.Fatalf("row %d bit %d: %v and %v for %g", i, k, codes.Bit(i, k), first.Bit(i, k), y)
			}
			if k == 3 {
				continue
			}
			above, below := z.thresholds(w.RawRowView(k))
			want := y > 0 && y > above || y <= 0 && y < below
			if math.Abs(y-above) > 1e-4 && math.Abs(y-below) > 1e-4 && codes.Bit(i, 4+k) != want {
				t.Fatalf("row %d bit %d: %v for %g between %g and %g", i, 4+k, codes.Bit(i, 4+k), y, below, above)
			}
			if want {
				ones++
			}
		}
	}
	if ones < 300 || ones > 900 {
		t.Errorf("%d of 1200 second bits are set", ones)
	}
	for _, m := range []agh{{Options: Options{Anchors: -1}}, {Options: Options{Anchors: maxAnchors + 1}},
		{Options: Options{Bits: 64, Anchors: 20}, Layers: 1}} {
		if _, err := learnFrom(context.Background(), m, x); err == nil {
			t.Errorf("%+v was not refused", m)
		}
	}
}
