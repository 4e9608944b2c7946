//go:build !purego

#include "textflag.h"

// The NEON kernels of Hamming distances. Instructions that the assembler does not know are words; the registers are
// numbers there, in its own order: the destination comes last.
//
//	CMHS m, n, d   ones in the lanes where n >= m, unsigned, of 8 or 16 bits
//	SHRN4 n, d     every 16 bits of n shifted right by 4, the lower 8 of them kept
//	UADDLP n, d    sums of neighbouring bytes, with 16 bits
//	UADALP n, d    the same, added to d
#define CMHS_B16(m, n, d) WORD $(0x6e203c00 | m<<16 | n<<5 | d)
#define CMHS_H8(m, n, d) WORD $(0x6e603c00 | m<<16 | n<<5 | d)
#define SHRN4(n, d) WORD $(0x0f0c8400 | n<<5 | d)
#define UADDLP(n, d) WORD $(0x6e202800 | n<<5 | d)
#define UADALP(n, d) WORD $(0x6e206800 | n<<5 | d)

// All kernels of a width have dst in R0, q in R1, the next codes in R2 and the number of codes in R3; below has the
// limit in every lane of V31, the number of the next code in R4, and room on the stack at R5. Ones are counted per
// byte, and bytes are added in pairs, of two registers at a time, which keeps them in the order of the codes: after
// four such steps a register has one byte for each of 16 codes of 128 bits.

// DIFF replaces v by the number of differing bits of each of its bytes.
#define DIFF(q, v) \
	VEOR q.B16, v.B16, v.B16 \
	VCNT v.B16, v.B16

// ADDP4 leaves the sums of neighbouring bytes of eight registers in four, a to d.
#define ADDP4(a, a2, b, b2, c, c2, d, d2) \
	VADDP a2.B16, a.B16, a.B16 \
	VADDP b2.B16, b.B16, b.B16 \
	VADDP c2.B16, c.B16, c.B16 \
	VADDP d2.B16, d.B16, d.B16

// SUM16 turns sixteen registers of bytes, each of one code, into the bytes of V0.
#define SUM16 \
	ADDP4(V0, V1, V2, V3, V4, V5, V6, V7) \
	ADDP4(V8, V9, V10, V11, V12, V13, V14, V15) \
	ADDP4(V0, V2, V4, V6, V8, V10, V12, V14) \
	VADDP V4.B16, V0.B16, V0.B16 \
	VADDP V12.B16, V8.B16, V8.B16 \
	VADDP V8.B16, V0.B16, V0.B16

// LOAD16 loads the next 256 bytes of codes.
#define LOAD16 \
	VLD1.P 64(R2), [V0.B16, V1.B16, V2.B16, V3.B16] \
	VLD1.P 64(R2), [V4.B16, V5.B16, V6.B16, V7.B16] \
	VLD1.P 64(R2), [V8.B16, V9.B16, V10.B16, V11.B16] \
	VLD1.P 64(R2), [V12.B16, V13.B16, V14.B16, V15.B16]

// GROUP64 leaves the distances of 16 codes of 64 bits in the bytes of V0: 25 instructions.
#define QUERY64 VLD1R (R1), [V16.D2]
#define GROUP64 \
	VLD1.P 64(R2), [V0.B16, V1.B16, V2.B16, V3.B16] \
	VLD1.P 64(R2), [V4.B16, V5.B16, V6.B16, V7.B16] \
	DIFF(V16, V0) \
	DIFF(V16, V1) \
	DIFF(V16, V2) \
	DIFF(V16, V3) \
	DIFF(V16, V4) \
	DIFF(V16, V5) \
	DIFF(V16, V6) \
	DIFF(V16, V7) \
	ADDP4(V0, V1, V2, V3, V4, V5, V6, V7) \
	VADDP V2.B16, V0.B16, V0.B16 \
	VADDP V6.B16, V4.B16, V4.B16 \
	VADDP V4.B16, V0.B16, V0.B16

// DIFF16 counts for sixteen registers; q and r take turns.
#define DIFF16(q, r) \
	DIFF(q, V0) \
	DIFF(r, V1) \
	DIFF(q, V2) \
	DIFF(r, V3) \
	DIFF(q, V4) \
	DIFF(r, V5) \
	DIFF(q, V6) \
	DIFF(r, V7) \
	DIFF(q, V8) \
	DIFF(r, V9) \
	DIFF(q, V10) \
	DIFF(r, V11) \
	DIFF(q, V12) \
	DIFF(r, V13) \
	DIFF(q, V14) \
	DIFF(r, V15)

// GROUP128 leaves the distances of 16 codes of 128 bits in the bytes of V0: 51 instructions.
#define QUERY128 VLD1 (R1), [V16.B16]
#define GROUP128 \
	LOAD16 \
	DIFF16(V16, V16) \
	SUM16

