package gemm

import (
	"math"
	"unsafe"
)

// The private interface of an architecture is one function:
//
//	kernel(k, a, b, c, stride, load)
//
// computes a tile of 6 x 16 values of C, whose row i begins stride*i after c, from k values of a panel of A and of a
// panel of B. The tile starts from what is in C (load) or from zero.

// kernelGo is what the word means.
func kernelGo(k int, a, b []float32, c []float32, stride int, load bool) {
	var tile [tileRows][tileCols]float32
	if load {
		for i := range tile {
			copy(tile[i][:], c[i*stride:])
		}
	}
	for kk := range k {
		bk := (*[tileCols]float32)(b[kk*tileCols:])
		for i := range tile {
			addTimes(&tile[i], a[kk*tileRows+i], bk)
		}
	}
	for i := range tile {
		copy(c[i*stride:], tile[i][:])
	}
}

// kernelPlain is kernelGo for the pointers that an assembly kernel takes.
func kernelPlain(k int, a, b, c *float32, stride int, load bool) {
	kernelGo(k, unsafe.Slice(a, k*tileRows), unsafe.Slice(b, k*tileCols),
		unsafe.Slice(c, (tileRows-1)*stride+tileCols), stride, load)
}

// fma returns a*b + c, rounded once to float32, for all values.
//
// The sum is rounded to odd first: where it is not exact, to that neighbour in float64 whose last bit is 1 (Boldo and
// Melquiond, IEEE TC 2008). Such a value is never a border between two float32, so the second rounding is right.
func fma(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	// What the sum lost, exactly (Knuth's two-sum).
	r := s - p
	lost := (p - (s - r)) + (q - r)
	u := math.Float64bits(s)
	if lost != 0 && u&1 == 0 && !math.IsInf(s, 0) {
		if lost > 0 == (s > 0) {
			u++
		} else {
			u--
		}
	}
	return float32(math.Float64frombits(u))
}
