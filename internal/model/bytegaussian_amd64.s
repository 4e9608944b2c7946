//go:build !purego

#include "textflag.h"

#define VALUES_ARGUMENTS \
	MOVQ         dst+0(FP), AX; \
	MOVQ         x+8(FP), CX; \
	MOVQ         n+16(FP), DX; \
	VBROADCASTSS perStep+24(FP), Y0; \
	VPXOR        Y1, Y1, Y1; \
	VPXOR        Y2, Y2, Y2; \
	SHRQ         $4, DX

#define TILE_ARGUMENTS \
	MOVQ q+16(FP), AX; \
	MOVQ panel+32(FP), CX; \
	MOVQ groups+40(FP), DX; \
	MOVQ step+24(FP), BX; \
	LEAQ (AX)(BX*2), SI

#define RESULT_ARGUMENTS \
	MOVQ dst+0(FP), AX; \
	MOVQ stride+8(FP), CX; \
	MOVQ own+48(FP), DX; \
	MOVQ squares+56(FP), BX; \
	SHLQ $2, CX; \
	MOVQ AX, SI

// VECTOR is 64 bytes that hold a value in all places.
#define FOUR(name, at, x) \
	DATA name<>+at(SB)/4, $(x); \
	DATA name<>+(at+4)(SB)/4, $(x); \
	DATA name<>+(at+8)(SB)/4, $(x); \
	DATA name<>+(at+12)(SB)/4, $(x)

#define VECTOR(name, x) \
	FOUR(name, 0, x); \
	FOUR(name, 16, x); \
	FOUR(name, 32, x); \
	FOUR(name, 48, x); \
	GLOBL name<>(SB), RODATA|NOPTR, $64

VECTOR(leastByte, -127.0)
VECTOR(mostByte, 127.0)
VECTOR(ones, 0x00010001)
VECTOR(mostHalvings, 100.0)
VECTOR(gauss4, 0.0067778736276791875)
VECTOR(gauss3, -0.0531276789940586)
VECTOR(gauss2, 0.23940567669770346)
VECTOR(gauss1, -0.6930558713313241)
VECTOR(gauss0, 1.0)

// ROUND rounds eight values; NaN becomes the least.
#define ROUND(at, v) \
	VMULPS    at(CX), Y0, v; \
	VMAXPS    leastByte<>+0(SB), v, v; \
	VMINPS    mostByte<>+0(SB), v, v; \
	VCVTPS2DQ v, v

// VALUES rounds 16 values to words in Y3 and adds them up in Y1, and their squares in Y2.
#define VALUES \
	ROUND(0, Y3); \
	ROUND(32, Y4); \
	VPACKSSDW Y4, Y3, Y3; \
	VPERMQ    $0xd8, Y3, Y3; \
	VPMADDWD  ones<>+0(SB), Y3, Y4; \
	VPADDD    Y4, Y1, Y1; \
	VPMADDWD  Y3, Y3, Y4; \
	VPADDD    Y4, Y2, Y2

// SUM stores the sum of eight lanes.
#define SUM(y, x, at) \
	VEXTRACTI128 $1, y, X0; \
	VPADDD       x, X0, X0; \
	VPSHUFD      $0x4e, X0, X1; \
	VPADDD       X1, X0, X0; \
	VPSHUFD      $0xb1, X0, X1; \
	VPADDD       X1, X0, X0; \
	VMOVD        X0, at(AX)

// func toBytesAVX2(dst *byte, x *float32, n int, perStep float32, sums *int32)
TEXT ·toBytesAVX2(SB), NOSPLIT, $0-40
	VALUES_ARGUMENTS

loop:
	VALUES
	VPACKSSWB Y3, Y3, Y3
	VPERMQ    $8, Y3, Y3
	VMOVDQU   X3, (AX)
	ADDQ      $64, CX
	ADDQ      $16, AX
	DECQ      DX
	JNZ       loop
	MOVQ      sums+32(FP), AX
	SUM(Y1, X1, 0)
	SUM(Y2, X2, 4)
	VZEROUPPER
	RET

// func toWordsAVX2(dst *byte, x *float32, n int, perStep float32, sums *int32)
TEXT ·toWordsAVX2(SB), NOSPLIT, $0-40
	VALUES_ARGUMENTS

loop:
	VALUES
	VMOVDQU Y3, (AX)
	ADDQ    $64, CX
	ADDQ    $32, AX
	DECQ    DX
	JNZ     loop
	MOVQ    sums+32(FP), AX
	SUM(Y1, X1, 0)
	SUM(Y2, X2, 4)
	VZEROUPPER
	RET

// A tile is four rows by two or four registers of anchors; every group of four bytes of a row is multiplied with those
// of as many anchors as fit into a register, and the four products are added to one sum. The squared distances come
// first, and then a loop over the rows replaces them.

#define DISTANCE(v, own, at) \
	VPADDD  v, v, v; \
	VPSUBD  v, own, v; \
	VPADDD  at(BX), v, v; \
	VMOVUPS v, at(SI)