// GROUP256 leaves the distances of 8 codes of 256 bits, which may be 256, in the 16-bit lanes of V0: 52 instructions.
#define QUERY256 VLD1 (R1), [V16.B16, V17.B16]
#define GROUP256 \
	LOAD16 \
	DIFF16(V16, V17) \
	VADD V1.B16, V0.B16, V0.B16 \
	VADD V3.B16, V2.B16, V1.B16 \
	VADD V5.B16, V4.B16, V2.B16 \
	VADD V7.B16, V6.B16, V3.B16 \
	VADD V9.B16, V8.B16, V4.B16 \
	VADD V11.B16, V10.B16, V5.B16 \
	VADD V13.B16, V12.B16, V6.B16 \
	VADD V15.B16, V14.B16, V7.B16 \
	SUM8

// SUM8 turns eight registers of bytes up to 16, each of one code, into the 16-bit lanes of V0.
#define SUM8 \
	ADDP4(V0, V1, V2, V3, V4, V5, V6, V7) \
	VADDP V2.B16, V0.B16, V0.B16 \
	VADDP V6.B16, V4.B16, V4.B16 \
	VADDP V4.B16, V0.B16, V0.B16 \
	UADDLP(0, 0)

// COUNT64 adds up the differing bits of the next 64 bytes of codes into v, per byte.
#define COUNT64(q0, q1, q2, q3, v) \
	VLD1.P 64(R2), [V24.B16, V25.B16, V26.B16, V27.B16] \
	DIFF(q0, V24) \
	DIFF(q1, V25) \
	DIFF(q2, V26) \
	DIFF(q3, V27) \
	VADD V24.B16, V25.B16, V24.B16 \
	VADD V26.B16, V27.B16, V26.B16 \
	VADD V24.B16, V26.B16, v.B16

// GROUP512 leaves the distances of 8 codes of 512 bits in the 16-bit lanes of V0. Bytes are at most 32, and 128 when
// four are added: then they need 16 bits. 105 instructions.
#define QUERY512 VLD1 (R1), [V16.B16, V17.B16, V18.B16, V19.B16]
#define CODE512(v) COUNT64(V16, V17, V18, V19, v)
#define GROUP512 \
	CODE512(V0) \
	CODE512(V1) \
	CODE512(V2) \
	CODE512(V3) \
	CODE512(V4) \
	CODE512(V5) \
	CODE512(V6) \
	CODE512(V7) \
	ADDP4(V0, V1, V2, V3, V4, V5, V6, V7) \
	VADDP V2.B16, V0.B16, V0.B16 \
	VADDP V6.B16, V4.B16, V4.B16 \
	UADDLP(0, 0) \
	UADDLP(4, 4) \
	VADDP V4.H8, V0.H8, V0.H8

// HITS_B16 and HITS_H8 write the codes of a group within the limit, one at a time, or jump to next when there are none:
// 4 or 8 bits per code say which.
#define HITS_B16(next, more) \
	CMHS_B16(0, 31, 1) \
	SHRN4(1, 1) \
	FMOVD F1, R6 \
	CBZ R6, next \
	VST1 [V0.B16], (R5) \
	AND $0x1111111111111111, R6 \
more: \
	RBIT R6, R7 \
	CLZ R7, R7 \
	LSR $2, R7 \
	MOVBU (R5)(R7), R8 \
	HIT(more)
#define HITS_H8(next, more) \
	CMHS_H8(0, 31, 1) \
	SHRN4(1, 1) \
	FMOVD F1, R6 \
	CBZ R6, next \
	VST1 [V0.B16], (R5) \
	AND $0x0101010101010101, R6 \
more: \
	RBIT R6, R7 \
	CLZ R7, R7 \
	LSR $3, R7 \
	MOVHU (R5)(R7<<1), R8 \
	HIT(more)
#define HIT(more) \
	ADD R4, R7 \
	ORR R8<<16, R7 \
	MOVW.P R7, 4(R0) \
	SUB $1, R6, R7 \
	ANDS R7, R6 \
	BNE more

// BELOW is the kernels without what they begin and end with.
#define BELOW(query, group, lanes, hits, codes) \
	VDUP R4, V31.lanes \
	query \
	MOVD $room-16(SP), R5 \
	MOVD $0, R4 \
	MOVD R0, R9 \
loop: \
	CMP R3, R4 \
	BGE done \
	group \
	hits(next, more) \
next: \
	ADD $codes, R4 \
	B loop \
done: \
	SUB R9, R0 \
	LSR $2, R0

