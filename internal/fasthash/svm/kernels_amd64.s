//go:build !purego

#include "textflag.h"

// No kernel fuses a product with a sum, so each gives the bits of the Go function it stands for.

// DOT adds eight products to a sum: the bytes at x after CX, the floats at v after DX.
#define DOT(x, v, sum) \
	VPMOVZXBD x(CX), Y4; \
	VCVTDQ2PS Y4, Y4; \
	VMULPS    v(DX), Y4, Y4; \
	VADDPS    Y4, sum, sum

// func dotAVX2(sum *[32]float32, x *uint8, v *float32, turns int)
//
// A turn takes 32 values, with a sum for each.
TEXT ·dotAVX2(SB), NOSPLIT, $0-32
	MOVQ   sum+0(FP), AX
	MOVQ   x+8(FP), CX
	MOVQ   v+16(FP), DX
	MOVQ   turns+24(FP), BX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

loop:
	DOT(0, 0, Y0)
	DOT(8, 32, Y1)
	DOT(16, 64, Y2)
	DOT(24, 96, Y3)
	ADDQ    $32, CX
	SUBQ    $-128, DX
	DECQ    BX
	JNZ     loop
	VMOVUPS Y0, (AX)
	VMOVUPS Y1, 32(AX)
	VMOVUPS Y2, 64(AX)
	VMOVUPS Y3, 96(AX)
	VZEROUPPER
	RET

// ADD adds a times the eight bytes at x to Y4.
#define ADD(x, a) \
	VPMOVZXBD x, Y5; \
	VCVTDQ2PS Y5, Y5; \
	VMULPS    a, Y5, Y5; \
	VADDPS    Y5, Y4, Y4

// ADDALL adds four vectors to eight values: the sums stay in a register. They begin at x after the vectors' pointers.
#define ADDALL(x) \
	VMOVUPS (4*x)(AX), Y4; \
	ADD(x(DX), Y0); \
	ADD(x(BX), Y1); \
	ADD(x(SI), Y2); \
	ADD(x(DI), Y3); \
	VMOVUPS Y4, (4*x)(AX)

// func addAVX2(y *float32, a *[4]float32, x0, x1, x2, x3 *uint8, turns int)
TEXT ·addAVX2(SB), NOSPLIT, $0-56
	MOVQ         y+0(FP), AX
	MOVQ         a+8(FP), CX
	MOVQ         x0+16(FP), DX
	VBROADCASTSS (CX), Y0
	MOVQ         x1+24(FP), BX
	VBROADCASTSS 4(CX), Y1
	MOVQ         x2+32(FP), SI
	VBROADCASTSS 8(CX), Y2
	MOVQ         x3+40(FP), DI
	VBROADCASTSS 12(CX), Y3
	MOVQ         turns+48(FP), CX

loop:
	ADDALL(0)
	ADDALL(8)
	ADDALL(16)
	ADDALL(24)
	SUBQ $-128, AX
	ADDQ $32, DX
	ADDQ $32, BX
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  loop
	VZEROUPPER
	RET
