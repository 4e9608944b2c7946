//go:build !purego

#include "textflag.h"

// The NEON kernels of encoding: a set of 256 rows fills two registers. Instructions that the assembler does not know
// are words; registers are numbers there, in its own order: the destination comes last.
//
//	FCVTL n, d        the lower two of four floats as doubles; FCVTL2 the upper two
//	FADD m, n, d      n + m of doubles; FSUB n - m, FMUL n * m
//	FCVTZU n, d       doubles as integers, rounded to zero: 0 for NaN and below 0, the greatest for what is too large
//	UQXTN n, d        integers of half the length, the greatest for what is too large, in the lower half of d;
//	                  UQXTN2 in the upper
//	UMAXV n, d        the greatest of four integers
//	CMGE m, n, d      ones in the lanes where n >= m, signed
//	UADALP n, d       sums of neighbouring bytes, added to 16 bits
#define FCVTL(n, d) WORD $(0x0e617800 | n<<5 | d)
#define FCVTL2(n, d) WORD $(0x4e617800 | n<<5 | d)
#define FADD_D2(m, n, d) WORD $(0x4e60d400 | m<<16 | n<<5 | d)
#define FSUB_D2(m, n, d) WORD $(0x4ee0d400 | m<<16 | n<<5 | d)
#define FMUL_D2(m, n, d) WORD $(0x6e60dc00 | m<<16 | n<<5 | d)
#define FCVTZU_D2(n, d) WORD $(0x6ee1b800 | n<<5 | d)
#define UQXTN_S(n, d) WORD $(0x2ea14800 | n<<5 | d)
#define UQXTN2_S(n, d) WORD $(0x6ea14800 | n<<5 | d)
#define UQXTN_H(n, d) WORD $(0x2e614800 | n<<5 | d)
#define UQXTN2_H(n, d) WORD $(0x6e614800 | n<<5 | d)
#define UQXTN_B(n, d) WORD $(0x2e214800 | n<<5 | d)
#define UMAXV_S4(n, d) WORD $(0x6eb0a800 | n<<5 | d)
#define CMGE_S4(m, n, d) WORD $(0x4ea03c00 | m<<16 | n<<5 | d)
#define UADALP(n, d) WORD $(0x6e206800 | n<<5 | d)

// func finiteVector(x *float32, n int) bool
//
// Without its sign, as an integer, a float is less than infinity if it is finite: two instructions for four of them.
TEXT ·finiteVector(SB), NOSPLIT, $0-17
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	VEOR V4.B16, V4.B16, V4.B16
	VEOR V5.B16, V5.B16, V5.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16
loop:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	VSHL $1, V0.S4, V0.S4
	VSHL $1, V1.S4, V1.S4
	VSHL $1, V2.S4, V2.S4
	VSHL $1, V3.S4, V3.S4
	VUMAX V0.S4, V4.S4, V4.S4
	VUMAX V1.S4, V5.S4, V5.S4
	VUMAX V2.S4, V6.S4, V6.S4
	VUMAX V3.S4, V7.S4, V7.S4
	SUBS $16, R1
	BGT loop
	VUMAX V5.S4, V4.S4, V4.S4
	VUMAX V7.S4, V6.S4, V6.S4
	VUMAX V6.S4, V4.S4, V4.S4
	UMAXV_S4(4, 4)
	FMOVS F4, R0
	MOVD $0xff000000, R1
	CMPW R1, R0
	CSET LO, R0
	MOVB R0, ret+16(FP)
	RET

// SCALE loads the scales of the window at R2, V16 to V23, and where it begins, in bytes, into R4. V31 is a half.
#define SCALE \
	VLD1.P 64(R2), [V16.D2, V17.D2, V18.D2, V19.D2] \
	VLD1.P 64(R2), [V20.D2, V21.D2, V22.D2, V23.D2] \
	MOVD.P 8(R2), R4 \
	LSL $2, R4

// BIN leaves (v - lo) * perUnit + 0.5 as integers. Each step is rounded: nothing is fused.
#define BIN(lo, perUnit, v) \
	FSUB_D2(lo, v, v) \
	FMUL_D2(perUnit, v, v) \
	FADD_D2(31, v, v) \
	FCVTZU_D2(v, v)

