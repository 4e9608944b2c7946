package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// together is the number of queries that boundFour serves with one load of a plane.
const together = 4

// boundFourAVX512 is boundAVX512 for four queries, so that the planes may lie in the second cache. Two blocks a turn.
func boundFourAVX512() {
	TEXT("boundFourAVX512", NOSPLIT,
		"func(dst *uint8, found *uint64, planes, tables *uint8, limits, ahead *uint64, blocks, groups, size int)")
	Doc("boundFourAVX512 is boundAVX512 for four queries, whose tables of a group lie together. Query j has the j-th of",
		"four equal parts of dst, of as many records as there are blocks, and its number of records in found[j], which",
		"is 0 at first. The number of blocks is even. Every two blocks another 64 bytes are fetched from ahead, which",
		"will be needed next.")
	Pragma("noescape")
	dst, planes, tables := param("dst"), param("planes"), param("tables")
	groups, size, blocks := param("groups"), param("size"), param("blocks")
	SHLQ(Imm(6), groups) // in bytes from here on
	limits, within := param("limits"), make([]VecVirtual, together)
	for j := range within {
		within[j] = ZMM()
		VPBROADCASTB(Mem{Base: limits, Disp: 8 * j}, within[j])
	}
	second, number, step := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: planes, Index: size, Scale: 1}, second)
	LEAQ(Mem{Base: size, Index: size, Scale: 1}, step)
	XORQ(number, number)
	at, ahead := []Register{planes, second}, param("ahead")

	Label("loop")
	CMPQ(number, blocks)
	JGE(LabelRef("done"))
	var sums [2 * together]VecVirtual
	for i := range sums {
		sums[i] = ZMM()
		VPXORQ(sums[i], sums[i], sums[i])
	}
	off, entry := GP64(), GP64()
	XORQ(off, off)
	MOVQ(tables, entry)
	Label("group")
	var v [2]VecVirtual
	for b := range v {
		v[b] = ZMM()
		VMOVDQU64(Mem{Base: at[b], Index: off, Scale: 1}, v[b])
	}
	for j := range together {
		entries := ZMM()
		VMOVDQU64(Mem{Base: entry, Disp: 64 * j}, entries)
		for b := range v {
			x := ZMM()
			VPERMB(entries, v[b], x)
			VPADDUSB(x, sums[2*j+b], sums[2*j+b])
		}
	}
	ADDQ(U32(64*together), entry)
	ADDQ(Imm(perBlock), off)
	CMPQ(off, groups)
	JL(LabelRef("group"))
	const atMost = 2
	var masks [2 * together]Register
	for i, sum := range sums {
		masks[i] = K()
		VPCMPUB(Imm(atMost), within[i/2], sum, masks[i])
		if i%4 == 3 { // only seven registers take masks
			boundFourAny(masks[i-3:i+1], sums[i-3:i+1], i-3, dst, number, blocks)
		}
	}
	PREFETCHT1(Mem{Base: ahead})
	ADDQ(Imm(64), ahead)
	for _, p := range at {
		ADDQ(step, p)
	}
	ADDQ(Imm(2), number)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// boundFourAny records the blocks of two queries with codes within the limit; sum i is of block i%2 and query i/2.
func boundFourAny(masks []Register, sums []VecVirtual, first int, dst, number, blocks Register) {
	next := fmt.Sprintf("next%d", first)
	a, b := K(), K()
	KORQ(masks[0], masks[1], a)
	KORQ(masks[2], masks[3], b)
	KORTESTQ(a, b)
	JZ(LabelRef(next))
	for i, k := range masks {
		skip, found, query := fmt.Sprintf("skip%d", first+i), GP64(), (first+i)/2
		KMOVQ(k, found)
		TESTQ(found, found)
		JZ(LabelRef(skip))
		counts, to := Load(Param("found"), GP64()), GP64()
		IMUL3Q(Imm(uint64(query)), blocks, to)
		ADDQ(Mem{Base: counts, Disp: 8 * query}, to)
		IMUL3Q(Imm(recordSize), to, to)
		ADDQ(dst, to)
		INCQ(Mem{Base: counts, Disp: 8 * query})
		VMOVDQU64(sums[i], Mem{Base: to})
		MOVQ(found, Mem{Base: to, Disp: maskAt})
		n := GP64()
		LEAQ(Mem{Base: number, Disp: i % 2}, n)
		MOVQ(n, Mem{Base: to, Disp: numberAt})
		Label(skip)
	}
	Label(next)
}
