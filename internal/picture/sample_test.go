package picture

import (
	"context"
	"testing"

	"hashgrove/internal/vectors"
)

// TestSample: a sample of all is all in order, a smaller one is drawn without repetition and is the same for one seed.
func TestSample(t *testing.T) {
	x := vectors.Matrix{Rows: 200, Cols: 1, Data: make([]float32, 200)}
	for i := range x.Data {
		x.Data[i] = float32(i)
	}
	src := FromVectors(x, Shape{Width: 1, Height: 1, Channels: 1})
	all, err := Sample(context.Background(), src, 200, 1)
	if err != nil || len(all) != 200 || all[7].Pix[0] != 7 {
		t.Fatalf("%d pictures, %v", len(all), err)
	}
	some, err := Sample(context.Background(), src, 50, 1)
	if err != nil || len(some) != 50 {
		t.Fatalf("%d pictures, %v", len(some), err)
	}
	again, _ := Sample(context.Background(), src, 50, 1)
	seen, late := map[uint8]bool{}, 0
	for i, p := range some {
		if seen[p.Pix[0]] || again[i].Pix[0] != p.Pix[0] {
			t.Errorf("picture %d is repeated, or the second sample differs", p.Pix[0])
		}
		seen[p.Pix[0]] = true
		if p.Pix[0] >= 100 {
			late++
		}
	}
	if late < 10 || late > 40 {
		t.Errorf("%d of 50 pictures are of the second half", late)
	}
}
