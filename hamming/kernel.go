package hamming

import "math/bits"

// The two kernels, as plain Go: this is what they mean. Each architecture may provide faster ones under the same
// names without "Go", chosen once at start:
//
//	distances(dst, q, codes, stride, last)          dst[i] = distance of q to code i
//	below(dst, q, codes, stride, last, limit) int   dst[:returned] = distance<<16 | i for the codes within limit
//
// Code i is the len(q) words from codes[i*stride] on, and of its last word only the bits of last count, so that a
// prefix of longer codes can be searched where they lie. Below writes hits in order of i, takes at most 65,536 codes,
// and may use the 8 places after the last hit: dst has at least 8 more places than there are codes.

// slack is the number of places that below may use beyond its hits.
const slack = 8

// maxRun is the greatest number of codes that below takes at a time.
const maxRun = 1 << 16

func distancesGo(dst []uint16, q, codes []uint64, stride int, last uint64) {
	if len(q) == 1 && stride == 1 {
		q0 := q[0] & last
		for i, v := range codes[:len(dst)] {
			dst[i] = uint16(bits.OnesCount64(q0 ^ v&last))
		}
		return
	}
	for i := range dst {
		dst[i] = uint16(distanceGo(q, codes[i*stride:], last))
	}
}

func belowGo(dst []uint32, q, codes []uint64, stride int, last uint64, limit int) int {
	n := 0
	if len(q) == 1 && stride == 1 {
		q0 := q[0] & last
		for i, v := range codes {
			if d := bits.OnesCount64(q0 ^ v&last); d <= limit {
				dst[n] = uint32(d)<<16 | uint32(i)
				n++
			}
		}
		return n
	}
	for i := 0; i*stride < len(codes); i++ {
		if d := distanceGo(q, codes[i*stride:], last); d <= limit {
			dst[n] = uint32(d)<<16 | uint32(i)
			n++
		}
	}
	return n
}

// distanceGo is the distance of q to the code that begins v.
func distanceGo(q, v []uint64, last uint64) int {
	w := len(q) - 1
	d := bits.OnesCount64((q[w] ^ v[w]) & last)
	v = v[:w]
	for i, x := range q[:w] {
		d += bits.OnesCount64(x ^ v[i])
	}
	return d
}
