//go:build !purego

#include "textflag.h"

// Every kernel counts the bits of q XOR code for a group of codes at a time, so that the distances of the group end up
// in the lanes of a register, in the order of the codes. Then it compares them with the limit and stores the few that
// are within it. It never writes the other distances to memory, which is why a scan runs as fast as codes can be read.
//
// AX is the output and SI the number of hits, DX the codes of the turn, CX the first of them and BX how many there are.

#define ARGUMENTS \
	MOVQ dst+0(FP), AX; \
	MOVQ q+8(FP), CX; \
	MOVQ codes+16(FP), DX; \
	MOVQ n+24(FP), BX

#define TURN \
	CMPQ CX, BX; \
	JGE  done

#define NEXT(codes, bytes) \
	ADDQ $codes, CX; \
	ADDQ $bytes, DX; \
	JMP  loop

#define DONE \
	VZEROUPPER; \
	MOVQ SI, ret+40(FP); \
	RET

// AVX2 counts with a table of 16 entries in a register (Mula, Kurz, Lemire, 2016): both halves of every byte are looked
// up, and VPSADBW adds the bytes of each lane of 64 bits. A register holds the distances of four codes. Y0 masks the
// lower halves, Y1 is the table, Y2 zero, Y3 the limit, Y4 and Y5 are the query.

#define COUNTING(r) \
	MOVQ         $0x0f0f0f0f0f0f0f0f, r; \
	MOVQ         r, X0; \
	VPBROADCASTQ X0, Y0; \
	MOVQ         $0x0302020102010100, r; \
	MOVQ         r, X1; \
	MOVQ         $0x0403030203020201, r; \
	MOVQ         r, X2; \
	VPUNPCKLQDQ  X2, X1, X1; \
	VINSERTI128  $1, X1, Y1, Y1; \
	VPXOR        Y2, Y2, Y2

#define LIMIT \
	MOVQ         limit+32(FP), SI; \
	MOVQ         SI, X3; \
	VPBROADCASTQ X3, Y3

// COUNT replaces v by the number of ones of each of its bytes.
#define COUNT(v, high) \
	VPSRLW  $4, v, high; \
	VPAND   Y0, v, v; \
	VPAND   Y0, high, high; \
	VPSHUFB v, Y1, v; \
	VPSHUFB high, Y1, high; \
	VPADDB  high, v, v

// SUM leaves in v the numbers of differing bits of four words; SUM2 those of a register and the next one.
#define SUM(at, v, t, _) \
	VPXOR   (at)(DX), Y4, v; \
	COUNT(v, t); \
	VPSADBW Y2, v, v

#define SUM2(at, v, t, u) \
	VPXOR   (at)(DX), Y4, v; \
	COUNT(v, t); \
	VPXOR   (at+32)(DX), Y5, t; \
	COUNT(t, u); \
	VPADDB  t, v, v; \
	VPSADBW Y2, v, v

// PAIRS adds neighbouring lanes of two registers: a0+a1, b0+b1, a2+a3, b2+b3.
#define PAIRS(a, b, t) \
	VPUNPCKLQDQ b, a, t; \
	VPUNPCKHQDQ b, a, a; \
	VPADDQ      t, a, a

// GROUP leaves in a the distances of four codes, step bytes apart.
#define GROUP(sum, at, step, a, b, c, d, e) \
	sum(at, a, b, c); \
	sum(at+step, b, c, d); \
	PAIRS(a, b, c); \
	sum(at+2*step, b, c, d); \
	sum(at+3*step, c, d, e); \
	PAIRS(b, c, d); \
	VPERM2I128 $0x20, b, a, c; \
	VPERM2I128 $0x31, b, a, a; \
	VPADDQ     c, a, a

// ANY goes on with the next turn if the least distances are beyond the limit.
#define ANY(least) \
	VPCMPGTQ  Y3, least, least; \
	VMOVMSKPD least, DI; \
	CMPL      DI, $15; \
	JE        next

// BEYOND leaves a bit in DI for every distance beyond the limit, and the distances on the stack; BEYOND4 collects four
// bits more in R8.
#define BEYOND(v, at) \
	VMOVDQU   v, at(SP); \
	VPCMPGTQ  Y3, v, v; \
	VMOVMSKPD v, DI

#define BEYOND4(v, at) \
	BEYOND(v, at); \
	SHLL $4, R8; \
	ORL  DI, R8

