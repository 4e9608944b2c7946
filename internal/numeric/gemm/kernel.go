package gemm

import (
	"math"
	"unsafe"
)

// Every architecture provides one function:
//
//	kernel(k, a, b, c, stride, load)
//
// computes a tile of 6 x 16 values of C, whose row i starts at c + stride*i, from k values of a panel of A and a
// panel of B. The tile starts from the values in C (load) or from zero.

// pairs does the same for the two tiles below each other that two panels of A make, one behind the other. It is nil
// where nothing does so faster.
var pairs func(k int, a, b, c *float32, stride int, load bool)

// narrow sets a tile of twice the rows, one behind the other, from k adjacent values of each row of A, which are step
// apart, and a panel of B. It may be nil, too.
var narrow func(k int, a *float32, step int, b, c *float32)

// oneRow sets 64 values of C to a row of k adjacent values of A times four panels of B, one behind the other. It may be
// nil, too.
var oneRow func(k int, a, b, c *float32)

// kernelGo defines the result of a kernel.
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

// kernelPlain is kernelGo with the pointer arguments of an assembly kernel.
func kernelPlain(k int, a, b, c *float32, stride int, load bool) {
	kernelGo(k, unsafe.Slice(a, k*tileRows), unsafe.Slice(b, k*tileCols),
		unsafe.Slice(c, (tileRows-1)*stride+tileCols), stride, load)
}

// fma returns a*b + c, rounded once to float32, for all values.
//
// The sum is first rounded to odd: if inexact, to the neighbour in float64 whose last bit is 1 (Boldo and Melquiond,
// IEEE TC 2008). Such a value is never halfway between two float32 values, so the second rounding is correct.
func fma(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	// The rounding error of the sum, exactly (Knuth's two-sum).
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
