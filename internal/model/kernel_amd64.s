//go:build !purego

#include "textflag.h"

// A set of 256 rows fills one register, so most kernels are straight lines of loads and logic.

#define SET 32

// FINITE adds x - x, which is 0 or NaN, so that one test at the end is enough.
#define FINITE(at, sum) \
	VMOVUPS at(AX), Y4; \
	VSUBPS  Y4, Y4, Y4; \
	VADDPS  Y4, sum, sum

// func finiteVector(x *float32, n int) bool
TEXT ·finiteVector(SB), NOSPLIT, $0-17
	MOVQ   x+0(FP), AX
	MOVQ   n+8(FP), CX
	SHRQ   $5, CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

loop:
	FINITE(0, Y0)
	FINITE(32, Y1)
	FINITE(64, Y2)
	FINITE(96, Y3)
	ADDQ      $0x00000080, AX
	DECQ      CX
	JNZ       loop
	VADDPS    Y1, Y0, Y0
	VADDPS    Y3, Y2, Y2
	VADDPS    Y2, Y0, Y0
	VCMPPS    $3, Y0, Y0, Y0 // unordered
	VMOVMSKPS Y0, AX
	TESTL     AX, AX
	SETEQ     AL
	MOVB      AL, ret+16(FP)
	VZEROUPPER
	RET

DATA half<>+0(SB)/8, $(0.5)
GLOBL half<>(SB), RODATA|NOPTR, $8

DATA most<>+0(SB)/8, $(255.0)
GLOBL most<>(SB), RODATA|NOPTR, $8

// WINDOW loads what eight columns are quantised with, and the first of them.
#define WINDOW(w, at) \
	MOVL    128(w), at; \
	VMOVUPD (w), Y2; \
	VMOVUPD 64(w), Y3; \
	VMOVUPD 32(w), Y4; \
	VMOVUPD 96(w), Y5

// BINS quantises four values. NaN becomes the least integer; clamping below 0 is left to the saturation of the packs.
#define BINS(x, lo, perUnit, y, bins) \
	VCVTPS2PD   x, y; \
	VSUBPD      lo, y, y; \
	VMULPD      perUnit, y, y; \
	VADDPD      Y0, y, y; \
	VMINPD      y, Y1, y;   /* y where it is NaN */ \
	VCVTTPD2DQY y, bins

#define EIGHT(x, y0, bins0, y1, bins1) \
	BINS((x)(R9*4), Y2, Y3, y0, bins0); \
	BINS(16(x)(R9*4), Y4, Y5, y1, bins1); \
	VPACKSSDW bins1, bins0, bins0

// func quantizeVector(dst *uint64, x *float32, windows *float64, n int)
TEXT ·quantizeVector(SB), NOSPLIT, $0-32
	MOVQ         x+8(FP), AX
	MOVQ         dst+0(FP), CX
	MOVQ         windows+16(FP), DX
	MOVQ         n+24(FP), BX
	VBROADCASTSD half<>+0(SB), Y0
	VBROADCASTSD most<>+0(SB), Y1

loop:
	WINDOW(DX, R9)
	EIGHT(AX, Y6, X2, Y3, X3)
	VPACKUSWB X2, X2, X2
	VMOVQ     X2, (CX)
	ADDQ      $8, CX
	ADDQ      $0x00000088, DX
	DECQ      BX
	JNZ       loop
	VZEROUPPER
	RET

// func quantize4Vector(dst *uint64, x0, x1, x2, x3 *float32, windows *float64, n int)
TEXT ·quantize4Vector(SB), NOSPLIT, $0-56
	MOVQ         x0+8(FP), AX
	MOVQ         x1+16(FP), CX
	MOVQ         x2+24(FP), DX
	MOVQ         x3+32(FP), BX
	MOVQ         dst+0(FP), SI
	MOVQ         windows+40(FP), DI
	MOVQ         n+48(FP), R8
	VBROADCASTSD half<>+0(SB), Y0
	VBROADCASTSD most<>+0(SB), Y1

loop:
	WINDOW(DI, R9)
	EIGHT(AX, Y6, X6, Y7, X7)
	EIGHT(CX, Y7, X7, Y8, X8)
	EIGHT(DX, Y8, X8, Y9, X9)
	EIGHT(BX, Y9, X2, Y3, X3)
	VPACKUSWB X7, X6, X6
	VPACKUSWB X2, X8, X8
	VMOVDQU   X6, (SI)
	VMOVDQU   X8, 16(SI)
	ADDQ      $(64*SET), SI
	ADDQ      $0x00000088, DI
	DECQ      R8
	JNZ       loop
	VZEROUPPER
	RET

