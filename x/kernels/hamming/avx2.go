package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// avx2 counts with a table of 16 entries in a register (Mula, Kurz, Lemire, 2016): both halves of every byte are
// looked up, and VPSADBW adds the bytes of each 64-bit lane. A register holds the distances of four codes.
type avx2 struct {
	low, table, zero, within VecVirtual
	q                        []VecVirtual
}

func (*avx2) name() string { return "AVX2" }
func (*avx2) lanes() int   { return 4 }

func (x *avx2) constants() {
	x.low, x.table, x.zero = YMM(), YMM(), YMM()
	g, t := GP64(), XMM()
	MOVQ(U64(0x0f0f0f0f0f0f0f0f), g)
	MOVQ(g, t)
	VPBROADCASTQ(t, x.low)
	ones, hi := XMM(), XMM()
	MOVQ(U64(0x0302020102010100), g)
	MOVQ(g, ones)
	MOVQ(U64(0x0403030203020201), g)
	MOVQ(g, hi)
	VPUNPCKLQDQ(hi, ones, ones)
	VINSERTI128(Imm(1), ones, ones.AsY(), x.table)
	VPXOR(x.zero, x.zero, x.zero)
}

func (x *avx2) limit(limit Register) {
	x.within = YMM()
	t := XMM()
	MOVQ(limit, t)
	VPBROADCASTQ(t, x.within)
}

func (x *avx2) query(width int, q Register) {
	x.q = nil
	switch width {
	case 1:
		v := YMM()
		VPBROADCASTQ(Mem{Base: q}, v)
		x.q = append(x.q, v)
	case 2:
		v := YMM()
		VBROADCASTI128(Mem{Base: q}, v)
		x.q = append(x.q, v)
	default:
		for w := 0; w < width; w += 4 {
			v := YMM()
			VMOVDQU(Mem{Base: q, Disp: 8 * w}, v)
			x.q = append(x.q, v)
		}
	}
}

// count replaces v by the number of ones of each of its bytes.
func (x *avx2) count(v VecVirtual) {
	hi := YMM()
	VPSRLW(Imm(4), v, hi)
	VPAND(x.low, v, v)
	VPAND(x.low, hi, hi)
	VPSHUFB(v, x.table, v)
	VPSHUFB(hi, x.table, hi)
	VPADDB(hi, v, v)
}

// sums returns, per 64-bit lane, the number of differing bits of q and the len(x.q) vectors from memory.
func (x *avx2) sums(at Mem) VecVirtual {
	var sum VecVirtual
	for i, q := range x.q {
		v := YMM()
		VPXOR(at.Offset(32*i), q, v)
		x.count(v)
		if i == 0 {
			sum = v
		} else {
			VPADDB(v, sum, sum)
		}
	}
	VPSADBW(x.zero, sum, sum)
	return sum
}

// pairs adds neighbouring lanes: a0+a1, b0+b1, a2+a3, b2+b3.
func pairs(a, b VecVirtual) VecVirtual {
	t := YMM()
	VPUNPCKLQDQ(b, a, t)
	VPUNPCKHQDQ(b, a, a)
	VPADDQ(t, a, a)
	return a
}

func (x *avx2) group(width, first int, codes Register) VecVirtual {
	at := Mem{Base: codes, Disp: 8 * width * first}
	switch width {
	case 1:
		return x.sums(at)
	case 2:
		d := pairs(x.sums(at), x.sums(at.Offset(32)))
		VPERMQ(Imm(0xd8), d, d)
		return d
	}
	step := 8 * width
	a := pairs(x.sums(at), x.sums(at.Offset(step)))
	b := pairs(x.sums(at.Offset(2*step)), x.sums(at.Offset(3*step)))
	t := YMM()
	VPERM2I128(Imm(0x20), b, a, t)
	VPERM2I128(Imm(0x31), b, a, a)
	VPADDQ(t, a, a)
	return a
}

