package hamming

import (
	"math"
	"math/bits"
)

// Distance by margins. A query knows how certain each of its bits is: the margin m_b, the score before the sign. Each
// bit gets an integer weight in sixteenths of an average bit,
//
//	w_b = min(63, round(16 |m_b| / mean |m|)),   all 16 when all margins are 0,
//
// and the distance to a code is the sum of the weights of the bits that differ. 16 units are one bit. Codes carry no
// margins, only the query does. Integers make order and ties the same everywhere, however the sum is taken.
//
// Bits of detail, the last ones of a code, get their weights in the same way, but with DetailUnits instead of 16: eight
// of them weigh as much as one bit of the class. By Hamming distance every bit has the average weight.

// MaxWeight is the largest weight of a bit, so that four of them fit in a byte.
const MaxWeight = 63

// BitUnits is the weight of a bit with an average margin: a distance by margins of BitUnits is "one bit".
const BitUnits = 16

// DetailUnits is the average weight of a bit of detail. Less would lose the query's projections in rounding, and more
// would let details decide between classes.
const DetailUnits = 2

// MaxWeightedBits is the largest length of codes compared by margins, so that all distances fit in 16 bits.
const MaxWeightedBits = 1024

// Weights turns the margins of a query, one per bit, into weights; the last bits, as many as detail says, are detail.
// Margins must not be NaN; infinite ones count as the largest finite one.
func Weights(margins []float32, detail int) []uint8 {
	weights := make([]uint8, len(margins))
	class := len(margins) - detail
	weigh(weights[:class], margins[:class], BitUnits)
	weigh(weights[class:], margins[class:], DetailUnits)
	return weights
}

// weigh sets weights with the given average.
func weigh(weights []uint8, margins []float32, average float64) {
	sum := 0.0
	for _, m := range margins {
		sum += certainty(m)
	}
	mean := sum / float64(len(margins))
	for b, m := range margins {
		weights[b] = uint8(average)
		if mean > 0 {
			// A small power of two times a number is exact, so a fused multiply-add cannot round differently.
			weights[b] = uint8(math.Min(MaxWeight, math.Round(average*certainty(m)/mean)))
		}
	}
}

// EqualWeights returns the weights of the bits by Hamming distance.
func EqualWeights(bits, detail int) []uint8 {
	weights := make([]uint8, bits)
	for b := range weights {
		weights[b] = BitUnits
		if b >= bits-detail {
			weights[b] = DetailUnits
		}
	}
	return weights
}

// SetSigns sets a code to the signs of scores: a bit is 1 unless its score is negative or -0.
func SetSigns(code []uint64, scores []float32) {
	clear(code)
	for b, s := range scores {
		if !math.Signbit(float64(s)) {
			code[b>>6] |= 1 << (63 - b&63)
		}
	}
}

// Join sets dst to the first bits of a code followed by another code.
func Join(dst, a []uint64, bits int, b []uint64) {
	clear(dst[copy(dst, a):])
	word, shift := bits/64, bits%64
	for i, v := range b {
		dst[word+i] |= v >> shift
		if shift > 0 && word+i+1 < len(dst) {
			dst[word+i+1] |= v << (64 - shift)
		}
	}
}

// certainty returns the magnitude of a margin, made finite.
func certainty(m float32) float64 { return min(math.Abs(float64(m)), math.MaxFloat32) }

// WeightedDistance returns the sum of the weights of the bits in which two codes differ. It defines what all kernels
// compute. The first len(weights) bits count.
func WeightedDistance(a, b []uint64, weights []uint8) int {
	if len(a) != len(b) || len(weights) > 64*len(a) {
		panic("hamming: sizes of codes and weights differ")
	}
	d := 0
	for w := 0; 64*w < len(weights); w++ {
		for differ := a[w] ^ b[w]; differ != 0; differ &= differ - 1 {
			// Bit 0 of the code is the highest bit of the word.
			if bit := 64*w + 63 - bits.TrailingZeros64(differ); bit < len(weights) {
				d += int(weights[bit])
			}
		}
	}
	return d
}
