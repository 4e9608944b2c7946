//go:build !purego

#include "textflag.h"

// Register plan: V0 to V23 are the tile of C, four registers (16 columns) per row; V24 to V27 are 16 values of B; V28
// to V30 are values of A, six for each k, so that two turns fill them. A value of A is never copied into all four
// places: the multiplication picks it out of its register.

// FMLA adds to the four values of Vd those of Vn, times value i of Vm, rounded once: fmla Vd.4s, Vn.4s, Vm.s[i]. The
// assembler has no name for it.
#define FMLA(d, n, m, i) WORD $(0x4f801000 | (d) | (n)<<5 | (m)<<16 | ((i)&1)<<21 | ((i)>>1)<<11)

// COLUMNS adds the products of one register of B with six values of A to one register of each row: values i of the
// registers m.
#define COLUMNS(d, n, m0, i0, m1, i1, m2, i2, m3, i3, m4, i4, m5, i5) \
	FMLA(d, n, m0, i0); \
	FMLA(d+4, n, m1, i1); \
	FMLA(d+8, n, m2, i2); \
	FMLA(d+12, n, m3, i3); \
	FMLA(d+16, n, m4, i4); \
	FMLA(d+20, n, m5, i5)

// EVEN is a turn whose values of A are all of V28 and the lower half of V29.
#define EVEN(d, n) COLUMNS(d, n, 28, 0, 28, 1, 28, 2, 28, 3, 29, 0, 29, 1)

// ODD is a turn whose values of A are the upper half of V29 and all of V30.
#define ODD(d, n) COLUMNS(d, n, 29, 2, 29, 3, 30, 0, 30, 1, 30, 2, 30, 3)

// LOAD reads a row of the tile and goes on to the next.
#define LOAD(v0, v1, v2, v3) \
	FLDPQ (R6), (v0, v1); \
	FLDPQ 32(R6), (v2, v3); \
	ADD   R4, R6

// STORE writes a row of the tile and goes on to the next.
#define STORE(v0, v1, v2, v3) \
	FSTPQ (v0, v1), (R3); \
	FSTPQ (v2, v3), 32(R3); \
	ADD   R4, R3

// ZERO clears a row of the tile.
#define ZERO(v0, v1, v2, v3) \
	VEOR v0.B16, v0.B16, v0.B16; \
	VEOR v1.B16, v1.B16, v1.B16; \
	VEOR v2.B16, v2.B16, v2.B16; \
	VEOR v3.B16, v3.B16, v3.B16

// func kernelNEON(k int, a, b, c *float32, stride int, load bool)
TEXT ·kernelNEON(SB), NOSPLIT, $0-41
	MOVD  k+0(FP), R0
	MOVD  a+8(FP), R1
	MOVD  b+16(FP), R2
	MOVD  c+24(FP), R3
	MOVD  stride+32(FP), R4
	MOVBU load+40(FP), R5
	LSL   $2, R4

	// The tile: from C, or zero.
	CBZ  R5, zero
	MOVD R3, R6
	LOAD(F0, F1, F2, F3)
	LOAD(F4, F5, F6, F7)
	LOAD(F8, F9, F10, F11)
	LOAD(F12, F13, F14, F15)
	LOAD(F16, F17, F18, F19)
	LOAD(F20, F21, F22, F23)
	B    multiply

zero:
	ZERO(V0, V1, V2, V3)
	ZERO(V4, V5, V6, V7)
	ZERO(V8, V9, V10, V11)
	ZERO(V12, V13, V14, V15)
	ZERO(V16, V17, V18, V19)
	ZERO(V20, V21, V22, V23)

multiply:
	SUBS $2, R0
	BLT  rest

two:
	FLDPQ   (R2), (F24, F25)
	FLDPQ   (R1), (F28, F29)
	FLDPQ   32(R2), (F26, F27)
	FMOVQ   32(R1), F30
	EVEN(0, 24)
	EVEN(1, 25)
	FLDPQ   64(R2), (F24, F25)
	EVEN(2, 26)
	EVEN(3, 27)
	FLDPQ   96(R2), (F26, F27)
	ODD(0, 24)
	ODD(1, 25)
	ODD(2, 26)
	ODD(3, 27)
	ADD     $48, R1
	ADD     $128, R2
	SUBS    $2, R0
	BGE     two

rest:
	ADDS  $2, R0
	BEQ   store
	FLDPQ (R2), (F24, F25)
	FLDPQ 32(R2), (F26, F27)
	FMOVQ (R1), F28
	FMOVD 16(R1), F29
	EVEN(0, 24)
	EVEN(1, 25)
	EVEN(2, 26)
	EVEN(3, 27)

store:
	STORE(F0, F1, F2, F3)
	STORE(F4, F5, F6, F7)
	STORE(F8, F9, F10, F11)
	STORE(F12, F13, F14, F15)
	STORE(F16, F17, F18, F19)
	STORE(F20, F21, F22, F23)
	RET
