package solve

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/testkit/methodtest"
)

func TestITQLossNeverRises(t *testing.T) {
	v := methodtest.NormalRows(2, 2500, 12)
	CentreRows(v)
	for _, bits := range []int{12, 20} { // as many columns as bits, and fewer
		r, loss, err := RotateToCorners(context.Background(), v, bits, 30, 5, 2)
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
