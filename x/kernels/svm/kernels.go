// Command gen writes the AVX2 kernels of package svm:
//
//	go run . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg svm
//
// No kernel fuses a product with a sum, so each gives the bits of the Go function it stands for.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	dot()
	add()
	Generate()
}

// begin starts the AVX2 version of a kernel.
func begin(name, signature string) {
	TEXT(name+"AVX2", NOSPLIT, signature)
	Doc(name + "AVX2 is " + name + "Go with AVX2.")
	Pragma("noescape")
}

func at(base Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// floats reads eight bytes as floats.
func floats(from Mem) VecVirtual {
	v := YMM()
	VPMOVZXBD(from, v)
	VCVTDQ2PS(v, v)
	return v
}

// dot goes through both vectors in turns of 32 values, with a sum for each.
func dot() {
	begin("dot", "func(sum *[32]float32, x *uint8, v *float32, turns int)")
	sum, x := Load(Param("sum"), GP64()), Load(Param("x"), GP64())
	v, turns := Load(Param("v"), GP64()), Load(Param("turns"), GP64())
	var acc [4]VecVirtual
	for i := range acc {
		acc[i] = YMM()
		VXORPS(acc[i], acc[i], acc[i])
	}
	Label("loop")
	for i := range acc {
		b := floats(at(x, 8*i))
		VMULPS(at(v, 32*i), b, b)
		VADDPS(b, acc[i], acc[i])
	}
	ADDQ(U8(32), x)
	SUBQ(I8(-128), v)
	DECQ(turns)
	JNZ(LabelRef("loop"))
	for i := range acc {
		VMOVUPS(acc[i], at(sum, 32*i))
	}
	VZEROUPPER()
	RET()
}

// add goes through five vectors in turns of 32 values: the sums stay in registers for the four that are added.
func add() {
	begin("add", "func(y *float32, a *[4]float32, x0, x1, x2, x3 *uint8, turns int)")
	y, as := Load(Param("y"), GP64()), Load(Param("a"), GP64())
	var x [4]Register
	var a [4]VecVirtual
	for r, name := range []string{"x0", "x1", "x2", "x3"} {
		x[r] = Load(Param(name), GP64())
		a[r] = YMM()
		VBROADCASTSS(at(as, 4*r), a[r])
	}
	turns := Load(Param("turns"), GP64())
	Label("loop")
	for i := range 4 {
		s := YMM()
		VMOVUPS(at(y, 32*i), s)
		for r := range x {
			b := floats(at(x[r], 8*i))
			VMULPS(a[r], b, b)
			VADDPS(b, s, s)
		}
		VMOVUPS(s, at(y, 32*i))
	}
	SUBQ(I8(-128), y)
	for r := range x {
		ADDQ(U8(32), x[r])
	}
	DECQ(turns)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
