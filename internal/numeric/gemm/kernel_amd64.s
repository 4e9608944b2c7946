//go:build !purego

#include "textflag.h"

// Kernels of AVX2 and AVX-512: a tile of C is in registers 0 to 11, and each turn of k adds the product of a column of
// values of A and a row of 16 values of B.

#define CLEAR \
	VXORPS Y0, Y0, Y0; \
	VXORPS Y1, Y1, Y1; \
	VXORPS Y2, Y2, Y2; \
	VXORPS Y3, Y3, Y3; \
	VXORPS Y4, Y4, Y4; \
	VXORPS Y5, Y5, Y5; \
	VXORPS Y6, Y6, Y6; \
	VXORPS Y7, Y7, Y7; \
	VXORPS Y8, Y8, Y8; \
	VXORPS Y9, Y9, Y9; \
	VXORPS Y10, Y10, Y10; \
	VXORPS Y11, Y11, Y11

// FMA2 multiplies a value of A, at a after CX, with the 16 values of B in Y12 and Y13: a row of the tile.
#define FMA2(a, one, low, high) \
	VBROADCASTSS (a)(CX), one; \
	VFMADD231PS  one, Y12, low; \
	VFMADD231PS  one, Y13, high

// TURN2 is one turn: six values of A, at a after CX, and 16 of B, at b after DX.
#define TURN2(a, b) \
	VMOVUPS (b)(DX), Y12; \
	VMOVUPS (b+32)(DX), Y13; \
	FMA2(a, Y14, Y0, Y1); \
	FMA2(a+4, Y15, Y2, Y3); \
	FMA2(a+8, Y14, Y4, Y5); \
	FMA2(a+12, Y15, Y6, Y7); \
	FMA2(a+16, Y14, Y8, Y9); \
	FMA2(a+20, Y15, Y10, Y11)

// LOAD2 and STORE2 move a row of the tile, in two registers, from and to C.
#define LOAD2(low, high) \
	VMOVUPS (DI), low; \
	VMOVUPS 32(DI), high

#define STORE2(low, high) \
	VMOVUPS low, (AX); \
	VMOVUPS high, 32(AX)

// func kernelAVX2(k int, a, b, c *float32, stride int, load bool)
TEXT ·kernelAVX2(SB), NOSPLIT, $0-41
	MOVQ  k+0(FP), AX
	MOVQ  a+8(FP), CX
	MOVQ  b+16(FP), DX
	MOVQ  c+24(FP), BX
	MOVQ  stride+32(FP), SI
	MOVB  load+40(FP), DI
	SHLQ  $2, SI
	TESTB DI, DI
	JZ    zero
	MOVQ  BX, DI
	LOAD2(Y0, Y1)
	ADDQ  SI, DI
	LOAD2(Y2, Y3)
	ADDQ  SI, DI
	LOAD2(Y4, Y5)
	ADDQ  SI, DI
	LOAD2(Y6, Y7)
	ADDQ  SI, DI
	LOAD2(Y8, Y9)
	ADDQ  SI, DI
	LOAD2(Y10, Y11)
	JMP   multiply

zero:
	CLEAR

multiply:
	SUBQ $4, AX
	JL   rest

four:
	TURN2(0, 0)
	TURN2(24, 64)
	TURN2(48, 128)
	TURN2(72, 192)
	ADDQ $0x00000060, CX
	ADDQ $0x00000100, DX
	SUBQ $4, AX
	JGE  four

rest:
	ADDQ $4, AX
	JZ   store

one:
	TURN2(0, 0)
	ADDQ $0x00000018, CX
	ADDQ $0x00000040, DX
	DECQ AX
	JNZ  one

store:
	MOVQ BX, AX
	STORE2(Y0, Y1)
	ADDQ SI, AX
	STORE2(Y2, Y3)
	ADDQ SI, AX
	STORE2(Y4, Y5)
	ADDQ SI, AX
	STORE2(Y6, Y7)
	ADDQ SI, AX
	STORE2(Y8, Y9)
	ADDQ SI, AX
	STORE2(Y10, Y11)
	VZEROUPPER
	RET

// FMA6 multiplies six values of A, at a after a register, with the 16 values of B in Z12: six rows of a tile.
#define FMA6(a, panel, z0, z1, z2, z3, z4, z5) \
	VFMADD231PS.BCST (a)(panel), Z12, z0; \
	VFMADD231PS.BCST (a+4)(panel), Z12, z1; \
	VFMADD231PS.BCST (a+8)(panel), Z12, z2; \
	VFMADD231PS.BCST (a+12)(panel), Z12, z3; \
	VFMADD231PS.BCST (a+16)(panel), Z12, z4; \
	VFMADD231PS.BCST (a+20)(panel), Z12, z5

// TURN is one turn: six values of two panels of A, and 16 of B.
#define TURN(a, b) \
	VMOVUPS (b)(BX), Z12; \
	FMA6(a, DX, Z0, Z1, Z2, Z3, Z4, Z5); \
	FMA6(a, AX, Z6, Z7, Z8, Z9, Z10, Z11)

// NEXTROW and ROWTO move a row of the tile from and to the next row of C.
#define NEXTROW(z) \
	ADDQ    DI, R8; \
	VMOVUPS (R8), z

#define ROWTO(z) \
	ADDQ    DI, AX; \
	VMOVUPS z, (AX)