// BINS leaves the bins of eight values of the row at x in the lower half of V2: 29 instructions. What is below 0 or NaN
// becomes 0 and what is above 255 becomes 255 by the conversions alone.
#define BINS(x) \
	ADD R4, x, R5 \
	VLD1 (R5), [V0.S4, V1.S4] \
	FCVTL(0, 2) \
	FCVTL2(0, 3) \
	FCVTL(1, 4) \
	FCVTL2(1, 5) \
	BIN(16, 20, 2) \
	BIN(17, 21, 3) \
	BIN(18, 22, 4) \
	BIN(19, 23, 5) \
	UQXTN_S(2, 2) \
	UQXTN2_S(3, 2) \
	UQXTN_S(4, 4) \
	UQXTN2_S(5, 4) \
	UQXTN_H(2, 2) \
	UQXTN2_H(4, 2) \
	UQXTN_B(2, 2)

// func quantizeVector(dst *uint64, x *float32, windows *float64, n int)
TEXT ·quantizeVector(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD windows+16(FP), R2
	MOVD n+24(FP), R3
	FMOVD $0.5, F31
	VDUP V31.D[0], V31.D2
loop:
	SCALE
	BINS(R1)
	FMOVD.P F2, 8(R0)
	SUBS $1, R3
	BNE loop
	RET

// func quantize4Vector(dst *uint64, x0, x1, x2, x3 *float32, windows *float64, n int)
TEXT ·quantize4Vector(SB), NOSPLIT, $0-56
	MOVD dst+0(FP), R0
	MOVD x0+8(FP), R6
	MOVD x1+16(FP), R7
	MOVD x2+24(FP), R8
	MOVD x3+32(FP), R9
	MOVD windows+40(FP), R2
	MOVD n+48(FP), R3
	FMOVD $0.5, F31
	VDUP V31.D[0], V31.D2
loop:
	SCALE
	BINS(R6)
	FMOVD F2, 0(R0)
	BINS(R7)
	FMOVD F2, 8(R0)
	BINS(R8)
	FMOVD F2, 16(R0)
	BINS(R9)
	FMOVD F2, 24(R0)
	ADD $2048, R0
	SUBS $1, R3
	BNE loop
	RET

// TRN exchanges quarters that are whole lanes.
#define TRN(a, b, c, d, lanes) \
	VTRN1 b.lanes, a.lanes, c.lanes \
	VTRN2 b.lanes, a.lanes, d.lanes

// NIBBLES exchanges quarters of 4 bits, and BITS those of s, where m has ones on the upper s of every 2 s bits.
#define NIBBLES(a, b) \
	VMOV a.B16, V16.B16 \
	VSLI $4, b.B16, a.B16 \
	VSRI $4, V16.B16, b.B16
#define BITS(a, b, s, m) \
	VSHL $s, b.D2, V16.D2 \
	VUSHR $s, a.D2, V17.D2 \
	VBIT m.B16, V16.B16, a.B16 \
	VBIF m.B16, V17.B16, b.B16

// func transposeVector(a *uint64)
//
// The steps 32, 16 and 8 on eight words that are 8 apart, then 4, 2 and 1 on eight neighbours: 2, 2, 2, 3, 4 and 4
// instructions for two registers.
TEXT ·transposeVector(SB), NOSPLIT, $0-8
	MOVD a+0(FP), R0
	MOVD $256, R2
	MOVD $8, R3
far:
	MOVD R0, R1
	VLD1.P (R1)(R2), [V0.B16, V1.B16]
	VLD1.P (R1)(R2), [V2.B16, V3.B16]
	VLD1.P (R1)(R2), [V4.B16, V5.B16]
	VLD1.P (R1)(R2), [V6.B16, V7.B16]
	VLD1.P (R1)(R2), [V8.B16, V9.B16]
	VLD1.P (R1)(R2), [V10.B16, V11.B16]
	VLD1.P (R1)(R2), [V12.B16, V13.B16]
	VLD1.P (R1)(R2), [V14.B16, V15.B16]
	TRN(V0, V8, V16, V24, S4)
	TRN(V1, V9, V17, V25, S4)
	TRN(V2, V10, V18, V26, S4)
	TRN(V3, V11, V19, V27, S4)
	TRN(V4, V12, V20, V28, S4)
	TRN(V5, V13, V21, V29, S4)
	TRN(V6, V14, V22, V30, S4)
	TRN(V7, V15, V23, V31, S4)
	TRN(V16, V20, V0, V4, H8)
	TRN(V17, V21, V1, V5, H8)
	TRN(V18, V22, V2, V6, H8)
	TRN(V19, V23, V3, V7, H8)
	TRN(V24, V28, V8, V12, H8)
	TRN(V25, V29, V9, V13, H8)
	TRN(V26, V30, V10, V14, H8)
	TRN(V27, V31, V11, V15, H8)
	TRN(V0, V2, V16, V18, B16)
	TRN(V1, V3, V17, V19, B16)
	TRN(V4, V6, V20, V22, B16)
	TRN(V5, V7, V21, V23, B16)
	TRN(V8, V10, V24, V26, B16)
	TRN(V9, V11, V25, V27, B16)
	TRN(V12, V14, V28, V30, B16)
	TRN(V13, V15, V29, V31, B16)
	MOVD R0, R1
	VST1.P [V16.B16, V17.B16], (R1)(R2)
	VST1.P [V18.B16, V19.B16], (R1)(R2)
	VST1.P [V20.B16, V21.B16], (R1)(R2)
	VST1.P [V22.B16, V23.B16], (R1)(R2)
	VST1.P [V24.B16, V25.B16], (R1)(R2)
	VST1.P [V26.B16, V27.B16], (R1)(R2)
	VST1.P [V28.B16, V29.B16], (R1)(R2)
	VST1.P [V30.B16, V31.B16], (R1)(R2)
	ADD $32, R0
	SUBS $1, R3
	BNE far
	SUB $256, R0
	MOVD $8, R3
	VMOVI $0xcc, V30.B16
	VMOVI $0xaa, V31.B16
near:
	MOVD R0, R1
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R1), [V4.B16, V5.B16, V6.B16, V7.B16]
	VLD1.P 64(R1), [V8.B16, V9.B16, V10.B16, V11.B16]
	VLD1 (R1), [V12.B16, V13.B16, V14.B16, V15.B16]
	NIBBLES(V0, V8)
	NIBBLES(V1, V9)
	NIBBLES(V2, V10)
	NIBBLES(V3, V11)
	NIBBLES(V4, V12)
	NIBBLES(V5, V13)
	NIBBLES(V6, V14)
	NIBBLES(V7, V15)
	BITS(V0, V4, 2, V30)
	BITS(V1, V5, 2, V30)
	BITS(V2, V6, 2, V30)
	BITS(V3, V7, 2, V30)
	BITS(V8, V12, 2, V30)
	BITS(V9, V13, 2, V30)
	BITS(V10, V14, 2, V30)
	BITS(V11, V15, 2, V30)
	BITS(V0, V2, 1, V31)
	BITS(V1, V3, 1, V31)
	BITS(V4, V6, 1, V31)
	BITS(V5, V7, 1, V31)
	BITS(V8, V10, 1, V31)
	BITS(V9, V11, 1, V31)
	BITS(V12, V14, 1, V31)
	BITS(V13, V15, 1, V31)
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0)
	VST1.P [V8.B16, V9.B16, V10.B16, V11.B16], 64(R0)
	VST1.P [V12.B16, V13.B16, V14.B16, V15.B16], 64(R0)
	SUBS $1, R3
	BNE near
	RET

