package method

import (
	"context"
	"math"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/testkit/methodtest"
)

// What a trainer makes of reduced rows goes behind the map.
func TestReduce(t *testing.T) {
	x, _ := methodtest.ClusterMatrix(1, 300, 20, 4)
	front, y, err := Reduce(context.Background(), x, 6, 0, 0)
	if err != nil || y.Dim() != 6 {
		t.Fatal(err)
	}
	inner := train(t, lsh{Options{Bits: 8, Seed: 2}}, y)
	outer, err := learnFrom(context.Background(), pca{dims: 6, then: encoderOnly{lsh{Options{Bits: 8, Seed: 2}}}}, x)
	if err != nil {
		t.Fatal(err)
	}
	if outer.Fingerprint(8) != model.Compose(inner, front).Fingerprint(8) {
		t.Error("the wrapper and its parts differ")
	}
}

// Rows that span fewer dimensions leave components that are nothing but rounding.
func TestReduceLeavesNoRounding(t *testing.T) {
	for _, cols := range []int{40, smallSide + 8} { // C formed, C multiplied with
		x := methodtest.NormalRows(5, 20, cols)
		_, y, err := Reduce(context.Background(), x, 30, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := readRows(context.Background(), y, x.Rows)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows.Rows {
			for j, v := range rows.Row(i) {
				if (j < x.Rows-1) != (v != 0) { // the mean takes one of 20 dimensions
					t.Fatalf("%d columns: row %d has %v in component %d", cols, i, v, j)
				}
			}
		}
	}
}

// The hyperplanes over x are the rotated components.
func TestITQEncodesTheRotation(t *testing.T) {
	x := methodtest.NormalRows(3, 500, 10)
	m := pcaITQ{Options{Bits: 7, Seed: 4}}
	e := train(t, m, x)
	front, _, err := principalComponents(context.Background(), x, 7, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := model.Transform(context.Background(), 1, x, front)
	r, err := rotateToCorners(context.Background(), v, itqSteps, m.Options)
	if err != nil {
		t.Fatal(err)
	}
	codes := encode(e, x)
	for i := range x.Rows {
		for b := range 7 {
			y := 0.0
			for k, s := range v.Row(i) {
				y += float64(s) * r.At(k, b)
			}
			if math.Abs(y) > 1e-4 && codes.Bit(i, b) != (y > 0) {
				t.Fatalf("row %d bit %d: %v for %g", i, b, codes.Bit(i, b), y)
			}
		}
	}
}
