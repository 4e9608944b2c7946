// Command linalg writes the AVX2 kernel of package linalg:
//
//	go run . -out ../kernel_amd64.s -stubs ../stubs_amd64.go -pkg linalg
//
// Y0 to Y3 hold 16 values of y; Y4 is one value of f in all four places; Y5 to Y8 are its products with values of x.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	TEXT("subtractAVX2", NOSPLIT, "func(n, stride int, f, x, y *float64)")
	Doc("subtractAVX2 is subtractGo with AVX2.")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	stride := Load(Param("stride"), GP64())
	f := Load(Param("f"), GP64())
	x := Load(Param("x"), GP64())
	y := Load(Param("y"), GP64())
	SHLQ(U8(3), stride)

	sums, products := []VecPhysical{Y0, Y1, Y2, Y3}, []VecPhysical{Y5, Y6, Y7, Y8}
	for i, s := range sums {
		VMOVUPD(Mem{Base: y, Disp: 32 * i}, s)
	}
	TESTQ(n, n)
	JZ(LabelRef("store"))
	Label("one")
	VBROADCASTSD(Mem{Base: f}, Y4)
	for i, p := range products {
		VMULPD(Mem{Base: x, Disp: 32 * i}, Y4, p)
	}
	for i, p := range products {
		VSUBPD(p, sums[i], sums[i])
	}
	ADDQ(stride, f)
	ADDQ(stride, x)
	DECQ(n)
	JNZ(LabelRef("one"))
	Label("store")
	for i, s := range sums {
		VMOVUPD(s, Mem{Base: y, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
	Generate()
}
