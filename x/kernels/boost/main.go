// Command gen writes the AVX2 kernels of package boost:
//
//	go run . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg boost
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	bins   = 256 // vectors.Bins
	lanes  = 8
	unroll = 4 // registers per turn
)

func main() {
	ConstraintExpr("!purego")
	extremes()
	combine("addBinsAVX2", "addBinsAVX2 is addBinsGo with AVX2.", true)
	combine("subtractBinsAVX2", "subtractBinsAVX2 is subtractBinsGo with AVX2.", false)
	Generate()
}

// extremes makes the sums within eight bins in three steps, each of which adds what lies one, two and four bins before,
// and adds the sum of all bins before these. Only that last sum goes from register to register.
func extremes() {
	TEXT("extremesAVX2", NOSPLIT, "func(h *[256]int32) (low, high int32)")
	Doc("extremesAVX2 is extremesGo with AVX2.")
	Pragma("noescape")
	h := Load(Param("h"), GP64())
	low, high, before, last := YMM(), YMM(), YMM(), YMM()
	VPXOR(low, low, low)
	VPXOR(high, high, high)
	VPXOR(before, before, before)
	seven := GLOBL("seven", RODATA|NOPTR)
	for i := range lanes {
		DATA(4*i, U32(lanes-1))
	}
	VMOVDQU(seven, last)
	turns := GP64()
	MOVQ(U32(bins/lanes/unroll), turns)
	Label("turn")
	for u := range unroll {
		v, w := YMM(), YMM()
		VMOVDQU(Mem{Base: h, Disp: 4 * lanes * u}, v)
		VPSLLDQ(U8(4), v, w)
		VPADDD(w, v, v)
		VPSLLDQ(U8(8), v, w)
		VPADDD(w, v, v)
		Comment("The sum of the lower half, added to the upper.")
		VPSHUFD(U8(0xff), v, w)
		VPERM2I128(U8(0x08), w, w, w)
		VPADDD(w, v, v)
		VPERMD(v, last, w)
		VPADDD(before, v, v)
		VPADDD(w, before, before)
		VPMINSD(v, low, low)
		VPMAXSD(v, high, high)
	}
	ADDQ(U32(4*lanes*unroll), h)
	DECQ(turns)
	JNZ(LabelRef("turn"))
	for _, r := range []struct {
		all  VecVirtual
		name string
		best func(...Op)
	}{
		{low, "low", func(o ...Op) { VPMINSD(o[0], o[1], o[2]) }},
		{high, "high", func(o ...Op) { VPMAXSD(o[0], o[1], o[2]) }},
	} {
		x, y, out := r.all.AsX(), XMM(), GP32()
		VEXTRACTI128(U8(1), r.all, y)
		r.best(y, x, x)
		VPSHUFD(U8(0b01_00_11_10), x, y)
		r.best(y, x, x)
		VPSHUFD(U8(0b10_11_00_01), x, y)
		r.best(y, x, x)
		VMOVD(x, out)
		Store(out, Return(r.name))
	}
	VZEROUPPER()
	RET()
}

// combine sets out to the sum or the difference of two histograms, bin by bin.
func combine(name, doc string, sum bool) {
	TEXT(name, NOSPLIT, "func(out, a, b *[256]int32)")
	Doc(doc)
	Pragma("noescape")
	out, a, b := Load(Param("out"), GP64()), Load(Param("a"), GP64()), Load(Param("b"), GP64())
	for i := range bins / lanes {
		v := YMM()
		at := 4 * lanes * i
		VMOVDQU(Mem{Base: a, Disp: at}, v)
		if sum {
			VPADDD(Mem{Base: b, Disp: at}, v, v)
		} else {
			VPSUBD(Mem{Base: b, Disp: at}, v, v)
		}
		VMOVDQU(v, Mem{Base: out, Disp: at})
	}
	VZEROUPPER()
	RET()
}