// OR and AND are of a set and a plane.
#define OR(a0, a1, p0, p1, r0, r1) \
	VORR p0.B16, a0.B16, r0.B16 \
	VORR p1.B16, a1.B16, r1.B16
#define AND2(a0, a1, p0, p1, r0, r1) \
	VAND p0.B16, a0.B16, r0.B16 \
	VAND p1.B16, a1.B16, r1.B16

// RUNGS writes the rungs v and v + 8 of a set of rows above v in the lower three bits; V30 and V31 are the fourth.
#define RUNGS(a0, a1, v, first, step) \
	OR(a0, a1, V30, V31, V14, V15) \
	FSTPQ (F14, F15), (first+(step)*v)(R0) \
	AND2(a0, a1, V30, V31, V16, V17) \
	FSTPQ (F16, F17), (first+(step)*(v+8))(R0)

// DIGIT makes the rungs of the digit whose planes begin at R5: those above v in 1 bit, then in 2, 3 and 4.
#define DIGIT(first, step) \
	VLD1.P 64(R5), [V24.B16, V25.B16, V26.B16, V27.B16] \
	VLD1.P 64(R5), [V28.B16, V29.B16, V30.B16, V31.B16] \
	OR(V24, V25, V26, V27, V0, V1) \
	AND2(V24, V25, V26, V27, V4, V5) \
	OR(V0, V1, V28, V29, V6, V7) \
	OR(V26, V27, V28, V29, V8, V9) \
	OR(V4, V5, V28, V29, V10, V11) \
	AND2(V0, V1, V28, V29, V0, V1) \
	AND2(V26, V27, V28, V29, V12, V13) \
	AND2(V4, V5, V28, V29, V4, V5) \
	RUNGS(V6, V7, 0, first, step) \
	RUNGS(V8, V9, 1, first, step) \
	RUNGS(V10, V11, 2, first, step) \
	RUNGS(V28, V29, 3, first, step) \
	RUNGS(V0, V1, 4, first, step) \
	RUNGS(V12, V13, 5, first, step) \
	RUNGS(V4, V5, 6, first, step) \
	FSTPQ (F30, F31), (first+(step)*7)(R0)

