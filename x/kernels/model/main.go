// Command gen writes the AVX2 kernels of package model with avo.
//
//	go generate ./internal/model
//
// A set of 256 rows fills one register, so most kernels are straight lines of loads and logic.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// set is the size of a set of rows in bytes.
const set = 32

func main() {
	ConstraintExpr("amd64,!purego")
	finite()
	quantize("quantizeVector", 1)
	quantize("quantize4Vector", 4)
	transpose()
	ladders()
	tests()
	trees(2)
	trees(4)
	pairs()
	merges()
	sums()
	totals()
	walk("walkAnyAVX2", 0)
	walk("walk4AVX2", 4)
	walk("walk6AVX2", 6)
	byteKernels()
	Generate()
}

// begin declares a kernel, which does what its name with Go does in package model.
func begin(name, signature string) { TEXT(name, NOSPLIT, signature) }

func pointer(name string) Register { return Load(Param(name), GP64()) }

func end() {
	VZEROUPPER()
	RET()
}

var constants = map[string]Mem{}

// constant is a value in memory that kernels may share.
func constant(name string, v Constant) Mem {
	if _, ok := constants[name]; !ok {
		constants[name] = ConstData(name, v)
	}
	return constants[name]
}

// count opens and repeat closes a loop of n turns; n is at least 1.
func count() { Label("loop") }
func repeat(n Register) {
	DECQ(n)
	JNZ(LabelRef("loop"))
}

// finite adds x - x, which is 0 or NaN, so that one test at the end is enough.
func finite() {
	begin("finiteVector", "func(x *float32, n int) bool")
	x, n := pointer("x"), pointer("n")
	SHRQ(Imm(5), n)
	var sum [4]VecVirtual
	for i := range sum {
		sum[i] = YMM()
		VXORPS(sum[i], sum[i], sum[i])
	}
	count()
	for i, s := range sum {
		v := YMM()
		VMOVUPS(Mem{Base: x, Disp: 32 * i}, v)
		VSUBPS(v, v, v)
		VADDPS(v, s, s)
	}
	ADDQ(U32(128), x)
	repeat(n)
	VADDPS(sum[1], sum[0], sum[0])
	VADDPS(sum[3], sum[2], sum[2])
	VADDPS(sum[2], sum[0], sum[0])
	VCMPPS(Imm(3), sum[0], sum[0], sum[0]) // unordered
	mask := GP32()
	VMOVMSKPS(sum[0], mask)
	TESTL(mask, mask)
	ok := GP8()
	SETEQ(ok)
	Store(ok, ReturnIndex(0))
	end()
}

// quantize leaves the clamping below 0 to the saturation of the packs. NaN becomes the least integer, so 0 too.
func quantize(name string, rows int) {
	var x []Register
	if rows == 1 {
		begin(name, "func(dst *uint64, x *float32, windows *float64, n int)")
		x = []Register{pointer("x")}
	} else {
		begin(name, "func(dst *uint64, x0, x1, x2, x3 *float32, windows *float64, n int)")
		for r := range rows {
			x = append(x, pointer(fmt.Sprint("x", r)))
		}
	}
	dst, w, n := pointer("dst"), pointer("windows"), pointer("n")
	half, most := YMM(), YMM()
	VBROADCASTSD(constant("half", F64(0.5)), half)
	VBROADCASTSD(constant("most", F64(255)), most)
	count()
	at := GP64()
	MOVL(Mem{Base: w, Disp: 128}, at.As32())
	var lo, perUnit [2]VecVirtual
	for h := range 2 {
		lo[h], perUnit[h] = YMM(), YMM()
		VMOVUPD(Mem{Base: w, Disp: 32 * h}, lo[h])
		VMOVUPD(Mem{Base: w, Disp: 64 + 32*h}, perUnit[h])
	}
	var words []VecVirtual // eight bins of each row
	for _, x := range x {
		var bins [2]VecVirtual
		for h := range bins {
			t := YMM()
			bins[h] = XMM()
			VCVTPS2PD(Mem{Base: x, Index: at, Scale: 4, Disp: 16 * h}, t)
			VSUBPD(lo[h], t, t)
			VMULPD(perUnit[h], t, t)
			VADDPD(half, t, t)
			VMINPD(t, most, t) // t where it is NaN
			VCVTTPD2DQY(t, bins[h])
		}
		VPACKSSDW(bins[1], bins[0], bins[0])
		words = append(words, bins[0])
	}
	if rows == 1 {
		VPACKUSWB(words[0], words[0], words[0])
		VMOVQ(words[0], Mem{Base: dst})
		ADDQ(Imm(8), dst)
	} else {
		VPACKUSWB(words[1], words[0], words[0])
		VPACKUSWB(words[3], words[2], words[2])
		VMOVDQU(words[0], Mem{Base: dst})
		VMOVDQU(words[2], Mem{Base: dst, Disp: 16})
		ADDQ(U32(64*set), dst)
	}
	ADDQ(U32(136), w)
	repeat(n)
	end()
}

