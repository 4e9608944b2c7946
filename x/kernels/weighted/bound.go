package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A nearBlock of the package: the codes within the limit, and the number of the block.
const (
	numberAt   = 8
	recordSize = 16
)

// frame is what the kernels of bound share: all but the sums of the codes of some blocks and what becomes of them.
type frame struct {
	dst, planes, tables, groups, size, limit, out, number Register
	piece                                                 Register   // groups of a piece
	at                                                    []Register // the planes of each block
}

// bound begins a kernel that sums some blocks per turn. The sums of each piece of groups are bytes, and the sum of
// these has 16 bits.
func bound(isa string, blocks int, prepare, body func(f *frame)) {
	TEXT("bound"+isa, NOSPLIT, "func(dst *uint64, planes, tables *uint8, blocks, groups, size, limit, piece int) int")
	f := &frame{dst: param("dst"), planes: param("planes"), tables: param("tables"), groups: param("groups")}
	f.size, f.limit, f.piece = param("size"), param("limit"), param("piece")
	SHLQ(Imm(6), f.groups) // in bytes from here on
	SHLQ(Imm(6), f.piece)
	f.out, f.number = GP64(), GP64()
	XORQ(f.out, f.out)
	XORQ(f.number, f.number)
	f.at = []Register{f.planes}
	for range blocks - 1 {
		p := GP64()
		LEAQ(Mem{Base: f.at[len(f.at)-1], Index: f.size, Scale: 1}, p)
		f.at = append(f.at, p)
	}
	step := GP64()
	MOVQ(f.size, step)
	SHLQ(Imm(uint64(blocks/2)), step)
	prepare(f)
	Label("loop")
	CMPQ(f.number, param("blocks")) // there are too few registers to keep it
	JGE(LabelRef("done"))
	body(f)
	Label("next")
	for _, p := range f.at {
		ADDQ(step, p)
	}
	ADDQ(Imm(uint64(blocks)), f.number)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	Store(f.out, ReturnIndex(0))
	RET()
}

// record keeps the number of a block and its mask, and makes room for the next.
func (f *frame) record(b int, mask Register) {
	MOVQ(mask, Mem{Base: f.dst})
	n := GP64()
	LEAQ(Mem{Base: f.number, Disp: b}, n)
	MOVQ(n, Mem{Base: f.dst, Disp: numberAt})
	ADDQ(Imm(recordSize), f.dst)
	INCQ(f.out)
}

// lookUpAVX512 adds what the groups from off to end say of some blocks.
func (f *frame) lookUpAVX512(sums []VecVirtual, off, end Register) {
	Label("group")
	entries := ZMM()
	VMOVDQU64(Mem{Base: f.tables, Index: off, Scale: 1}, entries)
	for b, sum := range sums {
		v := ZMM()
		VMOVDQU64(Mem{Base: f.at[b], Index: off, Scale: 1}, v)
		VPERMB(entries, v, v)
		VPADDUSB(v, sum, sum)
	}
	ADDQ(Imm(perBlock), off)
	CMPQ(off, end)
	JL(LabelRef("group"))
}

// pieces begins the loop over the pieces and returns the end of each in bytes; all end with the groups.
func (f *frame) pieces(off Register) (end Register) {
	e := GP64()
	XORQ(off, off)
	MOVQ(f.piece, e)
	Label("piece")
	CMPQ(f.groups, e)
	CMOVQLT(f.groups, e)
	return e
}

// again goes on with the next piece, if there is one.
func (f *frame) again(off, end Register) {
	ADDQ(f.piece, end)
	CMPQ(off, f.groups)
	JL(LabelRef("piece"))
}

