//go:build !purego

#include "textflag.h"

// The assembler has no names for these: smin and smax Vd.4s, Vn.4s, Vm.4s; sminv and smaxv Sd, Vn.4s.
#define SMIN(m, n, d) WORD $(0x4ea06c00 | (m)<<16 | (n)<<5 | (d))
#define SMAX(m, n, d) WORD $(0x4ea06400 | (m)<<16 | (n)<<5 | (d))
#define SMINV(n, d) WORD $(0x4eb1a800 | (n)<<5 | (d))
#define SMAXV(n, d) WORD $(0x4eb0a800 | (n)<<5 | (d))

// func extremesNEON(h *[256]int32) (low, high int32)
//
// A turn is 16 bins in four registers, of which the first has bins 0, 4, 8 and 12. So three additions make the sums
// within every four bins, and the last register has the sums of whole fours. Two steps make of these the sums of all
// fours before, to which the sum of all turns before is added. Only that last sum goes from turn to turn.
//
// V0 least, V1 greatest, V2 the sum of all turns before in all places, V3 zero, V4 to V7 the bins.
TEXT ·extremesNEON(SB), NOSPLIT, $0-16
	MOVD h+0(FP), R0
	MOVD $16, R1
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16

turn:
	VLD4.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	VADD   V4.S4, V5.S4, V5.S4
	VADD   V5.S4, V6.S4, V6.S4
	VADD   V6.S4, V7.S4, V7.S4

	// V16: the sums of all fours up to here.
	VEXT $12, V7.B16, V3.B16, V16.B16
	VADD V7.S4, V16.S4, V16.S4
	VEXT $8, V16.B16, V3.B16, V17.B16
	VADD V17.S4, V16.S4, V16.S4

	// V17: those of all fours before, and of all turns before.
	VSUB V7.S4, V16.S4, V17.S4
	VADD V2.S4, V17.S4, V17.S4
	VDUP V16.S[3], V16.S4
	VADD V16.S4, V2.S4, V2.S4
	VADD V17.S4, V4.S4, V4.S4
	VADD V17.S4, V5.S4, V5.S4
	VADD V17.S4, V6.S4, V6.S4
	VADD V17.S4, V7.S4, V7.S4
	SMIN(4, 5, 18)
	SMIN(6, 7, 19)
	SMAX(4, 5, 20)
	SMAX(6, 7, 21)
	SMIN(18, 19, 18)
	SMAX(20, 21, 20)
	SMIN(18, 0, 0)
	SMAX(20, 1, 1)
	SUBS $1, R1
	BNE  turn

	SMINV(0, 0)
	SMAXV(1, 1)
	FMOVS F0, low+8(FP)
	FMOVS F1, high+12(FP)
	RET

// COMBINE makes 32 bins of out with an operation on two registers.
#define COMBINE(OP) \
	FLDPQ (R1), (F0, F1); \
	FLDPQ (R2), (F16, F17); \
	FLDPQ 32(R1), (F2, F3); \
	FLDPQ 32(R2), (F18, F19); \
	FLDPQ 64(R1), (F4, F5); \
	FLDPQ 64(R2), (F20, F21); \
	FLDPQ 96(R1), (F6, F7); \
	FLDPQ 96(R2), (F22, F23); \
	OP    V16.S4, V0.S4, V0.S4; \
	OP    V17.S4, V1.S4, V1.S4; \
	OP    V18.S4, V2.S4, V2.S4; \
	OP    V19.S4, V3.S4, V3.S4; \
	OP    V20.S4, V4.S4, V4.S4; \
	OP    V21.S4, V5.S4, V5.S4; \
	OP    V22.S4, V6.S4, V6.S4; \
	OP    V23.S4, V7.S4, V7.S4; \
	FSTPQ (F0, F1), (R0); \
	FSTPQ (F2, F3), 32(R0); \
	FSTPQ (F4, F5), 64(R0); \
	FSTPQ (F6, F7), 96(R0); \
	ADD   $128, R1; \
	ADD   $128, R2; \
	ADD   $128, R0

// func addBinsNEON(out, a, b *[256]int32)
TEXT ·addBinsNEON(SB), NOSPLIT, $0-24
	MOVD out+0(FP), R0
	MOVD a+8(FP), R1
	MOVD b+16(FP), R2
	MOVD $8, R3

turn:
	COMBINE(VADD)
	SUBS $1, R3
	BNE  turn
	RET

// func subtractBinsNEON(out, a, b *[256]int32)
TEXT ·subtractBinsNEON(SB), NOSPLIT, $0-24
	MOVD out+0(FP), R0
	MOVD a+8(FP), R1
	MOVD b+16(FP), R2
	MOVD $8, R3

turn:
	COMBINE(VSUB)
	SUBS $1, R3
	BNE  turn
	RET