// transpose takes the steps 32, 16 and 8 on eight words that are 8 apart, then 4, 2 and 1 on eight neighbours.
func transpose() {
	begin("transposeVector", "func(a *uint64)")
	a := pointer("a")
	pass := func(label string, apart, next int, steps [3]uint64) {
		var masks [3]VecVirtual
		for i, s := range steps {
			masks[i] = YMM()
			m := ^uint64(0) / (1<<s + 1)
			VPBROADCASTQ(constant(fmt.Sprintf("mask%d", s), U64(m)), masks[i])
		}
		at, n := GP64(), GP64()
		MOVQ(a, at)
		MOVQ(U32(8), n)
		Label(label)
		var v [8]VecVirtual
		for i := range v {
			v[i] = YMM()
			VMOVDQU(Mem{Base: at, Disp: set * apart * i}, v[i])
		}
		for k, s := range steps {
			d := 4 >> k
			for i := range v {
				if i&d != 0 {
					continue
				}
				t := YMM()
				VPSRLQ(Imm(s), v[i], t)
				VPXOR(v[i+d], t, t)
				VPAND(masks[k], t, t)
				VPXOR(t, v[i+d], v[i+d])
				VPSLLQ(Imm(s), t, t)
				VPXOR(t, v[i], v[i])
			}
		}
		for i := range v {
			VMOVDQU(v[i], Mem{Base: at, Disp: set * apart * i})
		}
		ADDQ(U32(uint32(set*next)), at)
		DECQ(n)
		JNZ(LabelRef(label))
	}
	pass("far", 8, 1, [3]uint64{32, 16, 8})
	pass("near", 1, 8, [3]uint64{4, 2, 1})
	end()
}

// ladders makes gt, the rows whose digit is above v, for a digit of 1 bit, then 2, 3, 4, from those of a bit less.
func ladders() {
	begin("laddersVector", "func(dst, planes *uint64, places *uint32, n int)")
	dst, planes, places, n := pointer("dst"), pointer("planes"), pointer("places"), pointer("n")
	count()
	at := GP64()
	MOVL(Mem{Base: places}, at.As32())
	SHLQ(Imm(8), at)
	ADDQ(planes, at)
	digit := func(bits int, slot func(v int) int) {
		p := func(i int) Mem { return Mem{Base: at, Disp: set * (bits + i)} }
		first := YMM()
		VMOVDQU(p(0), first)
		gt := []VecVirtual{first}
		for i := 1; i < 4; i++ {
			plane := YMM()
			VMOVDQU(p(i), plane)
			var or, and []VecVirtual
			for _, g := range gt {
				o := YMM()
				VPOR(g, plane, o)
				or = append(or, o)
				if i == 3 { // there are not registers for all 15
					VMOVDQU(o, Mem{Base: dst, Disp: set * slot(len(or)-1)})
				}
			}
			for _, g := range gt {
				VPAND(g, plane, g)
				and = append(and, g)
			}
			gt = append(append(or, plane), and...)
		}
		for v, g := range gt[7:] {
			VMOVDQU(g, Mem{Base: dst, Disp: set * slot(v+7)})
		}
	}
	digit(4, func(v int) int { return 1 + v })
	digit(0, func(v int) int { return 31 - v })
	c := YMM()
	VPCMPEQD(c, c, c)
	VMOVDQU(c, Mem{Base: dst})
	c = YMM()
	VPXOR(c, c, c)
	VMOVDQU(c, Mem{Base: dst, Disp: 16 * set})
	ADDQ(U32(32*set), dst)
	ADDQ(Imm(4), places)
	repeat(n)
	end()
}

