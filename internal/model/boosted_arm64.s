//go:build !purego

#include "textflag.h"

// The NEON kernels of boosters. In words, registers are numbers in the order of the assembler: FADD adds lanes of 32 or
// 64 bits, the destination comes last.
#define FADD_S4(m, n, d) WORD $(0x4e20d400 | m<<16 | n<<5 | d)
#define FADD_D2(m, n, d) WORD $(0x4e60d400 | m<<16 | n<<5 | d)

// AMONG1 to AMONG32 choose among as many sets, those of the tests from at on, by planes whose registers are given from
// the lowest bit of the place up: p and q, then p2 and q2, and so on. The set ends in a and b; the others have room for
// the sets that are still to be chosen among.
#define AMONG1(at, a, b) \
	MOVWU (4*(at))(R2), R5 \
	ADD R5<<3, R1, R5 \
	VLD1 (R5), [a.B16, b.B16]
#define AMONG2(at, p, q, a, b, c, d) \
	AMONG1(at, a, b) \
	AMONG1(at+1, c, d) \
	VBIT p.B16, c.B16, a.B16 \
	VBIT q.B16, d.B16, b.B16
#define AMONG4(at, p, q, p2, q2, a, b, c, d, e, f) \
	AMONG2(at, p, q, a, b, c, d) \
	AMONG2(at+2, p, q, c, d, e, f) \
	VBIT p2.B16, c.B16, a.B16 \
	VBIT q2.B16, d.B16, b.B16
#define AMONG8(at, p, q, p2, q2, p3, q3, a, b, c, d, e, f, g, h) \
	AMONG4(at, p, q, p2, q2, a, b, c, d, e, f) \
	AMONG4(at+4, p, q, p2, q2, c, d, e, f, g, h) \
	VBIT p3.B16, c.B16, a.B16 \
	VBIT q3.B16, d.B16, b.B16
#define AMONG16(at, p, q, p2, q2, p3, q3, p4, q4, a, b, c, d, e, f, g, h, i, j) \
	AMONG8(at, p, q, p2, q2, p3, q3, a, b, c, d, e, f, g, h) \
	AMONG8(at+8, p, q, p2, q2, p3, q3, c, d, e, f, g, h, i, j) \
	VBIT p4.B16, c.B16, a.B16 \
	VBIT q4.B16, d.B16, b.B16

// PLANE1 to PLANE6 find the planes of the levels from the top on, which stay in V16 to V27.
#define PLANE1 AMONG1(0, V16, V17)
#define PLANE2 AMONG2(1, V16, V17, V18, V19, V0, V1)
#define PLANE3 AMONG4(3, V18, V19, V16, V17, V20, V21, V0, V1, V2, V3)
#define PLANE4 AMONG8(7, V20, V21, V18, V19, V16, V17, V22, V23, V0, V1, V2, V3, V4, V5)
#define PLANE5 AMONG16(15, V22, V23, V20, V21, V18, V19, V16, V17, V24, V25, V0, V1, V2, V3, V4, V5, V6, V7)
#define PLANE6 \
	AMONG16(31, V24, V25, V22, V23, V20, V21, V18, V19, V26, V27, V0, V1, V2, V3, V4, V5, V6, V7) \
	AMONG16(47, V24, V25, V22, V23, V20, V21, V18, V19, V0, V1, V2, V3, V4, V5, V6, V7, V8, V9) \
	VBIT V16.B16, V0.B16, V26.B16 \
	VBIT V17.B16, V1.B16, V27.B16

// func completePlanes1NEON(planes, right *uint64, tests *uint32)
TEXT ·completePlanes1NEON(SB), NOSPLIT, $0-24
	MOVD planes+0(FP), R0
	MOVD right+8(FP), R1
	MOVD tests+16(FP), R2
	PLANE1
	VST1 [V16.B16, V17.B16], (R0)
	RET

// func completePlanes2NEON(planes, right *uint64, tests *uint32)
TEXT ·completePlanes2NEON(SB), NOSPLIT, $0-24
	MOVD planes+0(FP), R0
	MOVD right+8(FP), R1
	MOVD tests+16(FP), R2
	PLANE1
	PLANE2
	VST1.P [V18.B16, V19.B16], 32(R0)
	VST1 [V16.B16, V17.B16], (R0)
	RET

// func completePlanes3NEON(planes, right *uint64, tests *uint32)
TEXT ·completePlanes3NEON(SB), NOSPLIT, $0-24
	MOVD planes+0(FP), R0
	MOVD right+8(FP), R1
	MOVD tests+16(FP), R2
	PLANE1
	PLANE2
	PLANE3
	VST1.P [V20.B16, V21.B16], 32(R0)
	VST1.P [V18.B16, V19.B16], 32(R0)
	VST1 [V16.B16, V17.B16], (R0)
	RET

// func completePlanes4NEON(planes, right *uint64, tests *uint32)
TEXT ·completePlanes4NEON(SB), NOSPLIT, $0-24
	MOVD planes+0(FP), R0
	MOVD right+8(FP), R1
	MOVD tests+16(FP), R2
	PLANE1
	PLANE2
	PLANE3
	PLANE4
	VST1.P [V22.B16, V23.B16], 32(R0)
	VST1.P [V20.B16, V21.B16], 32(R0)
	VST1.P [V18.B16, V19.B16], 32(R0)
	VST1 [V16.B16, V17.B16], (R0)
	RET