#define WORD(name, x) \
	DATA name<>+0(SB)/8, $x; \
	GLOBL name<>(SB), RODATA|NOPTR, $8

WORD(mask32, 0x00000000ffffffff)
WORD(mask16, 0x0000ffff0000ffff)
WORD(mask8, 0x00ff00ff00ff00ff)
WORD(mask4, 0x0f0f0f0f0f0f0f0f)
WORD(mask2, 0x3333333333333333)
WORD(mask1, 0x5555555555555555)
WORD(one, 0x0000000000000001)

// LOAD8 and STORE8 move eight sets to and from Y3 to Y10.
#define LOAD8(p, step) \
	VMOVDQU (p), Y3; \
	VMOVDQU (step)(p), Y4; \
	VMOVDQU (2*step)(p), Y5; \
	VMOVDQU (3*step)(p), Y6; \
	VMOVDQU (4*step)(p), Y7; \
	VMOVDQU (5*step)(p), Y8; \
	VMOVDQU (6*step)(p), Y9; \
	VMOVDQU (7*step)(p), Y10

#define STORE8(p, step) \
	VMOVDQU Y3, (p); \
	VMOVDQU Y4, (step)(p); \
	VMOVDQU Y5, (2*step)(p); \
	VMOVDQU Y6, (3*step)(p); \
	VMOVDQU Y7, (4*step)(p); \
	VMOVDQU Y8, (5*step)(p); \
	VMOVDQU Y9, (6*step)(p); \
	VMOVDQU Y10, (7*step)(p)

// SWAP exchanges the off-diagonal quarters of squares of 2n bits; STEPS does so in eight sets.
#define SWAP(n, mask, a, b) \
	VPSRLQ $n, a, Y11; \
	VPXOR  b, Y11, Y11; \
	VPAND  mask, Y11, Y11; \
	VPXOR  Y11, b, b; \
	VPSLLQ $n, Y11, Y11; \
	VPXOR  Y11, a, a

#define STEPS(m, n, o) \
	SWAP(m, Y0, Y3, Y7); \
	SWAP(m, Y0, Y4, Y8); \
	SWAP(m, Y0, Y5, Y9); \
	SWAP(m, Y0, Y6, Y10); \
	SWAP(n, Y1, Y3, Y5); \
	SWAP(n, Y1, Y4, Y6); \
	SWAP(n, Y1, Y7, Y9); \
	SWAP(n, Y1, Y8, Y10); \
	SWAP(o, Y2, Y3, Y4); \
	SWAP(o, Y2, Y5, Y6); \
	SWAP(o, Y2, Y7, Y8); \
	SWAP(o, Y2, Y9, Y10)

// func transposeVector(a *uint64)
//
// The steps 32, 16 and 8 on eight words that are 8 apart, then 4, 2 and 1 on eight neighbours.
TEXT ·transposeVector(SB), NOSPLIT, $0-8
	MOVQ         a+0(FP), AX
	VPBROADCASTQ mask32<>+0(SB), Y0
	VPBROADCASTQ mask16<>+0(SB), Y1
	VPBROADCASTQ mask8<>+0(SB), Y2
	MOVQ         AX, CX
	MOVQ         $0x00000008, DX

far:
	LOAD8(CX, 8*SET)
	STEPS(32, 16, 8)
	STORE8(CX, 8*SET)
	ADDQ         $0x00000020, CX
	DECQ         DX
	JNZ          far
	VPBROADCASTQ mask4<>+0(SB), Y0
	VPBROADCASTQ mask2<>+0(SB), Y1
	VPBROADCASTQ mask1<>+0(SB), Y2
	MOVQ         $0x00000008, CX

near:
	LOAD8(AX, SET)
	STEPS(4, 2, 1)
	STORE8(AX, SET)
	ADDQ $0x00000100, AX
	DECQ CX
	JNZ  near
	VZEROUPPER
	RET

// ABOVE stores a rung of a ladder: the rows of g, or that have the bit of Y7.
#define ABOVE(g, at) \
	VPOR    g, Y7, Y8; \
	VMOVDQU Y8, (at)(AX)

