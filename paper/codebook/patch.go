package codebook

import (
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

// patch writes the patch of a picture at position (x, y), value k to dst[k*step].
func patch(dst []float32, step int, p picture.Picture, side, x, y int) {
	width := side * p.Channels
	row := func(dy int) []uint8 { return p.Pix[((y+dy)*p.Width+x)*p.Channels:][:width] }
	sum, squares := 0, 0
	for dy := range side {
		for _, v := range row(dy) {
			sum += int(v)
			squares += int(v) * int(v)
		}
	}
	mean, factor := normal(sum, squares, side*width)
	for dy := range side {
		for _, v := range row(dy) {
			dst[0] = (float32(v) - mean) * factor
			dst = dst[min(step, len(dst)):]
		}
	}
}