// func kernelsAVX512(k int, a, b, c *float32, stride int, load bool)
//
// AX is the second panel of A, k * 6 values behind the first.
TEXT ·kernelsAVX512(SB), NOSPLIT, $0-41
	MOVQ    k+0(FP), CX
	MOVQ    a+8(FP), DX
	MOVQ    b+16(FP), BX
	MOVQ    c+24(FP), SI
	MOVQ    stride+32(FP), DI
	MOVB    load+40(FP), R8
	SHLQ    $2, DI
	LEAQ    (CX)(CX*2), AX
	LEAQ    (DX)(AX*8), AX
	TESTB   R8, R8
	JZ      zero
	MOVQ    SI, R8
	VMOVUPS (R8), Z0
	NEXTROW(Z1)
	NEXTROW(Z2)
	NEXTROW(Z3)
	NEXTROW(Z4)
	NEXTROW(Z5)
	NEXTROW(Z6)
	NEXTROW(Z7)
	NEXTROW(Z8)
	NEXTROW(Z9)
	NEXTROW(Z10)
	NEXTROW(Z11)
	JMP     multiply

zero:
	CLEAR

multiply:
	SUBQ $4, CX
	JL   rest

four:
	TURN(0, 0)
	TURN(24, 64)
	TURN(48, 128)
	TURN(72, 192)
	ADDQ $0x00000060, DX
	ADDQ $0x00000100, BX
	ADDQ $0x00000060, AX
	SUBQ $4, CX
	JGE  four

rest:
	ADDQ $4, CX
	JZ   store

one:
	TURN(0, 0)
	ADDQ $0x00000018, DX
	ADDQ $0x00000040, BX
	ADDQ $0x00000018, AX
	DECQ CX
	JNZ  one

store:
	MOVQ    SI, AX
	VMOVUPS Z0, (AX)
	ROWTO(Z1)
	ROWTO(Z2)
	ROWTO(Z3)
	ROWTO(Z4)
	ROWTO(Z5)
	ROWTO(Z6)
	ROWTO(Z7)
	ROWTO(Z8)
	ROWTO(Z9)
	ROWTO(Z10)
	ROWTO(Z11)
	VZEROUPPER
	RET

// FMA4 multiplies a value of each of four rows of A, BX bytes apart, with the 16 values of B in Z12.
#define FMA4(row, z0, z1, z2, z3) \
	VFMADD231PS.BCST (row), Z12, z0; \
	VFMADD231PS.BCST (row)(BX*1), Z12, z1; \
	VFMADD231PS.BCST (row)(BX*2), Z12, z2; \
	VFMADD231PS.BCST (row)(SI*1), Z12, z3

// func narrowAVX512(k int, a *float32, step int, b, c *float32)
//
// It reads rows where they are: a single panel of B is too little use to lay them out for.
TEXT ·narrowAVX512(SB), NOSPLIT, $0-40
	MOVQ k+0(FP), AX
	MOVQ b+24(FP), CX
	MOVQ c+32(FP), DX
	MOVQ step+16(FP), BX
	SHLQ $2, BX
	LEAQ (BX)(BX*2), SI
	MOVQ a+8(FP), DI
	LEAQ (DI)(BX*4), R8
	LEAQ (R8)(BX*4), R9
	CLEAR

turn:
	VMOVUPS (CX), Z12
	FMA4(DI, Z0, Z1, Z2, Z3)
	FMA4(R8, Z4, Z5, Z6, Z7)
	FMA4(R9, Z8, Z9, Z10, Z11)
	ADDQ    $4, DI
	ADDQ    $4, R8
	ADDQ    $4, R9
	ADDQ    $64, CX
	DECQ    AX
	JNZ     turn
	VMOVUPS Z0, (DX)
	VMOVUPS Z1, 64(DX)
	VMOVUPS Z2, 128(DX)
	VMOVUPS Z3, 192(DX)
	VMOVUPS Z4, 256(DX)
	VMOVUPS Z5, 320(DX)
	VMOVUPS Z6, 384(DX)
	VMOVUPS Z7, 448(DX)
	VMOVUPS Z8, 512(DX)
	VMOVUPS Z9, 576(DX)
	VMOVUPS Z10, 640(DX)
	VMOVUPS Z11, 704(DX)
	VZEROUPPER
	RET

// PANEL adds the products of the value of A in Y8 and 16 of B to two registers.
#define PANEL(step, low, high) \
	VFMADD231PS (DX)(step), Y8, low; \
	VFMADD231PS 32(DX)(step), Y8, high

#define TO(at, low, high) \
	VMOVUPS low, (at)(BX); \
	VMOVUPS high, (at+32)(BX)

// func rowAVX2(k int, a, b, c *float32)
//
// SI is the size of a panel of B, and DI three times as much.
TEXT ·rowAVX2(SB), NOSPLIT, $0-32
	MOVQ k+0(FP), AX
	MOVQ a+8(FP), CX
	MOVQ b+16(FP), DX
	MOVQ c+24(FP), BX
	MOVQ AX, SI
	SHLQ $6, SI
	LEAQ (SI)(SI*2), DI
	CLEAR

turn:
	VBROADCASTSS (CX), Y8
	VFMADD231PS (DX), Y8, Y0
	VFMADD231PS 32(DX), Y8, Y1
	PANEL(SI*1, Y2, Y3)
	PANEL(SI*2, Y4, Y5)
	PANEL(DI*1, Y6, Y7)
	ADDQ $4, CX
	ADDQ $64, DX
	DECQ AX
	JNZ  turn
	TO(0, Y0, Y1)
	TO(64, Y2, Y3)
	TO(128, Y4, Y5)
	TO(192, Y6, Y7)
	VZEROUPPER
	RET
