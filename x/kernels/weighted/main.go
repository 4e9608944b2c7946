// Command weighted writes the SIMD kernels of distances by margins with avo.
//
//	go generate ./internal/hamming
//
// Codes come in blocks of 64. Pack turns the words of a block into planes: byte i of plane g is group g of the bits of
// code i. Bound then looks each plane up in the query's table of the group and adds the bytes with saturation, so that
// one register sums for as many codes as it has bytes. Groups are as long as a table that fits a register allows: four
// bits with VPSHUFB, six with VPERMB.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// perBlock is the number of codes of a block, and the bytes of a plane.
const perBlock = 64

// atMost is the operand of comparisons.
const atMost = 2

func main() {
	ConstraintExpr("amd64,!purego")
	packAVX2()
	packAVX512()
	boundAVX2()
	boundAVX512()
	for _, words := range []int{1, 2, 4} {
		scan(words)
	}
	Generate()
}

func param(name string) Register { return Load(Param(name), GP64()) }

// table is constant bytes in memory.
func table(name string, bytes []byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := 0; i < len(bytes); i += 8 {
		x := uint64(0)
		for j := range 8 {
			x |= uint64(bytes[i+j]) << (8 * j)
		}
		DATA(i, U64(x))
	}
	return m
}

// repeated is bytes that are written again and again up to a length.
func repeated(bytes []byte, n int) []byte {
	var out []byte
	for len(out) < n {
		out = append(out, bytes...)
	}
	return out
}

var (
	interleave = table("interleave", repeated([]byte{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15}, 64))
	shifts     = table("shifts", repeated([]byte{58, 52, 46, 40, 34, 28, 22, 16}, 64))
	lastShifts = table("lastShifts", repeated([]byte{10, 4, 0, 0, 0, 0, 0, 0}, 64))
)

// source is where the words of a block are read from.
type source struct {
	codes  Register
	stride Register // in bytes
	at     []Register
}

// open points at the first code of every lane: 16 codes apart, because a lane ends up with the bytes of 16 codes.
func (s *source) open(lanes int) {
	s.at = nil
	step := GP64()
	MOVQ(s.stride, step)
	SHLQ(Imm(4), step)
	for l := range lanes {
		p := GP64()
		if l == 0 {
			MOVQ(s.codes, p)
		} else {
			LEAQ(Mem{Base: s.at[l-1], Index: step, Scale: 1}, p)
		}
		s.at = append(s.at, p)
	}
}

// lane loads the words of codes 16*l + 2*row and the next one. All of the register is written first, by a broadcast.
func (s *source) lane(l int, v VecVirtual) VecVirtual {
	VPBROADCASTQ(Mem{Base: s.at[l]}, v)
	VMOVHPS(Mem{Base: s.at[l], Index: s.stride, Scale: 1}, v.AsX(), v.AsX())
	LEAQ(Mem{Base: s.at[l], Index: s.stride, Scale: 2}, s.at[l])
	return v
}

// instruction is one with a last operand that it writes.
type instruction func(...Op)

// unpack interleaves pairs of neighbours: the lower halves of their lanes and, unless few, the upper ones after them.
func unpack(in []VecVirtual, low, high instruction, fresh func() VecVirtual, few bool) (out []VecVirtual) {
	for i := 0; i < len(in); i += 2 {
		a, b, lower := in[i], in[i+1], fresh()
		low(b, a, lower)
		out = append(out, lower)
		if !few {
			high(b, a, a)
			out = append(out, a)
		}
	}
	return out
}

// transpose turns eight registers of eight 16-bit words per lane into the registers of word 0, word 1 and so on; only
// the first four when few.
func transpose(rows []VecVirtual, fresh func() VecVirtual, few bool) (planes []VecVirtual) {
	words := unpack(rows, VPUNPCKLWD, VPUNPCKHWD, fresh, few) // words 0 to 3, and 4 to 7, of rows 0 and 1, and so on
	halves := len(words) / 4
	for h := range halves {
		quarter := []VecVirtual{words[h], words[halves+h], words[2*halves+h], words[3*halves+h]}
		// Words 0 and 1, and 2 and 3, of rows 0 to 3, then 4 to 7.
		longs := unpack(quarter, VPUNPCKLDQ, VPUNPCKHDQ, fresh, false)
		for i := range 2 {
			planes = append(planes, unpack([]VecVirtual{longs[i], longs[2+i]}, VPUNPCKLQDQ, VPUNPCKHQDQ, fresh, false)...)
		}
	}
	return planes
}
