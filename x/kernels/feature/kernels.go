// Command gen writes the AVX2 kernels of package feature, and that of package dictionary:
//
//	go run . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg feature
//	go run . -out ../dictionary/greatest_amd64.s -stubs ../dictionary/stubs_amd64.go -pkg dictionary
//
// No kernel fuses a product with a sum, so each gives the bits of the Go function it stands for.
package main

import (
	"os"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	if slices.Contains(os.Args, "dictionary") {
		greatest()
		Generate()
		return
	}
	gather()
	radix4()
	combine()
	magnitude()
	pool("sumAbove", func(v, zero, acc Op) { VMAXPS(zero, v, v); VADDPS(v, acc, acc) })
	pool("sumBelow", func(v, zero, acc Op) { VMINPS(zero, v, v); VADDPS(v, acc, acc) })
	// Of two equal values the one in acc stays.
	pool("maxAbove", func(v, _, acc Op) { VMAXPS(acc, v, acc) })
	pool("minBelow", func(v, _, acc Op) { VMINPS(acc, v, acc) })
	Generate()
}

// begin starts the AVX2 version of a kernel.
func begin(name, signature string) {
	TEXT(name+"AVX2", NOSPLIT, signature)
	Doc(name + "AVX2 is " + name + "Go with AVX2.")
	Pragma("noescape")
}

func end() {
	VZEROUPPER()
	RET()
}

