package hamming

// Spread codes let programs that only count differing bits rank codes with detail: the bits of the class come Repeats
// times and those of detail once,
//
//	code    class detail
//	spread  class class ... class detail
//
// so that two spread codes differ in weighted distance / DetailUnits bits.

// Repeats is how often a spread code has the bits of the class. The remainder of the division must be 0.
const Repeats = BitUnits / DetailUnits

const _ = -uint(BitUnits % DetailUnits)

// SpreadBits returns the number of bits of spread codes.
func SpreadBits(bits, detail int) int {
	if detail == 0 {
		return bits
	}
	return Repeats*(bits-detail) + detail
}
