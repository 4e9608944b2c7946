package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// packer is the registers of a kernel that makes planes of 6 bits from codes of 1, 2 or 4 words. For one word of 64
// codes:
//
//	load              eight codes     eight words
//	VPMULTISHIFTQB    eight codes     the eight groups of the upper 48 bits
//	VPERMB            eight codes     group g of all eight, for g = 0 to 7
//	VPERMB            32 codes        the lower 16 bits
//	VPMULTISHIFTQB    32 codes        groups 8 and 9 by turns, four codes each, and group 10
//
// and then the planes from eight registers, and from two.
type packer struct {
	words              int
	codes              Register
	choose             []VecVirtual // by word: where it is in two registers of codes
	shift, order       VecVirtual
	low, middle, least VecVirtual // the lower 16 bits; groups 8 and 9; group 10
	even, odd          VecVirtual // the 32-bit words of two registers
	lanes              []Register // from the second on
}

// filled is 64 bytes, or words of some bytes each.
func filled(size int, f func(i int) int) []byte {
	bytes := make([]byte, 64)
	for i := range 64 / size {
		bytes[size*i] = byte(f(i))
	}
	return bytes
}

func newPacker(words int) *packer {
	p := &packer{words: words, codes: param("codes")}
	constant := func(name string, bytes []byte) VecVirtual {
		v := ZMM()
		VMOVDQU64(table(fmt.Sprintf("%s%d", name, words), bytes), v)
		return v
	}
	p.shift = ZMM()
	VMOVDQU64(shifts, p.shift)
	p.order = constant("packOrder", filled(1, func(i int) int { return 8*(i%8) + i/8 }))
	p.low = constant("packLow", filled(1, func(i int) int { return 8*(i%16/2) + i%2 }))
	p.middle = constant("packMiddle", filled(1, func(i int) int { return 16*(i%4) + 10 - 6*(i/4%2) }))
	p.least = constant("packLeast", filled(1, func(i int) int { return 16 * (i % 4) }))
	p.even = constant("packEven", filled(4, func(i int) int { return 2 * i }))
	p.odd = constant("packOdd", filled(4, func(i int) int { return 2*i + 1 }))
	for l := 1; l < 4; l++ {
		p.lanes = append(p.lanes, mask(0xffff<<(16*l)))
	}
	return p
}

// row returns the chosen word of eight codes.
func (p *packer) row(row int, choose VecVirtual) VecVirtual {
	v, at := ZMM(), Mem{Base: p.codes, Disp: 64 * p.words * row}
	VMOVDQU64(at, v)
	if p.words == 1 {
		return v
	}
	VPERMT2Q(at.Offset(64), choose, v)
	if p.words == 4 { // of four codes, and of the other four
		u := ZMM()
		VMOVDQU64(at.Offset(128), u)
		VPERMT2Q(at.Offset(192), choose, u)
		VINSERTI64X4(Imm(1), u.AsY(), v, v)
	}
	return v
}

// word returns the planes of a word.
func (p *packer) word(w int) (planes []VecVirtual) {
	var choose VecVirtual
	if p.words > 1 {
		choose = ZMM()
		VMOVDQU64(table(fmt.Sprintf("choose%dOf%d", w, p.words), filled(8, func(i int) int { return (p.words*i + w) % 16 })), choose)
	}
	var groups, halves []VecVirtual
	for row := range 8 {
		v, g := p.row(row, choose), ZMM()
		VPMULTISHIFTQB(v, p.shift, g)
		VPERMB(g, p.order, g)
		groups = append(groups, g)
		if l := row % 4; l == 0 {
			x := ZMM()
			VPERMB(v, p.low, x)
			halves = append(halves, x)
		} else {
			VPERMB(v, p.low, p.lanes[l-1], halves[row/4])
		}
	}
	fresh := func() VecVirtual { return ZMM() }
	pairs := unpack(groups, VPUNPCKLQDQ, VPUNPCKHQDQ, fresh, false) // lane l: groups 2l, and 2l+1, of 16 codes
	planes = make([]VecVirtual, 8)
	for odd := range 2 {
		for l, v := range turnLanes([]VecVirtual{pairs[odd], pairs[2+odd], pairs[4+odd], pairs[6+odd]}) {
			planes[2*l+odd] = v
		}
	}
	var middle, least []VecVirtual
	for _, x := range halves {
		a, b := ZMM(), ZMM()
		VPMULTISHIFTQB(x, p.middle, a)
		VPMULTISHIFTQB(x, p.least, b)
		middle, least = append(middle, a), append(least, b)
	}
	eight := ZMM()
	VMOVDQA64(middle[0], eight)
	VPERMT2D(middle[1], p.even, eight)
	VPERMT2D(middle[1], p.odd, middle[0])
	VPERMT2D(least[1], p.even, least[0])
	return append(planes, eight, middle[0], least[0])
}

// turnLanes returns lane l of four registers, for l = 0 to 3.
func turnLanes(in []VecVirtual) (out []VecVirtual) {
	const lower, upper, even, odd = 0x44, 0xee, 0x88, 0xdd
	pick := func(which uint64, a, b VecVirtual) VecVirtual {
		v := ZMM()
		VSHUFI64X2(Imm(which), b, a, v)
		return v
	}
	for _, half := range []uint64{lower, upper} {
		a, b := pick(half, in[0], in[1]), pick(half, in[2], in[3])
		out = append(out, pick(even, a, b), pick(odd, a, b))
	}
	return out
}

func packAVX512(words int) {
	name := fmt.Sprintf("pack%dAVX512", 64*words)
	TEXT(name, NOSPLIT, "func(dst *uint8, codes *uint64, blocks int)")
	Doc(fmt.Sprintf("%s writes the planes of 6 bits of blocks of codes of %d bits, one block after the other.", name, 64*words))
	Pragma("noescape")
	dst, p, blocks := param("dst"), newPacker(words), param("blocks")
	Label("loop")
	SUBQ(Imm(1), blocks)
	JL(LabelRef("done"))
	for w := range words {
		planes := p.word(w)
		for g, plane := range planes {
			VMOVDQU64(plane, Mem{Base: dst, Disp: perBlock * (len(planes)*w + g)})
		}
	}
	ADDQ(U32(uint32(8*perBlock*words)), p.codes)
	ADDQ(U32(uint32(11*perBlock*words)), dst)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}
