package method

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/numeric/linalg"
)

// TestDoubtIsToldOnce: a solver that gives up for every bit is worth one sentence, and none where nobody listens.
func TestDoubtIsToldOnce(t *testing.T) {
	var told []string
	ctx := Options{Doubt: func(text string) { told = append(told, text) }}.watched(t.Context())
	for _, c := range []struct {
		products int
		want     int
	}{{1_000_000, 0}, {40, 1}, {40, 1}} {
		const n = 300
		times := linalg.MatrixProduct(closeTogether(n), 1)
		if _, err := linalg.TopEigenvectors(ctx, n, 2, times, linalg.TopOptions{Products: c.products}); err != nil {
			t.Fatal(err)
		}
		if len(told) != c.want {
			t.Errorf("%d products: told %q", c.products, told)
		}
	}
	if (Options{}).watched(t.Context()) != t.Context() {
		t.Error("nobody listens, and the context is another one")
	}
}

// closeTogether is a matrix whose eigenvalues, 1 down to 0.999, few products cannot part.
func closeTogether(n int) *mat.SymDense {
	a := mat.NewSymDense(n, nil)
	for i := range n {
		a.SetSym(i, i, 1-1e-3*float64(i)/float64(n))
	}
	return a
}