// func laddersVector(dst, planes *uint64, places *uint32, n int)
TEXT ·laddersVector(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD planes+8(FP), R1
	MOVD places+16(FP), R2
	MOVD n+24(FP), R3
	VEOR V20.B16, V20.B16, V20.B16
	VMOVI $255, V21.B16
loop:
	MOVWU.P 4(R2), R5
	ADD R5<<8, R1, R5
	DIGIT(992, -32)
	DIGIT(32, 32)
	FSTPQ (F21, F21), (R0)
	FSTPQ (F20, F20), 512(R0)
	ADD $1024, R0
	SUBS $1, R3
	BNE loop
	RET

// func testsVector(right, ladder *uint64, t *uint16, n int)
TEXT ·testsVector(SB), NOSPLIT, $0-32
	MOVD right+0(FP), R0
	MOVD ladder+8(FP), R1
	MOVD t+16(FP), R2
	MOVD n+24(FP), R3
loop:
	MOVHU (R2), R4
	MOVHU 2(R2), R5
	ADD $4, R2
	ADD R4<<3, R1, R4
	ADD R5<<3, R1, R5
	VLD1 (R4), [V0.B16, V1.B16]
	VLD1 (R5), [V2.B16, V3.B16, V4.B16, V5.B16]
	VAND V2.B16, V0.B16, V0.B16
	VAND V3.B16, V1.B16, V1.B16
	VORR V4.B16, V0.B16, V0.B16
	VORR V5.B16, V1.B16, V1.B16
	VST1.P [V0.B16, V1.B16], 32(R0)
	SUBS $1, R3
	BNE loop
	RET

// SET loads the set of rows that a test sends right; tests begin at R2, sets at R1.
#define SET(node, a, b) \
	MOVWU (4*(node))(R2), R5 \
	ADD R5<<3, R1, R5 \
	VLD1 (R5), [a.B16, b.B16]

// CHOOSE puts c and d in place of a and b where the masks have ones.
#define CHOOSE(mask, mask2, a, b, c, d) \
	VBIT mask.B16, c.B16, a.B16 \
	VBIT mask2.B16, d.B16, b.B16

// LOWEST is what one of the lowest splits says, MERGE what one above says of two sets: 6 and 5 instructions.
#define LOWEST(node, a, b) \
	SET(node, a, b) \
	VLD1R.P 4(R3), [V30.S4] \
	VEOR V30.B16, a.B16, a.B16 \
	VEOR V30.B16, b.B16, b.B16
#define MERGE(node, a, b, c, d) \
	SET(node, V28, V29) \
	CHOOSE(V28, V29, a, b, c, d)
#define PAIR(lowest, node, a, b, c, d) \
	LOWEST(lowest, a, b) \
	LOWEST(lowest+1, c, d) \
	MERGE(node, a, b, c, d)

// TREE2 and TREE4 leave what a tree of the depth says in V0 and V1.
#define TREE2 PAIR(1, 0, V0, V1, V2, V3)
#define TREE4 \
	PAIR(7, 3, V0, V1, V2, V3) \
	PAIR(9, 4, V4, V5, V6, V7) \
	MERGE(1, V0, V1, V4, V5) \
	PAIR(11, 5, V8, V9, V10, V11) \
	PAIR(13, 6, V12, V13, V14, V15) \
	MERGE(2, V8, V9, V12, V13) \
	MERGE(0, V0, V1, V8, V9)

#define TREES(tree, splits) \
loop: \
	tree \
	VST1.P [V0.B16, V1.B16], 32(R0) \
	ADD $(4*splits), R2 \
	SUBS $1, R4 \
	BNE loop \
	RET

// func trees2Vector(say, right *uint64, splits, invert *uint32, n int)
TEXT ·trees2Vector(SB), NOSPLIT, $0-40
	MOVD say+0(FP), R0
	MOVD right+8(FP), R1
	MOVD splits+16(FP), R2
	MOVD invert+24(FP), R3
	MOVD n+32(FP), R4
	TREES(TREE2, 3)

// func trees4Vector(say, right *uint64, splits, invert *uint32, n int)
TEXT ·trees4Vector(SB), NOSPLIT, $0-40
	MOVD say+0(FP), R0
	MOVD right+8(FP), R1
	MOVD splits+16(FP), R2
	MOVD invert+24(FP), R3
	MOVD n+32(FP), R4
	TREES(TREE4, 15)

// INDEX turns six bits of each lane of v into two bytes: the first fold's 0 to 7 and the second one's 8 to 15. V14 has
// ones on the bits that the folds fill, V15 the 8.
#define INDEX(v) \
	VSLI $5, v.H8, v.H8 \
	VBIF V14.B16, V15.B16, v.B16

// LOOK adds what two folds say of 8 rows, index by index of v, to four sums: a look-up of each byte of the weights.
#define LOOK(v, a, b, c, d) \
	INDEX(v) \
	VTBL v.B16, [V0.B16], V4.B16 \
	VTBL v.B16, [V1.B16], V5.B16 \
	VTBL v.B16, [V2.B16], V6.B16 \
	VTBL v.B16, [V3.B16], V7.B16 \
	UADALP(4, a) \
	UADALP(5, b) \
	UADALP(6, c) \
	UADALP(7, d)

// FOLDS adds what two folds of the bits from shift on say of 16 rows.
#define FOLDS(shift, x, y) \
	VLD1.P 64(R10), [V0.B16, V1.B16, V2.B16, V3.B16] \
	VUSHR $shift, x.H8, V8.H8 \
	VUSHR $shift, y.H8, V9.H8 \
	LOOK(V8, 24, 25, 26, 27) \
	LOOK(V9, 28, 29, 30, 31)

// HALF adds what the ten folds of half a word say of 16 rows, whose lower bits are in x and y, the upper in x2 and y2.
#define HALF(x, x2, y, y2) \
	FOLDS(6, x, y) \
	VLD1.P 64(R10), [V0.B16, V1.B16, V2.B16, V3.B16] \
	VUSHR $12, x.H8, V8.H8 \
	VUSHR $12, y.H8, V9.H8 \
	VSLI $4, x2.H8, V8.H8 \
	VSLI $4, y2.H8, V9.H8 \
	LOOK(V8, 24, 25, 26, 27) \
	LOOK(V9, 28, 29, 30, 31) \
	FOLDS(2, x2, y2) \
	FOLDS(8, x2, y2) \
	VLD1.P 64(R10), [V0.B16, V1.B16, V2.B16, V3.B16] \
	LOOK(x, 24, 25, 26, 27) \
	LOOK(y, 28, 29, 30, 31)

// ROWS loads 8 rows and leaves the first to the last 16 bits of their words in the lanes of l, l2, u and u2, in the
// order of totalPlace.
#define ROWS(l, l2, u, u2) \
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16] \
	VUZP1 V2.S4, V0.S4, V4.S4 \
	VUZP1 V3.S4, V1.S4, V5.S4 \
	VUZP2 V2.S4, V0.S4, V6.S4 \
	VUZP2 V3.S4, V1.S4, V7.S4 \
	VUZP1 V5.H8, V4.H8, l.H8 \
	VUZP2 V5.H8, V4.H8, l2.H8 \
	VUZP1 V7.H8, V6.H8, u.H8 \
	VUZP2 V7.H8, V6.H8, u2.H8

