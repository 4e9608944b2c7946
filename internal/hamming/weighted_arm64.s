//go:build !purego

#include "textflag.h"

// The NEON kernels of distances by margins; weighted.go says what they are for. Groups have four bits, because a
// table of 16 bytes fits a register. In words, registers are numbers in the order of the assembler: the destination
// comes last.
//
//	UQADD m, n, d   sums of bytes that stay at 255
//	CMHS m, n, d    ones in the lanes of 16 bits where n >= m, unsigned
#define UQADD(m, n, d) WORD $(0x6e200c00 | m<<16 | n<<5 | d)
#define CMHS(m, n, d) WORD $(0x6e603c00 | m<<16 | n<<5 | d)

// APART puts the even bytes of a and b into c and the odd ones into d.
#define APART(a, b, c, d) \
	VUZP1 b.B16, a.B16, c.B16 \
	VUZP2 b.B16, a.B16, d.B16

// PLANES writes byte b of 16 words, from the lowest, as two planes of halves: the higher one is that of group 14 - 2 b.
#define PLANES(v, high, low) \
	VUSHR $4, v.B16, V16.B16 \
	VAND V31.B16, v.B16, v.B16 \
	ADD $high, R0, R7 \
	VST1 [V16.B16], (R7) \
	ADD $low, R0, R7 \
	VST1 [v.B16], (R7)

// PACK writes the planes of the 16 words in V0 to V7: three times even and odd bytes are taken apart, which leaves each
// register with one byte of all words. 24 instructions for that and 48 for the planes.
#define PACK \
	APART(V0, V1, V8, V9) \
	APART(V2, V3, V10, V11) \
	APART(V4, V5, V12, V13) \
	APART(V6, V7, V14, V15) \
	APART(V8, V10, V0, V2) \
	APART(V12, V14, V4, V6) \
	APART(V9, V11, V1, V3) \
	APART(V13, V15, V5, V7) \
	APART(V0, V4, V8, V12) \
	APART(V1, V5, V9, V13) \
	APART(V2, V6, V10, V14) \
	APART(V3, V7, V11, V15) \
	PLANES(V8, 14*64, 15*64) \
	PLANES(V9, 12*64, 13*64) \
	PLANES(V10, 10*64, 11*64) \
	PLANES(V11, 8*64, 9*64) \
	PLANES(V12, 6*64, 7*64) \
	PLANES(V13, 4*64, 5*64) \
	PLANES(V14, 2*64, 3*64) \
	PLANES(V15, 0*64, 1*64) \
	ADD $16, R0

// PAIR loads the words of two codes.
#define PAIR(f, v) \
	FMOVD (R1), f \
	ADD R4, R1, R5 \
	VLD1 (R5), v.D[1] \
	ADD R4, R5, R1

// func packNEON(dst *uint8, codes *uint64, blocks, size, stride int)
TEXT ·packNEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD codes+8(FP), R1
	MOVD blocks+16(FP), R2
	MOVD size+24(FP), R3
	MOVD stride+32(FP), R4
	VMOVI $15, V31.B16
	SUB $64, R3
loop:
	SUBS $1, R2
	BLT done
	MOVD $4, R6
quarter:
	PAIR(F0, V0)
	PAIR(F1, V1)
	PAIR(F2, V2)
	PAIR(F3, V3)
	PAIR(F4, V4)
	PAIR(F5, V5)
	PAIR(F6, V6)
	PAIR(F7, V7)
	PACK
	SUBS $1, R6
	BNE quarter
	ADD R3, R0
	B loop
done:
	RET

// LOOK looks up 16 codes of the group whose table is V8 and adds the bytes to a sum, whose number is given too.
#define LOOK(v, n, sum) \
	VTBL v.B16, [V8.B16], v.B16 \
	UQADD(n, sum, sum)

// MASK leaves a bit for each byte of ones of V16 to V19 in R8; V30 has a bit for each of eight bytes.
#define MASK \
	VAND V30.B16, V16.B16, V16.B16 \
	VAND V30.B16, V17.B16, V17.B16 \
	VAND V30.B16, V18.B16, V18.B16 \
	VAND V30.B16, V19.B16, V19.B16 \
	VADDP V17.B16, V16.B16, V16.B16 \
	VADDP V19.B16, V18.B16, V18.B16 \
	VADDP V18.B16, V16.B16, V16.B16 \
	VADDP V16.B16, V16.B16, V16.B16 \
	FMOVD F16, R8

// RECORD keeps the mask and the number of a block, and makes room for the next.
#define RECORD(number) \
	MOVD R8, (R0) \
	MOVD number, 8(R0) \
	ADD $16, R0 \
	ADD $1, R9

// WIDEN adds the bytes of a sum to 16-bit sums of the first and the last eight codes.
#define WIDEN(sum, low, high) \
	VUADDW sum.B8, low.H8, low.H8 \
	VUADDW2 sum.B16, high.H8, high.H8

// func boundNEON(dst *uint64, planes, tables *uint8, blocks, groups, size, limit, piece int) int
//
// One block a turn, with the sums of 64 codes in bytes, V0 to V3, and in 16 bits, V20 to V27.
TEXT ·boundNEON(SB), NOSPLIT, $0-72
	MOVD dst+0(FP), R0
	MOVD planes+8(FP), R1
	MOVD tables+16(FP), R2
	MOVD blocks+24(FP), R3
	MOVD groups+32(FP), R4
	MOVD size+40(FP), R5
	MOVD limit+48(FP), R6
	MOVD piece+56(FP), R7
	VDUP R6, V31.H8
	MOVD $0x8040201008040201, R6
	VDUP R6, V30.D2
	MOVD $0, R9
	MOVD $0, R10
loop:
	CMP R3, R10
	BGE done
	MOVD R1, R11
	ADD R5, R1
	MOVD R2, R13
	MOVD R4, R14
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16
	VEOR V24.B16, V24.B16, V24.B16
	VEOR V25.B16, V25.B16, V25.B16
	VEOR V26.B16, V26.B16, V26.B16
	VEOR V27.B16, V27.B16, V27.B16
piece:
	CMP R7, R14
	CSEL LT, R14, R7, R15 // groups of this piece: all end with the groups
	SUB R15, R14
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
group:
	VLD1.P 16(R13), [V8.B16]
	VLD1.P 64(R11), [V16.B16, V17.B16, V18.B16, V19.B16]
	LOOK(V16, 16, 0)
	LOOK(V17, 17, 1)
	LOOK(V18, 18, 2)
	LOOK(V19, 19, 3)
	SUBS $1, R15
	BNE group
	WIDEN(V0, V20, V21)
	WIDEN(V1, V22, V23)
	WIDEN(V2, V24, V25)
	WIDEN(V3, V26, V27)
	CBNZ R14, piece
	CMHS(20, 31, 20)
	CMHS(21, 31, 21)
	CMHS(22, 31, 22)
	CMHS(23, 31, 23)
	CMHS(24, 31, 24)
	CMHS(25, 31, 25)
	CMHS(26, 31, 26)
	CMHS(27, 31, 27)
	VUZP1 V21.B16, V20.B16, V16.B16
	VUZP1 V23.B16, V22.B16, V17.B16
	VUZP1 V25.B16, V24.B16, V18.B16
	VUZP1 V27.B16, V26.B16, V19.B16
	MASK
	CBZ R8, next
	RECORD(R10)
next:
	ADD $1, R10
	B loop
done:
	MOVD R9, ret+64(FP)
	RET
