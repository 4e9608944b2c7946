package method

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// correlationsByDefinition solves Cxy Cyy^-1 Cyx w = ρ² Cxx w with dense matrices in double precision, and returns ρ.
func correlationsByDefinition(t *testing.T, x vectors.Matrix, y targets, lambda, mu float64) []float64 {
	t.Helper()
	n, d, c := x.Rows, x.Cols, y.Classes
	xs, ys := mat.NewDense(n, d, nil), mat.NewDense(n, c, nil)
	for i := range n {
		for j, v := range x.Row(i) {
			xs.Set(i, j, float64(v))
		}
		for _, k := range y.Row(i) {
			ys.Set(i, int(k), 1)
		}
	}
	for _, m := range []*mat.Dense{xs, ys} {
		rows, cols := m.Dims()
		for j := range cols {
			mean := 0.0
			for i := range rows {
				mean += m.At(i, j) / float64(rows)
			}
			for i := range rows {
				m.Set(i, j, m.At(i, j)-mean)
			}
		}
	}
	cov := func(a, b *mat.Dense, ridge float64) *mat.Dense {
		var m mat.Dense
		m.Mul(a.T(), b)
		m.Scale(1/float64(n-1), &m)
		for i := 0; ridge > 0 && i < m.RawMatrix().Rows; i++ {
			m.Set(i, i, m.At(i, i)+ridge)
		}
		return &m
	}
	var a, b, m mat.Dense
	if err := a.Solve(cov(xs, xs, lambda), cov(xs, ys, 0)); err != nil {
		t.Fatal(err)
	}
	if err := b.Solve(cov(ys, ys, mu), cov(ys, xs, 0)); err != nil {
		t.Fatal(err)
	}
	m.Mul(&b, &a) // c x c, not symmetric, with the values ρ²
	var e mat.Eigen
	if !e.Factorize(&m, mat.EigenNone) {
		t.Fatal("no eigenvalues")
	}
	var rho []float64
	for _, v := range e.Values(nil) {
		rho = append(rho, math.Sqrt(max(real(v), 0)))
	}
	slices.SortFunc(rho, func(a, b float64) int { return cmp.Compare(b, a) })
	return rho
}

// randomTargets draws a class, or some tags, for each row, which the first columns of x tell roughly.
func randomTargets(seed uint64, x vectors.Matrix, classes int, several bool) targets {
	rng := rand.New(rand.NewPCG(seed, 6))
	y := targets{Classes: classes, Start: []int{0}, Several: several}
	for i := range x.Rows {
		for k := range classes {
			if several && float64(x.Row(i)[k])+rng.NormFloat64() > 1 {
				y.Of = append(y.Of, int32(k))
			}
		}
		if !several {
			best := 0
			for k := range classes {
				if x.Row(i)[k] > x.Row(i)[best] {
					best = k
				}
			}
			if rng.IntN(4) == 0 {
				best = rng.IntN(classes)
			}
			y.Of = append(y.Of, int32(best))
		}
		y.Start = append(y.Start, len(y.Of))
	}
	return y
}

func TestCorrelationsAreThoseOfADenseSolve(t *testing.T) {
	for _, c := range []struct {
		name                string
		rows, cols, classes int
		several             bool
		lambda, mu          float64
	}{
		{"tags", 400, 30, 6, true, 1e-4, 1},
		{"more columns than rows", 60, 90, 4, false, 0.1, 1e-4},
	} {
		x := methodtest.RandomRows(3, c.rows, c.cols)
		mean := centreRows(x)
		if len(mean) != c.cols {
			t.Fatal("wrong mean")
		}
		y := randomTargets(4, x, c.classes, c.several)
		want := correlationsByDefinition(t, x, y, c.lambda, c.mu)
		w, rho, err := ccaITQ{Options: Options{Bits: 64, Threads: 2}, Ridge: c.lambda,
			TargetRidge: c.mu}.correlations(context.Background(), x,
			y)
		if err != nil {
			t.Fatal(err)
		}
		if len(rho) != min(c.classes, c.cols) {
			t.Fatalf("%s: %d correlations", c.name, len(rho))
		}
		for k, r := range rho {
			// ρ² near 0 is lost in single precision; nothing depends on it.
			if math.Abs(r*r-want[k]*want[k]) > 2e-4 {
				t.Errorf("%s: correlation %d is %.5f, by definition %.5f", c.name, k, r, want[k])
			}
		}
		// The directions are wρ with w'(Cxx)w = 1, and uncorrelated.
		k, _ := w.Dims()
		for a := range k {
			for b := range k {
				sum := 0.0
				for j := range c.cols {
					sum += c.lambda * w.At(a, j) * w.At(b, j)
				}
				for i := range x.Rows {
					var s, u float64
					for j, v := range x.Row(i) {
						s += w.At(a, j) * float64(v)
						u += w.At(b, j) * float64(v)
					}
					sum += s * u / float64(x.Rows-1)
				}
				expect := 0.0
				if a == b {
					expect = rho[a] * rho[a]
				}
				if math.Abs(sum-expect) > 5e-4 {
					t.Errorf("%s: directions %d and %d have the covariance %.5f instead of %.5f", c.name, a, b, sum, expect)
				}
			}
		}
	}
}