// func below64NEON(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below64NEON(SB), NOSPLIT, $16-48
	MOVD dst+0(FP), R0
	MOVD q+8(FP), R1
	MOVD codes+16(FP), R2
	MOVD n+24(FP), R3
	MOVD limit+32(FP), R4
	BELOW(QUERY64, GROUP64, B16, HITS_B16, 16)
	MOVD R0, ret+40(FP)
	RET

// func below128NEON(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below128NEON(SB), NOSPLIT, $16-48
	MOVD dst+0(FP), R0
	MOVD q+8(FP), R1
	MOVD codes+16(FP), R2
	MOVD n+24(FP), R3
	MOVD limit+32(FP), R4
	BELOW(QUERY128, GROUP128, B16, HITS_B16, 16)
	MOVD R0, ret+40(FP)
	RET

// func below256NEON(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below256NEON(SB), NOSPLIT, $16-48
	MOVD dst+0(FP), R0
	MOVD q+8(FP), R1
	MOVD codes+16(FP), R2
	MOVD n+24(FP), R3
	MOVD limit+32(FP), R4
	BELOW(QUERY256, GROUP256, H8, HITS_H8, 8)
	MOVD R0, ret+40(FP)
	RET

// func below512NEON(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below512NEON(SB), NOSPLIT, $16-48
	MOVD dst+0(FP), R0
	MOVD q+8(FP), R1
	MOVD codes+16(FP), R2
	MOVD n+24(FP), R3
	MOVD limit+32(FP), R4
	BELOW(QUERY512, GROUP512, H8, HITS_H8, 8)
	MOVD R0, ret+40(FP)
	RET

// ROW leaves the distance to the code at R2 in R9: q in R1, the mask in R10, the number of pairs of words in R11,
// whether a word is left over in R12. Pairs take turns at two registers of sums, whose bytes are at most 8 * 16 each.
#define ROW \
	MOVD R2, R13 \
	MOVD R1, R14 \
	MOVD R10, R15 \
	VEOR V0.B16, V0.B16, V0.B16 \
	VEOR V1.B16, V1.B16, V1.B16 \
	MOVD R11, R16 \
two: \
	SUBS $2, R16 \
	BLT one \
	VLD1.P 32(R13), [V2.B16, V3.B16] \
	VLD1.P 32(R14), [V4.B16, V5.B16] \
	VLD1.P 32(R15), [V6.B16, V7.B16] \
	VEOR V4.B16, V2.B16, V2.B16 \
	VEOR V5.B16, V3.B16, V3.B16 \
	VAND V6.B16, V2.B16, V2.B16 \
	VAND V7.B16, V3.B16, V3.B16 \
	VCNT V2.B16, V2.B16 \
	VCNT V3.B16, V3.B16 \
	VADD V2.B16, V0.B16, V0.B16 \
	VADD V3.B16, V1.B16, V1.B16 \
	B two \
one: \
	TBZ $0, R11, half \
	VLD1.P 16(R13), [V2.B16] \
	VLD1.P 16(R14), [V4.B16] \
	VLD1.P 16(R15), [V6.B16] \
	DIFF_IN(V4, V6, V2) \
	VADD V2.B16, V0.B16, V0.B16 \
half: \
	CBZ R12, sum \
	FMOVD (R13), F2 \
	FMOVD (R14), F4 \
	FMOVD (R15), F6 \
	DIFF_IN(V4, V6, V2) \
	VADD V2.B16, V1.B16, V1.B16 \
sum: \
	UADDLP(0, 0) \
	UADALP(1, 0) \
	VADDV V0.H8, V0 \
	FMOVS F0, R9
#define DIFF_IN(q, mask, v) \
	VEOR q.B16, v.B16, v.B16 \
	VAND mask.B16, v.B16, v.B16 \
	VCNT v.B16, v.B16

// func belowAnyNEON(dst *uint32, q, mask, codes *uint64, n, words, stride, limit int) int
TEXT ·belowAnyNEON(SB), NOSPLIT, $0-72
	MOVD dst+0(FP), R0
	MOVD q+8(FP), R1
	MOVD mask+16(FP), R10
	MOVD codes+24(FP), R2
	MOVD n+32(FP), R3
	MOVD words+40(FP), R11
	MOVD stride+48(FP), R5
	LSL $3, R5
	AND $1, R11, R12
	LSR $1, R11
	MOVD limit+56(FP), R6
	MOVD $0, R4
loop:
	CMP R3, R4
	BGE done
	ROW
	CMP R6, R9
	BGT next
	ORR R9<<16, R4, R9
	MOVW.P R9, 4(R0)
next:
	ADD R5, R2
	ADD $1, R4
	B loop
done:
	MOVD dst+0(FP), R1
	SUB R1, R0
	LSR $2, R0
	MOVD R0, ret+64(FP)
	RET
