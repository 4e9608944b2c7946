package solve

import (
	"context"
	"math"
	"testing"

	"hashgrove/internal/testkit/methodtest"
)

func TestMeanDistance(t *testing.T) {
	ctx := context.Background()
	x, _ := methodtest.ClusterMatrix(1, 90, 5, 3)
	a := x.Slice(10, 30)
	want := 0.0
	for i := range x.Rows {
		for q := range a.Rows {
			for j, v := range x.Row(i) {
				d := float64(v) - float64(a.Row(q)[j])
				want += d * d / float64(x.Rows*a.Rows)
			}
		}
	}
	got, err := meanDistance(ctx, x, a)
	if err != nil || math.Abs(got-want) > 1e-9*want {
		t.Errorf("mean squared distance %v, want %v, error %v", got, want, err)
	}
}
