package solve

import (
	"context"
	"math"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/testkit/methodtest"
)

// The components of wide vectors, from products, capture the variance that a dense solver says is there.
func TestPrincipalComponents(t *testing.T) {
	ctx := context.Background()
	for _, d := range []int{40, SmallSide + 60} {
		x := methodtest.NormalRows(1, 400, d)
		front, values, err := PrincipalComponents(ctx, x, 9, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := linalg.Covariance(ctx, x, front.Mean, 1)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := linalg.AllEigenvectors(c)
		if err != nil {
			t.Fatal(err)
		}
		y, err := model.Transform(ctx, 1, x, front)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 9 {
			variance, product := 0.0, 0.0
			for i := range y.Rows {
				variance += float64(y.Row(i)[k]) * float64(y.Row(i)[k]) / float64(y.Rows)
				product += float64(y.Row(i)[k]) * float64(y.Row(i)[(k+1)%9]) / float64(y.Rows)
			}
			if math.Abs(variance/want[k]-1) > 1e-3 || math.Abs(values[k]/want[k]-1) > 1e-3 {
				t.Errorf("%d dimensions: component %d has variance %g, is said to have %g, want %g", d, k, variance, values[k],
					want[k])
			}
			if math.Abs(product) > 1e-3*want[0] {
				t.Errorf("%d dimensions: components %d and %d have covariance %g", d, k, (k+1)%9, product)
			}
		}
	}
}