// MORE stores one code at a time, each a bit of R8.
#define MORE \
	XORQ DI, DI; \
	BSFL R8, DI; \
	MOVQ (SP)(DI*8), R9; \
	SHLQ $16, R9; \
	ADDQ CX, DI; \
	ORQ  DI, R9; \
	MOVL R9, (AX)(SI*4); \
	INCQ SI; \
	LEAL -1(R8), DI; \
	ANDL DI, R8; \
	JNZ  more

// EIGHT stores the codes of two registers of distances.
#define EIGHT(a, b, t) \
	VPMINUD a, b, t; \
	ANY(t); \
	BEYOND(b, 32); \
	MOVL    DI, R8; \
	BEYOND4(a, 0); \
	XORL    $0xff, R8

// func below64AVX2(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below64AVX2(SB), NOSPLIT, $128-48
	ARGUMENTS
	COUNTING(SI)
	LIMIT
	VPBROADCASTQ (CX), Y4
	XORQ         CX, CX
	XORQ         SI, SI

loop:
	TURN
	SUM(0, Y5, Y6, _)
	SUM(32, Y6, Y7, _)
	SUM(64, Y7, Y8, _)
	SUM(96, Y8, Y9, _)
	VPMINUD Y5, Y6, Y9
	VPMINUD Y7, Y8, Y10
	VPMINUD Y10, Y9, Y9
	ANY(Y9)
	BEYOND(Y8, 96)
	MOVL    DI, R8
	BEYOND4(Y7, 64)
	BEYOND4(Y6, 32)
	BEYOND4(Y5, 0)
	XORL    $0x0000ffff, R8

more:
	MORE

next:
	NEXT(16, 0x00000080)

done:
	DONE

// func below128AVX2(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below128AVX2(SB), NOSPLIT, $64-48
	ARGUMENTS
	COUNTING(SI)
	LIMIT
	VBROADCASTI128 (CX), Y4
	XORQ           CX, CX
	XORQ           SI, SI

loop:
	TURN
	SUM(0, Y5, Y6, _)
	SUM(32, Y6, Y7, _)
	PAIRS(Y5, Y6, Y7)
	VPERMQ $0xd8, Y5, Y5
	SUM(64, Y6, Y7, _)
	SUM(96, Y7, Y8, _)
	PAIRS(Y6, Y7, Y8)
	VPERMQ $0xd8, Y6, Y6
	EIGHT(Y5, Y6, Y7)

more:
	MORE

next:
	NEXT(8, 0x00000080)

done:
	DONE

// func below256AVX2(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below256AVX2(SB), NOSPLIT, $64-48
	ARGUMENTS
	COUNTING(SI)
	LIMIT
	VMOVDQU (CX), Y4
	XORQ    CX, CX
	XORQ    SI, SI

loop:
	TURN
	GROUP(SUM, 0, 32, Y5, Y6, Y7, Y8, _)
	GROUP(SUM, 128, 32, Y6, Y7, Y8, Y9, _)
	EIGHT(Y5, Y6, Y7)

more:
	MORE

next:
	NEXT(8, 0x00000100)

done:
	DONE

// func below512AVX2(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below512AVX2(SB), NOSPLIT, $64-48
	ARGUMENTS
	COUNTING(SI)
	LIMIT
	VMOVDQU (CX), Y4
	VMOVDQU 32(CX), Y5
	XORQ    CX, CX
	XORQ    SI, SI

loop:
	TURN
	GROUP(SUM2, 0, 64, Y6, Y7, Y8, Y9, Y10)
	GROUP(SUM2, 256, 64, Y7, Y8, Y9, Y10, Y11)
	EIGHT(Y6, Y7, Y8)

more:
	MORE

next:
	NEXT(8, 0x00000200)

done:
	DONE

// ONES counts what four words of the code at R12 after BX add to the sums in Y4. Y5 holds the words.
#define ONES \
	VPXOR  (CX)(R12*1), Y5, Y5; \
	VPAND  (DX)(R12*1), Y5, Y5; \
	COUNT(Y5, Y6); \
	VPADDB Y5, Y4, Y4

// func belowAnyAVX2(dst *uint32, q, mask, codes *uint64, n, words, stride, limit int) int
//
// One code at a time: R10 whole registers of words, then those that Y3 says.
TEXT ·belowAnyAVX2(SB), NOSPLIT, $0-72
	MOVQ         dst+0(FP), AX
	MOVQ         q+8(FP), CX
	MOVQ         mask+16(FP), DX
	MOVQ         codes+24(FP), BX
	MOVQ         n+32(FP), SI
	MOVQ         words+40(FP), DI
	MOVQ         stride+48(FP), R8
	MOVQ         limit+56(FP), R9
	SHLQ         $3, R8
	COUNTING(R10)
	MOVQ         DI, R10
	ANDQ         $3, DI
	SHRQ         $2, R10
	MOVQ         DI, X3
	VPBROADCASTQ X3, Y3
	VPCMPGTQ     numbers<>+0(SB), Y3, Y3
	XORQ         DI, DI
	XORQ         R11, R11

