package codebook

import (
	"fmt"
	"math"

	"hashgrove/internal/picture"
)

// A patch is a square of pixels as a vector of its values, row by row, the channels of a pixel side by side. It is
// normalised to mean 0 and about variance 1,
//
//	x = (v - mean) / sqrt(var + contrast),
//
// where the contrast (10 on the scale 0 to 255) keeps flat patches flat. The sums behind mean and var are integers,
// hence exact in any order; var divides by one less than the number of values.

// normal returns the mean and the factor of a patch from the sums of its n values and of their squares.
func normal(sum, squares, n int) (mean, factor float32) {
	variance := float64(n*squares-sum*sum) / float64(n*max(n-1, 1))
	return float32(float64(sum) / float64(n)), float32(1 / math.Sqrt(variance+contrast))
}

// windows holds all patches of one picture. Its memory is reused for the next.
type windows struct {
	side, channels int
	across, down   int       // positions in a row and in a column, at stride 1
	width          int       // values in a row of the picture
	values         []float32 // of the picture
	mean, factor   []float32 // at every position
	sums, squares  []int     // over the patch's width, for all rows
}

// set loads a picture, which must be at least as large as a patch.
func (w *windows) set(p picture.Picture, side int) {
	w.side, w.channels = side, p.Channels
	w.across, w.down, w.width = p.Width-side+1, p.Height-side+1, p.Width*p.Channels
	w.values, w.sums, w.squares = w.values[:0], w.sums[:0], w.squares[:0]
	for _, v := range p.Pix {
		w.values = append(w.values, float32(v))
	}
	for y := range p.Height {
		row := p.Pix[y*w.width:][:w.width]
		sum, squares := 0, 0
		for i, v := range row {
			sum += int(v)
			squares += int(v) * int(v)
			if gone := i - side*p.Channels; gone >= 0 {
				sum -= int(row[gone])
				squares -= int(row[gone]) * int(row[gone])
			}
			if i%p.Channels == p.Channels-1 && i/p.Channels >= side-1 {
				w.sums, w.squares = append(w.sums, sum), append(w.squares, squares)
			}
		}
	}
	w.mean, w.factor = w.mean[:0], w.factor[:0]
	for y := range w.down {
		for x := range w.across {
			sum, squares := 0, 0
			for dy := range side {
				sum += w.sums[(y+dy)*w.across+x]
				squares += w.squares[(y+dy)*w.across+x]
			}
			mean, factor := normal(sum, squares, side*side*p.Channels)
			w.mean, w.factor = append(w.mean, mean), append(w.factor, factor)
		}
	}
}

// patch writes the patch at position (x, y), value k to dst[k*step].
func (w *windows) patch(dst []float32, step, x, y int) {
	at := y*w.across + x
	mean, factor := w.mean[at], w.factor[at]
	for dy := range w.side {
		for _, v := range w.values[(y+dy)*w.width+x*w.channels:][:w.side*w.channels] {
			dst[0] = (v - mean) * factor
			dst = dst[min(step, len(dst)):]
		}
	}
}

// fits returns an error for pictures without patches of the given size.
func fits(s picture.Shape, side, channels int) error {
	if s.Channels != channels {
		return fmt.Errorf("%d channels, but the codebook is for %d", s.Channels, channels)
	}
	if s.Width < side || s.Height < side {
		return fmt.Errorf("%d x %d pixels, smaller than a patch of %d x %d", s.Width, s.Height, side, side)
	}
	return nil
}
