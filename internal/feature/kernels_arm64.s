//go:build !purego

#include "textflag.h"

// The assembler has no names for these: fadd, fsub, fmul, fmax, fmin and fcmgt Vd.4s, Vn.4s, Vm.4s, where fsub is n - m
// and fcmgt n > m; fmul Vd.4s, Vn.4s, Vm.s[i]; fsqrt Vd.4s, Vn.4s. No kernel fuses a product with a sum, so each gives
// the bits of the Go function it stands for.
#define FADD(m, n, d) WORD $(0x4e20d400 | (m)<<16 | (n)<<5 | (d))
#define FSUB(m, n, d) WORD $(0x4ea0d400 | (m)<<16 | (n)<<5 | (d))
#define FMUL(m, n, d) WORD $(0x6e20dc00 | (m)<<16 | (n)<<5 | (d))
#define FMAX(m, n, d) WORD $(0x4e20f400 | (m)<<16 | (n)<<5 | (d))
#define FMIN(m, n, d) WORD $(0x4ea0f400 | (m)<<16 | (n)<<5 | (d))
#define FCMGT(m, n, d) WORD $(0x6ea0e400 | (m)<<16 | (n)<<5 | (d))
#define FMULBY(m, i, n, d) WORD $(0x4f809000 | (m)<<16 | ((i)&1)<<21 | ((i)>>1)<<11 | (n)<<5 | (d))
#define FSQRT(n, d) WORD $(0x6ea1f800 | (n)<<5 | (d))

// A complex8 is 64 bytes: eight real parts, eight imaginary parts.

// func gatherNEON(dst, src *float32, order *int32, scale *float32, n int)
TEXT ·gatherNEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD order+16(FP), R2
	MOVD scale+24(FP), R3
	MOVD n+32(FP), R4

loop:
	MOVW.P  4(R2), R5
	FMOVS.P 4(R3), F4
	ADD     R5<<6, R1, R5
	FLDPQ   (R5), (F0, F1)
	FLDPQ   32(R5), (F2, F3)
	FMULBY(4, 0, 0, 0)
	FMULBY(4, 0, 1, 1)
	FMULBY(4, 0, 2, 2)
	FMULBY(4, 0, 3, 3)
	FSTPQ   (F0, F1), (R0)
	FSTPQ   (F2, F3), 32(R0)
	ADD     $64, R0
	SUBS    $1, R4
	BNE     loop
	RET

// READ loads four of the eight places, from the given byte on, of the four numbers of a butterfly: their real parts to
// V0 to V3, their imaginary parts to V4 to V7.
#define READ(at) \
	FMOVQ at(R0), F0; \
	FMOVQ at(R4), F1; \
	FMOVQ at(R5), F2; \
	FMOVQ at(R6), F3; \
	FMOVQ (at+32)(R0), F4; \
	FMOVQ (at+32)(R4), F5; \
	FMOVQ (at+32)(R5), F6; \
	FMOVQ (at+32)(R6), F7

// TURN multiplies the number in re and im by that in wr and wi.
#define TURN(re, im, wr, wi) \
	FMUL(wi, im, 16); \
	FMUL(wi, re, 17); \
	FMUL(wr, re, re); \
	FMUL(wr, im, im); \
	FSUB(16, re, re); \
	FADD(17, im, im)

// BUTTERFLY transforms what READ has loaded, and writes it back.
#define BUTTERFLY(at) \
	FADD(2, 0, 16); \
	FSUB(2, 0, 17); \
	FADD(3, 1, 18); \
	FSUB(3, 1, 19); \
	FADD(6, 4, 0); \
	FSUB(6, 4, 1); \
	FADD(7, 5, 2); \
	FSUB(7, 5, 3); \
	FADD(18, 16, 4); \
	FADD(2, 0, 5); \
	FSUB(3, 17, 6); \
	FADD(19, 1, 7); \
	FMOVQ F4, at(R0); \
	FMOVQ F5, (at+32)(R0); \
	FMOVQ F6, at(R4); \
	FMOVQ F7, (at+32)(R4); \
	FSUB(18, 16, 4); \
	FSUB(2, 0, 5); \
	FADD(3, 17, 6); \
	FSUB(19, 1, 7); \
	FMOVQ F4, at(R5); \
	FMOVQ F5, (at+32)(R5); \
	FMOVQ F6, at(R6); \
	FMOVQ F7, (at+32)(R6)