loop:
	CMPQ  DI, SI
	JGE   done
	VPXOR Y4, Y4, Y4
	XORQ  R12, R12
	MOVQ  R10, R13

words:
	SUBQ    $1, R13
	JL      rest
	VMOVDQU (BX)(R12*1), Y5
	ONES
	ADDQ    $32, R12
	JMP     words

rest:
	VPMASKMOVQ   (BX)(R12*1), Y3, Y5
	ONES
	VPSADBW      Y2, Y4, Y4
	VEXTRACTI128 $1, Y4, X5
	VPADDQ       X5, X4, X5
	VPUNPCKHQDQ  X5, X5, X4
	VPADDQ       X4, X5, X5
	VMOVQ        X5, R12
	CMPQ         R12, R9
	JG           next
	SHLQ         $16, R12
	ORQ          DI, R12
	MOVL         R12, (AX)(R11*4)
	INCQ         R11

next:
	ADDQ R8, BX
	INCQ DI
	JMP  loop

done:
	VZEROUPPER
	MOVQ R11, ret+64(FP)
	RET

// AVX-512 counts with VPOPCNTQ. Where it writes a register of codes and keeps those within the limit, the output has
// room for all.

// XORCOUNT leaves in v the numbers of differing bits of eight words and the query.
#define XORCOUNT(at, q, v) \
	VPXORQ   (at)(DX), q, v; \
	VPOPCNTQ v, v

// KEEP64 stores the codes within the limit, whose numbers are in Z7, of a register of distances; KEEPFROM those of
// which the first is code n of the turn.
#define KEEP64(v) \
	VPCMPUQ     $2, Z0, v, K1; \
	KMOVB       K1, DI; \
	VPSLLQ      $16, v, v; \
	VPORQ       Z7, v, v; \
	VPMOVQD     v, Y3; \
	VPCOMPRESSD Y3, K1, Y3; \
	VMOVDQU     Y3, (AX)(SI*4); \
	POPCNTL     DI, DI; \
	ADDQ        DI, SI

#define KEEPFROM(n, v) \
	MOVQ         $n, DI; \
	VPBROADCASTQ DI, Z3; \
	VPADDQ       Z1, Z3, Z3; \
	VPBROADCASTQ CX, Z7; \
	VPADDQ       Z3, Z7, Z7; \
	KEEP64(v)

// func below64AVX512(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below64AVX512(SB), NOSPLIT, $0-48
	ARGUMENTS
	MOVQ         limit+32(FP), SI
	VPBROADCASTQ SI, Z0
	VMOVDQU64    numbers<>+0(SB), Z1
	VPBROADCASTQ (CX), Z2
	XORQ         CX, CX
	XORQ         SI, SI

loop:
	TURN
	XORCOUNT(0, Z2, Z3)
	XORCOUNT(64, Z2, Z4)
	XORCOUNT(128, Z2, Z5)
	XORCOUNT(192, Z2, Z6)
	VPMINUQ      Z3, Z4, Z7
	VPMINUQ      Z5, Z6, Z8
	VPMINUQ      Z8, Z7, Z7
	VPCMPUQ      $2, Z0, Z7, K1
	KMOVB        K1, DI
	TESTL        DI, DI
	JZ           next
	VPBROADCASTQ CX, Z7
	VPADDQ       Z1, Z7, Z7
	KEEP64(Z3)
	KEEPFROM(0x00000008, Z4)
	KEEPFROM(0x00000010, Z5)
	KEEPFROM(0x00000018, Z6)

next:
	NEXT(32, 0x00000100)

done:
	DONE

// Codes of several words are taken 16 at a time. The counts of the words are packed to 16 bits and added in pairs, so
// that lanes that must be added across come last, and few of them are left: a quarter is of four registers, one code,
// or a quarter or half of one, per lane of 32 bits; a fold of two registers adds neighbouring quarters of both. Z0 is
// the query, Z1 the limit, Z2 the numbers of the lanes, Z3 ones, and Z4 where the distance of every code is left.

#define QUARTER(at, a, b, c, d) \
	XORCOUNT(at, Z0, a); \
	XORCOUNT(at+64, Z0, b); \
	XORCOUNT(at+128, Z0, c); \
	XORCOUNT(at+192, Z0, d); \
	VPACKUSDW b, a, a; \
	VPACKUSDW d, c, c; \
	VPACKUSDW c, a, a; \
	VPMADDWD  Z3, a, a

