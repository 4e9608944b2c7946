package method

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// splhByDefinition is the state of SPLH with dense matrices.
type splhByDefinition struct {
	x, xl, s  *mat.Dense
	eta, step float64
}

func (f *splhByDefinition) m() *mat.SymDense {
	n, d := f.x.Dims()
	labelled, _ := f.xl.Dims()
	var cov, sx, labels mat.Dense
	cov.Mul(f.x.T(), f.x)
	sx.Mul(f.s, f.xl)
	labels.Mul(f.xl.T(), &sx)
	m := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			m.SetSym(i, j, cov.At(i, j)/float64(n)+f.eta*labels.At(i, j)/float64(labelled))
		}
	}
	return m
}

// take takes a projection into X and S.
func (f *splhByDefinition) take(w *mat.VecDense) {
	var xw, p mat.VecDense
	var off mat.Dense
	xw.MulVec(f.x, w)
	off.Outer(1, &xw, w)
	f.x.Sub(f.x, &off)
	p.MulVec(f.xl, w)
	n := p.Len()
	square := mat.Dot(&p, &p) / float64(n)
	for i := range n {
		for j := range n {
			if d := p.AtVec(i) * p.AtVec(j) / square; f.s.At(i, j)*d < 0 {
				f.s.Set(i, j, f.s.At(i, j)-f.step*d)
			}
		}
	}
}

func denseOf(x vectors.Matrix) *mat.Dense {
	m := mat.NewDense(x.Rows, x.Cols, nil)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			m.Set(i, j, float64(v))
		}
	}
	return m
}

func TestSPLHAgainstDense(t *testing.T) {
	const n, d, labelled = 90, 14, 40
	x := methodtest.RandomRows(8, n, d)
	centreRows(x)
	class := make([]int32, labelled)
	for i := range class {
		class[i] = int32(i % 3)
		if x.Row(i)[0]+x.Row(i)[1] > 0 {
			class[i] = 3
		}
	}
	y, _ := affinity.ByClass(class)
	for _, formed := range []bool{true, false} {
		f := &splhFit{eta: 0.2, step: 0.7, threads: 2}
		if f.x = x; formed {
			if err := f.setUnlabelled(context.Background(), x, 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.setLabelled(context.Background(), x.Slice(0, labelled), y); err != nil {
			t.Fatal(err)
		}
		want := &splhByDefinition{x: denseOf(x), xl: denseOf(x.Slice(0, labelled)), s: denseOf(f.s), eta: 0.2, step: 0.7}
		if want.s.At(0, 0) != 0 || want.s.At(0, 1)*want.s.At(0, 1) != 1 {
			t.Fatal("S has other values than 0, 1 and -1")
		}
		changed := 0.0
		for bit := range 8 {
			m := want.m()
			values, vectors, err := linalg.AllEigenvectors(m)
			if err != nil {
				t.Fatal(err)
			}
			w, err := f.nextBit(context.Background(), uint64(bit))
			if err != nil {
				t.Fatal(err)
			}
			// The greatest value, and where it stands apart the same vector.
			v := mat.NewVecDense(d, w)
			if got := mat.Inner(v, m, v); math.Abs(got-values[0]) > 1e-4*values[0] {
				t.Fatalf("formed %v, bit %d: w'Mw is %v, the greatest eigenvalue %v", formed, bit, got, values[0])
			}
			if same := math.Abs(linalg.Dot(w, vectors.RawRowView(0))); values[0]-values[1] > 0.1*values[0] && same < 0.999 {
				t.Errorf("formed %v, bit %d: w has the cosine %v with the eigenvector", formed, bit, same)
			}
			want.take(v)
			for i := range labelled {
				for j, s := range f.s.Row(i) {
					if math.Abs(float64(s)-want.s.At(i, j)) > 1e-3*(1+math.Abs(float64(s))) {
						t.Fatalf("formed %v, bit %d: S_%d,%d is %v instead of %v", formed, bit, i, j, s, want.s.At(i, j))
					}
					changed = max(changed, math.Abs(math.Abs(float64(s))-1))
				}
			}
		}
		if changed < 1.5 {
			t.Error("S never changed")
		}
	}
}