// TOTAL adds a + b<<8 + c<<16 + d<<24 of 8 rows to their totals.
#define TOTAL(a, b, c, d) \
	VSHL $8, d.H8, d.H8 \
	VADD d.H8, c.H8, c.H8 \
	VLD1 (R0), [V0.S4, V1.S4] \
	VUADDW a.H4, V0.S4, V0.S4 \
	VUADDW2 a.H8, V1.S4, V1.S4 \
	VUSHLL $8, b.H4, V2.S4 \
	VUSHLL2 $8, b.H8, V3.S4 \
	VZIP1 c.H8, V13.H8, V4.H8 \
	VZIP2 c.H8, V13.H8, V5.H8 \
	VADD V2.S4, V0.S4, V0.S4 \
	VADD V3.S4, V1.S4, V1.S4 \
	VADD V4.S4, V0.S4, V0.S4 \
	VADD V5.S4, V1.S4, V1.S4 \
	VST1.P [V0.S4, V1.S4], 32(R0)

// MOVE takes the tables of two folds apart by the bytes of the weights: 16 of each.
#define MOVE \
	VLD4.P 64(R2), [V0.B16, V1.B16, V2.B16, V3.B16] \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R10)

// MOVEHALF moves the tables of half a word, in the order in which HALF takes them: the first folds are the last.
#define MOVEHALF \
	ADD $256, R10, R11 \
	VLD4.P 64(R2), [V0.B16, V1.B16, V2.B16, V3.B16] \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R11) \
	MOVE \
	MOVE \
	MOVE \
	MOVE \
	MOVD R11, R10

