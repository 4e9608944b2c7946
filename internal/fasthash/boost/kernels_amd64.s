//go:build !purego

#include "textflag.h"

// EXTREMES takes the sums up to each of the eight bins at b after AX, in three steps, each of which adds what lies one,
// two and four bins before; then it adds the sum of all bins before these, Y2, the only one that goes from turn to turn.
// The least and greatest sums are in Y0 and Y1.
#define EXTREMES(b) \
	VMOVDQU    b(AX), Y4; \
	VPSLLDQ    $4, Y4, Y5; \
	VPADDD     Y5, Y4, Y4; \
	VPSLLDQ    $8, Y4, Y5; \
	VPADDD     Y5, Y4, Y4; \
	VPSHUFD    $0xff, Y4, Y5;     /* the sum of the lower half, added to the upper */ \
	VPERM2I128 $0x08, Y5, Y5, Y5; \
	VPADDD     Y5, Y4, Y4; \
	VPERMD     Y4, Y3, Y5; \
	VPADDD     Y2, Y4, Y4; \
	VPADDD     Y5, Y2, Y2; \
	VPMINSD    Y4, Y0, Y0; \
	VPMAXSD    Y4, Y1, Y1

// BEST leaves the best of eight values in AX.
#define BEST(better, y, x, t) \
	VEXTRACTI128 $1, y, t; \
	better       t, x, x; \
	VPSHUFD      $0x4e, x, t; \
	better       t, x, x; \
	VPSHUFD      $0xb1, x, t; \
	better       t, x, x; \
	VMOVD        x, AX

// func extremesAVX2(h *[256]int32) (low, high int32)
TEXT ·extremesAVX2(SB), NOSPLIT, $0-16
	MOVQ    h+0(FP), AX
	VPXOR   Y0, Y0, Y0
	VPXOR   Y1, Y1, Y1
	VPXOR   Y2, Y2, Y2
	VMOVDQU seven<>+0(SB), Y3
	MOVQ    $0x00000008, CX

turn:
	EXTREMES(0)
	EXTREMES(32)
	EXTREMES(64)
	EXTREMES(96)
	ADDQ $0x00000080, AX
	DECQ CX
	JNZ  turn
	BEST(VPMINSD, Y0, X0, X2)
	MOVL AX, low+8(FP)
	BEST(VPMAXSD, Y1, X1, X0)
	MOVL AX, high+12(FP)
	VZEROUPPER
	RET

DATA seven<>+0(SB)/8, $0x0000000700000007
DATA seven<>+8(SB)/8, $0x0000000700000007
DATA seven<>+16(SB)/8, $0x0000000700000007
DATA seven<>+24(SB)/8, $0x0000000700000007
GLOBL seven<>(SB), RODATA|NOPTR, $32

// COMBINE sets eight bins to the sum or the difference of those of two histograms; COMBINE8 goes on with the next.
#define COMBINE(op, b) \
	VMOVDQU (b)(CX), Y0; \
	op      (b)(DX), Y0, Y0; \
	VMOVDQU Y0, (b)(AX)

#define COMBINE8(op, b) \
	COMBINE(op, b); \
	COMBINE(op, b+32); \
	COMBINE(op, b+64); \
	COMBINE(op, b+96); \
	COMBINE(op, b+128); \
	COMBINE(op, b+160); \
	COMBINE(op, b+192); \
	COMBINE(op, b+224)

#define COMBINEALL(op) \
	MOVQ out+0(FP), AX; \
	MOVQ a+8(FP), CX; \
	MOVQ b+16(FP), DX; \
	COMBINE8(op, 0); \
	COMBINE8(op, 256); \
	COMBINE8(op, 512); \
	COMBINE8(op, 768); \
	VZEROUPPER; \
	RET

// func addBinsAVX2(out, a, b *[256]int32)
TEXT ·addBinsAVX2(SB), NOSPLIT, $0-24
	COMBINEALL(VPADDD)

// func subtractBinsAVX2(out, a, b *[256]int32)
TEXT ·subtractBinsAVX2(SB), NOSPLIT, $0-24
	COMBINEALL(VPSUBD)
