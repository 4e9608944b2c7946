package method

import (
	"context"
	"slices"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// The first bits part whole classes: the graph has no link between them.
func TestSTHFirstBitsPartClasses(t *testing.T) {
	x, class := methodtest.ClusterMatrix(1, 400, 12, 5)
	m := sth{Options: Options{Bits: 8, Threads: 2}, Neighbours: 10}
	src := vectors.WithLabels(x, methodtest.ClassNames(class))
	l := mustLabelled(t, src, -1)
	z, err := m.bits(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	for b := range 4 {
		side := map[int32]int8{}
		plus := 0
		for i, c := range class {
			if s, ok := side[c]; ok && s != z[b][i] {
				t.Fatalf("bit %d parts the rows of class %d", b, c)
			}
			side[c] = z[b][i]
			plus += int(z[b][i]+1) / 2
		}
		if plus < 80 || plus > 320 {
			t.Errorf("bit %d is set in %d of 400 rows", b, plus)
		}
	}
	for _, anchors := range []int{0, 40} {
		m.Anchors, m.Kernel = anchors, anchors > 0
		e, err := learnFrom(context.Background(), m, src)
		if err != nil {
			t.Fatal(err)
		}
		if _, mapped := e.(*model.Mapped); mapped != (anchors > 0) {
			t.Errorf("%d anchors left a %T", anchors, e)
		}
		codes := encode(e, x)
		wrong := 0
		for i := range x.Rows {
			for b := range 4 {
				if codes.Bit(i, b) != (z[b][i] > 0) {
					wrong++
				}
			}
		}
		if wrong > 4*400/50 {
			t.Errorf("%d anchors: %d of 1600 bits are not learned", anchors, wrong)
		}
	}
}

func TestAboveMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want []int8
	}{
		{[]float64{3, 1, 2, 4}, []int8{1, -1, -1, 1}},
		{[]float64{5, 5, 5, 1}, []int8{1, 1, 1, -1}},
		{[]float64{1, 1 + 1e-9, 1 - 1e-9, 2, 2 + 1e-9, 0}, []int8{-1, -1, -1, 1, 1, -1}},
		{[]float64{0, 0}, []int8{-1, -1}},
	} {
		if got := aboveMedian(c.v); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v instead of %v", c.v, got, c.want)
		}
	}
}
