//go:build !purego

#include "textflag.h"

// Kernels of bytes, as in byteproduct.go: a tile is four rows by four registers of four anchors, V0 to V15. V16 to V19
// are a group of four bytes of 16 anchors, V20 to V23 four groups of each row. Instructions that the assembler does not
// know are words, with the destination last.
//
//	SDOT m, i, n, d     adds the products of four bytes of n, in each lane, with group i of m
//	SMULL m, n, d       products of the lower eight bytes, 16 bits each; SMULL2 of the upper
//	ADDP_H8 m, n, d     sums of neighbours of n, then of m, 16 bits each
//	SADALP_H8 n, d      sums of neighbours of 16 bits, added to 32 bits
//	SCVTF n, d          integers as floats; FCVTZS back, rounded to zero; FCVTNS back, to the nearest, ties to even
//	FMAXNM m, n, d      the greater one, or the one that is a number
//	XTN_S n, d          the lower halves of 32 bits in the lower half of d; XTN2 in the upper
#define SDOT(m, i, n, d) WORD $(0x4f80e000 | (d) | (n)<<5 | (m)<<16 | ((i)&1)<<21 | ((i)>>1)<<11)
#define SMULL(m, n, d) WORD $(0x0e20c000 | (m)<<16 | (n)<<5 | (d))
#define SMULL2(m, n, d) WORD $(0x4e20c000 | (m)<<16 | (n)<<5 | (d))
#define ADDP_H8(m, n, d) WORD $(0x4e60bc00 | (m)<<16 | (n)<<5 | (d))
#define SADALP_H8(n, d) WORD $(0x4e606800 | (n)<<5 | (d))
#define SCVTF(n, d) WORD $(0x4e21d800 | (n)<<5 | (d))
#define FCVTZS(n, d) WORD $(0x4ea1b800 | (n)<<5 | (d))
#define FCVTNS(n, d) WORD $(0x4e21a800 | (n)<<5 | (d))
#define FMUL(m, n, d) WORD $(0x6e20dc00 | (m)<<16 | (n)<<5 | (d))
#define FADD(m, n, d) WORD $(0x4e20d400 | (m)<<16 | (n)<<5 | (d))
#define FSUB(m, n, d) WORD $(0x4ea0d400 | (m)<<16 | (n)<<5 | (d))
#define FMIN(m, n, d) WORD $(0x4ea0f400 | (m)<<16 | (n)<<5 | (d))
#define FMAXNM(m, n, d) WORD $(0x4e20c400 | (m)<<16 | (n)<<5 | (d))
#define XTN_S(n, d) WORD $(0x0e612800 | (n)<<5 | (d))
#define XTN2_S(n, d) WORD $(0x4e612800 | (n)<<5 | (d))
#define XTN_H(n, d) WORD $(0x0e212800 | (n)<<5 | (d))
#define XTN2_H(n, d) WORD $(0x4e212800 | (n)<<5 | (d))

// CONSTANT puts the bits of a float into all places of a register.
#define CONSTANT(bits, v) MOVD $bits, R9; VDUP R9, v

// DOT is SDOT for processors without it; V24 holds the group in all lanes. Two products fit into 16 bits.
#define DOT(n, d) SMULL(24, n, 25); SMULL2(24, n, 26); ADDP_H8(26, 25, 25); SADALP_H8(25, d)

#define ROW_SDOT(m, i, d) SDOT(m, i, 16, d); SDOT(m, i, 17, d+1); SDOT(m, i, 18, d+2); SDOT(m, i, 19, d+3)
#define ROW_DOT(v, d) VDUP v, V24.S4; DOT(16, d); DOT(17, d+1); DOT(18, d+2); DOT(19, d+3)

#define GROUP_SDOT(i) \
	VLD1.P 64(R4), [V16.B16, V17.B16, V18.B16, V19.B16]; \
	ROW_SDOT(20, i, 0); \
	ROW_SDOT(21, i, 4); \
	ROW_SDOT(22, i, 8); \
	ROW_SDOT(23, i, 12)

#define GROUP_DOT(i) \
	VLD1.P 64(R4), [V16.B16, V17.B16, V18.B16, V19.B16]; \
	ROW_DOT(V20.S[i], 0); \
	ROW_DOT(V21.S[i], 4); \
	ROW_DOT(V22.S[i], 8); \
	ROW_DOT(V23.S[i], 12)

#define CLEAR4(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

// START loads the arguments of a tile and clears its sums: rows in R2, R6, R7, R8, the panel in R4, groups in R5.
#define START \
	MOVD q+16(FP), R2; \
	MOVD step+24(FP), R3; \
	MOVD panel+32(FP), R4; \
	MOVD groups+40(FP), R5; \
	ADD R3, R2, R6; \
	ADD R3, R6, R7; \
	ADD R3, R7, R8; \
	CLEAR4(V0, V1, V2, V3); \
	CLEAR4(V4, V5, V6, V7); \
	CLEAR4(V8, V9, V10, V11); \
	CLEAR4(V12, V13, V14, V15)

