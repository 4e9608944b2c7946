// Command gen writes the AVX2 kernel of package gemm:
//
//	go run . -out ../kernel_amd64.s -stubs ../stubs_amd64.go -pkg gemm
//
// Register plan: Y0 to Y11 are the tile of C, two registers (16 columns) per row; Y12 and Y13 are 16 values of B;
// Y14 and Y15 take turns as one value of A in all eight places.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	rows  = 6  // gemm.tileRows
	cols  = 16 // gemm.tileCols
	float = 4
	step  = 4 // turns of k per loop
)

func main() {
	ConstraintExpr("!purego")
	TEXT("kernelAVX2", NOSPLIT, "func(k int, a, b, c *float32, stride int, load bool)")
	Doc("kernelAVX2 is kernelGo with AVX2 and FMA.")
	Pragma("noescape")
	k := Load(Param("k"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	c := Load(Param("c"), GP64())
	stride := Load(Param("stride"), GP64())
	load := Load(Param("load"), GP8())
	SHLQ(U8(2), stride)

	Comment("The tile: from C, or zero.")
	var tile [rows][2]VecPhysical
	all := []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11}
	for i := range tile {
		tile[i] = [2]VecPhysical{all[2*i], all[2*i+1]}
	}
	TESTB(load, load)
	JZ(LabelRef("zero"))
	eachRow(c, stride, func(i int, at Register) {
		for h, y := range tile[i] {
			VMOVUPS(Mem{Base: at, Disp: 8 * float * h}, y)
		}
	})
	JMP(LabelRef("multiply"))
	Label("zero")
	for _, y := range all {
		VXORPS(y, y, y)
	}

	Label("multiply")
	turn := func(u int) {
		VMOVUPS(Mem{Base: b, Disp: u * cols * float}, Y12)
		VMOVUPS(Mem{Base: b, Disp: u*cols*float + 32}, Y13)
		for i := range tile {
			one := []VecPhysical{Y14, Y15}[i%2]
			VBROADCASTSS(Mem{Base: a, Disp: (u*rows + i) * float}, one)
			VFMADD231PS(one, Y12, tile[i][0])
			VFMADD231PS(one, Y13, tile[i][1])
		}
	}
	SUBQ(U8(step), k)
	JL(LabelRef("rest"))
	Label("four")
	for u := range step {
		turn(u)
	}
	ADDQ(U32(step*rows*float), a)
	ADDQ(U32(step*cols*float), b)
	SUBQ(U8(step), k)
	JGE(LabelRef("four"))
	Label("rest")
	ADDQ(U8(step), k)
	JZ(LabelRef("store"))
	Label("one")
	turn(0)
	ADDQ(U8(rows*float), a)
	ADDQ(U8(cols*float), b)
	DECQ(k)
	JNZ(LabelRef("one"))

	Label("store")
	eachRow(c, stride, func(i int, at Register) {
		for h, y := range tile[i] {
			VMOVUPS(y, Mem{Base: at, Disp: 8 * float * h})
		}
	})
	VZEROUPPER()
	RET()
	Generate()
}

// eachRow calls f with the address of every row of the tile.
func eachRow(c, stride Register, f func(i int, at Register)) {
	at := GP64()
	MOVQ(c, at)
	for i := range rows {
		f(i, at)
		if i < rows-1 {
			ADDQ(stride, at)
		}
	}
}
