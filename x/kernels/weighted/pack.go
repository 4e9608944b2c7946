package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// pack begins a kernel and runs body for every block.
func pack(isa string, body func(s *source, dst Register)) {
	TEXT("pack"+isa, NOSPLIT, "func(dst *uint8, codes *uint64, blocks, size, stride int)")
	dst, s := param("dst"), &source{codes: param("codes"), stride: param("stride")}
	blocks, size := param("blocks"), param("size")
	Label("loop")
	SUBQ(Imm(1), blocks)
	JL(LabelRef("done"))
	body(s, dst)
	next := GP64()
	MOVQ(s.stride, next)
	SHLQ(Imm(6), next)
	ADDQ(next, s.codes)
	ADDQ(size, dst)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// packAVX512 takes six bits at a time out of all words with VPMULTISHIFTQB: ten groups, and the last four bits with
// the two before them, which their table ignores.
func packAVX512() {
	fresh := func() VecVirtual { return ZMM() }
	pack("AVX512", func(s *source, dst Register) {
		shift, rest, order := ZMM(), ZMM(), ZMM()
		VMOVDQU64(shifts, shift)
		VMOVDQU64(lastShifts, rest)
		VMOVDQU64(interleave, order)
		s.open(4)
		var first, last []VecVirtual
		for range 8 {
			v := ZMM()
			s.lane(0, v)
			for l := 1; l < 4; l++ {
				VINSERTI64X2(Imm(uint64(l)), s.lane(l, XMM()), v, v)
			}
			a, b := ZMM(), ZMM()
			VPMULTISHIFTQB(v, shift, a)
			VPMULTISHIFTQB(v, rest, b)
			VPSHUFB(order, a, a)
			VPSHUFB(order, b, b)
			first, last = append(first, a), append(last, b)
		}
		for g, plane := range append(transpose(first, fresh, false), transpose(last, fresh, true)[:3]...) {
			VMOVDQU64(plane, Mem{Base: dst, Disp: perBlock * g})
		}
	})
}

// packAVX2 takes the bytes of all words apart, half a block at a time, and then their halves.
func packAVX2() {
	fresh := func() VecVirtual { return YMM() }
	pack("AVX2", func(s *source, dst Register) {
		for half := range 2 {
			begin := s.codes
			if half == 1 {
				begin = GP64()
				MOVQ(s.stride, begin)
				SHLQ(Imm(5), begin)
				ADDQ(s.codes, begin)
			}
			part := &source{codes: begin, stride: s.stride}
			part.open(2)
			var rows []VecVirtual
			for range 8 {
				v := YMM()
				part.lane(0, v)
				VINSERTI128(Imm(1), part.lane(1, XMM()), v, v)
				VPSHUFB(interleave, v, v)
				rows = append(rows, v)
			}
			// Byte 7 of a word in memory is its highest, with the first bits of the code.
			low := YMM()
			for b, plane := range transpose(rows, fresh, false) {
				if b == 0 {
					g, t := GP64(), XMM()
					MOVQ(U64(0x0f0f0f0f0f0f0f0f), g)
					MOVQ(g, t)
					VPBROADCASTQ(t, low)
				}
				high := YMM()
				VPSRLW(Imm(4), plane, high)
				VPAND(low, high, high)
				VPAND(low, plane, plane)
				VMOVDQU(high, Mem{Base: dst, Disp: perBlock*(14-2*b) + 32*half})
				VMOVDQU(plane, Mem{Base: dst, Disp: perBlock*(15-2*b) + 32*half})
			}
		}
	})
}