func tests() {
	begin("testsVector", "func(right, ladder *uint64, t *uint16, n int)")
	right, l, t, n := pointer("right"), pointer("ladder"), pointer("t"), pointer("n")
	count()
	low, high, y := GP64(), GP64(), YMM()
	MOVWLZX(Mem{Base: t}, low.As32())
	MOVWLZX(Mem{Base: t, Disp: 2}, high.As32())
	VMOVDQU(Mem{Base: l, Index: low, Scale: 8}, y)
	VPAND(Mem{Base: l, Index: high, Scale: 8}, y, y)
	VPOR(Mem{Base: l, Index: high, Scale: 8, Disp: set}, y, y)
	VMOVDQU(y, Mem{Base: right})
	ADDQ(Imm(set), right)
	ADDQ(Imm(4), t)
	repeat(n)
	end()
}

func trees(depth int) {
	begin(fmt.Sprintf("trees%dVector", depth), "func(say, right *uint64, splits, invert *uint32, n int)")
	say, right := pointer("say"), pointer("right")
	splits, invert, n := pointer("splits"), pointer("invert"), pointer("n")
	half := 1 << (depth - 1)
	count()
	var rows func(node int) VecVirtual
	rows = func(node int) VecVirtual {
		test, y := GP64(), YMM()
		m := Mem{Base: right, Index: test, Scale: 8}
		if node >= half-1 {
			MOVL(Mem{Base: splits, Disp: 4 * node}, test.As32())
			VPBROADCASTD(Mem{Base: invert, Disp: 4 * (node - half + 1)}, y)
			VPXOR(m, y, y)
			return y
		}
		l, r := rows(2*node+1), rows(2*node+2)
		MOVL(Mem{Base: splits, Disp: 4 * node}, test.As32())
		return choose(l, r, m)
	}
	VMOVDQU(rows(0), Mem{Base: say})
	ADDQ(Imm(set), say)
	ADDQ(U32(uint32(4*(2*half-1))), splits)
	ADDQ(U32(uint32(4*half)), invert)
	repeat(n)
	end()
}

// pairs computes two trees with the same splits at a time. A lowest split is five instructions for either: from the
// rows that go right those whose leaf differs from the left one, inverted if the left one says +1; the masks come from
// a table.
func pairs() {
	begin("pairs4Vector", "func(say, right *uint64, splits *uint32, leaves *byte, masks *uint64, n int)")
	say, right := pointer("say"), pointer("right")
	splits, leaves, masks, n := pointer("splits"), pointer("leaves"), pointer("masks"), pointer("n")
	const half = 8
	count()
	var rows func(node int) [2]VecVirtual
	rows = func(node int) [2]VecVirtual {
		test, m := GP64(), YMM()
		if node >= half-1 {
			MOVL(Mem{Base: splits, Disp: 4 * node}, test.As32())
			VMOVDQU(Mem{Base: right, Index: test, Scale: 8}, m)
			MOVBLZX(Mem{Base: leaves, Disp: node - half + 1}, test.As32())
			y := [2]VecVirtual{YMM(), m}
			for i, v := range y {
				VPAND(Mem{Base: masks, Index: test, Scale: 8, Disp: 2 * set * i}, m, v)
				VPXOR(Mem{Base: masks, Index: test, Scale: 8, Disp: 2*set*i + set}, v, v)
			}
			return y
		}
		l, r := rows(2*node+1), rows(2*node+2)
		MOVL(Mem{Base: splits, Disp: 4 * node}, test.As32())
		VMOVDQU(Mem{Base: right, Index: test, Scale: 8}, m)
		return [2]VecVirtual{choose(l[0], r[0], m), choose(l[1], r[1], m)}
	}
	for i, y := range rows(0) {
		VMOVDQU(y, Mem{Base: say, Disp: set * i})
	}
	ADDQ(Imm(2*set), say)
	ADDQ(Imm(4*(2*half-1)), splits)
	ADDQ(Imm(half), leaves)
	repeat(n)
	end()
}

