package hamming

import (
	"math"
	"math/bits"
	"sync"
)

// Computes distances of many codes. A sweep reads the codes once per block of queries:
//
//	sweep           for each tile of codes that fits the first cache
//	                    for each query of the block
//	                        below: the codes within the query's limit    all the time
//	                        Sink.Take: count them, lower the limit       rare after the first few tiles
//
// No distance is written to memory unless it is within the limit.

// tile is the size in bytes of the codes that all queries of a block visit before the sweep continues. First-level
// caches hold at least 32 KiB; half of that leaves space for queries and hits.
const tile = 16 << 10

// Sink receives the hits of one query.
type Sink interface {
	// Limit returns the largest distance that still matters; negative means none.
	Limit() int
	// Take receives codes within the limit, each as distance<<16 | i for the code first+i, in order of position.
	Take(first int, hits []uint32)
}

var hitBuffers = sync.Pool{New: func() any { return new([maxRun/8 + slack]uint32) }}

// Sweep passes every code in [lo, hi) within the limit of a query's sink to that sink. Only the first bits count; bits
// is c.Bits unless a prefix is searched. It uses one goroutine.
func (c Codes) Sweep(lo, hi, bits int, queries [][]uint64, sinks []Sink) {
	words, last := c.prefix(bits)
	if len(queries) != len(sinks) {
		panic("hamming: numbers of queries and sinks differ")
	}
	buf := hitBuffers.Get().(*[maxRun/8 + slack]uint32)
	defer hitBuffers.Put(buf)
	run := tile / 8 / c.Words
	if len(queries) == 1 {
		run *= 4 // nothing to keep in the cache, so make fewer calls
	}
	most := min(max(run&^31, 32), len(buf)-slack)
	// The first tiles are small, because no limit has been lowered yet and all their codes are hits.
	run = min(128, most)
	for first, next := lo, lo; first < hi; first, run = next, min(2*run, most) {
		next = min(first+run, hi)
		codes := c.Data[first*c.Words : next*c.Words]
		for i, q := range queries {
			if n := below(buf[:], q[:words], codes, c.Words, last, sinks[i].Limit()); n > 0 {
				sinks[i].Take(first, buf[:n])
			}
		}
	}
}

// prefix returns the number of words that hold the first bits, and a mask of those that count in the last word.
func (c Codes) prefix(bits int) (words int, last uint64) {
	if bits < 1 || bits > c.Bits {
		panic("hamming: prefix longer than the code")
	}
	if bits == c.Bits {
		return c.Words, math.MaxUint64
	}
	return (bits + 63) / 64, math.MaxUint64 << (-bits & 63)
}

// Near writes distance<<16 | i for the codes within a limit to dst, in order of i, and returns their number. It takes
// at most 65,536 codes, and dst has 16 more elements than there are codes.
func (c Codes) Near(dst []uint32, q []uint64, limit int) int {
	return below(dst, q, c.Data, c.Words, math.MaxUint64, limit)
}

// Distances sets dst[i] to the distance from q to code i.
func (c Codes) Distances(dst []uint16, q []uint64) {
	if len(q) != c.Words || len(dst) != c.Len() {
		panic("hamming: sizes of query, codes and distances differ")
	}
	if c.Words == 1 {
		for i, v := range c.Data {
			dst[i] = uint16(bits.OnesCount64(q[0] ^ v))
		}
		return
	}
	const run = 256
	var hits [run + slack]uint32
	for lo := 0; lo < len(dst); lo += run {
		part := dst[lo:min(lo+run, len(dst))]
		below(hits[:], q, c.Data[lo*c.Words:(lo+len(part))*c.Words], c.Words, math.MaxUint64, c.Bits)
		for i := range part {
			part[i] = uint16(hits[i] >> 16)
		}
	}
}

// The kernel in plain Go, which defines its meaning. Each architecture may provide a faster one under the same name
// without "Go", chosen once at start:
//
//	below(dst, q, codes, stride, last, limit) int   dst[:returned] = distance<<16 | i for the codes within limit
//
// Code i is the len(q) words starting at codes[i*stride], and only the bits of last count in its last word, so prefixes
// of longer codes can be searched in place. Hits are in order of i; below takes at most 65,536 codes, and may overwrite
// 16 elements after the last hit: dst has at least 16 more elements than there are codes.
//
// There are kernels for 64, 128, 256 and 512 bits, and one for the rest. For codes in the first cache, on an Emerald
// Rapids, nanoseconds per 1,000 codes:
//
//	bits     Go       AVX2    any     AVX-512
//	64       1,010    390     2,520   100
//	128      4,320    810     2,930   180
//	256      7,370    1,600   3,650   380
//	512      7,580    2,680   4,830   790
//	1024     12,760   -       7,970   -

// slack is the number of elements that below may overwrite beyond its hits.
const slack = 16

// maxRun is the largest number of codes that below takes at a time.
const maxRun = 1 << 16

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

// distanceGo returns the distance from q to the code at the start of v.
func distanceGo(q, v []uint64, last uint64) int {
	w := len(q) - 1
	d := bits.OnesCount64((q[w] ^ v[w]) & last)
	v = v[:w]
	for i, x := range q[:w] {
		d += bits.OnesCount64(x ^ v[i])
	}
	return d
}
