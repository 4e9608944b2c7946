package method

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/testkit/methodtest"
)

// The functions solve L g = λ P D g with the matrices as they are written, and the λ are those of a dense solver that
// knows nothing of symmetry.
func TestEigenfunctionsAgainstDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	v := make([]float32, 2000)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	const sigma = 0.5
	list, err := eigenfunctions(slices.Clone(v), sigma)
	if err != nil || len(list) != mdshBins-1 {
		t.Fatalf("%d functions, %v", len(list), err)
	}
	centre := list[0].curve.X
	n := len(centre)
	step := float64(centre[1] - centre[0])
	p := mat.NewDense(n, n, nil)
	for _, x := range v {
		b := min(max(int(math.Floor((float64(x)-float64(centre[0]))/step+0.5)), 0), n-1)
		p.Set(b, b, p.At(b, b)+1/float64(len(v)))
	}
	for b := range n {
		p.Set(b, b, (p.At(b, b)+0.1)/(1+0.1*float64(n)))
	}
	w, d, l := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	w.Apply(func(a, b int, _ float64) float64 {
		return math.Exp(-math.Pow(float64(centre[a])-float64(centre[b]), 2) / (2 * sigma * sigma))
	}, w)
	var pw, pwp, pd mat.Dense
	pw.Mul(p, w)
	pwp.Mul(&pw, p)
	for a := range n {
		for b := range n {
			d.Set(a, a, d.At(a, a)+pw.At(b, a))
			l.Set(a, a, l.At(a, a)+pwp.At(b, a))
		}
	}
	l.Sub(l, &pwp)
	pd.Mul(p, d)
	var inverse, m mat.Dense
	if err := inverse.Inverse(&pd); err != nil {
		t.Fatal(err)
	}
	m.Mul(&inverse, l)
	var eigen mat.Eigen
	if !eigen.Factorize(&m, mat.EigenNone) {
		t.Fatal("no eigenvalues")
	}
	var want []float64
	for _, v := range eigen.Values(nil) {
		want = append(want, real(v))
	}
	slices.Sort(want)
	if math.Abs(want[0]) > 1e-9 {
		t.Errorf("the constant function has λ = %g", want[0])
	}
	for k, g := range list {
		// A few rows fall on the border of a bin, where both ways to count them are right.
		if math.Abs(g.lambda-want[k+1]) > 1e-4 {
			t.Errorf("λ of function %d is %g, want %g", k, g.lambda, want[k+1])
		}
		if k > 8 {
			continue
		}
		y := mat.NewVecDense(n, nil)
		for b, v := range g.curve.Y {
			y.SetVec(b, float64(v))
		}
		var left, right mat.VecDense
		left.MulVec(l, y)
		right.MulVec(&pd, y)
		for b := range n {
			if off := math.Abs(left.AtVec(b) - g.lambda*right.AtVec(b)); off > 1e-4*mat.Norm(&right, 2) {
				t.Fatalf("function %d: L g and λ P D g differ by %g", k, off)
			}
		}
	}
	for name, v := range map[string][]float32{"equal": make([]float32, 500), "few": v[:20]} {
		if list, err := eigenfunctions(slices.Clone(v), sigma); list != nil || err != nil {
			t.Errorf("%s values: %d functions, %v", name, len(list), err)
		}
	}
	if list, err := eigenfunctions(slices.Clone(v), 0.001); list != nil || err != nil {
		t.Errorf("a range too wide for the bins: %d functions, %v", len(list), err)
	}
}

// Every bit is set in the share of the rows that its cut leaves, with enough functions and with too few for one cut each.
func TestMDSHBits(t *testing.T) {
	x := methodtest.NormalRows(9, 1500, 6)
	for _, m := range []mdsh{{Options: Options{Bits: 10}, Sigma: 0.6}, {Options: Options{Bits: 50}, Sigma: 1.5}} {
		e, bits, err := m.fit(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		codes := encode(e, x)
		for k, b := range bits {
			if k > 0 && b.cut == bits[k-1].cut && b.weight > bits[k-1].weight || b.weight > 1 || b.weight < mdshLeast {
				t.Errorf("weights of %+v", bits)
			}
			ones := 0.0
			for i := range x.Rows {
				if codes.Bit(i, k) {
					ones++
				}
			}
			if share := ones / float64(x.Rows); math.Abs(share-(1-b.cut)) > 0.01 {
				t.Errorf("bit %d is set in %g of the rows, cut at %g", k, share, b.cut)
			}
		}
		if last := bits[len(bits)-1].cut; (last != 0.5) != (m.Bits == 50) {
			t.Errorf("%d bits, the last cut at %g", m.Bits, last)
		}
	}
}

func TestMDSHCuts(t *testing.T) {
	all := []mdshBit{{dim: 0, weight: 1}, {dim: 1, weight: 0.5}, {dim: 2, weight: 0.05}}
	if got := cuts(all, 2); len(got) != 2 || got[1].dim != 1 || got[1].cut != 0.5 {
		t.Errorf("%+v", got)
	}
	var list []float64
	for k, b := range cuts(all, 11) {
		if b.dim != k%2 {
			t.Errorf("bit %d is of dimension %d", k, b.dim)
		}
		list = append(list, b.cut)
	}
	third, quarter := 1.0/3, 0.25
	if want := []float64{0.5, 0.5, third, third, 2 * third, 2 * third, quarter, quarter, 0.75, 0.75,
		0.2}; !slices.Equal(list, want) {
		t.Errorf("cuts %v, want %v", list, want)
	}
}
