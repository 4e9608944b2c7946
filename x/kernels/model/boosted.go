package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// completePlanes finds plane after plane from the top: that of a level is chosen among the sets of its splits by the
// planes above, which stay in registers.
func completePlanes(depth int) {
	begin(fmt.Sprintf("completePlanes%dAVX2", depth), "func(planes, right *uint64, tests *uint32)",
		fmt.Sprint("completePlanesGo for depth ", depth))
	planes, right, tests := pointer("planes"), pointer("right"), pointer("tests")
	var above []VecVirtual
	for level := range depth {
		var choose func(from, first int) VecVirtual // among the splits from first on, by the planes from some level on
		choose = func(from, first int) VecVirtual {
			y := YMM()
			if from == level {
				test := GP64()
				MOVL(Mem{Base: tests, Disp: 4 * (1<<level - 1 + first)}, test.As32())
				VMOVDQU(Mem{Base: right, Index: test, Scale: 8}, y)
				return y
			}
			l, r := choose(from+1, first), choose(from+1, first+1<<(level-from-1))
			VPXOR(l, r, r)
			VPAND(above[from], r, r)
			VPXOR(l, r, y)
			return y
		}
		plane := choose(0, 0)
		VMOVDQU(plane, Mem{Base: planes, Disp: set * (depth - 1 - level)})
		above = append(above, plane)
	}
	end()
}

// addLeaves makes the numbers of 32 rows at a time from the planes, and gathers their leaves.
func addLeaves(name, kind string, size int) {
	begin(name, "func(sums *"+kind+", planes *uint64, leaves *"+kind+", n int)", "addLeavesGo",
		"for each row { number = bits of the row in the n planes; sums[row] += leaves[number] }")
	sums, planes, leaves, n := pointer("sums"), pointer("planes"), pointer("leaves"), pointer("n")
	bytes, bits, one := YMM(), YMM(), YMM()
	VMOVDQU(leafBytes(), bytes)
	VPBROADCASTQ(constant("bits", U64(0x8040201008040201)), bits)
	VPCMPEQB(one, one, one)
	VPABSB(one, one)
	local := AllocLocal(32)
	groups := GP64()
	MOVQ(U32(8), groups)
	Label("groups")
	number, weight := YMM(), YMM()
	VPXOR(number, number, number)
	VMOVDQA(one, weight)
	plane, left := GP64(), GP64()
	MOVQ(planes, plane)
	MOVQ(n, left)
	TESTQ(left, left)
	JZ(LabelRef("numbered"))
	Label("planes")
	v := YMM()
	VPBROADCASTD(Mem{Base: plane}, v)
	VPSHUFB(bytes, v, v)
	VPAND(bits, v, v)
	VPCMPEQB(bits, v, v)
	VPAND(weight, v, v)
	VPOR(v, number, number)
	VPADDB(weight, weight, weight)
	ADDQ(Imm(set), plane)
	DECQ(left)
	JNZ(LabelRef("planes"))
	Label("numbered")
	VMOVDQU(number, local)
	for i := 0; i < 32; i += 32 / size {
		value, mask := YMM(), YMM()
		VPXOR(value, value, value)
		VPCMPEQD(mask, mask, mask)
		if size == 4 {
			at := YMM()
			VPMOVZXBD(local.Offset(i), at)
			VGATHERDPS(mask, Mem{Base: leaves, Index: at, Scale: 4}, value)
			VADDPS(Mem{Base: sums, Disp: 4 * i}, value, value)
			VMOVUPS(value, Mem{Base: sums, Disp: 4 * i})
		} else {
			at := XMM()
			VPMOVZXBD(local.Offset(i), at)
			VGATHERDPD(mask, Mem{Base: leaves, Index: at, Scale: 8}, value)
			VADDPD(Mem{Base: sums, Disp: 8 * i}, value, value)
			VMOVUPD(value, Mem{Base: sums, Disp: 8 * i})
		}
	}
	ADDQ(Imm(4), planes)
	ADDQ(U32(uint32(32*size)), sums)
	DECQ(groups)
	JNZ(LabelRef("groups"))
	end()
}

// leafBytes says which byte of four the bits of a row are in.
func leafBytes() Mem {
	if _, ok := constants["leafBytes"]; !ok {
		m := GLOBL("leafBytes", RODATA|NOPTR)
		for i := range 4 {
			DATA(8*i, U64(0x0101010101010101*uint64(i)))
		}
		constants["leafBytes"] = m
	}
	return constants["leafBytes"]
}
