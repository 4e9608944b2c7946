//go:build !purego

#include "textflag.h"

// A walk keeps the place in a tree, counted from 1, as the bits of the way down; the carry of a comparison is the next.
// AX is the bins of the row, CX the trees, DX how many are left, and BX the sum.

#define WALK \
	MOVQ bins+0(FP), AX; \
	MOVQ trees+8(FP), CX; \
	MOVQ n+24(FP), DX; \
	MOVL plus+32(FP), SI; \
	MOVL minus+36(FP), DI; \
	XORL BX, BX

// LOST ends the walk if the rest of the trees, after the one at, cannot bring the sum to minus.
#define LOST(at) \
	MOVL (at)(CX), R8; \
	ADDL BX, R8; \
	CMPL R8, DI; \
	JLT  done

#define NEXT \
	CMPL BX, SI; \
	JGE  done; \
	DECQ DX; \
	JNZ  loop

// func walkAnyAVX2(bins *uint64, trees *byte, depth, n int, plus, minus int32) int32
TEXT ·walkAnyAVX2(SB), NOSPLIT, $0-44
	WALK

	MOVQ  depth+16(FP), R9
	MOVL  $0x00000002, R12
	SHLXQ R9, R12, R12 // twice the number of leaves

loop:
	MOVQ depth+16(FP), R9
	MOVL $0x00000001, R8

step:
	LEAQ    (R8)(R8*2), R10
	MOVBLZX 5(CX)(R10*1), R11
	MOVWLZX 6(CX)(R10*1), R10
	CMPB    R11, (AX)(R10*1)
	ADCL    R8, R8
	DECQ    R9
	JNZ     step
	ADDQ    R12, R8
	MOVBLZX 5(CX)(R8*1), R10
	IMULL   4(CX), R10
	ADDL    R10, BX
	LOST(0)
	LEAQ    5(CX)(R12*2), CX
	NEXT

done:
	MOVL BX, ret+40(FP)
	RET

// With a fixed depth six trees take each step together: what it waits for is mostly there, and the machine, which has
// room for about a hundred instructions that wait, does not stall. The places are in R8 to R13.

// ROOT is the first step of the tree at, with two registers that are free.
#define ROOT(at, place, s, bin) \
	XORL    place, place; \
	MOVBLZX (at+8)(CX), bin; \
	MOVWLZX (at+9)(CX), s; \
	CMPB    bin, (AX)(s*1); \
	ADCL    place, place

#define STEP(at, place) \
	LEAQ    (place)(place*2), R14; \
	MOVBLZX (at)(CX)(R14*1), R15; \
	MOVWLZX (at+1)(CX)(R14*1), R14; \
	CMPB    R15, (AX)(R14*1); \
	ADCL    place, place

// LEVEL is a step of six trees, size bytes each; their splits begin at first. LEAVES adds what they end with.
#define LEVEL(size, first) \
	STEP(first, R8); \
	STEP(size+first, R9); \
	STEP(2*size+first, R10); \
	STEP(3*size+first, R11); \
	STEP(4*size+first, R12); \
	STEP(5*size+first, R13)

#define LEAF(at, first, place) \
	MOVBLZX (at+first)(CX)(place*1), R14; \
	IMULL   (at+4)(CX), R14; \
	ADDL    R14, BX

#define LEAVES(size, first) \
	LEAF(0, first, R8); \
	LEAF(size, first, R9); \
	LEAF(2*size, first, R10); \
	LEAF(3*size, first, R11); \
	LEAF(4*size, first, R12); \
	LEAF(5*size, first, R13)

// func walk4AVX2(bins *uint64, trees *byte, depth, n int, plus, minus int32) int32
TEXT ·walk4AVX2(SB), NOSPLIT, $0-44
	WALK

loop: // what is fetched belongs to the turn after the next
	PREFETCHT0 (2*414)(CX)
	ROOT(0, R8, R9, R10)
	PREFETCHT0 (2*414+64)(CX)
	ROOT(69, R9, R10, R11)
	PREFETCHT0 (2*414+128)(CX)
	ROOT(138, R10, R11, R12)
	PREFETCHT0 (2*414+192)(CX)
	ROOT(207, R11, R12, R13)
	PREFETCHT0 (2*414+256)(CX)
	ROOT(276, R12, R13, R14)
	PREFETCHT0 (2*414+320)(CX)
	ROOT(345, R13, R14, R15)
	PREFETCHT0 (2*414+384)(CX)
	LEVEL(69, 11)
	LEVEL(69, 17)
	LEVEL(69, 29)
	LEAVES(69, 53)
	LOST(345)
	ADDQ $414, CX
	NEXT

done:
	MOVL BX, ret+40(FP)
	RET

// AHEAD fetches as much as a tree of depth 6.
#define AHEAD(at) \
	PREFETCHT0 (at)(CX); \
	PREFETCHT0 (at+64)(CX); \
	PREFETCHT0 (at+128)(CX); \
	PREFETCHT0 (at+192)(CX)

// func walk6AVX2(bins *uint64, trees *byte, depth, n int, plus, minus int32) int32
TEXT ·walk6AVX2(SB), NOSPLIT, $0-44
	WALK

loop:
	AHEAD(2*1566)
	ROOT(0, R8, R9, R10)
	AHEAD(2*1566+256)
	ROOT(261, R9, R10, R11)
	AHEAD(2*1566+512)
	ROOT(522, R10, R11, R12)
	AHEAD(2*1566+768)
	ROOT(783, R11, R12, R13)
	AHEAD(2*1566+1024)
	ROOT(1044, R12, R13, R14)
	AHEAD(2*1566+1280)
	ROOT(1305, R13, R14, R15)
	PREFETCHT0 (2*1566+1536)(CX)
	LEVEL(261, 11)
	LEVEL(261, 17)
	LEVEL(261, 29)
	LEVEL(261, 53)
	LEVEL(261, 101)
	LEAVES(261, 197)
	LOST(1305)
	ADDQ $1566, CX
	NEXT

done:
	MOVL BX, ret+40(FP)
	RET