// GAUSSIAN replaces integers d by 2^-(scale d).
#define GAUSSIAN(at, scale, d, n, p) \
	VMOVUPS    at(AX), d; \
	VCVTDQ2PS  d, d; \
	VMULPS     scale, d, d; \
	VMINPS     mostHalvings<>+0(SB), d, d; \
	VCVTTPS2DQ d, n; \
	VCVTDQ2PS  n, p; \
	VSUBPS     p, d, d; \
	VMULPS     gauss4<>+0(SB), d, p; \
	VADDPS     gauss3<>+0(SB), p, p; \
	VMULPS     d, p, p; \
	VADDPS     gauss2<>+0(SB), p, p; \
	VMULPS     d, p, p; \
	VADDPS     gauss1<>+0(SB), p, p; \
	VMULPS     d, p, p; \
	VADDPS     gauss0<>+0(SB), p, p; \
	VPSLLD     $23, n, n; \
	VPSUBD     n, p, d; \
	VMOVUPS    d, at(AX)

#define CLEAR4(a, b, c, d) \
	VPXORD a, a, a; \
	VPXORD b, b, b; \
	VPXORD c, c, c; \
	VPXORD d, d, d

// PRODUCTS4 adds the products of a group of a row, which has a sign, and those of the anchors, which have none.
#define PRODUCTS4(q, a, b, c, d) \
	VPBROADCASTD q, Z20; \
	VPDPBUSD     Z20, Z16, a; \
	VPDPBUSD     Z20, Z17, b; \
	VPDPBUSD     Z20, Z18, c; \
	VPDPBUSD     Z20, Z19, d

#define DISTANCES4(row, own, a, b, c, d) \
	VPBROADCASTD row(DX), own; \
	DISTANCE(a, own, 0); \
	DISTANCE(b, own, 64); \
	DISTANCE(c, own, 128); \
	DISTANCE(d, own, 192); \
	ADDQ         CX, SI

// func byteTileVNNI(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32, scale float32)
TEXT ·byteTileVNNI(SB), NOSPLIT, $0-68
	TILE_ARGUMENTS
	CLEAR4(Z0, Z1, Z2, Z3)
	CLEAR4(Z4, Z5, Z6, Z7)
	CLEAR4(Z8, Z9, Z10, Z11)
	CLEAR4(Z12, Z13, Z14, Z15)

loop:
	VMOVUPS (CX), Z16
	VMOVUPS 64(CX), Z17
	VMOVUPS 128(CX), Z18
	VMOVUPS 192(CX), Z19
	PRODUCTS4((AX), Z0, Z1, Z2, Z3)
	PRODUCTS4((AX)(BX*1), Z4, Z5, Z6, Z7)
	PRODUCTS4((SI), Z8, Z9, Z10, Z11)
	PRODUCTS4((SI)(BX*1), Z12, Z13, Z14, Z15)
	ADDQ    $0x00000100, CX
	ADDQ    $4, AX
	ADDQ    $4, SI
	DECQ    DX
	JNZ     loop
	RESULT_ARGUMENTS
	DISTANCES4(0, Z16, Z0, Z1, Z2, Z3)
	DISTANCES4(4, Z0, Z4, Z5, Z6, Z7)
	DISTANCES4(8, Z0, Z8, Z9, Z10, Z11)
	DISTANCES4(12, Z0, Z12, Z13, Z14, Z15)
	VBROADCASTSS scale+64(FP), Z0
	MOVQ         $0x00000004, DX

row:
	GAUSSIAN(0, Z0, Z1, Z2, Z3)
	GAUSSIAN(64, Z0, Z1, Z2, Z3)
	GAUSSIAN(128, Z0, Z1, Z2, Z3)
	GAUSSIAN(192, Z0, Z1, Z2, Z3)
	ADDQ CX, AX
	DECQ DX
	JNZ  row
	VZEROUPPER
	RET

#define CLEAR2(a, b) \
	VPXOR a, a, a; \
	VPXOR b, b, b

#define PRODUCTS2(q, a, b) \
	VPBROADCASTD q, Y10; \
	VPMADDWD     Y8, Y10, Y11; \
	VPADDD       Y11, a, a; \
	VPMADDWD     Y9, Y10, Y10; \
	VPADDD       Y10, b, b

#define DISTANCES2(row, own, a, b) \
	VPBROADCASTD row(DX), own; \
	DISTANCE(a, own, 0); \
	DISTANCE(b, own, 32); \
	ADDQ         CX, SI

// func byteTileAVX2(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32, scale float32)
TEXT ·byteTileAVX2(SB), NOSPLIT, $0-68
	TILE_ARGUMENTS
	CLEAR2(Y0, Y1)
	CLEAR2(Y2, Y3)
	CLEAR2(Y4, Y5)
	CLEAR2(Y6, Y7)

loop:
	VMOVUPS (CX), Y8
	VMOVUPS 32(CX), Y9
	PRODUCTS2((AX), Y0, Y1)
	PRODUCTS2((AX)(BX*1), Y2, Y3)
	PRODUCTS2((SI), Y4, Y5)
	PRODUCTS2((SI)(BX*1), Y6, Y7)
	ADDQ    $0x00000040, CX
	ADDQ    $4, AX
	ADDQ    $4, SI
	DECQ    DX
	JNZ     loop
	RESULT_ARGUMENTS
	DISTANCES2(0, Y8, Y0, Y1)
	DISTANCES2(4, Y0, Y2, Y3)
	DISTANCES2(8, Y0, Y4, Y5)
	DISTANCES2(12, Y0, Y6, Y7)
	VBROADCASTSS scale+64(FP), Y0
	MOVQ         $0x00000004, DX

row:
	GAUSSIAN(0, Y0, Y1, Y2, Y3)
	GAUSSIAN(32, Y0, Y1, Y2, Y3)
	ADDQ CX, AX
	DECQ DX
	JNZ  row
	VZEROUPPER
	RET
