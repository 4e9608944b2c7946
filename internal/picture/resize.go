package picture

import (
	"math"
	"math/bits"
)

// Resizing in integers, so that every machine makes the same picture.
//
// Let W pixels along an axis become n. Down (n <= W) is the area average: output i covers [i W/n, (i+1) W/n) of the
// source. In units of 1/n, source pixel k covers [k n, (k+1) n), and the overlap of the two is a whole number,
//
//	o(i, k) = max(0, min((i+1) W, (k+1) n) - max(i W, k n)),    sum over k of o(i, k) = W.
//
// Up (n > W) is linear between the centres of pixels. In units of 1/2n, the centre of output i lies
//
//	c(i) = (2i+1) W - n
//
// after the centre of source pixel 0, so the weights are 2n - f and f for f = c(i) mod 2n; before the first and after
// the last centre there is only that pixel. Both axes are done at once and the result is rounded once, halves up:
//
//	out(i, j) = sum over k, l of o_x(i, k) o_y(j, l) v(k, l) / (unit_x unit_y)
//
// Cost: every source value is multiplied at most twice, plus n^2 divisions per channel.

// axis holds the weights along one axis.
type axis struct {
	first  []int    // source pixel of each output's first weight
	start  []int    // output i has weight[start[i]:start[i+1]]
	weight []uint32 // of adjacent source pixels
	unit   uint64   // their sum, for every output
}

// newAxis returns the weights that resize an axis.
func newAxis(from, to int) axis {
	a := axis{first: make([]int, to), start: make([]int, to+1), weight: make([]uint32, 0, max(from+to, 2*to))}
	for i := range to {
		if to <= from {
			a.unit = uint64(from)
			lo, hi := i*from, (i+1)*from
			a.first[i] = lo / to
			for k := lo / to; k*to < hi; k++ {
				a.weight = append(a.weight, uint32(min(hi, (k+1)*to)-max(lo, k*to)))
			}
		} else {
			a.unit = uint64(2 * to)
			switch c := (2*i+1)*from - to; {
			case c < 0:
				a.first[i] = 0
				a.weight = append(a.weight, uint32(2*to))
			case c/(2*to) >= from-1:
				a.first[i] = from - 1
				a.weight = append(a.weight, uint32(2*to))
			default:
				f := c % (2 * to)
				a.first[i] = c / (2 * to)
				a.weight = append(a.weight, uint32(2*to-f), uint32(f))
			}
		}
		a.start[i+1] = len(a.weight)
	}
	return a
}

// resize writes a resized picture to dst in the same layout, with the channels of a pixel side by side. row returns row
// k of the source; rows are requested in order, each once or twice in succession.
func resize(dst []uint8, channels int, x, y axis, row func(k int) []uint8) {
	width := len(x.first) * channels
	if x.same() && y.same() {
		for j := range y.first {
			copy(dst[j*width:(j+1)*width], row(j))
		}
		return
	}
	sum := make([]uint64, width)
	// The weighted sums of the latest two source rows: adjacent outputs share one or two.
	var held [2][]uint32
	number := [2]int{-1, -1}
	held[0], held[1] = make([]uint32, width), make([]uint32, width)
	unit := x.unit * y.unit
	// Instead of dividing by unit, multiply by over = (2^64 + e) / unit, 0 <= e < unit, and drop 64 bits: that gives
	// s/unit + s e / (unit 2^64), with the same whole part as s/unit if s e < 2^64. This holds: s < 256 unit, and unit
	// < 2^28 because of MaxPixels, MaxSide and MaxSize. A unit of 1 was handled above: it changes nothing.
	over := math.MaxUint64/unit + 1
	for j, first := range y.first {
		clear(sum)
		for t, weight := range y.weight[y.start[j]:y.start[j+1]] {
			k := first + t
			slot := k & 1
			if number[slot] != k {
				x.sums(held[slot], row(k), channels)
				number[slot] = k
			}
			for i, v := range held[slot] {
				sum[i] += uint64(weight) * uint64(v)
			}
		}
		out := dst[j*width : (j+1)*width]
		for i, s := range sum {
			q, _ := bits.Mul64(s+unit/2, over)
			out[i] = uint8(q)
		}
	}
}

// same reports whether the axis changes nothing.
func (a *axis) same() bool { return a.unit == uint64(len(a.first)) && len(a.weight) == len(a.first) }

// sums writes the weighted sum of source values for every output of a row. It is below 2^32: a unit is at most twice
// the longest edge.
func (a *axis) sums(dst []uint32, src []uint8, channels int) {
	for i, first := range a.first {
		weights := a.weight[a.start[i]:a.start[i+1]]
		if channels == 3 {
			var r, g, b uint32
			s := src[3*first : 3*(first+len(weights))]
			for t, w := range weights {
				r += w * uint32(s[3*t])
				g += w * uint32(s[3*t+1])
				b += w * uint32(s[3*t+2])
			}
			dst[3*i], dst[3*i+1], dst[3*i+2] = r, g, b
			continue
		}
		for c := range channels {
			var v uint32
			for t, w := range weights {
				v += w * uint32(src[(first+t)*channels+c])
			}
			dst[i*channels+c] = v
		}
	}
}