func at(base Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// size is the number of bytes of a complex8: eight real parts, eight imaginary parts.
const size = 64

func gather() {
	begin("gather", "func(dst, src *float32, order *int32, scale *float32, n int)")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	order, scale, n := Load(Param("order"), GP64()), Load(Param("scale"), GP64()), Load(Param("n"), GP64())
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("loop")
	from, s, re, im := GP64(), YMM(), YMM(), YMM()
	MOVLQSX(at(order, 0), from)
	SHLQ(U8(6), from)
	VBROADCASTSS(at(scale, 0), s)
	VMULPS(Mem{Base: src, Index: from, Scale: 1}, s, re)
	VMULPS(Mem{Base: src, Index: from, Scale: 1, Disp: 32}, s, im)
	VMOVUPS(re, at(dst, 0))
	VMOVUPS(im, at(dst, 32))
	ADDQ(U8(4), order)
	ADDQ(U8(4), scale)
	ADDQ(U8(size), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	Label("done")
	end()
}

func radix4() {
	begin("radix4", "func(x *float32, m, blocks int, w *float32)")
	x, m := Load(Param("x"), GP64()), Load(Param("m"), GP64())
	blocks, w := Load(Param("blocks"), GP64()), Load(Param("w"), GP64())
	SHLQ(U8(6), m)
	three := GP64()
	LEAQ(Mem{Base: m, Index: m, Scale: 2}, three)
	row := func(r, disp int) Mem {
		switch r {
		case 0:
			return Mem{Base: x, Disp: disp}
		case 3:
			return Mem{Base: x, Index: three, Scale: 1, Disp: disp}
		}
		return Mem{Base: x, Index: m, Scale: uint8(r), Disp: disp}
	}
	TESTQ(blocks, blocks)
	JZ(LabelRef("done"))
	TESTQ(w, w)
	JZ(LabelRef("plain"))
	for _, turned := range []bool{true, false} {
		name := map[bool]string{true: "turned", false: "plain"}[turned]
		Label(name)
		var re, im [4]VecVirtual
		for r := range 4 {
			re[r], im[r] = YMM(), YMM()
			VMOVUPS(row(r, 0), re[r])
			VMOVUPS(row(r, 32), im[r])
			if turned && r > 0 {
				wr, wi := at(w, 64*(r-1)), at(w, 64*(r-1)+32)
				a, b := YMM(), YMM()
				VMULPS(wi, im[r], a)
				VMULPS(wi, re[r], b)
				VMULPS(wr, re[r], re[r])
				VMULPS(wr, im[r], im[r])
				VSUBPS(a, re[r], re[r])
				VADDPS(b, im[r], im[r])
			}
		}
		half := func(v [4]VecVirtual) (s0, s1, s2, s3 VecVirtual) {
			s0, s1, s2, s3 = YMM(), YMM(), YMM(), YMM()
			VADDPS(v[2], v[0], s0)
			VSUBPS(v[2], v[0], s1)
			VADDPS(v[3], v[1], s2)
			VSUBPS(v[3], v[1], s3)
			return
		}
		r0, r1, r2, r3 := half(re)
		i0, i1, i2, i3 := half(im)
		store := func(op func(a, b, c Op), a, b VecVirtual, to Mem) {
			v := YMM()
			op(b, a, v)
			VMOVUPS(v, to)
		}
		add := func(a, b, c Op) { VADDPS(a, b, c) }
		sub := func(a, b, c Op) { VSUBPS(a, b, c) }
		store(add, r0, r2, row(0, 0))
		store(add, i0, i2, row(0, 32))
		store(sub, r1, i3, row(1, 0))
		store(add, i1, r3, row(1, 32))
		store(sub, r0, r2, row(2, 0))
		store(sub, i0, i2, row(2, 32))
		store(add, r1, i3, row(3, 0))
		store(sub, i1, r3, row(3, 32))
		LEAQ(Mem{Base: x, Index: m, Scale: 4}, x)
		DECQ(blocks)
		JNZ(LabelRef(name))
		if turned {
			JMP(LabelRef("done"))
		}
	}
	Label("done")
	end()
}

func combine() {
	begin("combine", "func(dst, src *float32, start *int32, n, p, m int, w *float32)")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	start, n := Load(Param("start"), GP64()), Load(Param("n"), GP64())
	p, m := Load(Param("p"), GP64()), Load(Param("m"), GP64())
	w := Load(Param("w"), GP64())
	SHLQ(U8(6), m)
	DECQ(p)
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("output")
	from, left := GP64(), GP64()
	MOVLQSX(at(start, 0), from)
	SHLQ(U8(6), from)
	ADDQ(src, from)
	re, im := YMM(), YMM()
	VMOVUPS(at(from, 0), re)
	VMOVUPS(at(from, 32), im)
	MOVQ(p, left)
	TESTQ(left, left)
	JZ(LabelRef("store"))
	Label("term")
	ADDQ(m, from)
	wr, wi, vr, vi, a, b := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	VBROADCASTSS(at(w, 0), wr)
	VBROADCASTSS(at(w, 4), wi)
	VMOVUPS(at(from, 0), vr)
	VMOVUPS(at(from, 32), vi)
	VMULPS(wi, vi, a)
	VMULPS(wi, vr, b)
	VMULPS(wr, vr, vr)
	VMULPS(wr, vi, vi)
	VSUBPS(a, vr, vr)
	VADDPS(b, vi, vi)
	VADDPS(vr, re, re)
	VADDPS(vi, im, im)
	ADDQ(U8(8), w)
	DECQ(left)
	JNZ(LabelRef("term"))
	Label("store")
	VMOVUPS(re, at(dst, 0))
	VMOVUPS(im, at(dst, 32))
	ADDQ(U8(size), dst)
	ADDQ(U8(4), start)
	DECQ(n)
	JNZ(LabelRef("output"))
	Label("done")
	end()
}

func magnitude() {
	begin("magnitude", "func(sum, x *float32, n int)")
	sum, x, n := Load(Param("sum"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
	acc, re, im := YMM(), YMM(), YMM()
	VMOVUPS(at(sum, 0), acc)
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("loop")
	VMOVUPS(at(x, 0), re)
	VMOVUPS(at(x, 32), im)
	VMULPS(re, re, re)
	VMULPS(im, im, im)
	VADDPS(im, re, re)
	VSQRTPS(re, re)
	VADDPS(re, acc, acc)
	ADDQ(U8(size), x)
	DECQ(n)
	JNZ(LabelRef("loop"))
	Label("done")
	VMOVUPS(acc, at(sum, 0))
	end()
}

// pool writes a kernel that folds every row of 16 values, shifted by t, into acc.
func pool(name string, fold func(v, zero, acc Op)) {
	begin(name, "func(acc, t *[16]float32, z *float32, rows int)")
	Doc(name + "AVX2 is foldGo of " + name + " with AVX2.")
	accs, ts := Load(Param("acc"), GP64()), Load(Param("t"), GP64())
	z, rows := Load(Param("z"), GP64()), Load(Param("rows"), GP64())
	zero := YMM()
	VXORPS(zero, zero, zero)
	var acc, t [2]VecVirtual
	for h := range 2 {
		acc[h], t[h] = YMM(), YMM()
		VMOVUPS(at(accs, 32*h), acc[h])
		VMOVUPS(at(ts, 32*h), t[h])
	}
	TESTQ(rows, rows)
	JZ(LabelRef("done"))
	Label("loop")
	for h := range 2 {
		v := YMM()
		VADDPS(at(z, 32*h), t[h], v)
		fold(v, zero, acc[h])
	}
	ADDQ(U8(64), z)
	DECQ(rows)
	JNZ(LabelRef("loop"))
	Label("done")
	for h := range 2 {
		VMOVUPS(acc[h], at(accs, 32*h))
	}
	end()
}

func greatest() {
	begin("greatest", "func(value *[16]float32, index *[16]int32, z *float32, rows int)")
	values, indices := Load(Param("value"), GP64()), Load(Param("index"), GP64())
	z, rows := Load(Param("z"), GP64()), Load(Param("rows"), GP64())
	unsigned, i, one := YMM(), YMM(), YMM()
	VPCMPEQD(one, one, one)
	VPSRLD(U8(1), one, unsigned)
	VPSRLD(U8(31), one, one)
	VPXOR(i, i, i)
	var value, index, best [2]VecVirtual
	for h := range 2 {
		value[h], index[h], best[h] = YMM(), YMM(), YMM()
		VXORPS(value[h], value[h], value[h])
		VXORPS(index[h], index[h], index[h])
		VXORPS(best[h], best[h], best[h])
	}
	TESTQ(rows, rows)
	JZ(LabelRef("done"))
	Label("loop")
	for h := range 2 {
		v, abs, more := YMM(), YMM(), YMM()
		VMOVUPS(at(z, 32*h), v)
		VANDPS(unsigned, v, abs)
		VCMPPS(U8(1), abs, best[h], more) // best < abs
		VMAXPS(best[h], abs, best[h])
		VBLENDVPS(more, v, value[h], value[h])
		VBLENDVPS(more, i, index[h], index[h])
	}
	VPADDD(one, i, i)
	ADDQ(U8(64), z)
	DECQ(rows)
	JNZ(LabelRef("loop"))
	Label("done")
	for h := range 2 {
		VMOVUPS(value[h], at(values, 32*h))
		VMOVUPS(index[h], at(indices, 32*h))
	}
	end()
}