// choose takes l where m is 0 and r where m is 1, in the register of r.
func choose(l, r VecVirtual, m Op) VecVirtual {
	VPXOR(l, r, r)
	VPAND(m, r, r)
	VPXOR(l, r, r)
	return r
}

func merges() {
	begin("mergesVector", "func(dst, from, right *uint64, splits *uint32, n int)")
	dst, from, right := pointer("dst"), pointer("from"), pointer("right")
	splits, n := pointer("splits"), pointer("n")
	count()
	test, m := GP64(), YMM()
	MOVL(Mem{Base: splits}, test.As32())
	VMOVDQU(Mem{Base: right, Index: test, Scale: 8}, m)
	for i := range 2 {
		l, r := YMM(), YMM()
		VMOVDQU(Mem{Base: from, Disp: set * i}, l)
		VMOVDQU(Mem{Base: from, Disp: set * (2 + i)}, r)
		VMOVDQU(choose(l, r, m), Mem{Base: dst, Disp: set * i})
	}
	ADDQ(Imm(2*set), dst)
	ADDQ(U32(4*set), from)
	ADDQ(Imm(4), splits)
	repeat(n)
	end()
}

// sums keeps the sums of eight rows in a register: rows (i, 0), (i, 1), (i+1, 0), (i+1, 1), (i, 2), (i, 3),
// (i+1, 2), (i+1, 3), where row (i, l) is row 64 l + i of the block.
func sums() {
	begin("sumsAVX2", "func(dst, say *uint64, tables *int32, n int, least int32)")
	dst := pointer("dst")
	least, rows, bit := YMM(), YMM(), YMM()
	l := GP32()
	Load(Param("least"), l)
	x := XMM()
	VMOVD(l, x)
	VPBROADCASTD(x, least)
	VPXOR(rows, rows, rows)
	VPBROADCASTQ(constant("one", U64(1)), bit)
	addWeights(func(sum VecVirtual) {
		VPCMPGTD(sum, least, sum) // those with too little
		for h := range 2 {
			c := YMM()
			if h == 0 {
				VPUNPCKLDQ(sum, sum, c)
			} else {
				VPUNPCKHDQ(sum, sum, c)
			}
			VPANDN(bit, c, c)
			VPOR(c, rows, rows)
			VPADDQ(bit, bit, bit)
		}
	})
	VMOVDQU(rows, Mem{Base: dst})
	end()
}

// totals keeps the sums themselves, in the order of the register.
func totals() {
	begin("totalsAVX2", "func(dst *int32, say *uint64, tables *int32, n int)")
	dst := pointer("dst")
	addWeights(func(sum VecVirtual) {
		VMOVDQU(sum, Mem{Base: dst})
		ADDQ(Imm(32), dst)
	})
	end()
}

// addWeights adds up the weights of the votes, eight rows at a time, and hands on their sums.
func addWeights(put func(sum VecVirtual)) {
	say, tables, n := pointer("say"), pointer("tables"), pointer("n")
	i := GP64()
	MOVQ(U32(32), i)
	Label("rows")
	s, t, left := GP64(), GP64(), GP64()
	MOVQ(say, s)
	MOVQ(tables, t)
	MOVQ(n, left)
	sum := [2]VecVirtual{YMM(), YMM()}
	VPXOR(sum[0], sum[0], sum[0])
	VPXOR(sum[1], sum[1], sum[1])
	Label("trees")
	a := YMM()
	VMOVDQU(Mem{Base: s}, a)
	for h := range 2 {
		word := YMM()
		VSHUFPS(Imm(uint64(0x88+0x55*h)), Mem{Base: s, Disp: set}, a, word)
		for g := range 10 {
			v := YMM()
			VPERMD(Mem{Base: t, Disp: 32 * (10*h + g)}, word, v)
			VPADDD(v, sum[h], sum[h])
			if g < 9 {
				VPSRLD(Imm(3), word, word)
			}
		}
	}
	ADDQ(U32(64*set), s)
	ADDQ(U32(20*32), t)
	DECQ(left)
	JNZ(LabelRef("trees"))
	VPADDD(sum[0], sum[1], sum[0])
	put(sum[0])
	ADDQ(Imm(2*set), say)
	DECQ(i)
	JNZ(LabelRef("rows"))
}

