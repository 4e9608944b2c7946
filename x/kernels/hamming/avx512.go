package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// avx512 counts with VPOPCNTQ. A register holds the distances of eight codes.
type avx512 struct {
	within, lane VecVirtual
	q            []VecVirtual
}

func (*avx512) name() string { return "AVX512" }
func (*avx512) lanes() int   { return 8 }

func (*avx512) constants() {}

func (x *avx512) limit(limit Register) {
	x.within = ZMM()
	VPBROADCASTQ(limit, x.within)
	x.lane = ZMM()
	VMOVDQU64(numbers("numbers", 8, 0, 1), x.lane)
}

func (x *avx512) query(width int, q Register) {
	x.q = nil
	v := ZMM()
	switch width {
	case 1:
		VPBROADCASTQ(Mem{Base: q}, v)
	case 2:
		VBROADCASTI64X2(Mem{Base: q}, v)
	case 4:
		VBROADCASTI64X4(Mem{Base: q}, v)
	default:
		VMOVDQU64(Mem{Base: q}, v)
	}
	x.q = append(x.q, v)
}

// sums returns, per lane, the number of differing bits of q and as many vectors from memory.
func (x *avx512) sums(at Mem) VecVirtual {
	var sum VecVirtual
	for i, q := range x.q {
		v := ZMM()
		VPXORQ(at.Offset(64*i), q, v)
		VPOPCNTQ(v, v)
		if i == 0 {
			sum = v
		} else {
			VPADDQ(v, sum, sum)
		}
	}
	return sum
}

func (x *avx512) group(width, first int, codes Register) VecVirtual {
	return x.sums(Mem{Base: codes, Disp: 8 * width * first})
}

func (x *avx512) hits(d []VecVirtual, i, dst, out Register, next string) {
	k, mask := K(), GP32()
	least := d[0]
	if len(d) == 4 {
		least = ZMM()
		t := ZMM()
		VPMINUQ(d[0], d[1], least)
		VPMINUQ(d[2], d[3], t)
		VPMINUQ(t, least, least)
	}
	const atMost = 2
	VPCMPUQ(Imm(atMost), x.within, least, k)
	KMOVB(k, mask)
	TESTL(mask, mask)
	JZ(LabelRef(next))
	position := ZMM()
	VPBROADCASTQ(i, position)
	VPADDQ(x.lane, position, position)
	for n, v := range d {
		if n > 0 {
			eight := GP64()
			t := ZMM()
			MOVQ(U32(uint32(8*n)), eight)
			VPBROADCASTQ(eight, t)
			VPADDQ(x.lane, t, t)
			VPBROADCASTQ(i, position)
			VPADDQ(t, position, position)
		}
		if len(d) > 1 {
			VPCMPUQ(Imm(atMost), x.within, v, k)
			KMOVB(k, mask)
		}
		// Eight places are written and only those within the limit kept: the output has room for that.
		VPSLLQ(Imm(16), v, v)
		VPORQ(position, v, v)
		t := YMM()
		VPMOVQD(v, t)
		VPCOMPRESSD(t, k, t)
		VMOVDQU(t, Mem{Base: dst, Index: out, Scale: 4})
		count := GP32()
		POPCNTL(mask, count)
		ADDQ(count.As64(), out)
	}
}

// belowWide is below for codes of several words, 16 at a time. The counts of the words are packed to 16 bits and added
// in pairs, so that lanes that must be added across come last, and few of them are left:
//
//	counts    xor and count         one word per lane
//	quarter   of four registers     one code, or a quarter or half of one, per lane of 32 bits
//	fold      of two registers      adds neighbouring quarters of the registers
func belowWide(width int) {
	name := fmt.Sprintf("below%dAVX512", 64*width)
	TEXT(name, NOSPLIT, "func(dst *uint32, q, codes *uint64, n, limit int) int")
	dst, q, codes, n, limit := param("dst"), param("q"), param("codes"), param("n"), param("limit")
	x := &avx512{}
	x.query(width, q)
	within, lane, ones, order := ZMM(), ZMM(), ZMM(), ZMM()
	VPBROADCASTD(limit.(GPVirtual).As32(), within)
	one := GP32()
	MOVL(U32(0x00010001), one)
	VPBROADCASTD(one, ones)
	VMOVDQU32(doubles("lanes", func(c int) int { return c }), lane)
	VMOVDQU32(doubles(fmt.Sprint("order", width), func(c int) int { return placeOf(width, c) }), order)
	i, out := GP64(), GP64()
	XORQ(i, i)
	XORQ(out, out)
	Label("loop")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	quarter := func(first int) VecVirtual {
		var v [4]VecVirtual
		for r := range v {
			v[r] = x.sums(Mem{Base: codes, Disp: 64 * len(x.q) * (4*first + r)})
		}
		VPACKUSDW(v[1], v[0], v[0])
		VPACKUSDW(v[3], v[2], v[2])
		VPACKUSDW(v[2], v[0], v[0])
		VPMADDWD(ones, v[0], v[0])
		return v[0]
	}
	fold := func(a, b VecVirtual) VecVirtual {
		t := ZMM()
		VSHUFI64X2(Imm(0b10001000), b, a, t)
		VSHUFI64X2(Imm(0b11011101), b, a, a)
		VPADDD(t, a, a)
		return a
	}
	var d VecVirtual
	switch width {
	case 2:
		d = quarter(0)
	case 4:
		d = fold(quarter(0), quarter(1))
	case 8:
		a := fold(quarter(0), quarter(1))
		d = fold(a, fold(quarter(2), quarter(3)))
	}
	const atMost = 2
	k := K()
	VPCMPUD(Imm(atMost), within, d, k)
	KORTESTW(k, k)
	JZ(LabelRef("next"))
	VPERMD(d, order, d)
	VPCMPUD(Imm(atMost), within, d, k)
	position := ZMM()
	VPBROADCASTD(i.As32(), position)
	VPADDD(lane, position, position)
	VPSLLD(Imm(16), d, d)
	VPORD(position, d, d)
	// Sixteen places are written and only those within the limit kept: the output has room for that.
	VPCOMPRESSD(d, k, d)
	VMOVDQU32(d, Mem{Base: dst, Index: out, Scale: 4})
	count := GP32()
	KMOVW(k, count)
	POPCNTL(count, count)
	ADDQ(count.As64(), out)
	Label("next")
	ADDQ(Imm(16), i)
	ADDQ(U32(uint32(8*width*16)), codes)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	Store(out, ReturnIndex(0))
	RET()
}

// placeOf is the lane in which belowWide leaves the distance of a code.
func placeOf(width, code int) int {
	switch width {
	case 2:
		return code%4*4 + code/4
	case 4:
		return code/8*8 + code%2*4 + code%8/2
	}
	return code
}

// doubles is a table of sixteen numbers of 32 bits in memory.
func doubles(name string, value func(i int) int) Mem {
	if _, ok := tables[name]; !ok {
		tables[name] = GLOBL(name, RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(uint32(value(i))))
		}
	}
	return tables[name]
}