// func addTotalsNEON(dst *int32, say *uint64, tables *int32, n int)
//
// A fold of three trees has eight weights, so that a register has one byte of the weights of two folds. The bytes of a
// weight are looked up and added apart, in 16 bits, which 20 of them never fill, and put together for each table. Two
// folds and 8 rows take 10 to 12 instructions.
TEXT ·addTotalsNEON(SB), 0, $640-32
	MOVD say+8(FP), R1
	MOVD tables+16(FP), R2
	MOVD n+24(FP), R3
	MOVD $0x0707070707070707, R4
	VDUP R4, V14.D2
	MOVD $0x0800080008000800, R4
	VDUP R4, V15.D2
	VEOR V13.B16, V13.B16, V13.B16
table:
	MOVD $bytes-640(SP), R10
	MOVEHALF
	MOVEHALF
	MOVD dst+0(FP), R0
	MOVD $16, R4
rows:
	ROWS(V16, V17, V18, V19)
	ROWS(V20, V21, V22, V23)
	VEOR V24.B16, V24.B16, V24.B16
	VEOR V25.B16, V25.B16, V25.B16
	VEOR V26.B16, V26.B16, V26.B16
	VEOR V27.B16, V27.B16, V27.B16
	VEOR V28.B16, V28.B16, V28.B16
	VEOR V29.B16, V29.B16, V29.B16
	VEOR V30.B16, V30.B16, V30.B16
	VEOR V31.B16, V31.B16, V31.B16
	MOVD $bytes-640(SP), R10
	HALF(V16, V17, V20, V21)
	HALF(V18, V19, V22, V23)
	TOTAL(V24, V25, V26, V27)
	TOTAL(V28, V29, V30, V31)
	SUBS $1, R4
	BNE rows
	SUBS $1, R3
	BNE table
	RET

// ROW adds a bit of the set in rows, a pair of words, where c has ones.
#define ROW(c, bit, rows) \
	VAND bit.B16, c.B16, c.B16 \
	VORR c.B16, rows.B16, rows.B16

// func atLeastNEON(dst *uint64, totals *int32, least int32)
TEXT ·atLeastNEON(SB), NOSPLIT, $0-20
	MOVD dst+0(FP), R0
	MOVD totals+8(FP), R1
	MOVW least+16(FP), R2
	VDUP R2, V31.S4
	MOVD $1, R2
	VDUP R2, V28.D2
	VSHL $1, V28.D2, V29.D2
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	MOVD $32, R3
loop:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	CMGE_S4(31, 0, 0)
	CMGE_S4(31, 1, 1)
	VZIP1 V0.S4, V0.S4, V2.S4
	VZIP2 V0.S4, V0.S4, V3.S4
	VZIP1 V1.S4, V1.S4, V4.S4
	VZIP2 V1.S4, V1.S4, V5.S4
	ROW(V2, V28, V16)
	ROW(V3, V29, V16)
	ROW(V4, V28, V17)
	ROW(V5, V29, V17)
	VSHL $2, V28.D2, V28.D2
	VSHL $2, V29.D2, V29.D2
	SUBS $1, R3
	BNE loop
	VST1 [V16.B16, V17.B16], (R0)
	RET