// NEXT goes on to the next block.
#define NEXT \
	ADD R1<<2, R0; \
	ADD R1<<2, R4; \
	ADD R1<<2, R5; \
	ADD R1<<2, R6

// func radix4NEON(x *float32, m, blocks int, w *float32)
//
// R0, R4, R5 and R6 are the four numbers of a butterfly. V20 to V31 are the factors: a real and an imaginary part of
// eight places for each of three.
TEXT ·radix4NEON(SB), NOSPLIT, $0-32
	MOVD x+0(FP), R0
	MOVD m+8(FP), R1
	MOVD blocks+16(FP), R2
	MOVD w+24(FP), R3
	LSL  $6, R1
	ADD  R1, R0, R4
	ADD  R1, R4, R5
	ADD  R1, R5, R6
	CBZ  R3, plain

	FLDPQ (R3), (F20, F21)
	FLDPQ 32(R3), (F22, F23)
	FLDPQ 64(R3), (F24, F25)
	FLDPQ 96(R3), (F26, F27)
	FLDPQ 128(R3), (F28, F29)
	FLDPQ 160(R3), (F30, F31)

turned:
	READ(0)
	TURN(1, 5, 20, 22)
	TURN(2, 6, 24, 26)
	TURN(3, 7, 28, 30)
	BUTTERFLY(0)
	READ(16)
	TURN(1, 5, 21, 23)
	TURN(2, 6, 25, 27)
	TURN(3, 7, 29, 31)
	BUTTERFLY(16)
	NEXT
	SUBS $1, R2
	BNE  turned
	RET

plain:
	READ(0)
	BUTTERFLY(0)
	READ(16)
	BUTTERFLY(16)
	NEXT
	SUBS $1, R2
	BNE  plain
	RET

// func combineNEON(dst, src *float32, start *int32, n, p, m int, w *float32)
//
// V0 to V3 are the sum, V4 to V7 a number, V8 its factor.
TEXT ·combineNEON(SB), NOSPLIT, $0-56
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD start+16(FP), R2
	MOVD n+24(FP), R3
	MOVD p+32(FP), R4
	MOVD m+40(FP), R5
	MOVD w+48(FP), R6
	LSL  $6, R5
	SUB  $1, R4

output:
	MOVW.P 4(R2), R7
	ADD    R7<<6, R1, R7
	FLDPQ  (R7), (F0, F1)
	FLDPQ  32(R7), (F2, F3)
	MOVD   R4, R8

term:
	ADD     R5, R7
	FMOVD.P 8(R6), F8
	FLDPQ   (R7), (F4, F5)
	FLDPQ   32(R7), (F6, F7)
	FMULBY(8, 1, 6, 16)
	FMULBY(8, 1, 7, 17)
	FMULBY(8, 1, 4, 18)
	FMULBY(8, 1, 5, 19)
	FMULBY(8, 0, 4, 4)
	FMULBY(8, 0, 5, 5)
	FMULBY(8, 0, 6, 6)
	FMULBY(8, 0, 7, 7)
	FSUB(16, 4, 4)
	FSUB(17, 5, 5)
	FADD(18, 6, 6)
	FADD(19, 7, 7)
	FADD(4, 0, 0)
	FADD(5, 1, 1)
	FADD(6, 2, 2)
	FADD(7, 3, 3)
	SUBS    $1, R8
	BNE     term

	FSTPQ (F0, F1), (R0)
	FSTPQ (F2, F3), 32(R0)
	ADD   $64, R0
	SUBS  $1, R3
	BNE   output
	RET

// func magnitudeNEON(sum, x *float32, n int)
TEXT ·magnitudeNEON(SB), NOSPLIT, $0-24
	MOVD  sum+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  n+16(FP), R2
	FLDPQ (R0), (F0, F1)