// walked is the number of trees that are walked side by side, and after which a kernel asks whether the rest matters.
const walked = 6

// walk keeps the place in the tree, counted from 1, as the bits of the way down; the carry of a comparison is the next.
// With a fixed depth several trees take each step together: what it waits for is mostly there, and the machine, which
// has room for about a hundred instructions that wait, does not stall.
func walk(name string, depth int) {
	begin(name, "func(bins *uint64, trees *uint32, depth, n int, plus, minus int32) int32")
	bins, trees, n := pointer("bins"), pointer("trees"), pointer("n")
	sum, plus, minus := GP32(), Load(Param("plus"), GP32()), Load(Param("minus"), GP32())
	XORL(sum, sum)
	compare := func(node Mem) {
		place, bin := GP64(), GP64()
		if depth == 0 || node.Index == nil {
			MOVL(node, place.As32())
			MOVL(place.As32(), bin.As32())
			SHRL(Imm(8), place.As32())
		} else {
			MOVBLZX(node, bin.As32())
			node.Disp++
			MOVWLZX(node, place.As32())
		}
		CMPB(bin.As8(), Mem{Base: bins, Index: place, Scale: 1})
	}
	i := GP64()
	step := func() {
		compare(Mem{Base: trees, Index: i, Scale: 4})
		ADCL(i.As32(), i.As32())
	}
	lost := func(rest Mem) {
		bound := GP32()
		MOVL(rest, bound)
		ADDL(sum, bound)
		CMPL(bound, minus)
		JLT(LabelRef("done"))
	}
	Label("loop")
	if depth == 0 {
		left := Load(Param("depth"), GP64())
		MOVL(U32(1), i.As32())
		Label("step")
		step()
		DECQ(left)
		JNZ(LabelRef("step"))
		ADDL(Mem{Base: trees, Index: i, Scale: 4}, sum)
		lost(Mem{Base: trees})
		stride, shift := GP64(), Load(Param("depth"), GP64())
		MOVL(U32(8), stride.As32())
		SHLXQ(shift, stride, stride)
		ADDQ(stride, trees)
	} else {
		stride := 8 << depth
		var ways [walked]GPVirtual
		for t := range ways {
			at := func(node int) Mem { return Mem{Base: trees, Disp: t*stride + 4*node} }
			for ahead := 0; ahead < stride; ahead += 64 {
				PREFETCHT0(Mem{Base: trees, Disp: t*stride + 2*walked*stride + ahead})
			}
			i := GP64()
			XORL(i.As32(), i.As32())
			compare(at(1))
			ADCL(i.As32(), i.As32())
			ways[t] = i
		}
		for level := 1; level < depth; level++ {
			for t, i := range ways {
				compare(Mem{Base: trees, Index: i, Scale: 4, Disp: t*stride + 4<<level})
				ADCL(i.As32(), i.As32())
			}
		}
		for t, i := range ways {
			ADDL(Mem{Base: trees, Index: i, Scale: 4, Disp: t*stride + 4<<depth}, sum)
		}
		lost(Mem{Base: trees, Disp: (walked - 1) * 8 << depth})
		ADDQ(U32(uint32(walked*8<<depth)), trees)
	}
	CMPL(sum, plus)
	JGE(LabelRef("done"))
	DECQ(n)
	JNZ(LabelRef("loop"))
	Label("done")
	Store(sum, ReturnIndex(0))
	RET()
}
