// Command gen writes the SIMD kernels of package hamming with avo.
//
//	go generate ./internal/hamming
//
// Every kernel counts the bits of q XOR code for a group of codes at a time, so that the distances of the group end
// up in the 64-bit lanes of a register, in the order of the codes. Then it compares them with a limit and stores the
// few that are within it. It never writes the other distances to memory, which is why a scan runs as fast as codes can
// be read.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set: how codes are counted, stored and compared with it.
type isa interface {
	name() string
	// lanes is the number of distances in a register.
	lanes() int
	// constants loads what the kernels keep in registers.
	constants()
	// limit keeps the limit in a register.
	limit(Register)
	// query loads q.
	query(width int, q Register)
	// group returns the distances of the lanes() codes from code `first` on.
	group(width, first int, codes Register) VecVirtual
	// hits appends the codes within the limit to the output, or jumps to next when there are none.
	hits(d []VecVirtual, i, dst, out Register, next string)
}

// unit is the number of codes a kernel takes per turn.
func unit(x isa, width int) int {
	if width == 1 {
		return 4 * x.lanes()
	}
	return 8
}

func main() {
	ConstraintExpr("amd64,!purego")
	for _, x := range []isa{&avx2{}, &avx512{}} {
		for _, width := range []int{1, 2, 4, 8} {
			if x.name() == "AVX512" && width > 1 {
				belowWide(width)
				continue
			}
			below(x, width)
		}
	}
	belowAny(&avx2{})
	Generate()
}

func param(name string) Register { return Load(Param(name), GP64()) }

func below(x isa, width int) {
	name := fmt.Sprintf("below%d%s", 64*width, x.name())
	TEXT(name, NOSPLIT, "func(dst *uint32, q, codes *uint64, n, limit int) int")
	dst, q, codes, n := param("dst"), param("q"), param("codes"), param("n")
	x.constants()
	x.limit(param("limit"))
	x.query(width, q)
	i, out := GP64(), GP64()
	XORQ(i, i)
	XORQ(out, out)
	step := unit(x, width)
	Label("loop")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	var d []VecVirtual
	for first := 0; first < step; first += x.lanes() {
		d = append(d, x.group(width, first, codes))
	}
	x.hits(d, i, dst, out, "next")
	Label("next")
	ADDQ(Imm(uint64(step)), i)
	ADDQ(U32(uint32(8*width*unit(x, width))), codes)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	Store(out, ReturnIndex(0))
	RET()
}

func belowAny(x *avx2) {
	TEXT("belowAnyAVX2", NOSPLIT, "func(dst *uint32, q, mask, codes *uint64, n, words, stride, limit int) int")
	dst, q, mask, codes, n := param("dst"), param("q"), param("mask"), param("codes"), param("n")
	words, stride := param("words"), param("stride")
	limit := param("limit")
	SHLQ(Imm(3), stride)
	x.constants()
	whole, rest := x.rest(words)
	i, out := GP64(), GP64()
	XORQ(i, i)
	XORQ(out, out)
	Label("loop")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	d := x.row(codes, q, mask, whole, rest)
	CMPQ(d, limit)
	JG(LabelRef("next"))
	SHLQ(Imm(16), d)
	ORQ(i, d)
	MOVL(d.(GPVirtual).As32(), Mem{Base: dst, Index: out, Scale: 4})
	INCQ(out)
	Label("next")
	ADDQ(stride, codes)
	INCQ(i)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	Store(out, ReturnIndex(0))
	RET()
}

var tables = map[string]Mem{}

// numbers is a table in memory: first, first+step, ...
func numbers(name string, n, first, step int) Mem {
	if _, ok := tables[name]; !ok {
		tables[name] = GLOBL(name, RODATA|NOPTR)
		for i := range n {
			DATA(8*i, U64(uint64(first+step*i)))
		}
	}
	return tables[name]
}