// func completePlanes5NEON(planes, right *uint64, tests *uint32)
TEXT ·completePlanes5NEON(SB), NOSPLIT, $0-24
	MOVD planes+0(FP), R0
	MOVD right+8(FP), R1
	MOVD tests+16(FP), R2
	PLANE1
	PLANE2
	PLANE3
	PLANE4
	PLANE5
	VST1.P [V24.B16, V25.B16], 32(R0)
	VST1.P [V22.B16, V23.B16], 32(R0)
	VST1.P [V20.B16, V21.B16], 32(R0)
	VST1.P [V18.B16, V19.B16], 32(R0)
	VST1 [V16.B16, V17.B16], (R0)
	RET

// func completePlanes6NEON(planes, right *uint64, tests *uint32)
TEXT ·completePlanes6NEON(SB), NOSPLIT, $0-24
	MOVD planes+0(FP), R0
	MOVD right+8(FP), R1
	MOVD tests+16(FP), R2
	PLANE1
	PLANE2
	PLANE3
	PLANE4
	PLANE5
	PLANE6
	VST1.P [V26.B16, V27.B16], 32(R0)
	VST1.P [V24.B16, V25.B16], 32(R0)
	VST1.P [V22.B16, V23.B16], 32(R0)
	VST1.P [V20.B16, V21.B16], 32(R0)
	VST1.P [V18.B16, V19.B16], 32(R0)
	VST1 [V16.B16, V17.B16], (R0)
	RET

// NUMBERS leaves the numbers of the leaves of 16 rows in the bytes of R7 and R8: planes in R1, their number in R3. V29
// repeats the first and the second byte of a plane, V30 has a bit for each of eight rows.
#define CONSTANTS \
	MOVD $0x0101010101010101, R4 \
	VEOR V29.B16, V29.B16, V29.B16 \
	VMOV R4, V29.D[1] \
	MOVD $0x8040201008040201, R4 \
	VDUP R4, V30.D2 \
	MOVD $16, R4
#define NUMBERS \
	VEOR V0.B16, V0.B16, V0.B16 \
	VMOVI $1, V1.B16 \
	MOVD R1, R5 \
	MOVD R3, R6 \
	CBZ R6, numbered \
planes: \
	VLD1R (R5), [V2.H8] \
	VTBL V29.B16, [V2.B16], V2.B16 \
	VCMTST V30.B16, V2.B16, V2.B16 \
	VAND V1.B16, V2.B16, V2.B16 \
	VORR V2.B16, V0.B16, V0.B16 \
	VSHL $1, V1.B16, V1.B16 \
	ADD $32, R5 \
	SUBS $1, R6 \
	BNE planes \
numbered: \
	ADD $2, R1 \
	VMOV V0.D[0], R7 \
	VMOV V0.D[1], R8

// LEAF32 loads the leaf of the row whose number is the byte of r at bit.
#define LEAF32(r, bit, lane) \
	UBFX $bit, r, $8, R9 \
	ADD R9<<2, R2, R9 \
	VLD1 (R9), lane
#define ADD32(r, bit) \
	LEAF32(r, bit, V2.S[0]) \
	LEAF32(r, bit+8, V2.S[1]) \
	LEAF32(r, bit+16, V2.S[2]) \
	LEAF32(r, bit+24, V2.S[3]) \
	VLD1 (R0), [V3.S4] \
	FADD_S4(2, 3, 3) \
	VST1.P [V3.S4], 16(R0)
#define ADD64(r, bit) \
	UBFX $bit, r, $8, R9 \
	ADD R9<<3, R2, R9 \
	VLD1 (R9), V2.D[0] \
	UBFX $(bit+8), r, $8, R9 \
	ADD R9<<3, R2, R9 \
	VLD1 (R9), V2.D[1] \
	VLD1 (R0), [V3.D2] \
	FADD_D2(2, 3, 3) \
	VST1.P [V3.D2], 16(R0)

// func addLeaves32NEON(sums *float32, planes *uint64, leaves *float32, n int)
TEXT ·addLeaves32NEON(SB), NOSPLIT, $0-32
	MOVD sums+0(FP), R0
	MOVD planes+8(FP), R1
	MOVD leaves+16(FP), R2
	MOVD n+24(FP), R3
	CONSTANTS
groups:
	NUMBERS
	ADD32(R7, 0)
	ADD32(R7, 32)
	ADD32(R8, 0)
	ADD32(R8, 32)
	SUBS $1, R4
	BNE groups
	RET

// func addLeaves64NEON(sums *float64, planes *uint64, leaves *float64, n int)
TEXT ·addLeaves64NEON(SB), NOSPLIT, $0-32
	MOVD sums+0(FP), R0
	MOVD planes+8(FP), R1
	MOVD leaves+16(FP), R2
	MOVD n+24(FP), R3
	CONSTANTS
groups:
	NUMBERS
	ADD64(R7, 0)
	ADD64(R7, 16)
	ADD64(R7, 32)
	ADD64(R7, 48)
	ADD64(R8, 0)
	ADD64(R8, 16)
	ADD64(R8, 32)
	ADD64(R8, 48)
	SUBS $1, R4
	BNE groups
	RET
