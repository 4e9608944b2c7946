package method

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/vectors"
)

// denseS is the definition of r S_0 - Σ y y'.
func denseS(l *labelled, r float64, ys [][]float64) *mat.SymDense {
	s := mat.NewSymDense(l.Rows, nil)
	for i := range l.Rows {
		for j := i; j < l.Rows; j++ {
			v := r * float64(l.Y.At(i, j))
			if i == j {
				v = r
			}
			for _, y := range ys {
				v -= y[i] * y[j]
			}
			s.SetSym(i, j, v)
		}
	}
	return s
}

func mustLikeness(t *testing.T, l *labelled) *likeness {
	t.Helper()
	s, err := newLikeness(context.Background(), l.Y, 2)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustFit(t *testing.T, src vectors.Source, anchors, bits int) (*kshFit, *labelled) {
	t.Helper()
	ctx := context.Background()
	l := mustLabelled(t, src, -1)
	kernel, err := gaussianKernel(ctx, l.Source, l.Rows, 0, Options{Anchors: anchors, Seed: 1, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	k, err := readThrough(ctx, l.Source, l.Rows, 2, kernel)
	if err != nil {
		t.Fatal(err)
	}
	f, err := newKSHFit(ctx, features{K: k, Threads: 2}, mustLikeness(t, l), bits)
	if err != nil {
		t.Fatal(err)
	}
	return f, l
}

// The start of every bit must be the top generalised eigenvector that a dense solver finds, and the bit kept must be at
// least as good as its sign.
func TestKSHStartEqualsTheDenseEigenvector(t *testing.T) {
	ctx := context.Background()
	for name, src := range sources(150) {
		f, l := mustFit(t, src, 20, 8)
		n, m := f.K.Rows, f.K.Cols
		k := mat.NewDense(n, m, nil)
		for i, v := range f.K.Data {
			k.Set(i/m, i%m, float64(v))
		}
		lower := mat.NewTriDense(m, mat.Lower, nil)
		for i := range m {
			for j := range i + 1 {
				lower.SetTri(i, j, f.factor.Row(i)[j])
			}
		}
		for b := range 6 {
			var sk, ksk, half, whole mat.Dense
			s := denseS(l, 8, f.residue.y)
			sk.Mul(s, k)
			ksk.Mul(k.T(), &sk)
			if err := half.Solve(lower, &ksk); err != nil {
				t.Fatal(err)
			}
			if err := whole.Solve(lower, half.T()); err != nil {
				t.Fatal(err)
			}
			sym := mat.NewSymDense(m, nil)
			for i := range m {
				for j := i; j < m; j++ {
					sym.SetSym(i, j, (whole.At(i, j)+whole.At(j, i))/2)
				}
			}
			var e mat.EigenSym
			if !e.Factorize(sym, true) {
				t.Fatal("no eigenvectors")
			}
			top := e.Values(nil)[m-1]
			a, err := f.startVector(ctx, uint64(b))
			if err != nil {
				t.Fatal(err)
			}
			// a'K'SKa / a'(K'K + ridge)a, from L'a.
			var lt, ka, ska mat.VecDense
			av := mat.NewVecDense(m, a)
			lt.MulVec(lower.T(), av)
			ka.MulVec(k, av)
			ska.MulVec(s, &ka)
			if got := mat.Dot(&ka, &ska) / mat.Dot(&lt, &lt); math.Abs(got-top) > 1e-4*math.Abs(top) {
				t.Errorf("%s, bit %d: quotient %v, greatest eigenvalue %v", name, b, got, top)
			}
			if l := mat.Dot(&ka, &ka); math.Abs(l-float64(n)) > 1e-3*float64(n) {
				t.Errorf("%s, bit %d: |Ka|² is %v for %d rows", name, b, l, n)
			}
			signs := func(v mat.Vector) float64 {
				y := mat.NewVecDense(n, nil)
				for i := range n {
					y.SetVec(i, 1)
					if v.AtVec(i) < 0 {
						y.SetVec(i, -1)
					}
				}
				return mat.Inner(y, s, y)
			}
			spectral := signs(&ka)
			if _, err := f.nextBit(ctx, 500, uint64(b)); err != nil {
				t.Fatal(err)
			}
			if kept := signs(mat.NewVecDense(n, f.residue.y[b])); kept < spectral {
				t.Errorf("%s, bit %d: y'Sy fell from %v to %v", name, b, spectral, kept)
			}
		}
	}
}