// DIGIT makes the rows whose digit is above v, for a digit of 1 bit, then 2, 3, 4, from those of a bit less: its bits
// are four planes at p, its first rung is at, and the next a step further. There are not registers for all 15.
#define DIGIT(p, at, step) \
	VMOVDQU (p)(SI), Y0; \
	VMOVDQU (p+SET)(SI), Y1; \
	VPOR    Y0, Y1, Y2; \
	VPAND   Y0, Y1, Y0; \
	VMOVDQU (p+2*SET)(SI), Y3; \
	VPOR    Y2, Y3, Y4; \
	VPOR    Y1, Y3, Y5; \
	VPOR    Y0, Y3, Y6; \
	VPAND   Y2, Y3, Y2; \
	VPAND   Y1, Y3, Y1; \
	VPAND   Y0, Y3, Y0; \
	VMOVDQU (p+3*SET)(SI), Y7; \
	ABOVE(Y4, at); \
	ABOVE(Y5, at+1*step); \
	ABOVE(Y6, at+2*step); \
	ABOVE(Y3, at+3*step); \
	ABOVE(Y2, at+4*step); \
	ABOVE(Y1, at+5*step); \
	ABOVE(Y0, at+6*step); \
	VPAND   Y4, Y7, Y4; \
	VPAND   Y5, Y7, Y5; \
	VPAND   Y6, Y7, Y6; \
	VPAND   Y3, Y7, Y3; \
	VPAND   Y2, Y7, Y2; \
	VPAND   Y1, Y7, Y1; \
	VPAND   Y0, Y7, Y0; \
	VMOVDQU Y7, (at+7*step)(AX); \
	VMOVDQU Y4, (at+8*step)(AX); \
	VMOVDQU Y5, (at+9*step)(AX); \
	VMOVDQU Y6, (at+10*step)(AX); \
	VMOVDQU Y3, (at+11*step)(AX); \
	VMOVDQU Y2, (at+12*step)(AX); \
	VMOVDQU Y1, (at+13*step)(AX); \
	VMOVDQU Y0, (at+14*step)(AX)

// func laddersVector(dst, planes *uint64, places *uint32, n int)
TEXT ·laddersVector(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), AX
	MOVQ planes+8(FP), CX
	MOVQ places+16(FP), DX
	MOVQ n+24(FP), BX

loop:
	MOVL     (DX), SI
	SHLQ     $8, SI
	ADDQ     CX, SI
	DIGIT(4*SET, SET, SET)
	DIGIT(0, 31*SET, -SET)
	VPCMPEQD Y0, Y0, Y0
	VMOVDQU  Y0, (AX)
	VPXOR    Y0, Y0, Y0
	VMOVDQU  Y0, (16*SET)(AX)
	ADDQ     $(32*SET), AX
	ADDQ     $4, DX
	DECQ     BX
	JNZ      loop
	VZEROUPPER
	RET

// func testsVector(right, ladder *uint64, t *uint16, n int)
TEXT ·testsVector(SB), NOSPLIT, $0-32
	MOVQ right+0(FP), AX
	MOVQ ladder+8(FP), CX
	MOVQ t+16(FP), DX
	MOVQ n+24(FP), BX

loop:
	MOVWLZX (DX), SI
	MOVWLZX 2(DX), DI
	VMOVDQU (CX)(SI*8), Y0
	VPAND   (CX)(DI*8), Y0, Y0
	VPOR    SET(CX)(DI*8), Y0, Y0
	VMOVDQU Y0, (AX)
	ADDQ    $SET, AX
	ADDQ    $4, DX
	DECQ    BX
	JNZ     loop
	VZEROUPPER
	RET

// LOWEST leaves the rows for which a split of the lowest level, the n-th, says +1.
#define LOWEST(split, n, v) \
	MOVL         (4*split)(DX), DI; \
	VPBROADCASTD (4*n)(BX), v; \
	VPXOR        (CX)(DI*8), v, v

// CHOOSE takes l where the split sends rows left and r where it sends them right, in the register of r.
#define CHOOSE(split, l, r) \
	MOVL  (4*split)(DX), DI; \
	VPXOR l, r, r; \
	VPAND (CX)(DI*8), r, r; \
	VPXOR l, r, r

// func trees2Vector(say, right *uint64, splits, invert *uint32, n int)
TEXT ·trees2Vector(SB), NOSPLIT, $0-40
	MOVQ say+0(FP), AX
	MOVQ right+8(FP), CX
	MOVQ splits+16(FP), DX
	MOVQ invert+24(FP), BX
	MOVQ n+32(FP), SI

loop:
	LOWEST(1, 0, Y0)
	LOWEST(2, 1, Y1)
	CHOOSE(0, Y0, Y1)
	VMOVDQU Y1, (AX)
	ADDQ    $SET, AX
	ADDQ    $0x0000000c, DX
	ADDQ    $0x00000008, BX
	DECQ    SI
	JNZ     loop
	VZEROUPPER
	RET

