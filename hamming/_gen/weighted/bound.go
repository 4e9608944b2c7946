package main

import (
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
	at                                                    []Register // the planes of each block
}

// bound begins a kernel that sums some blocks per turn.
func bound(isa string, blocks int, prepare, body func(f *frame)) {
	name := "bound" + isa
	TEXT(name, NOSPLIT, "func(dst, planes, tables *uint8, blocks, groups, size, limit int) int")
	Doc(name+" writes the blocks that have codes whose sum of table entries, at most 255, is within the limit,",
		"and returns their number. The planes of one block come size bytes after those of the one before; the",
		"number of blocks is a multiple of 4.")
	Pragma("noescape")
	f := &frame{dst: param("dst"), planes: param("planes"), tables: param("tables"), groups: param("groups")}
	count := param("blocks")
	f.size, f.limit = param("size"), param("limit")
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
	SHLQ(Imm(map[int]uint64{2: 1, 4: 2}[blocks]), step)
	prepare(f)
	Label("loop")
	CMPQ(f.number, count)
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

func boundAVX512() {
	var within VecVirtual
	prepare := func(f *frame) {
		within = ZMM()
		VPBROADCASTB(f.limit.(GPVirtual).As32(), within)
	}
	bound("AVX512", 4, prepare, func(f *frame) {
		sums := make([]VecVirtual, 4)
		for b := range sums {
			sums[b] = ZMM()
			VPXORQ(sums[b], sums[b], sums[b])
		}
		off, end := GP64(), GP64()
		XORQ(off, off)
		MOVQ(f.groups, end)
		SHLQ(Imm(6), end)
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

func boundAVX2() {
	var within, zero VecVirtual
	prepare := func(f *frame) {
		within, zero = YMM(), YMM()
		t := XMM()
		MOVQ(f.limit, t)
		VPBROADCASTB(t, within)
		VPXOR(zero, zero, zero)
	}
	bound("AVX2", 2, prepare, func(f *frame) {
		sums := make([]VecVirtual, 4)
		for b := range sums {
			sums[b] = YMM()
			VPXOR(sums[b], sums[b], sums[b])
		}
		off, entry, left := GP64(), GP64(), GP64()
		XORQ(off, off)
		MOVQ(f.tables, entry)
		MOVQ(f.groups, left)
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
		DECQ(left)
		JNZ(LabelRef("group"))
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
