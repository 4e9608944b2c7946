package linalg

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/vectors"
)

var background = context.Background()

// spectrum makes a symmetric matrix with the given eigenvalues and random eigenvectors.
func spectrum(seed uint64, values []float64) *mat.SymDense {
	n := len(values)
	q := RandomRotation(n, seed)
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s := 0.0
			for k, v := range values {
				s += v * q.At(k, i) * q.At(k, j)
			}
			a.SetSym(i, j, s)
		}
	}
	return a
}

// checkVectors checks A v = λ v and that the vectors are orthonormal.
func checkVectors(t *testing.T, a *mat.SymDense, values []float64, vectors *mat.Dense, tolerance float64) {
	t.Helper()
	k, n := vectors.Dims()
	var av, gram mat.Dense
	av.Mul(vectors, a)
	gram.Mul(vectors, vectors.T())
	for i := range k {
		for j := range n {
			if d := math.Abs(av.At(i, j) - values[i]*vectors.At(i, j)); d > tolerance {
				t.Fatalf("vector %d: A v and λ v differ by %g at %d", i, d, j)
			}
		}
		for j := range k {
			want := 0.0
			if i == j {
				want = 1
			}
			if math.Abs(gram.At(i, j)-want) > 1e-9 {
				t.Fatalf("vectors %d and %d have the product %g", i, j, gram.At(i, j))
			}
		}
		if top := slices.MaxFunc(vectors.RawRowView(i), func(x, y float64) int {
			return int(math.Copysign(1, math.Abs(x)-math.Abs(y)*(1+1e-12)))
		}); top <= 0 {
			t.Fatalf("vector %d is upside down", i)
		}
	}
}

func TestTopEigenvectors(t *testing.T) {
	slow := make([]float64, 260) // a spectrum without gaps, and with negative values
	for i := range slow {
		slow[i] = 10 / (1 + float64(i)/20)
		if i%3 == 2 {
			slow[i] = -slow[i] / 2
		}
	}
	twins := append([]float64{5, 5, 5, 4, 4}, make([]float64, 195)...) // several equal, and a null space
	for name, values := range map[string][]float64{"slow": slow, "twins": twins, "small": {3, 1, 2}, "one": {7}} {
		a := spectrum(3, values)
		want := slices.Sorted(slices.Values(values))
		slices.Reverse(want)
		for _, k := range []int{1, 3, 12} {
			if k > len(values) {
				continue
			}
			for _, block := range []int{0, 5} {
				e, err := TopEigenvectors(background, len(values), k, MatrixProduct(a, 2), TopOptions{Block: block, Seed: 4})
				if err != nil {
					t.Fatal(err)
				}
				checkVectors(t, a, e.Values, e.Vectors, 2e-7)
				if e.Residual > 1e-8 {
					t.Errorf("%s: residual %g", name, e.Residual)
				}
				for i, v := range e.Values {
					if math.Abs(v-want[i]) > 1e-9 {
						t.Errorf("%s: value %d of %d is %g, want %g", name, i, k, v, want[i])
					}
				}
			}
		}
	}
}

func TestTopIsTheSameForAnyThreads(t *testing.T) {
	values := make([]float64, 150)
	for i := range values {
		values[i] = 1 / float64(i+1)
	}
	a := spectrum(1, values)
	first, err := TopEigenvectors(background, 150, 7, MatrixProduct(a, 1), TopOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	second, err := TopEigenvectors(background, 150, 7, MatrixProduct(a, 3), TopOptions{Threads: 3})
	if err != nil || !mat.Equal(first.Vectors, second.Vectors) || !slices.Equal(first.Values, second.Values) {
		t.Errorf("threads change the vectors (%v)", err)
	}
}

func TestTopStops(t *testing.T) {
	a := spectrum(1, make([]float64, 100))
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(background)
	calls := 0
	_, err := TopEigenvectors(ctx, 100, 2, func(ctx context.Context, dst, v *mat.Dense) error {
		if calls++; calls == 3 {
			cancel(enough)
		}
		return MatrixProduct(a, 1)(ctx, dst, v)
	}, TopOptions{})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
	nan := func(_ context.Context, dst, v *mat.Dense) error {
		dst.Apply(func(int, int, float64) float64 { return math.NaN() }, dst)
		return nil
	}
	if _, err := TopEigenvectors(background, 100, 2, nan, TopOptions{}); err == nil {
		t.Error("a product that is no number gave eigenvectors")
	}
	if _, err := TopEigenvectors(background, 3, 4, nan, TopOptions{}); err == nil {
		t.Error("four eigenvectors of a matrix of three rows")
	}
}

// pieces is a source whose chunks have odd sizes and are spoiled when the next is asked for.
type pieces struct{ vectors.Matrix }

func (p pieces) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for lo, n := 0, 1; lo < p.Rows; n = n*3%700 + 1 {
			c := vectors.Chunk{First: lo, X: p.Slice(lo, min(lo+n, p.Rows))}
			c.X.Data = slices.Clone(c.X.Data)
			if !yield(c, nil) {
				return
			}
			clear(c.X.Data)
			lo += c.X.Rows
		}
	}
}