// func trees4Vector(say, right *uint64, splits, invert *uint32, n int)
TEXT ·trees4Vector(SB), NOSPLIT, $0-40
	MOVQ say+0(FP), AX
	MOVQ right+8(FP), CX
	MOVQ splits+16(FP), DX
	MOVQ invert+24(FP), BX
	MOVQ n+32(FP), SI

loop:
	LOWEST(7, 0, Y0)
	LOWEST(8, 1, Y1)
	CHOOSE(3, Y0, Y1)
	LOWEST(9, 2, Y0)
	LOWEST(10, 3, Y2)
	CHOOSE(4, Y0, Y2)
	CHOOSE(1, Y1, Y2)
	LOWEST(11, 4, Y0)
	LOWEST(12, 5, Y1)
	CHOOSE(5, Y0, Y1)
	LOWEST(13, 6, Y0)
	LOWEST(14, 7, Y3)
	CHOOSE(6, Y0, Y3)
	CHOOSE(2, Y1, Y3)
	CHOOSE(0, Y2, Y3)
	VMOVDQU Y3, (AX)
	ADDQ    $SET, AX
	ADDQ    $0x0000003c, DX
	ADDQ    $0x00000020, BX
	DECQ    SI
	JNZ     loop
	VZEROUPPER
	RET

// LOWEST2 leaves in a and b the rows for which the n-th split of the lowest level, of two trees, says +1.
#define LOWEST2(split, n, a, b) \
	MOVL    (4*split)(DX), R8; \
	VMOVDQU (CX)(R8*8), b; \
	MOVBLZX n(BX), R8; \
	VPAND   (SI)(R8*8), b, a; \
	VPXOR   SET(SI)(R8*8), a, a; \
	VPAND   (2*SET)(SI)(R8*8), b, b; \
	VPXOR   (3*SET)(SI)(R8*8), b, b

// BETWEEN takes l where Y0 has no row and r where it has it, in the register of r; CHOOSE2 is CHOOSE for two trees.
#define BETWEEN(l, r) \
	VPXOR l, r, r; \
	VPAND Y0, r, r; \
	VPXOR l, r, r

#define CHOOSE2(split, la, lb, ra, rb) \
	MOVL    (4*split)(DX), R8; \
	VMOVDQU (CX)(R8*8), Y0; \
	BETWEEN(la, ra); \
	BETWEEN(lb, rb)

// func pairs4Vector(say, right *uint64, splits *uint32, leaves *byte, masks *uint64, n int)
TEXT ·pairs4Vector(SB), NOSPLIT, $0-48
	MOVQ say+0(FP), AX
	MOVQ right+8(FP), CX
	MOVQ splits+16(FP), DX
	MOVQ leaves+24(FP), BX
	MOVQ masks+32(FP), SI
	MOVQ n+40(FP), DI

loop:
	LOWEST2(7, 0, Y2, Y1)
	LOWEST2(8, 1, Y4, Y3)
	CHOOSE2(3, Y2, Y1, Y4, Y3)
	LOWEST2(9, 2, Y6, Y5)
	LOWEST2(10, 3, Y2, Y1)
	CHOOSE2(4, Y6, Y5, Y2, Y1)
	CHOOSE2(1, Y4, Y3, Y2, Y1)
	LOWEST2(11, 4, Y4, Y3)
	LOWEST2(12, 5, Y6, Y5)
	CHOOSE2(5, Y4, Y3, Y6, Y5)
	LOWEST2(13, 6, Y8, Y7)
	LOWEST2(14, 7, Y4, Y3)
	CHOOSE2(6, Y8, Y7, Y4, Y3)
	CHOOSE2(2, Y6, Y5, Y4, Y3)
	CHOOSE2(0, Y2, Y1, Y4, Y3)
	VMOVDQU Y4, (AX)
	VMOVDQU Y3, SET(AX)
	ADDQ    $(2*SET), AX
	ADDQ    $0x0000003c, DX
	ADDQ    $0x00000008, BX
	DECQ    DI
	JNZ     loop
	VZEROUPPER
	RET

// func mergesVector(dst, from, right *uint64, splits *uint32, n int)
TEXT ·mergesVector(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), AX
	MOVQ from+8(FP), BX
	MOVQ right+16(FP), CX
	MOVQ splits+24(FP), DX
	MOVQ n+32(FP), SI