#define LOAD_ROWS \
	VLD1.P 16(R2), [V20.B16]; \
	VLD1.P 16(R6), [V21.B16]; \
	VLD1.P 16(R7), [V22.B16]; \
	VLD1.P 16(R8), [V23.B16]

// GAUSSIAN replaces the products v, register d, by gaussian of the distances; V20 is own in all lanes, s the squares.
#define GAUSSIAN(v, d, s) \
	VADD v.S4, v.S4, v.S4; \
	VSUB v.S4, V20.S4, v.S4; \
	VADD s.S4, v.S4, v.S4; \
	SCVTF(d, d); \
	FMUL(24, d, d); \
	FMIN(25, d, d); \
	FCVTZS(d, 21); \
	SCVTF(21, 22); \
	FSUB(22, d, d); \
	FMUL(26, d, 22); \
	FADD(27, 22, 22); \
	FMUL(d, 22, 22); \
	FADD(28, 22, 22); \
	FMUL(d, 22, 22); \
	FADD(29, 22, 22); \
	FMUL(d, 22, 22); \
	FADD(30, 22, 22); \
	VSHL $23, V21.S4, V21.S4; \
	VSUB V21.S4, V22.S4, v.S4

#define GAUSSIANS(v0, d0, v1, v2, v3) \
	MOVWU.P 4(R6), R9; \
	VDUP R9, V20.S4; \
	GAUSSIAN(v0, d0, V16); \
	GAUSSIAN(v1, d0+1, V17); \
	GAUSSIAN(v2, d0+2, V18); \
	GAUSSIAN(v3, d0+3, V19); \
	VST1 [v0.S4, v1.S4, v2.S4, v3.S4], (R0); \
	ADD R1, R0

// FINISH writes the tile.
#define FINISH \
	MOVD dst+0(FP), R0; \
	MOVD stride+8(FP), R1; \
	LSL $2, R1; \
	MOVD own+48(FP), R6; \
	MOVD squares+56(FP), R7; \
	MOVWU scale+64(FP), R9; \
	VDUP R9, V24.S4; \
	VLD1 (R7), [V16.S4, V17.S4, V18.S4, V19.S4]; \
	CONSTANT(0x42c80000, V25.S4); \
	CONSTANT(0x3bde18ed, V26.S4); \
	CONSTANT(0xbd599c69, V27.S4); \
	CONSTANT(0x3e7526c3, V28.S4); \
	CONSTANT(0xbf316c1c, V29.S4); \
	CONSTANT(0x3f800000, V30.S4); \
	GAUSSIANS(V0, 0, V1, V2, V3); \
	GAUSSIANS(V4, 4, V5, V6, V7); \
	GAUSSIANS(V8, 8, V9, V10, V11); \
	GAUSSIANS(V12, 12, V13, V14, V15); \
	RET

// func byteTileSDOT(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32, scale float32)
TEXT ·byteTileSDOT(SB), NOSPLIT, $0-68
	START
loop:
	LOAD_ROWS
	GROUP_SDOT(0)
	GROUP_SDOT(1)
	GROUP_SDOT(2)
	GROUP_SDOT(3)
	SUBS $4, R5
	BGT loop
	FINISH

// func byteTileNEON(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32, scale float32)
TEXT ·byteTileNEON(SB), NOSPLIT, $0-68
	START
loop:
	LOAD_ROWS
	GROUP_DOT(0)
	GROUP_DOT(1)
	GROUP_DOT(2)
	GROUP_DOT(3)
	SUBS $4, R5
	BGT loop
	FINISH

#define ROUND(d) \
	FMUL(8, d, d); \
	FMAXNM(9, d, d); \
	FMIN(10, d, d); \
	FCVTNS(d, d)

// func toBytesNEON(dst *byte, x *float32, n int, perStep float32) (squares int32)
TEXT ·toBytesNEON(SB), NOSPLIT, $0-36
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD n+16(FP), R2
	MOVWU perStep+24(FP), R9
	VDUP R9, V8.S4
	CONSTANT(0xc2fe0000, V9.S4)
	CONSTANT(0x42fe0000, V10.S4)
	VEOR V11.B16, V11.B16, V11.B16
loop:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	ROUND(0)
	ROUND(1)
	ROUND(2)
	ROUND(3)
	XTN_S(0, 4)
	XTN2_S(1, 4)
	XTN_S(2, 5)
	XTN2_S(3, 5)
	XTN_H(4, 6)
	XTN2_H(5, 6)
	VST1.P [V6.B16], 16(R0)
	SMULL(6, 6, 4)
	SMULL2(6, 6, 5)
	SADALP_H8(4, 11)
	SADALP_H8(5, 11)
	SUBS $16, R2
	BGT loop
	VADDV V11.S4, V11
	FMOVS F11, R0
	MOVW R0, squares+32(FP)
	RET
