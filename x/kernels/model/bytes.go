package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Kernels of bytes. A tile is four rows by two or four registers of anchors; every group of four bytes of a row is
// multiplied with those of as many anchors as fit into a register, and the four products are added to one sum.

// byteRows is the number of rows of a tile.
const byteRows = 4

// vector is a constant of 64 bytes that holds a value in all places.
func vector(name string, v Constant) Mem {
	if _, ok := constants[name]; !ok {
		constants[name] = GLOBL(name, RODATA|NOPTR)
		for i := 0; i < 64; i += v.Bytes() {
			DATA(i, v)
		}
	}
	return constants[name]
}

// toValues rounds 16 values at a time to bytes or words and adds them up, and their squares.
func toValues(name string, size int) {
	begin(name, "func(dst *byte, x *float32, n int, perStep float32, sums *int32)")
	dst, x, n := pointer("dst"), pointer("x"), pointer("n")
	perStep, sum, squares := YMM(), YMM(), YMM()
	at, err := Param("perStep").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(at.Addr, perStep)
	VPXOR(sum, sum, sum)
	VPXOR(squares, squares, squares)
	SHRQ(Imm(4), n)
	count()
	v := [2]VecVirtual{YMM(), YMM()}
	for h, v := range v {
		VMULPS(Mem{Base: x, Disp: 32 * h}, perStep, v)
		VMAXPS(vector("leastByte", F32(-127)), v, v) // also instead of NaN
		VMINPS(vector("mostByte", F32(127)), v, v)
		VCVTPS2DQ(v, v)
	}
	VPACKSSDW(v[1], v[0], v[0])
	VPERMQ(Imm(0xd8), v[0], v[0])
	t := YMM()
	VPMADDWD(vector("ones", U16(1)), v[0], t)
	VPADDD(t, sum, sum)
	t = YMM()
	VPMADDWD(v[0], v[0], t)
	VPADDD(t, squares, squares)
	if size == 2 {
		VMOVDQU(v[0], Mem{Base: dst})
	} else {
		VPACKSSWB(v[0], v[0], v[0])
		VPERMQ(Imm(8), v[0], v[0])
		VMOVDQU(v[0].AsX(), Mem{Base: dst})
	}
	ADDQ(U8(64), x)
	ADDQ(U8(16*size), dst)
	repeat(n)
	sums := pointer("sums")
	for i, v := range []VecVirtual{sum, squares} {
		half := XMM()
		VEXTRACTI128(Imm(1), v, half)
		VPADDD(v.AsX(), half, half)
		other := XMM()
		VPSHUFD(Imm(0x4e), half, other)
		VPADDD(other, half, half)
		VPSHUFD(Imm(0xb1), half, other)
		VPADDD(other, half, half)
		VMOVD(half, Mem{Base: sums, Disp: 4 * i})
	}
	end()
}

// byteTile is four rows of Gaussians around as many registers of anchors.
func byteTile(name string, registers, bytes int, vec func() VecVirtual, step func(a, q, sum VecVirtual)) {
	begin(name, "func(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32, "+
		"scale float32)")
	q, panel, groups, rowStep := pointer("q"), pointer("panel"), pointer("groups"), pointer("step")
	third := GP64()
	LEAQ(Mem{Base: q, Index: rowStep, Scale: 2}, third)
	var sums [byteRows][]VecVirtual
	for r := range sums {
		for range registers {
			v := vec()
			zero(v)
			sums[r] = append(sums[r], v)
		}
	}
	count()
	var a []VecVirtual
	for h := range registers {
		v := vec()
		VMOVUPS(Mem{Base: panel, Disp: bytes * h}, v)
		a = append(a, v)
	}
	for r := range sums {
		at := Mem{Base: []Register{q, third}[r/2]}
		if r%2 == 1 {
			at.Index, at.Scale = rowStep, 1
		}
		row := vec()
		VPBROADCASTD(at, row)
		for h := range a {
			step(a[h], row, sums[r][h])
		}
	}
	ADDQ(U32(bytes*registers), panel)
	ADDQ(U8(4), q)
	ADDQ(U8(4), third)
	repeat(groups)

	// The squared distances first, so that a loop over the rows can replace them.
	dst, stride, own, squares := pointer("dst"), pointer("stride"), pointer("own"), pointer("squares")
	SHLQ(U8(2), stride)
	to := GP64()
	MOVQ(dst, to)
	for r := range sums {
		row := vec()
		VPBROADCASTD(Mem{Base: own, Disp: 4 * r}, row)
		for h, v := range sums[r] {
			VPADDD(v, v, v)
			VPSUBD(v, row, v)
			VPADDD(Mem{Base: squares, Disp: bytes * h}, v, v)
			VMOVUPS(v, Mem{Base: to, Disp: bytes * h})
		}
		ADDQ(stride, to)
	}
	scale := vec()
	at, err := Param("scale").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(at.Addr, scale)
	rows := GP64()
	MOVQ(U32(byteRows), rows)
	Label("row")
	for h := range registers {
		v := vec()
		VMOVUPS(Mem{Base: dst, Disp: bytes * h}, v)
		gaussian(v, scale, vec(), vec())
		VMOVUPS(v, Mem{Base: dst, Disp: bytes * h})
	}
	ADDQ(stride, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	end()
}

// gaussian replaces integers d by 2^-(scale d); n and p are free.
func gaussian(d, scale, n, p VecVirtual) {
	VCVTDQ2PS(d, d)
	VMULPS(scale, d, d)
	VMINPS(vector("mostHalvings", F32(100)), d, d)
	VCVTTPS2DQ(d, n)
	VCVTDQ2PS(n, p)
	VSUBPS(p, d, d)
	VMULPS(vector("gauss4", F32(0.0067778736276791875)), d, p)
	VADDPS(vector("gauss3", F32(-0.0531276789940586)), p, p)
	VMULPS(d, p, p)
	VADDPS(vector("gauss2", F32(0.23940567669770346)), p, p)
	VMULPS(d, p, p)
	VADDPS(vector("gauss1", F32(-0.6930558713313241)), p, p)
	VMULPS(d, p, p)
	VADDPS(vector("gauss0", F32(1)), p, p)
	VPSLLD(Imm(23), n, n)
	VPSUBD(n, p, d)
}

// zero clears a register.
func zero(v VecVirtual) {
	if v.Size() == 64 {
		VPXORD(v, v, v) // VPXOR is of AVX2
	} else {
		VPXOR(v, v, v)
	}
}

func byteKernels() {
	toValues("toBytesAVX2", 1)
	toValues("toWordsAVX2", 2)
	byteTile("byteTileVNNI", 4, 64, func() VecVirtual { return ZMM() }, func(a, q, sum VecVirtual) {
		VPDPBUSD(q, a, sum) // q has a sign, a has none
	})
	byteTile("byteTileAVX2", 2, 32, func() VecVirtual { return YMM() }, func(a, q, sum VecVirtual) {
		t := YMM()
		VPMADDWD(a, q, t)
		VPADDD(t, sum, sum)
	})
}
