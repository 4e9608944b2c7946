//go:build !purego

#include "textflag.h"

// The assembler has no names for these: fadd and fmul Vd.4s, Vn.4s, Vm.4s; fmul Vd.4s, Vn.4s, Vm.s[i]; ucvtf Vd.4s,
// Vn.4s. No kernel fuses a product with a sum, so each gives the bits of the Go function it stands for.
#define FADD(m, n, d) WORD $(0x4e20d400 | (m)<<16 | (n)<<5 | (d))
#define FMUL(m, n, d) WORD $(0x6e20dc00 | (m)<<16 | (n)<<5 | (d))
#define FMULBY(m, i, n, d) WORD $(0x4f809000 | (m)<<16 | ((i)&1)<<21 | ((i)>>1)<<11 | (n)<<5 | (d))
#define UCVTF(n, d) WORD $(0x6e21d800 | (n)<<5 | (d))

// FLOATS makes the 16 bytes of V16 floats in V20 to V23.
#define FLOATS \
	VUXTL  V16.B8, V18.H8; \
	VUXTL2 V16.B16, V19.H8; \
	VUXTL  V18.H4, V20.S4; \
	VUXTL2 V18.H8, V21.S4; \
	VUXTL  V19.H4, V22.S4; \
	VUXTL2 V19.H8, V23.S4; \
	UCVTF(20, 20); \
	UCVTF(21, 21); \
	UCVTF(22, 22); \
	UCVTF(23, 23)

// DOT adds 16 products to the four registers from Vd on: the bytes at x after R1, the floats at v after R2.
#define DOT(x, v, d) \
	FMOVQ x(R1), F16; \
	FLDPQ v(R2), (F24, F25); \
	FLDPQ (v+32)(R2), (F26, F27); \
	FLOATS; \
	FMUL(24, 20, 20); \
	FMUL(25, 21, 21); \
	FMUL(26, 22, 22); \
	FMUL(27, 23, 23); \
	FADD(20, d, d); \
	FADD(21, d+1, d+1); \
	FADD(22, d+2, d+2); \
	FADD(23, d+3, d+3)

// func dotNEON(sum *[32]float32, x *uint8, v *float32, turns int)
//
// V0 to V7 are the sums.
TEXT ·dotNEON(SB), NOSPLIT, $0-32
	MOVD sum+0(FP), R0
	MOVD x+8(FP), R1
	MOVD v+16(FP), R2
	MOVD turns+24(FP), R3
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	VEOR V4.B16, V4.B16, V4.B16
	VEOR V5.B16, V5.B16, V5.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16

loop:
	DOT(0, 0, 0)
	DOT(16, 64, 4)
	ADD  $32, R1
	ADD  $128, R2
	SUBS $1, R3
	BNE  loop

	FSTPQ (F0, F1), (R0)
	FSTPQ (F2, F3), 32(R0)
	FSTPQ (F4, F5), 64(R0)
	FSTPQ (F6, F7), 96(R0)
	RET

// TIMES adds 16 bytes at register x, times value i of V28, to the four registers from V0 on, and goes on behind them.
#define TIMES(x, i) \
	FMOVQ.P 16(x), F16; \
	FLOATS; \
	FMULBY(28, i, 20, 20); \
	FMULBY(28, i, 21, 21); \
	FMULBY(28, i, 22, 22); \
	FMULBY(28, i, 23, 23); \
	FADD(20, 0, 0); \
	FADD(21, 1, 1); \
	FADD(22, 2, 2); \
	FADD(23, 3, 3)

// func addNEON(y *float32, a *[4]float32, x0, x1, x2, x3 *uint8, turns int)
//
// V0 to V3 are sums, V28 the four factors.
TEXT ·addNEON(SB), NOSPLIT, $0-56
	MOVD  y+0(FP), R0
	MOVD  a+8(FP), R1
	MOVD  x0+16(FP), R2
	MOVD  x1+24(FP), R3
	MOVD  x2+32(FP), R4
	MOVD  x3+40(FP), R5
	MOVD  turns+48(FP), R6
	FMOVQ (R1), F28
	LSL   $1, R6 // half a turn is 16 values

loop:
	FLDPQ (R0), (F0, F1)
	FLDPQ 32(R0), (F2, F3)
	TIMES(R2, 0)
	TIMES(R3, 1)
	TIMES(R4, 2)
	TIMES(R5, 3)
	FSTPQ (F0, F1), (R0)
	FSTPQ (F2, F3), 32(R0)
	ADD   $64, R0
	SUBS  $1, R6
	BNE   loop
	RET
