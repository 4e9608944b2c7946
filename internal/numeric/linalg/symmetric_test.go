package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestProductsAreTheirDefinitions holds the kernels to the order of sums that models depend on.
func TestProductsAreTheirDefinitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for n := range 70 {
		a, b := make([]float64, n), make([]float64, n)
		a32, b32 := make([]float32, n), make([]float32, n)
		for i := range a {
			a[i], b[i] = rng.NormFloat64(), rng.NormFloat64()
			a32[i], b32[i] = float32(a[i]), float32(b[i])
		}
		if got, want := Dot(a, b), dot(a, b); got != want {
			t.Fatalf("a product of %d values is %v, want %v", n, got, want)
		}
		if got, want := Dot32(a32, b32), dot(double(a32), double(b32)); got != want {
			t.Fatalf("a product of %d float32 is %v, want %v", n, got, want)
		}
		sum, sum32 := append([]float64(nil), b...), append([]float32(nil), b32...)
		Axpy(1.0/3, a, sum)
		Axpy32(1.0/3, a32, sum32)
		axpy(1.0/3, a, b)
		axpy(1.0/3, a32, b32)
		for i := range sum {
			if sum[i] != b[i] || sum32[i] != b32[i] {
				t.Fatalf("sum %d of %d is %v and %v, want %v and %v", i, n, sum[i], sum32[i], b[i], b32[i])
			}
		}
	}
}

func double(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// randomSymmetric returns a matrix of the given rank with eigenvalues of both signs and of many sizes, times a factor.
func randomSymmetric(rng *rand.Rand, n, rank int, factor float64) *mat.SymDense {
	a := mat.NewSymDense(n, nil)
	for k := range rank {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		a.SymRankOne(a, factor*math.Pow(-0.7, float64(k%40)), mat.NewVecDense(n, v))
	}
	return a
}

func TestAllEigenvectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct {
		n, rank int
		factor  float64
	}{
		{1, 1, 1}, {2, 2, 1}, {3, 3, 1e200}, {3, 0, 1}, {5, 5, 1e-120}, {17, 4, 1}, {40, 40, 3}, {130, 130, 1}, {130, 7, 1e-9},
	} {
		a := randomSymmetric(rng, c.n, c.rank, c.factor)
		checkEigen(t, a)
	}
	apart := mat.NewSymDense(12, nil) // blocks that have nothing to do with each other, and equal values
	for i := range 12 {
		apart.SetSym(i, i, float64(i/4))
		apart.SetSym(i, i^1, 0.5)
	}
	checkEigen(t, apart)
	bad := mat.NewSymDense(3, nil)
	bad.SetSym(0, 2, math.NaN())
	if _, _, err := AllEigenvectors(bad); err == nil {
		t.Error("a matrix that is not finite has eigenvectors")
	}
}

// checkEigen compares eigenvalues with gonum's, and the vectors with what they must be.
func checkEigen(t *testing.T, a *mat.SymDense) {
	t.Helper()
	n := a.SymmetricDim()
	values, v, err := AllEigenvectors(a)
	if err != nil {
		t.Fatal(err)
	}
	var e mat.EigenSym
	if !e.Factorize(a, false) {
		t.Fatal("gonum has no eigenvalues")
	}
	size := max(math.Abs(values[0]), math.Abs(values[n-1]), math.SmallestNonzeroFloat64)
	for k, want := range e.Values(nil) {
		if got := values[n-1-k]; math.Abs(got-want) > 1e-13*float64(n)*size {
			t.Errorf("n = %d: eigenvalue %d is %v, want %v", n, k, got, want)
		}
	}
	checkOrthogonal(t, v)
	for k := range n {
		row := v.RawRowView(k)
		av := make([]float64, n)
		mat.NewVecDense(n, av).MulVec(a, mat.NewVecDense(n, row))
		for i := range av {
			if math.Abs(av[i]-values[k]*row[i]) > 1e-13*float64(n)*size {
				t.Fatalf("n = %d: A v is not λ v for λ = %v: %v and %v", n, values[k], av[i], values[k]*row[i])
			}
		}
	}
}

// checkOrthogonal checks that rows are orthogonal and of length 1.
func checkOrthogonal(t *testing.T, v *mat.Dense) {
	t.Helper()
	n, _ := v.Dims()
	for i := range n {
		for j := range i + 1 {
			want := 0.0
			if i == j {
				want = 1
			}
			if got := Dot(v.RawRowView(i), v.RawRowView(j)); math.Abs(got-want) > 1e-13*float64(n) {
				t.Fatalf("n = %d: rows %d and %d have the product %v", n, i, j, got)
			}
		}
	}
}

func TestPolarFactor(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, c := range []struct {
		n, rank int
		factor  float64
	}{{1, 1, -2}, {2, 2, 1}, {5, 0, 1}, {9, 9, 1e250}, {16, 16, 1e-250}, {16, 5, 1}, {48, 48, 1}, {48, 20, 1}} {
		a := mat.NewDense(c.n, c.n, nil)
		for i := range c.rank { // the others stay zero, as ITQ leaves them
			for j := range c.n {
				a.Set(i, j, c.factor*rng.NormFloat64()*math.Pow(0.5, float64(i)))
			}
		}
		r, err := PolarFactor(a)
		if err != nil {
			t.Fatal(err)
		}
		checkOrthogonal(t, r)
		var s mat.SVD
		if !s.Factorize(a, mat.SVDNone) {
			t.Fatal("gonum has no singular values")
		}
		trace, want := 0.0, 0.0
		for i := range c.n {
			trace += Dot(r.RawRowView(i), a.RawRowView(i))
		}
		for _, v := range s.Values(nil) {
			want += v
		}
		if math.Abs(trace-want) > 1e-12*want {
			t.Errorf("n = %d: trace(R'A) is %v, and %v can be had", c.n, trace, want)
		}
	}
	if _, err := PolarFactor(mat.NewDense(2, 2, []float64{1, 2, math.Inf(1), 4})); err == nil {
		t.Error("a matrix that is not finite has a rotation")
	}
}
