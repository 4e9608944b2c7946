package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A nearBlock of the package: the bytes of the sums, the codes within the limit, and the number of the block.
const (
	maskAt     = perBlock
	numberAt   = perBlock + 8
	recordSize = perBlock + 16
)

// frame is what the kernels of bound share: all but the sums of the codes of some blocks and what becomes of them.
type frame struct {
	dst, planes, tables, groups, size, limit, out, number Register
	piece                                                 Register   // groups of a piece
	at                                                    []Register // the planes of each block
}

// bound begins a kernel that sums some blocks per turn. With wide sums, those of each piece of groups are bytes,
// and the sum of these has 16 bits.
func bound(isa string, wide bool, blocks int, prepare, body func(f *frame)) {
	name, signature, sum := "bound"+isa, "func(dst, planes, tables *uint8, blocks, groups, size, limit int) int", "at most 255"
	if wide {
		name, sum = "boundWide"+isa, "at most 255 per piece"
		signature = strings.Replace(signature, "limit", "limit, piece", 1)
	}
	TEXT(name, NOSPLIT, signature)
	Doc(name+" writes the blocks that have codes whose sum of table entries, "+sum+", is within the limit,",
		"and returns their number. The planes of one block come size bytes after those of the one before; the",
		"number of blocks is a multiple of 4.")
	Pragma("noescape")
	f := &frame{dst: param("dst"), planes: param("planes"), tables: param("tables"), groups: param("groups")}
	f.size, f.limit = param("size"), param("limit")
	if wide {
		f.piece = param("piece")
	}
	SHLQ(Imm(6), f.groups) // in bytes from here on
	if wide {
		SHLQ(Imm(6), f.piece)
	}
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
	SHLQ(Imm(map[int]uint64{1: 0, 2: 1, 4: 2}[blocks]), step)
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
	MOVQ(mask, Mem{Base: f.dst, Disp: maskAt})
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

func boundAVX512() {
	var within VecVirtual
	prepare := func(f *frame) {
		within = ZMM()
		VPBROADCASTB(f.limit.(GPVirtual).As32(), within)
	}
	bound("AVX512", false, 4, prepare, func(f *frame) {
		sums := make([]VecVirtual, 4)
		for b := range sums {
			sums[b] = ZMM()
			VPXORQ(sums[b], sums[b], sums[b])
		}
		off := GP64()
		XORQ(off, off)
		f.lookUpAVX512(sums, off, f.groups)
		const atMost = 2
		var masks []Register
		for _, sum := range sums {
			k := K()
			VPCMPUB(Imm(atMost), within, sum, k)
			masks = append(masks, k)
		}
		a, b := K(), K()
		KORQ(masks[0], masks[1], a)
		KORQ(masks[2], masks[3], b)
		KORTESTQ(a, b)
		JZ(LabelRef("next"))
		for i, k := range masks {
			mask, label := GP64(), []string{"one", "two", "three", "next"}[i]
			KMOVQ(k, mask)
			TESTQ(mask, mask)
			JZ(LabelRef(label))
			VMOVDQU64(sums[i], Mem{Base: f.dst})
			f.record(i, mask)
			if label != "next" {
				Label(label)
			}
		}
	})
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

func boundWideAVX512() {
	var within, low VecVirtual
	prepare := func(f *frame) {
		within, low = ZMM(), ZMM()
		VPBROADCASTW(f.limit.(GPVirtual).As32(), within)
		ff := GP32()
		MOVL(U32(0xff), ff)
		VPBROADCASTW(ff, low)
	}
	bound("AVX512", true, 4, prepare, func(f *frame) {
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
		const atMost = 2
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

func boundWideAVX2() {
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
	bound("AVX2", true, 1, prepare, func(f *frame) {
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

func boundAVX2() {
	var within, zero VecVirtual
	prepare := func(f *frame) {
		within, zero = YMM(), YMM()
		t := XMM()
		MOVQ(f.limit, t)
		VPBROADCASTB(t, within)
		VPXOR(zero, zero, zero)
	}
	bound("AVX2", false, 2, prepare, func(f *frame) {
		sums := make([]VecVirtual, 4)
		for b := range sums {
			sums[b] = YMM()
			VPXOR(sums[b], sums[b], sums[b])
		}
		off, entry := GP64(), GP64()
		XORQ(off, off)
		MOVQ(f.tables, entry)
		f.lookUpAVX2(sums, off, entry, f.groups)
		// What is left of a sum beyond the limit is zero where it is within.
		least := YMM()
		VPMINUB(sums[0], sums[1], least)
		VPMINUB(sums[2], least, least)
		VPMINUB(sums[3], least, least)
		VPSUBUSB(within, least, least)
		VPCMPEQB(zero, least, least)
		any := GP32()
		VPMOVMSKB(least, any)
		TESTL(any, any)
		JZ(LabelRef("next"))
		for i := 0; i < 4; i += 2 {
			low, high, label := GP64(), GP64(), []string{"one", "next"}[i/2]
			for j, mask := range []GPVirtual{low, high} {
				over := YMM()
				VPSUBUSB(within, sums[i+j], over)
				VPCMPEQB(zero, over, over)
				VPMOVMSKB(over, mask.As32())
			}
			SHLQ(Imm(32), high)
			ORQ(high, low)
			JZ(LabelRef(label))
			VMOVDQU(sums[i], Mem{Base: f.dst})
			VMOVDQU(sums[i+1], Mem{Base: f.dst, Disp: 32})
			f.record(i/2, low)
			if label != "next" {
				Label(label)
			}
		}
	})
}
