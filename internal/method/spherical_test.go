package method

import (
	"context"
	"math"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/testkit/methodtest"
)

// Every sphere holds half of the rows and every two about a quarter.
func TestSphericalTargets(t *testing.T) {
	const n, r = 1000, 12
	x := methodtest.NormalRows(8, n, 10)
	e, err := learnFrom(context.Background(), spherical{Options{Bits: r, Seed: 2}}, x)
	if err != nil {
		t.Fatal(err)
	}
	codes := encode(e, x)
	kernel := e.(*model.Mapped).Maps[0].(*model.Gaussian)
	radius := e.(*model.Mapped).Encoder.(*model.Projection).Threshold
	for k := range r {
		inside := 0
		for i := range n {
			if codes.Bit(i, k) {
				inside++
			}
			d := 0.0
			for j, v := range x.Row(i) {
				d += (float64(v) - float64(kernel.Anchors.Row(k)[j])) * (float64(v) - float64(kernel.Anchors.Row(k)[j]))
			}
			if off := d + float64(radius[k]); math.Abs(off) > 1e-4 && codes.Bit(i, k) != (off < 0) {
				t.Fatalf("row %d is %g outside of sphere %d, and its bit is %v", i, off, k, codes.Bit(i, k))
			}
		}
		if inside != n/2 {
			t.Errorf("sphere %d holds %d of %d rows", k, inside, n)
		}
	}
	var list []float64
	for i := range r {
		for j := i + 1; j < r; j++ {
			both := 0
			for row := range n {
				if codes.Bit(row, i) && codes.Bit(row, j) {
					both++
				}
			}
			list = append(list, float64(both)/(n/4))
		}
	}
	mean, off, square := 0.0, 0.0, 0.0
	for _, o := range list {
		mean, off, square = mean+o/float64(len(list)), off+math.Abs(o-1)/float64(len(list)), square+o*o/float64(len(list))
	}
	if spread := math.Sqrt(square - mean*mean); off > overlapMean || spread > overlapSpread {
		t.Errorf("overlaps are off by %g on average and spread by %g", off, spread)
	}
}
