package patch

import (
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/picture"
)

func TestPatchesAreNormalised(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := picture.Picture{Width: 13, Height: 9, Channels: 3, Pix: make([]uint8, 13*9*3)}
	for i := range p.Pix {
		p.Pix[i] = uint8(rng.IntN(256))
	}
	var w Windows
	for _, side := range []int{1, 4, 9} {
		w.Set(p, side, 10)
		dim := side * side * 3
		for y := range w.down {
			for x := range w.across {
				var v []float64
				for dy := range side {
					for i := range 3 * side {
						v = append(v, float64(p.Pix[(y+dy)*39+3*x+i]))
					}
				}
				mean, squares := 0.0, 0.0
				for _, a := range v {
					mean += a / float64(dim)
				}
				for _, a := range v {
					squares += (a - mean) * (a - mean)
				}
				got := make([]float32, 2*dim)
				w.Patch(got, 2, x, y)
				for k, a := range v {
					want := (a - mean) / math.Sqrt(squares/float64(dim-1)+10)
					if math.Abs(float64(got[2*k])-want) > 1e-5 || got[2*k+1] != 0 {
						t.Fatalf("side %d at (%d, %d): value %d is %v, want %v", side, x, y, k, got[2*k], want)
					}
				}
			}
		}
	}
}