loop:
	FLDPQ (R1), (F4, F5)
	FLDPQ 32(R1), (F6, F7)
	FMUL(4, 4, 4)
	FMUL(5, 5, 5)
	FMUL(6, 6, 6)
	FMUL(7, 7, 7)
	FADD(6, 4, 4)
	FADD(7, 5, 5)
	FSQRT(4, 4)
	FSQRT(5, 5)
	FADD(4, 0, 0)
	FADD(5, 1, 1)
	ADD   $64, R1
	SUBS  $1, R2
	BNE   loop
	FSTPQ (F0, F1), (R0)
	RET

// BEGIN loads the 16 values of acc to V0 to V3 and those of t to V4 to V7. V16 is zero.
#define BEGIN \
	FLDPQ (R0), (F0, F1); \
	FLDPQ 32(R0), (F2, F3); \
	FLDPQ (R1), (F4, F5); \
	FLDPQ 32(R1), (F6, F7); \
	VEOR  V16.B16, V16.B16, V16.B16

// SHIFTED loads a row of z, plus t, to V20 to V23.
#define SHIFTED \
	FLDPQ (R2), (F20, F21); \
	FLDPQ 32(R2), (F22, F23); \
	ADD   $64, R2; \
	FADD(4, 20, 20); \
	FADD(5, 21, 21); \
	FADD(6, 22, 22); \
	FADD(7, 23, 23)

// END stores acc.
#define END \
	FSTPQ (F0, F1), (R0); \
	FSTPQ (F2, F3), 32(R0)

// SUM adds the greater, or the less, of every value and zero.
#define SUM(OP) \
	OP(16, 20, 20); \
	OP(16, 21, 21); \
	OP(16, 22, 22); \
	OP(16, 23, 23); \
	FADD(20, 0, 0); \
	FADD(21, 1, 1); \
	FADD(22, 2, 2); \
	FADD(23, 3, 3)

// KEEP puts the values of V20 to V23 where V24 to V27 have ones.
#define KEEP \
	VBIT V24.B16, V20.B16, V0.B16; \
	VBIT V25.B16, V21.B16, V1.B16; \
	VBIT V26.B16, V22.B16, V2.B16; \
	VBIT V27.B16, V23.B16, V3.B16

// func sumAboveNEON(acc, t *[16]float32, z *float32, rows int)
TEXT ·sumAboveNEON(SB), NOSPLIT, $0-32
	MOVD acc+0(FP), R0
	MOVD t+8(FP), R1
	MOVD z+16(FP), R2
	MOVD rows+24(FP), R3
	BEGIN

loop:
	SHIFTED
	SUM(FMAX)
	SUBS $1, R3
	BNE  loop
	END
	RET

// func sumBelowNEON(acc, t *[16]float32, z *float32, rows int)
TEXT ·sumBelowNEON(SB), NOSPLIT, $0-32
	MOVD acc+0(FP), R0
	MOVD t+8(FP), R1
	MOVD z+16(FP), R2
	MOVD rows+24(FP), R3
	BEGIN

loop:
	SHIFTED
	SUM(FMIN)
	SUBS $1, R3
	BNE  loop
	END
	RET

// func maxAboveNEON(acc, t *[16]float32, z *float32, rows int)
//
// Of two equal values the one in acc stays, so it is not fmax, for which one zero is greater than the other.
TEXT ·maxAboveNEON(SB), NOSPLIT, $0-32
	MOVD acc+0(FP), R0
	MOVD t+8(FP), R1
	MOVD z+16(FP), R2
	MOVD rows+24(FP), R3
	BEGIN

loop:
	SHIFTED
	FCMGT(0, 20, 24)
	FCMGT(1, 21, 25)
	FCMGT(2, 22, 26)
	FCMGT(3, 23, 27)
	KEEP
	SUBS $1, R3
	BNE  loop
	END
	RET

// func minBelowNEON(acc, t *[16]float32, z *float32, rows int)
TEXT ·minBelowNEON(SB), NOSPLIT, $0-32
	MOVD acc+0(FP), R0
	MOVD t+8(FP), R1
	MOVD z+16(FP), R2
	MOVD rows+24(FP), R3
	BEGIN

loop:
	SHIFTED
	FCMGT(20, 0, 24)
	FCMGT(21, 1, 25)
	FCMGT(22, 2, 26)
	FCMGT(23, 3, 27)
	KEEP
	SUBS $1, R3
	BNE  loop
	END
	RET
