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

// Spread spreads codes whose last bits, as many as detail says, are detail. Those without detail stay as they are.
func Spread(c Codes, detail int) Codes {
	if detail == 0 {
		return c
	}
	class := c.Bits - detail
	all := NewCodes(c.Len(), SpreadBits(c.Bits, detail))
	for i := range c.Len() {
		for b := range c.Bits {
			switch {
			case !c.Bit(i, b):
			case b >= class:
				all.SetBit(i, b+(Repeats-1)*class, true)
			default:
				for r := range Repeats {
					all.SetBit(i, b+r*class, true)
				}
			}
		}
	}
	return all
}
