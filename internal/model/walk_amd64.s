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

// func walkAnyAVX2(bins *uint64, trees *uint32, depth, n int, plus, minus int32) int32
TEXT ·walkAnyAVX2(SB), NOSPLIT, $0-44
	WALK

loop:
	MOVQ depth+16(FP), R9
	MOVL $0x00000001, R8

step:
	MOVL  (CX)(R8*4), R10
	MOVL  R10, R11
	SHRL  $8, R10
	CMPB  R11, (AX)(R10*1)
	ADCL  R8, R8
	DECQ  R9
	JNZ   step
	ADDL  (CX)(R8*4), BX
	LOST(0)
	MOVQ  depth+16(FP), R9
	MOVL  $0x00000008, R8
	SHLXQ R9, R8, R8
	ADDQ  R8, CX
	NEXT

done:
	MOVL BX, ret+40(FP)
	RET

// With a fixed depth six trees take each step together: what it waits for is mostly there, and the machine, which has
// room for about a hundred instructions that wait, does not stall. The places are in R8 to R13.

// AHEAD fetches the lines of trees to come, two at a time.
#define AHEAD(at) \
	PREFETCHT0 (at)(CX); \
	PREFETCHT0 (at+64)(CX)

#define AHEAD8(at) \
	AHEAD(at); \
	AHEAD(at+128); \
	AHEAD(at+256); \
	AHEAD(at+384)

// ROOT is the first step of the tree at, with two registers that are free.
#define ROOT(at, place, s, bin) \
	XORL place, place; \
	MOVL (at+4)(CX), s; \
	MOVL s, bin; \
	SHRL $8, s; \
	CMPB bin, (AX)(s*1); \
	ADCL place, place

#define STEP(at, place) \
	MOVBLZX (at)(CX)(place*4), R15; \
	MOVWLZX (at+1)(CX)(place*4), R14; \
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

#define LEAVES(size) \
	ADDL (size/2)(CX)(R8*4), BX; \
	ADDL (size+size/2)(CX)(R9*4), BX; \
	ADDL (2*size+size/2)(CX)(R10*4), BX; \
	ADDL (3*size+size/2)(CX)(R11*4), BX; \
	ADDL (4*size+size/2)(CX)(R12*4), BX; \
	ADDL (5*size+size/2)(CX)(R13*4), BX

// func walk4AVX2(bins *uint64, trees *uint32, depth, n int, plus, minus int32) int32
TEXT ·walk4AVX2(SB), NOSPLIT, $0-44
	WALK

loop:
	AHEAD(1536)
	ROOT(0, R8, R9, R10)
	AHEAD(1664)
	ROOT(128, R9, R10, R11)
	AHEAD(1792)
	ROOT(256, R10, R11, R12)
	AHEAD(1920)
	ROOT(384, R11, R12, R13)
	AHEAD(2048)
	ROOT(512, R12, R13, R14)
	AHEAD(2176)
	ROOT(640, R13, R14, R15)
	LEVEL(128, 8)
	LEVEL(128, 16)
	LEVEL(128, 32)
	LEAVES(128)
	LOST(640)
	ADDQ $0x00000300, CX
	NEXT

done:
	MOVL BX, ret+40(FP)
	RET

// func walk6AVX2(bins *uint64, trees *uint32, depth, n int, plus, minus int32) int32
TEXT ·walk6AVX2(SB), NOSPLIT, $0-44
	WALK

loop:
	AHEAD8(6144)
	ROOT(0, R8, R9, R10)
	AHEAD8(6656)
	ROOT(512, R9, R10, R11)
	AHEAD8(7168)
	ROOT(1024, R10, R11, R12)
	AHEAD8(7680)
	ROOT(1536, R11, R12, R13)
	AHEAD8(8192)
	ROOT(2048, R12, R13, R14)
	AHEAD8(8704)
	ROOT(2560, R13, R14, R15)
	LEVEL(512, 8)
	LEVEL(512, 16)
	LEVEL(512, 32)
	LEVEL(512, 64)
	LEVEL(512, 128)
	LEAVES(512)
	LOST(2560)
	ADDQ $0x00000c00, CX
	NEXT

done:
	MOVL BX, ret+40(FP)
	RET
