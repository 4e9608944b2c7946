// Command gen writes the kernels of package gemm for AVX2 and AVX-512:
//
//	go run . -out ../kernel_amd64.s -stubs ../stubs_amd64.go -pkg gemm
//
// Register plan of AVX2: Y0 to Y11 are the tile of C, two registers (16 columns) per row; Y12 and Y13 are 16 values of
// B; Y14 and Y15 take turns as one value of A in all eight places. Of AVX-512: Z0 to Z11 are the rows of two tiles, Z12
// is 16 values of B, and values of A come from memory.
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
	avx2()
	avx512()
	narrow()
	Generate()
}

func avx2() {
	TEXT("kernelAVX2", NOSPLIT, "func(k int, a, b, c *float32, stride int, load bool)")
	Doc("kernelAVX2 is kernelGo with AVX2 and FMA.")
	Pragma("noescape")
	all := []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11}
	kernel(all, 2, nil, func(a, b, _ Register, u int) {
		VMOVUPS(Mem{Base: b, Disp: u * cols * float}, Y12)
		VMOVUPS(Mem{Base: b, Disp: u*cols*float + 32}, Y13)
		for i := range rows {
			one := []VecPhysical{Y14, Y15}[i%2]
			VBROADCASTSS(Mem{Base: a, Disp: (u*rows + i) * float}, one)
			VFMADD231PS(one, Y12, all[2*i])
			VFMADD231PS(one, Y13, all[2*i+1])
		}
	})
}

func avx512() {
	TEXT("kernelsAVX512", NOSPLIT, "func(k int, a, b, c *float32, stride int, load bool)")
	Doc("kernelsAVX512 is kernelGo twice, for two panels of A that follow each other.")
	Pragma("noescape")
	all := []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11}
	second := GP64()
	kernel(all, 1, second, func(a, b, second Register, u int) {
		VMOVUPS(Mem{Base: b, Disp: u * cols * float}, Z12)
		for i, z := range all {
			panel := []Register{a, second}[i/rows]
			VFMADD231PS_BCST(Mem{Base: panel, Disp: (u*rows + i%rows) * float}, Z12, z)
		}
	})
}

// narrow reads rows where they are: a single panel of B is too little use to lay them out for.
func narrow() {
	TEXT("narrowAVX512", NOSPLIT, "func(k int, a *float32, step int, b, c *float32)")
	Doc("narrowAVX512 sets a tile of 12 rows, one behind the other, to rows of A, step values apart, times a panel of B.")
	Pragma("noescape")
	k, b, c := Load(Param("k"), GP64()), Load(Param("b"), GP64()), Load(Param("c"), GP64())
	step, three := Load(Param("step"), GP64()), GP64()
	SHLQ(U8(2), step)
	LEAQ(Mem{Base: step, Index: step, Scale: 2}, three)
	bases := [3]Register{Load(Param("a"), GP64()), GP64(), GP64()}
	for i := range bases[1:] {
		LEAQ(Mem{Base: bases[i], Index: step, Scale: 4}, bases[i+1])
	}
	all := []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11}
	for _, v := range all {
		VXORPS(v.AsY(), v.AsY(), v.AsY())
	}
	Label("turn")
	VMOVUPS(Mem{Base: b}, Z12)
	for i, z := range all {
		base := bases[i/4]
		row := []Mem{{Base: base}, {Base: base, Index: step, Scale: 1}, {Base: base, Index: step, Scale: 2},
			{Base: base, Index: three, Scale: 1}}[i%4]
		VFMADD231PS_BCST(row, Z12, z)
	}
	for _, base := range bases {
		ADDQ(U8(float), base)
	}
	ADDQ(U8(cols*float), b)
	DECQ(k)
	JNZ(LabelRef("turn"))
	for i, z := range all {
		VMOVUPS(z, Mem{Base: c, Disp: i * cols * float})
	}
	VZEROUPPER()
	RET()
}

// kernel writes the code around turns: registers hold the tiles, some of them a row, and second, if wanted, becomes the
// address of the second panel of A.
func kernel(all []VecPhysical, each int, second Register, turn func(a, b, second Register, u int)) {
	k := Load(Param("k"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	c := Load(Param("c"), GP64())
	stride := Load(Param("stride"), GP64())
	load := Load(Param("load"), GP8())
	SHLQ(U8(2), stride)
	if second != nil {
		Comment("The second panel lies k * rows values behind the first.")
		LEAQ(Mem{Base: k, Index: k, Scale: 2}, second)
		LEAQ(Mem{Base: a, Index: second, Scale: 8}, second)
	}

	Comment("The tile: from C, or zero.")
	TESTB(load, load)
	JZ(LabelRef("zero"))
	eachRow(c, stride, all, each, func(m Mem, v VecPhysical) { VMOVUPS(m, v) })
	JMP(LabelRef("multiply"))
	Label("zero")
	for _, v := range all {
		VXORPS(v.AsY(), v.AsY(), v.AsY())
	}

	Label("multiply")
	panels := func(n int) {
		ADDQ(U32(n*rows*float), a)
		ADDQ(U32(n*cols*float), b)
		if second != nil {
			ADDQ(U32(n*rows*float), second)
		}
	}
	SUBQ(U8(step), k)
	JL(LabelRef("rest"))
	Label("four")
	for u := range step {
		turn(a, b, second, u)
	}
	panels(step)
	SUBQ(U8(step), k)
	JGE(LabelRef("four"))
	Label("rest")
	ADDQ(U8(step), k)
	JZ(LabelRef("store"))
	Label("one")
	turn(a, b, second, 0)
	panels(1)
	DECQ(k)
	JNZ(LabelRef("one"))

	Label("store")
	eachRow(c, stride, all, each, func(m Mem, v VecPhysical) { VMOVUPS(v, m) })
	VZEROUPPER()
	RET()
}

// eachRow calls f with every register and its place in C.
func eachRow(c, stride Register, all []VecPhysical, each int, f func(Mem, VecPhysical)) {
	at := GP64()
	MOVQ(c, at)
	for i, v := range all {
		f(Mem{Base: at, Disp: i % each * int(v.Size())}, v)
		if i%each == each-1 && i < len(all)-1 {
			ADDQ(stride, at)
		}
	}
}