loop:
	MOVL    (DX), R8
	VMOVDQU (CX)(R8*8), Y0
	VMOVDQU (BX), Y1
	VMOVDQU SET(BX), Y2
	VMOVDQU (2*SET)(BX), Y3
	VMOVDQU (3*SET)(BX), Y4
	BETWEEN(Y1, Y3)
	BETWEEN(Y2, Y4)
	VMOVDQU Y3, (AX)
	VMOVDQU Y4, SET(AX)
	ADDQ    $(2*SET), AX
	ADDQ    $(4*SET), BX
	ADDQ    $4, DX
	DECQ    SI
	JNZ     loop
	VZEROUPPER
	RET

// WEIGHT looks the weights of three trees up, for eight rows, and WEIGHTS those of thirty.
#define WEIGHT(at, votes, sum) \
	VPERMD (at)(R8), votes, Y7; \
	VPADDD Y7, sum, sum

#define WEIGHTS(at, votes, sum) \
	WEIGHT(at, votes, sum); \
	VPSRLD $3, votes, votes; \
	WEIGHT(at+32, votes, sum); \
	VPSRLD $3, votes, votes; \
	WEIGHT(at+64, votes, sum); \
	VPSRLD $3, votes, votes; \
	WEIGHT(at+96, votes, sum); \
	VPSRLD $3, votes, votes; \
	WEIGHT(at+128, votes, sum); \
	VPSRLD $3, votes, votes; \
	WEIGHT(at+160, votes, sum); \
	VPSRLD $3, votes, votes; \
	WEIGHT(at+192, votes, sum); \
	VPSRLD $3, votes, votes; \
	WEIGHT(at+224, votes, sum); \
	VPSRLD $3, votes, votes; \
	WEIGHT(at+256, votes, sum); \
	VPSRLD $3, votes, votes; \
	WEIGHT(at+288, votes, sum)

#define NOTREES \
	MOVQ  CX, DI; \
	MOVQ  DX, R8; \
	MOVQ  BX, R9; \
	VPXOR Y3, Y3, Y3; \
	VPXOR Y4, Y4, Y4

// SIXTY adds the weights of sixty trees, of eight rows: (i, 0), (i, 1), (i+1, 0), (i+1, 1), (i, 2), (i, 3), (i+1, 2),
// (i+1, 3), where row (i, l) is row 64 l + i of the block.
#define SIXTY \
	VMOVDQU (DI), Y5; \
	VSHUFPS $0x88, SET(DI), Y5, Y6; \
	WEIGHTS(0, Y6, Y3); \
	VSHUFPS $0xdd, SET(DI), Y5, Y5; \
	WEIGHTS(320, Y5, Y4); \
	ADDQ    $(64*SET), DI; \
	ADDQ    $0x00000280, R8; \
	DECQ    R9

// func sumsAVX2(dst, say *uint64, tables *int32, n int, least int32)
TEXT ·sumsAVX2(SB), NOSPLIT, $0-36
	MOVQ         dst+0(FP), AX
	MOVL         least+32(FP), CX
	VMOVD        CX, X0
	VPBROADCASTD X0, Y0
	VPXOR        Y1, Y1, Y1
	VPBROADCASTQ one<>+0(SB), Y2
	MOVQ         say+8(FP), CX
	MOVQ         tables+16(FP), DX
	MOVQ         n+24(FP), BX
	MOVQ         $0x00000020, SI

rows:
	NOTREES

trees:
	SIXTY
	JNZ        trees
	VPADDD     Y3, Y4, Y3
	VPCMPGTD   Y3, Y0, Y3 // those with too little
	VPUNPCKLDQ Y3, Y3, Y4
	VPANDN     Y2, Y4, Y4
	VPOR       Y4, Y1, Y1
	VPADDQ     Y2, Y2, Y2
	VPUNPCKHDQ Y3, Y3, Y3
	VPANDN     Y2, Y3, Y3
	VPOR       Y3, Y1, Y1
	VPADDQ     Y2, Y2, Y2
	ADDQ       $(2*SET), CX
	DECQ       SI
	JNZ        rows
	VMOVDQU    Y1, (AX)
	VZEROUPPER
	RET

// func totalsAVX2(dst *int32, say *uint64, tables *int32, n int)
TEXT ·totalsAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), AX
	MOVQ say+8(FP), CX
	MOVQ tables+16(FP), DX
	MOVQ n+24(FP), BX
	MOVQ $0x00000020, SI

rows:
	NOTREES

trees:
	SIXTY
	JNZ     trees
	VPADDD  Y3, Y4, Y3
	VMOVDQU Y3, (AX)
	ADDQ    $32, AX
	ADDQ    $(2*SET), CX
	DECQ    SI
	JNZ     rows
	VZEROUPPER
	RET