func boundAVX512() {
	var within, low VecVirtual
	prepare := func(f *frame) {
		within, low = ZMM(), ZMM()
		VPBROADCASTW(f.limit.(GPVirtual).As32(), within)
		ff := GP32()
		MOVL(U32(0xff), ff)
		VPBROADCASTW(ff, low)
	}
	bound("AVX512", 4, prepare, func(f *frame) {
		sums, even, odd := make([]VecVirtual, 4), make([]VecVirtual, 4), make([]VecVirtual, 4)
		for b := range sums {
			sums[b], even[b], odd[b] = ZMM(), ZMM(), ZMM()
			VPXORQ(even[b], even[b], even[b])
			VPXORQ(odd[b], odd[b], odd[b])
		}
		off := GP64()
		end := f.pieces(off)
		for _, sum := range sums {
			VPXORQ(sum, sum, sum)
		}
		f.lookUpAVX512(sums, off, end)
		for b, sum := range sums {
			v := ZMM()
			VPANDQ(low, sum, v)
			VPADDW(v, even[b], even[b])
			VPSRLW(Imm(8), sum, v)
			VPADDW(v, odd[b], odd[b])
		}
		f.again(off, end)
		any := ZMM()
		for b := range sums {
			v := ZMM()
			VPMINUW(even[b], odd[b], v)
			if b == 0 {
				VMOVDQA64(v, any)
			} else {
				VPMINUW(v, any, any)
			}
		}
		k, mask := K(), GP64()
		VPCMPUW(Imm(atMost), within, any, k)
		KMOVD(k, mask.As32())
		TESTL(mask.As32(), mask.As32())
		JZ(LabelRef("next"))
		for i := range sums {
			label := []string{"one", "two", "three", "next"}[i]
			a, b := ZMM(), ZMM()
			VPCMPUW(Imm(atMost), within, even[i], k)
			VPMOVM2W(k, a)
			VPANDQ(low, a, a)
			VPCMPUW(Imm(atMost), within, odd[i], k)
			VPMOVM2W(k, b)
			VPSLLW(Imm(8), b, b)
			VPORQ(b, a, a)
			VPMOVB2M(a, k)
			KMOVQ(k, mask)
			TESTQ(mask, mask)
			JZ(LabelRef(label))
			f.record(i, mask)
			if label != "next" {
				Label(label)
			}
		}
	})
}

// lookUpAVX2 adds what the groups from off to end say of half blocks; entry is the table of the first of them.
func (f *frame) lookUpAVX2(sums []VecVirtual, off, entry, end Register) {
	Label("group")
	entries := YMM()
	VBROADCASTI128(Mem{Base: entry}, entries)
	for i, sum := range sums {
		v := YMM()
		VPSHUFB(Mem{Base: f.at[i/2], Index: off, Scale: 1, Disp: 32 * (i % 2)}, entries, v)
		VPADDUSB(v, sum, sum)
	}
	ADDQ(Imm(perBlock), off)
	ADDQ(Imm(16), entry)
	CMPQ(off, end)
	JL(LabelRef("group"))
}

func boundAVX2() {
	var beyond, low VecVirtual
	prepare := func(f *frame) {
		beyond, low = YMM(), YMM()
		t := XMM()
		MOVQ(f.limit, t)
		VPBROADCASTW(t, beyond)
		ff, x := GP64(), XMM()
		MOVQ(U32(0xff), ff)
		MOVQ(ff, x)
		VPBROADCASTW(x, low)
	}
	bound("AVX2", 1, prepare, func(f *frame) {
		sums, even, odd := make([]VecVirtual, 2), make([]VecVirtual, 2), make([]VecVirtual, 2)
		for b := range sums {
			sums[b], even[b], odd[b] = YMM(), YMM(), YMM()
			VPXOR(even[b], even[b], even[b])
			VPXOR(odd[b], odd[b], odd[b])
		}
		off, entry := GP64(), GP64()
		MOVQ(f.tables, entry)
		end := f.pieces(off)
		for _, sum := range sums {
			VPXOR(sum, sum, sum)
		}
		f.lookUpAVX2(sums, off, entry, end)
		for b, sum := range sums {
			v := YMM()
			VPAND(low, sum, v)
			VPADDW(v, even[b], even[b])
			VPSRLW(Imm(8), sum, v)
			VPADDW(v, odd[b], odd[b])
		}
		f.again(off, end)
		// Both bytes of a sum beyond the limit are ones: the even codes keep the lower one, the odd codes the upper one.
		mask, high := GP64(), GP64()
		for b, m := range []GPVirtual{mask, high} {
			VPCMPGTW(beyond, even[b], even[b])
			VPCMPGTW(beyond, odd[b], odd[b])
			VPAND(low, even[b], even[b])
			VPANDN(odd[b], low, odd[b])
			VPOR(odd[b], even[b], even[b])
			VPMOVMSKB(even[b], m.As32())
		}
		SHLQ(Imm(32), high)
		ORQ(high, mask)
		NOTQ(mask)
		TESTQ(mask, mask)
		JZ(LabelRef("next"))
		f.record(0, mask)
	})
}