#define FOLD(a, b, t) \
	VSHUFI64X2 $0x88, b, a, t; \
	VSHUFI64X2 $0xdd, b, a, a; \
	VPADDD     t, a, a

#define WIDE(order) \
	VPBROADCASTD SI, Z1; \
	MOVL         $0x00010001, CX; \
	VPBROADCASTD CX, Z3; \
	VMOVDQU32    lanes<>+0(SB), Z2; \
	VMOVDQU32    order<>+0(SB), Z4; \
	XORQ         CX, CX; \
	XORQ         SI, SI

#define KEEP \
	VPCMPUD      $2, Z1, Z5, K1; \
	KORTESTW     K1, K1; \
	JZ           next; \
	VPERMD       Z5, Z4, Z5; \
	VPCMPUD      $2, Z1, Z5, K1; \
	VPBROADCASTD CX, Z6; \
	VPADDD       Z2, Z6, Z6; \
	VPSLLD       $16, Z5, Z5; \
	VPORD        Z6, Z5, Z5; \
	VPCOMPRESSD  Z5, K1, Z5; \
	VMOVDQU32    Z5, (AX)(SI*4); \
	KMOVW        K1, DI; \
	POPCNTL      DI, DI; \
	ADDQ         DI, SI

// func below128AVX512(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below128AVX512(SB), NOSPLIT, $0-48
	ARGUMENTS
	MOVQ            limit+32(FP), SI
	VBROADCASTI64X2 (CX), Z0
	WIDE(order2)

loop:
	TURN
	QUARTER(0, Z5, Z6, Z7, Z8)
	KEEP

next:
	NEXT(16, 0x00000100)

done:
	DONE

// func below256AVX512(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below256AVX512(SB), NOSPLIT, $0-48
	ARGUMENTS
	MOVQ            limit+32(FP), SI
	VBROADCASTI64X4 (CX), Z0
	WIDE(order4)

loop:
	TURN
	QUARTER(0, Z5, Z6, Z7, Z8)
	QUARTER(256, Z6, Z7, Z8, Z9)
	FOLD(Z5, Z6, Z7)
	KEEP

next:
	NEXT(16, 0x00000200)

done:
	DONE

// func below512AVX512(dst *uint32, q, codes *uint64, n, limit int) int
TEXT ·below512AVX512(SB), NOSPLIT, $0-48
	ARGUMENTS
	MOVQ      limit+32(FP), SI
	VMOVDQU64 (CX), Z0
	WIDE(lanes)

loop:
	TURN
	QUARTER(0, Z5, Z6, Z7, Z8)
	QUARTER(256, Z6, Z7, Z8, Z9)
	FOLD(Z5, Z6, Z7)
	QUARTER(512, Z6, Z7, Z8, Z9)
	QUARTER(768, Z7, Z8, Z9, Z10)
	FOLD(Z6, Z7, Z8)
	FOLD(Z5, Z6, Z7)
	KEEP

next:
	NEXT(16, 0x00000400)

done:
	DONE

// FOUR is four numbers of 32 bits in memory.
#define FOUR(name, at, a, b, c, d) \
	DATA name<>+at(SB)/8, $(a + b<<32); \
	DATA name<>+(at+8)(SB)/8, $(c + d<<32)

FOUR(lanes, 0, 0, 1, 2, 3)
FOUR(lanes, 16, 4, 5, 6, 7)
FOUR(lanes, 32, 8, 9, 10, 11)
FOUR(lanes, 48, 12, 13, 14, 15)
GLOBL lanes<>(SB), RODATA|NOPTR, $64

FOUR(order2, 0, 0, 4, 8, 12)
FOUR(order2, 16, 1, 5, 9, 13)
FOUR(order2, 32, 2, 6, 10, 14)
FOUR(order2, 48, 3, 7, 11, 15)
GLOBL order2<>(SB), RODATA|NOPTR, $64

FOUR(order4, 0, 0, 4, 1, 5)
FOUR(order4, 16, 2, 6, 3, 7)
FOUR(order4, 32, 8, 12, 9, 13)
FOUR(order4, 48, 10, 14, 11, 15)
GLOBL order4<>(SB), RODATA|NOPTR, $64

FOUR(numbers, 0, 0, 0, 1, 0)
FOUR(numbers, 16, 2, 0, 3, 0)
FOUR(numbers, 32, 4, 0, 5, 0)
FOUR(numbers, 48, 6, 0, 7, 0)
GLOBL numbers<>(SB), RODATA|NOPTR, $64