func (x *avx2) hits(d []VecVirtual, i, dst, out Register, next string) {
	// The upper halves of the lanes are zero, so the least of 32-bit numbers is the least of the lanes.
	least := YMM()
	VPMINUD(d[0], d[1], least)
	if len(d) == 4 {
		t := YMM()
		VPMINUD(d[2], d[3], t)
		VPMINUD(t, least, least)
	}
	VPCMPGTQ(x.within, least, least)
	over := GP32()
	VMOVMSKPD(least, over)
	CMPL(over, Imm(15))
	JE(LabelRef(next))
	// Rare: one bit per code within the limit, then one code at a time.
	stack := AllocLocal(32 * len(d))
	mask := GP32()
	for n := len(d) - 1; n >= 0; n-- {
		VMOVDQU(d[n], stack.Offset(32*n))
		VPCMPGTQ(x.within, d[n], d[n])
		VMOVMSKPD(d[n], over)
		if n == len(d)-1 {
			MOVL(over, mask)
		} else {
			SHLL(Imm(4), mask)
			ORL(over, mask)
		}
	}
	XORL(U32(uint32(1)<<(4*len(d))-1), mask)
	again := "more" + next
	Label(again)
	lane, hit := GP64(), GP64()
	XORQ(lane, lane)
	BSFL(mask, lane.As32())
	MOVQ(stack.Idx(lane, 8), hit)
	SHLQ(Imm(16), hit)
	ADDQ(i, lane)
	ORQ(lane, hit)
	MOVL(hit.As32(), Mem{Base: dst, Index: out, Scale: 4})
	INCQ(out)
	rest := GP32()
	LEAL(Mem{Base: mask, Disp: -1}, rest)
	ANDL(rest, mask)
	JNZ(LabelRef(again))
}

// rest prepares what row needs for the words after the last whole vector.
func (x *avx2) rest(words Register) (whole, rest Register) {
	// Lane l of the last vector is read iff l < words mod 4.
	w, tail := GP64(), GP64()
	MOVQ(words, w)
	MOVQ(words, tail)
	ANDQ(Imm(3), tail)
	SHRQ(Imm(2), w)
	t, m := XMM(), YMM()
	MOVQ(tail, t)
	VPBROADCASTQ(t, m)
	VPCMPGTQ(numbers("numbers", 8, 0, 1), m, m)
	return w, m
}

// row leaves the distance to one code of any length in a general register.
func (x *avx2) row(code, q, mask, whole, rest Register) Register {
	sum, v := YMM(), YMM()
	at, left := GP64(), GP64()
	VPXOR(sum, sum, sum)
	XORQ(at, at)
	MOVQ(whole, left)
	Label("words")
	SUBQ(Imm(1), left)
	JL(LabelRef("rest"))
	VMOVDQU(Mem{Base: code, Index: at, Scale: 1}, v)
	VPXOR(Mem{Base: q, Index: at, Scale: 1}, v, v)
	VPAND(Mem{Base: mask, Index: at, Scale: 1}, v, v)
	x.count(v)
	VPADDB(v, sum, sum)
	ADDQ(Imm(32), at)
	JMP(LabelRef("words"))
	Label("rest")
	VPMASKMOVQ(Mem{Base: code, Index: at, Scale: 1}, rest, v)
	VPXOR(Mem{Base: q, Index: at, Scale: 1}, v, v)
	VPAND(Mem{Base: mask, Index: at, Scale: 1}, v, v)
	x.count(v)
	VPADDB(v, sum, sum)
	VPSADBW(x.zero, sum, sum)
	t := XMM()
	VEXTRACTI128(Imm(1), sum, t)
	VPADDQ(t, sum.AsX(), t)
	hi := XMM()
	VPUNPCKHQDQ(t, t, hi)
	VPADDQ(hi, t, t)
	d := GP64()
	VMOVQ(t, d)
	return d
}
