//go:build !purego

#include "textflag.h"

// STEP takes a step down the tree at base: i is the place, counted from 1, and 2 i + 1 the next if the row's bin is above
// the split's.
#define STEP(base, i, s, v) \
	ADD i<<1, i, v \
	ADD base, v, v \
	MOVBU 5(v), s \
	MOVHU 6(v), v \
	MOVBU (R0)(v), v \
	ADD i, i, i \
	CMP s, v \
	CINC HI, i, i

// LEAF adds the leaf at i to the sum; R26 is twice the number of leaves.
#define LEAF(base, i) \
	ADD R26, i, R22 \
	ADD base, R22, R22 \
	MOVBU 5(R22), R22 \
	MOVWU 4(base), R23 \
	MADDW R22, R6, R23, R6

// func walkSix(bins *uint64, trees *byte, depth, n int, plus, minus int32) int32
//
// Six trees go down side by side, because none waits for another: 8 instructions for each step.
TEXT ·walkSix(SB), NOSPLIT, $0-44
	MOVD bins+0(FP), R0
	MOVD trees+8(FP), R9
	MOVD depth+16(FP), R2
	MOVD n+24(FP), R3
	MOVW plus+32(FP), R4
	MOVW minus+36(FP), R5
	MOVD $0, R6
	MOVD $2, R26
	LSL R2, R26, R26
	LSL $1, R26, R7
	ADD $5, R7, R7
loop:
	ADD R7, R9, R10
	ADD R7, R10, R11
	ADD R7, R11, R12
	ADD R7, R12, R13
	ADD R7, R13, R14
	MOVD $1, R15
	MOVD $1, R16
	MOVD $1, R17
	MOVD $1, R19
	MOVD $1, R20
	MOVD $1, R21
	MOVD R2, R8
level:
	STEP(R9, R15, R22, R23)
	STEP(R10, R16, R24, R25)
	STEP(R11, R17, R22, R23)
	STEP(R12, R19, R24, R25)
	STEP(R13, R20, R22, R23)
	STEP(R14, R21, R24, R25)
	SUBS $1, R8
	BNE level
	LEAF(R9, R15)
	LEAF(R10, R16)
	LEAF(R11, R17)
	LEAF(R12, R19)
	LEAF(R13, R20)
	LEAF(R14, R21)
	CMPW R4, R6
	BGE done
	MOVW (R14), R22
	ADDW R6, R22, R22
	CMPW R5, R22
	BLT done
	ADD R7, R14, R9
	SUBS $1, R3
	BNE loop
done:
	MOVW R6, ret+40(FP)
	RET