func randomMatrix(seed uint64, rows, cols int) vectors.Matrix {
	rng := rand.New(rand.NewPCG(seed, 2))
	x := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64()) + float32(i%cols)
	}
	return x
}

func TestCovariance(t *testing.T) {
	x := randomMatrix(1, 2500, 130)
	mean := make([]float32, 130)
	for j := range mean {
		mean[j] = float32(j) + 0.5
	}
	want := mat.NewSymDense(130, nil)
	for i := range 130 {
		for j := i; j < 130; j++ {
			s := 0.0
			for r := range x.Rows {
				s += float64(x.Row(r)[i]-mean[i]) * float64(x.Row(r)[j]-mean[j])
			}
			want.SetSym(i, j, s/float64(x.Rows))
		}
	}
	first, rows, err := Covariance(background, x, mean, 1)
	if err != nil || rows != x.Rows || !mat.EqualApprox(first, want, 1e-5) {
		t.Errorf("%d rows, %v", rows, err)
	}
	second, _, err := Covariance(background, pieces{x}, mean, 3)
	if err != nil || !mat.Equal(first, second) {
		t.Errorf("threads or chunks change the covariance (%v)", err)
	}
	v := mat.NewDense(3, 130, nil)
	for i := range 3 {
		for j := range 130 {
			v.Set(i, j, float64(i*j%11)-5)
		}
	}
	var product mat.Dense
	product.Mul(v, want)
	a, b := mat.NewDense(3, 130, nil), mat.NewDense(3, 130, nil)
	if err := CovarianceProduct(x, mean, x.Rows, 1)(background, a, v); err != nil || !mat.EqualApprox(a, &product, 1e-3) {
		t.Errorf("product differs (%v)", err)
	}
	if err := CovarianceProduct(pieces{x}, mean, x.Rows, 2)(background, b, v); err != nil || !mat.Equal(a, b) {
		t.Errorf("threads or chunks change the product (%v)", err)
	}
	if _, _, err := Covariance(background, vectors.Matrix{Cols: maxSide + 1}, nil, 1); err == nil {
		t.Error("a covariance of any size")
	}
}

// Centres of clear clusters are found: each is the mean of the rows that are nearest to it.
func TestKMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := vectors.Matrix{Rows: 600, Cols: 5, Data: make([]float32, 3000)}
	for i := range x.Data {
		x.Data[i] = float32(10*(i/5%4)*(i%5+1)) + rng.Float32()
	}
	c, err := KMeans(background, x, 4, 11, 1)
	if err != nil {
		t.Fatal(err)
	}
	sum, count := make([][5]float64, 4), make([]float64, 4)
	for i := range x.Rows {
		nearest, least := 0, math.Inf(1)
		for q := range c.Rows {
			d := 0.0
			for j, v := range x.Row(i) {
				d += float64(v-c.Row(q)[j]) * float64(v-c.Row(q)[j])
			}
			if d < least {
				nearest, least = q, d
			}
		}
		count[nearest]++
		for j, v := range x.Row(i) {
			sum[nearest][j] += float64(v)
		}
	}
	for q := range c.Rows {
		for j, v := range c.Row(q) {
			if math.Abs(float64(v)-sum[q][j]/count[q]) > 1e-3 {
				t.Errorf("centre %d is %v, and the mean of its %v rows is another", q, c.Row(q), count[q])
			}
		}
	}
	one, _ := KMeans(background, x, 9, 2, 1)
	if three, _ := KMeans(background, x, 9, 2, 3); !slices.Equal(one.Data, three.Data) {
		t.Error("threads change the centres")
	}
	same := vectors.Matrix{Rows: 10, Cols: 2, Data: make([]float32, 20)}
	if c, err := KMeans(background, same, 10, 0, 0); err != nil || !slices.Equal(c.Data, same.Data) {
		t.Errorf("equal rows: %v, %v", c.Data, err)
	}
	if _, err := KMeans(background, same, 11, 0, 0); err == nil {
		t.Error("more centres than rows")
	}
}
