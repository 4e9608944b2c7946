//go:build !purego

#include "textflag.h"

// The assembler has no names for these: fabs Vd.4s, Vn.4s; fcmgt Vd.4s, Vn.4s, Vm.4s, which is n > m.
#define FABS(n, d) WORD $(0x4ea0f800 | (n)<<5 | (d))
#define FCMGT(m, n, d) WORD $(0x6ea0e400 | (m)<<16 | (n)<<5 | (d))

// CLEAR sets four registers to zero.
#define CLEAR(v0, v1, v2, v3) \
	VEOR v0.B16, v0.B16, v0.B16; \
	VEOR v1.B16, v1.B16, v1.B16; \
	VEOR v2.B16, v2.B16, v2.B16; \
	VEOR v3.B16, v3.B16, v3.B16

// KEEP puts a value, its index and its size where the size, in abs, is greater than the best so far.
#define KEEP(value, index, best, v, abs, more) \
	VBIT more.B16, v.B16, value.B16; \
	VBIT more.B16, V30.B16, index.B16; \
	VBIT more.B16, abs.B16, best.B16

// func greatestNEON(value *[16]float32, index *[16]int32, z *float32, rows int)
//
// V0 to V3 are the values, V4 to V7 their indices, V16 to V19 their sizes; V20 to V23 a row, V24 to V27 its sizes; V30
// the index of the row, V31 one.
TEXT ·greatestNEON(SB), NOSPLIT, $0-32
	MOVD value+0(FP), R0
	MOVD index+8(FP), R1
	MOVD z+16(FP), R2
	MOVD rows+24(FP), R3
	CLEAR(V0, V1, V2, V3)
	CLEAR(V4, V5, V6, V7)
	CLEAR(V16, V17, V18, V19)
	VEOR V30.B16, V30.B16, V30.B16
	MOVD $1, R4
	VDUP R4, V31.S4

loop:
	FLDPQ (R2), (F20, F21)
	FLDPQ 32(R2), (F22, F23)
	FABS(20, 24)
	FABS(21, 25)
	FABS(22, 26)
	FABS(23, 27)
	FCMGT(16, 24, 8)
	FCMGT(17, 25, 9)
	FCMGT(18, 26, 10)
	FCMGT(19, 27, 11)
	KEEP(V0, V4, V16, V20, V24, V8)
	KEEP(V1, V5, V17, V21, V25, V9)
	KEEP(V2, V6, V18, V22, V26, V10)
	KEEP(V3, V7, V19, V23, V27, V11)
	VADD  V31.S4, V30.S4, V30.S4
	ADD   $64, R2
	SUBS  $1, R3
	BNE   loop

	FSTPQ (F0, F1), (R0)
	FSTPQ (F2, F3), 32(R0)
	FSTPQ (F4, F5), (R1)
	FSTPQ (F6, F7), 32(R1)
	RET
