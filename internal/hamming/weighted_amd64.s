//go:build !purego

#include "textflag.h"

// Codes come in blocks of 64. Pack turns the words of a block into planes of 64 bytes: byte i of plane g is group g of
// the bits of code i. Bound then looks each plane up in the query's table of the group and adds the bytes with
// saturation, so that one register sums for as many codes as it has bytes. Groups are as long as a table that fits a
// register allows: four bits with VPSHUFB, six with VPERMB. Scan does both at once, for one query.

// The arguments come first, because go vet knows no macros.

#define PACK_ARGUMENTS \
	MOVQ dst+0(FP), AX; \
	MOVQ codes+8(FP), CX; \
	MOVQ stride+32(FP), DX; \
	MOVQ blocks+16(FP), BX; \
	MOVQ size+24(FP), SI

#define BOUND_ARGUMENTS \
	MOVQ dst+0(FP), AX; \
	MOVQ planes+8(FP), CX; \
	MOVQ tables+16(FP), DX; \
	MOVQ groups+32(FP), BX; \
	MOVQ size+40(FP), SI; \
	MOVQ limit+48(FP), DI; \
	MOVQ piece+56(FP), R8

#define SCAN_ARGUMENTS \
	MOVQ dst+0(FP), AX; \
	MOVQ codes+8(FP), CX; \
	MOVQ tables+16(FP), DX; \
	MOVQ blocks+24(FP), SI; \
	MOVQ limit+32(FP), DI

// TABLE is eight words in memory, each greater than the one before by a step.
#define TABLE(name, x, step) \
	DATA name<>+0(SB)/8, $(x); \
	DATA name<>+8(SB)/8, $(x + step); \
	DATA name<>+16(SB)/8, $(x + 2*step); \
	DATA name<>+24(SB)/8, $(x + 3*step); \
	DATA name<>+32(SB)/8, $(x + 4*step); \
	DATA name<>+40(SB)/8, $(x + 5*step); \
	DATA name<>+48(SB)/8, $(x + 6*step); \
	DATA name<>+56(SB)/8, $(x + 7*step); \
	GLOBL name<>(SB), RODATA|NOPTR, $64

// interleave takes bytes 0, 8, 1, 9 and so on of a lane.
#define INTERLEAVE(at) \
	DATA interleave<>+at(SB)/8, $0x0b030a0209010800; \
	DATA interleave<>+(at+8)(SB)/8, $0x0f070e060d050c04

INTERLEAVE(0)
INTERLEAVE(16)
INTERLEAVE(32)
INTERLEAVE(48)
GLOBL interleave<>(SB), RODATA|NOPTR, $64

// The first bits of the groups of six, for VPMULTISHIFTQB: 58, 52, ... 16, and 10, 4.
TABLE(shifts, 0x10161c22282e343a, 0)
TABLE(lastShifts, 0x000000000000040a, 0)

// Pack: AX is the output, CX the codes, DX the bytes from code to code, BX the blocks left, SI the bytes of a block.

#define PACKED \
	MOVQ DX, DI; \
	SHLQ $6, DI; \
	ADDQ DI, CX; \
	ADDQ SI, AX; \
	JMP  loop

// LANE loads the words of a code and the next one. All of the register is written first, by a broadcast.
#define LANE(p, v, x) \
	VPBROADCASTQ (p), v; \
	VMOVHPS      (p)(DX*1), x, x; \
	LEAQ         (p)(DX*2), p

#define UNPACK(low, high, b, a, t) \
	low  b, a, t; \
	high b, a, a

// TRANSPOSE turns eight registers of eight words of 16 bits a lane into those of word 0, word 1 and so on, which are
// left in v5, v7, v1, t, v6, v3, v2 and v0.
#define TRANSPOSE(v0, v1, v2, v3, v4, v5, v6, v7, t) \
	UNPACK(VPUNPCKLWD, VPUNPCKHWD, v1, v0, t); \
	UNPACK(VPUNPCKLWD, VPUNPCKHWD, v3, v2, v1); \
	UNPACK(VPUNPCKLWD, VPUNPCKHWD, v5, v4, v3); \
	UNPACK(VPUNPCKLWD, VPUNPCKHWD, v7, v6, v5); \
	UNPACK(VPUNPCKLDQ, VPUNPCKHDQ, v1, t, v7); \
	UNPACK(VPUNPCKLDQ, VPUNPCKHDQ, v5, v3, v1); \
	UNPACK(VPUNPCKLQDQ, VPUNPCKHQDQ, v1, v7, v5); \
	UNPACK(VPUNPCKLQDQ, VPUNPCKHQDQ, v3, t, v1); \
	UNPACK(VPUNPCKLDQ, VPUNPCKHDQ, v2, v0, v3); \
	UNPACK(VPUNPCKLDQ, VPUNPCKHDQ, v6, v4, v2); \
	UNPACK(VPUNPCKLQDQ, VPUNPCKHQDQ, v2, v3, v6); \
	UNPACK(VPUNPCKLQDQ, VPUNPCKHQDQ, v4, v0, v2)

// ROW leaves the bytes of four codes, 16 codes apart by twos, because a lane ends up with the bytes of 16 codes.
#define ROW(p0, p1, y, x, t) \
	LANE(p0, y, x); \
	LANE(p1, t, t); \
	VINSERTI128 $1, t, y, y; \
	VPSHUFB     interleave<>+0(SB), y, y

// HALVES writes the upper and the lower half of a byte of 32 codes.
#define HALVES(v, t, at) \
	VPSRLW  $4, v, t; \
	VPAND   Y4, t, t; \
	VPAND   Y4, v, v; \
	VMOVDQU t, (at)(AX); \
	VMOVDQU v, (at+64)(AX)

// HALFBLOCK takes the bytes of 32 words apart, from two places on, and then their halves. Byte 7 of a word in memory is
// its highest, with the first bits of the code.
#define HALFBLOCK(p0, p1, at) \
	ROW(p0, p1, Y0, X0, X1); \
	ROW(p0, p1, Y1, X1, X2); \
	ROW(p0, p1, Y2, X2, X3); \
	ROW(p0, p1, Y3, X3, X4); \
	ROW(p0, p1, Y4, X4, X5); \
	ROW(p0, p1, Y5, X5, X6); \
	ROW(p0, p1, Y6, X6, X7); \
	ROW(p0, p1, Y7, X7, X8); \
	TRANSPOSE(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8); \
	MOVQ         $0x0f0f0f0f0f0f0f0f, DI; \
	MOVQ         DI, X4; \
	VPBROADCASTQ X4, Y4; \
	HALVES(Y5, Y9, 896+at); \
	HALVES(Y7, Y5, 768+at); \
	HALVES(Y1, Y5, 640+at); \
	HALVES(Y8, Y1, 512+at); \
	HALVES(Y6, Y1, 384+at); \
	HALVES(Y3, Y1, 256+at); \
	HALVES(Y2, Y1, 128+at); \
	HALVES(Y0, Y1, at)

// func packAVX2(dst *uint8, codes *uint64, blocks, size, stride int)
TEXT ·packAVX2(SB), NOSPLIT, $0-40
	PACK_ARGUMENTS

loop:
	SUBQ $1, BX
	JL   done
	MOVQ DX, DI
	SHLQ $4, DI
	MOVQ CX, R8
	LEAQ (R8)(DI*1), DI
	HALFBLOCK(R8, DI, 0)
	MOVQ DX, DI
	SHLQ $5, DI
	ADDQ CX, DI
	MOVQ DX, R8
	SHLQ $4, R8
	LEAQ (DI)(R8*1), R8
	HALFBLOCK(DI, R8, 32)
	PACKED

done:
	VZEROUPPER
	RET

// SIX leaves the first eight groups of six bits of eight codes in a and the others in b.
#define SIX(z, x, t, a, b) \
	LANE(R8, z, x); \
	LANE(R9, t, t); \
	VINSERTI64X2   $1, t, z, z; \
	LANE(R10, t, t); \
	VINSERTI64X2   $2, t, z, z; \
	LANE(DI, t, t); \
	VINSERTI64X2   $3, t, z, z; \
	VPMULTISHIFTQB z, Z0, a; \
	VPMULTISHIFTQB z, Z1, b; \
	VPSHUFB        Z2, a, a; \
	VPSHUFB        Z2, b, b

// func packAVX512(dst *uint8, codes *uint64, blocks, size, stride int)
//
// Ten groups, and the last four bits with the two before them, which their table ignores.
TEXT ·packAVX512(SB), NOSPLIT, $0-40
	PACK_ARGUMENTS

loop:
	SUBQ      $1, BX
	JL        done
	VMOVDQU64 shifts<>+0(SB), Z0
	VMOVDQU64 lastShifts<>+0(SB), Z1
	VMOVDQU64 interleave<>+0(SB), Z2
	MOVQ      DX, DI
	SHLQ      $4, DI
	MOVQ      CX, R8
	LEAQ      (R8)(DI*1), R9
	LEAQ      (R9)(DI*1), R10
	LEAQ      (R10)(DI*1), DI
	SIX(Z3, X3, X4, Z4, Z3)
	SIX(Z5, X5, X6, Z6, Z5)
	SIX(Z7, X7, X8, Z8, Z7)
	SIX(Z9, X9, X10, Z10, Z9)
	SIX(Z11, X11, X12, Z12, Z11)
	SIX(Z13, X13, X14, Z14, Z13)
	SIX(Z15, X15, X16, Z16, Z15)
	SIX(Z17, X17, X18, Z0, Z1)
	TRANSPOSE(Z4, Z6, Z8, Z10, Z12, Z14, Z16, Z0, Z2)
	VPUNPCKLWD Z5, Z3, Z3
	VPUNPCKLWD Z9, Z7, Z5
	VPUNPCKLWD Z13, Z11, Z7
	VPUNPCKLWD Z1, Z15, Z1
	UNPACK(VPUNPCKLDQ, VPUNPCKHDQ, Z5, Z3, Z9)
	UNPACK(VPUNPCKLDQ, VPUNPCKHDQ, Z1, Z7, Z5)
	UNPACK(VPUNPCKLQDQ, VPUNPCKHQDQ, Z5, Z9, Z1)
	VPUNPCKLQDQ Z7, Z3, Z5
	VMOVDQU64 Z14, (AX)
	VMOVDQU64 Z0, 64(AX)
	VMOVDQU64 Z6, 128(AX)
	VMOVDQU64 Z2, 192(AX)
	VMOVDQU64 Z16, 256(AX)
	VMOVDQU64 Z10, 320(AX)
	VMOVDQU64 Z8, 384(AX)
	VMOVDQU64 Z4, 448(AX)
	VMOVDQU64 Z1, 512(AX)
	VMOVDQU64 Z9, 576(AX)
	VMOVDQU64 Z5, 640(AX)
	PACKED

done:
	VZEROUPPER
	RET

// Bound: AX is the output and R9 the number of blocks in it, CX the planes of the block R10, DX the tables; BX is the
// end of the groups in bytes and R8 the length of a piece. The sums of each piece of groups are bytes, and the sum of
// these has 16 bits, for even and for odd codes.

#define PIECES \
	SHLQ $6, BX; \
	SHLQ $6, R8; \
	XORQ R9, R9; \
	XORQ R10, R10

// RECORD keeps the codes of a block, a bit each in DI, and its number: a nearBlock of the package.
#define RECORD(n) \
	MOVQ DI, (AX); \
	LEAQ (n)(R10), DI; \
	MOVQ DI, 8(AX); \
	ADDQ $16, AX; \
	INCQ R9

// WIDEN adds the sums of a piece to those of even and odd codes.
#define WIDEN(and, low, sum, even, odd, t) \
	and    low, sum, t; \
	VPADDW t, even, even; \
	VPSRLW $8, sum, t; \
	VPADDW t, odd, odd

// BEYOND leaves a bit in a mask for every sum beyond the limit. Both bytes of such a sum are ones: the even codes keep
// the lower one, the odd codes the upper one.
#define BEYOND32(even, odd, mask) \
	VPCMPGTW  Y0, even, even; \
	VPCMPGTW  Y0, odd, odd; \
	VPAND     Y1, even, even; \
	VPANDN    odd, Y1, odd; \
	VPOR      odd, even, even; \
	VPMOVMSKB even, mask

// func boundAVX2(dst *uint64, planes, tables *uint8, blocks, groups, size, limit, piece int) int
TEXT ·boundAVX2(SB), NOSPLIT, $0-72
	BOUND_ARGUMENTS
	PIECES
	MOVQ         DI, X0
	VPBROADCASTW X0, Y0
	MOVQ         $0x000000ff, DI
	MOVQ         DI, X1
	VPBROADCASTW X1, Y1

loop:
	MOVQ  blocks+24(FP), DI
	CMPQ  R10, DI
	JGE   done
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	MOVQ  DX, R11
	XORQ  DI, DI
	MOVQ  R8, R12

piece:
	CMPQ    BX, R12
	CMOVQLT BX, R12
	VPXOR   Y2, Y2, Y2
	VPXOR   Y5, Y5, Y5

group:
	VBROADCASTI128 (R11), Y8
	VPSHUFB        (CX)(DI*1), Y8, Y9
	VPADDUSB       Y9, Y2, Y2
	VPSHUFB        32(CX)(DI*1), Y8, Y8
	VPADDUSB       Y8, Y5, Y5
	ADDQ           $64, DI
	ADDQ           $16, R11
	CMPQ           DI, R12
	JL             group
	WIDEN(VPAND, Y1, Y2, Y3, Y4, Y8)
	WIDEN(VPAND, Y1, Y5, Y6, Y7, Y2)
	ADDQ           R8, R12
	CMPQ           DI, BX
	JL             piece
	BEYOND32(Y3, Y4, DI)
	BEYOND32(Y6, Y7, R11)
	SHLQ           $32, R11
	ORQ            R11, DI
	NOTQ           DI
	TESTQ          DI, DI
	JZ             next
	RECORD(0)

next:
	ADDQ SI, CX
	ADDQ $1, R10
	JMP  loop

done:
	VZEROUPPER
	MOVQ R9, ret+64(FP)
	RET

#define LOOKUP(block, sum) \
	VMOVDQU64 (block)(DI*1), Z15; \
	VPERMB    Z14, Z15, Z15; \
	VPADDUSB  Z15, sum, sum

// WITHIN leaves a bit in DI for every sum within the limit, or jumps on if there are none.
#define WITHIN64(even, odd, next) \
	VPCMPUW  $2, Z0, even, K1; \
	VPMOVM2W K1, Z14; \
	VPANDQ   Z1, Z14, Z14; \
	VPCMPUW  $2, Z0, odd, K1; \
	VPMOVM2W K1, Z15; \
	VPSLLW   $8, Z15, Z15; \
	VPORQ    Z15, Z14, Z14; \
	VPMOVB2M Z14, K1; \
	KMOVQ    K1, DI; \
	TESTQ    DI, DI; \
	JZ       next

#define LEAST(a, b) \
	VPMINUW a, b, Z15; \
	VPMINUW Z15, Z14, Z14

#define ZERO(a, b) \
	VPXORQ a, a, a; \
	VPXORQ b, b, b

// func boundAVX512(dst *uint64, planes, tables *uint8, blocks, groups, size, limit, piece int) int
//
// Four blocks at a time, whose planes are at CX, R11, R12 and R13.
TEXT ·boundAVX512(SB), NOSPLIT, $0-72
	BOUND_ARGUMENTS
	PIECES
	LEAQ         (CX)(SI*1), R11
	LEAQ         (R11)(SI*1), R12
	LEAQ         (R12)(SI*1), R13
	SHLQ         $2, SI
	VPBROADCASTW DI, Z0
	MOVL         $0x000000ff, DI
	VPBROADCASTW DI, Z1

loop:
	MOVQ blocks+24(FP), DI
	CMPQ R10, DI
	JGE  done
	ZERO(Z3, Z4)
	ZERO(Z6, Z7)
	ZERO(Z9, Z10)
	ZERO(Z12, Z13)
	XORQ DI, DI
	MOVQ R8, R14

piece:
	CMPQ    BX, R14
	CMOVQLT BX, R14
	ZERO(Z2, Z5)
	ZERO(Z8, Z11)

group:
	VMOVDQU64 (DX)(DI*1), Z14
	LOOKUP(CX, Z2)
	LOOKUP(R11, Z5)
	LOOKUP(R12, Z8)
	LOOKUP(R13, Z11)
	ADDQ      $64, DI
	CMPQ      DI, R14
	JL        group
	WIDEN(VPANDQ, Z1, Z2, Z3, Z4, Z14)
	WIDEN(VPANDQ, Z1, Z5, Z6, Z7, Z14)
	WIDEN(VPANDQ, Z1, Z8, Z9, Z10, Z14)
	WIDEN(VPANDQ, Z1, Z11, Z12, Z13, Z14)
	ADDQ      R8, R14
	CMPQ      DI, BX
	JL        piece
	VPMINUW   Z3, Z4, Z14
	LEAST(Z6, Z7)
	LEAST(Z9, Z10)
	LEAST(Z12, Z13)
	VPCMPUW   $2, Z0, Z14, K1
	KMOVD     K1, DI
	TESTL     DI, DI
	JZ        next
	WITHIN64(Z3, Z4, one)
	RECORD(0)

one:
	WITHIN64(Z6, Z7, two)
	RECORD(1)

two:
	WITHIN64(Z9, Z10, three)
	RECORD(2)

three:
	WITHIN64(Z12, Z13, next)
	RECORD(3)

next:
	ADDQ SI, CX
	ADDQ SI, R11
	ADDQ SI, R12
	ADDQ SI, R13
	ADDQ $4, R10
	JMP  loop

done:
	VZEROUPPER
	MOVQ R9, ret+64(FP)
	RET

// Scan sums for one query straight from the codes, because planes that only one query reads cost more to write than to
// use. A register is four lanes of 16 bytes, and VPSHUFB looks every lane up in a table of its own, so that groups of
// codes need not fill a register. For one word of 64 codes:
//
//	VPERMB         eight codes       byte g of all eight, for g = 0 to 7
//	VPUNPCKxQDQ    sixteen codes     lane l has byte 2l of all sixteen, or byte 2l+1
//	VPSHUFB        both halves of every byte, four bits each
//
// The sums of the lanes are added up last, which turns four registers of 16 codes into one of 64.
//
// AX is the output and R9 the number of blocks in it, CX the codes of block R10, DX the tables: the lower and upper
// halves of even bytes of a word, then of odd ones. Z0 to Z7 hold them, Z8 to Z11 the sums of 16 codes each. Z24 to Z27
// say where the bytes of a word are in a register of codes, and K1 to K3 which bytes the second to fourth register
// fills; Z28 is the limit, Z29 what swaps lanes, Z30 the lower half of a byte, Z31 the matrix that extracts the upper
// one; K4 and K5 are the lanes 2 and 3, and 1 and 3.

// orderWOfN is where byte g of word w is, for eight codes in as many registers as they have words.
TABLE(order0Of1, 0x3830282018100800, 0x0101010101010101)
TABLE(order0Of2, 0x3020100030201000, 0x0101010101010101)
TABLE(order1Of2, 0x3828180838281808, 0x0101010101010101)
TABLE(order0Of4, 0x2000200020002000, 0x0101010101010101)
TABLE(order1Of4, 0x2808280828082808, 0x0101010101010101)
TABLE(order2Of4, 0x3010301030103010, 0x0101010101010101)
TABLE(order3Of4, 0x3818381838183818, 0x0101010101010101)

DATA swapped<>+0(SB)/8, $2
DATA swapped<>+8(SB)/8, $3
DATA swapped<>+16(SB)/8, $8
DATA swapped<>+24(SB)/8, $9
DATA swapped<>+32(SB)/8, $6
DATA swapped<>+40(SB)/8, $7
DATA swapped<>+48(SB)/8, $12
DATA swapped<>+56(SB)/8, $13
GLOBL swapped<>(SB), RODATA|NOPTR, $64

#define MASK(x, k) \
	MOVQ  $x, BX; \
	KMOVQ BX, k

#define SCANNING \
	MOVQ         $0x0f0f0f0f0f0f0f0f, BX; \
	VPBROADCASTQ BX, Z30; \
	MOVQ         $0x1020408000000000, BX; \
	VPBROADCASTQ BX, Z31; \
	VMOVDQU64    swapped<>+0(SB), Z29; \
	MASK(0xf0, K4); \
	MASK(0xcc, K5); \
	XORQ         R9, R9; \
	XORQ         R10, R10

#define ENTRIES(at, e0, e1, e2, e3) \
	VMOVDQU64 at(DX), e0; \
	VMOVDQU64 (at+64)(DX), e1; \
	VMOVDQU64 (at+128)(DX), e2; \
	VMOVDQU64 (at+192)(DX), e3

// BYTES leaves the bytes of a word of eight codes, sorted by their place in the word.
#define BYTES1(at, order, v) \
	VPERMB (at)(CX), order, v

#define BYTES2(at, order, v) \
	VPERMB (at)(CX), order, v; \
	VPERMB (at+64)(CX), order, K1, v

#define BYTES4(at, order, v) \
	VPERMB (at)(CX), order, v; \
	VPERMB (at+64)(CX), order, K1, v; \
	VPERMB (at+128)(CX), order, K2, v; \
	VPERMB (at+192)(CX), order, K3, v

// LOOKUP2 leaves the sums of both halves of some bytes.
#define LOOKUP2(bytes, low, high, sum) \
	VPANDQ         Z30, bytes, sum; \
	VGF2P8AFFINEQB $0, Z31, bytes, bytes; \
	VPSHUFB        sum, low, sum; \
	VPSHUFB        bytes, high, bytes; \
	VPADDUSB       bytes, sum, sum

// SIXTEEN leaves even and odd bytes of a word of 16 codes in Z14 and Z12.
#define SIXTEEN(bytes, at, step, order) \
	bytes(at, order, Z12); \
	bytes(at+step, order, Z13); \
	UNPACK(VPUNPCKLQDQ, VPUNPCKHQDQ, Z13, Z12, Z14)

#define FIRST(bytes, at, step, order, e0, e1, e2, e3, sum) \
	SIXTEEN(bytes, at, step, order); \
	LOOKUP2(Z14, e0, e1, sum); \
	LOOKUP2(Z12, e2, e3, Z13); \
	VPADDUSB Z13, sum, sum

#define MORE(bytes, at, step, order, e0, e1, e2, e3, sum) \
	SIXTEEN(bytes, at, step, order); \
	LOOKUP2(Z14, e0, e1, Z13); \
	VPADDUSB Z13, sum, sum; \
	LOOKUP2(Z12, e2, e3, Z13); \
	VPADDUSB Z13, sum, sum

// WORD sums over a word of 64 codes.
#define WORD(which, bytes, step, order, e0, e1, e2, e3) \
	which(bytes, 0, step, order, e0, e1, e2, e3, Z8); \
	which(bytes, 2*step, step, order, e0, e1, e2, e3, Z9); \
	which(bytes, 4*step, step, order, e0, e1, e2, e3, Z10); \
	which(bytes, 6*step, step, order, e0, e1, e2, e3, Z11)

// FOLD leaves lanes 0 and 1 of two registers, to which 2 and 3 are added; LANES the sums of all lanes of four.
#define FOLD(add, a, b, v, w) \
	VPBLENDMQ  b, a, K4, v; \
	VSHUFI64X2 $0x4e, b, a, w; \
	add        w, v, v

#define LANES(add, a, b, c, d, v, w, sum) \
	FOLD(add, a, c, v, sum); \
	FOLD(add, b, d, w, sum); \
	VPBLENDMQ w, v, K5, sum; \
	VPERMT2Q  w, Z29, v; \
	add       v, sum, sum

// NARROW finishes a kernel whose sums are bytes.
#define NARROW \
	LANES(VPADDUSB, Z8, Z9, Z10, Z11, Z12, Z13, Z14); \
	VPCMPUB  $2, Z28, Z14, K6; \
	KORTESTQ K6, K6; \
	JZ       next; \
	KMOVQ    K6, DI; \
	RECORD(0)

#define SCANNED(bytes) \
	ADDQ $bytes, CX; \
	INCQ R10; \
	JMP  loop

// func scan64AVX512(dst, codes *uint64, tables *uint8, blocks, limit int) int
TEXT ·scan64AVX512(SB), NOSPLIT, $0-48
	SCAN_ARGUMENTS
	SCANNING
	VMOVDQU64    order0Of1<>+0(SB), Z24
	ENTRIES(0, Z0, Z1, Z2, Z3)
	VPBROADCASTB DI, Z28

loop:
	CMPQ R10, SI
	JGE  done
	WORD(FIRST, BYTES1, 64, Z24, Z0, Z1, Z2, Z3)
	NARROW

next:
	SCANNED(0x00000200)

done:
	VZEROUPPER
	MOVQ R9, ret+40(FP)
	RET

// func scan128AVX512(dst, codes *uint64, tables *uint8, blocks, limit int) int
TEXT ·scan128AVX512(SB), NOSPLIT, $0-48
	SCAN_ARGUMENTS
	SCANNING
	VMOVDQU64    order0Of2<>+0(SB), Z24
	VMOVDQU64    order1Of2<>+0(SB), Z25
	MASK(0xf0f0f0f0f0f0f0f0, K1)
	ENTRIES(0, Z0, Z1, Z2, Z3)
	ENTRIES(256, Z4, Z5, Z6, Z7)
	VPBROADCASTB DI, Z28

loop:
	CMPQ R10, SI
	JGE  done
	WORD(FIRST, BYTES2, 128, Z24, Z0, Z1, Z2, Z3)
	WORD(MORE, BYTES2, 128, Z25, Z4, Z5, Z6, Z7)
	NARROW

next:
	SCANNED(0x00000400)

done:
	VZEROUPPER
	MOVQ R9, ret+40(FP)
	RET

// EVENODD leaves the sums of odd codes in odd and those of even ones in sum.
#define EVENODD(sum, odd) \
	VPSRLW $8, sum, odd; \
	VPANDQ Z1, sum, sum

// func scan256AVX512(dst, codes *uint64, tables *uint8, blocks, limit int) int
//
// The sums of a lane are bytes, and the sum of these has 16 bits. More tables do not fit the registers.
TEXT ·scan256AVX512(SB), NOSPLIT, $0-48
	SCAN_ARGUMENTS
	SCANNING
	VMOVDQU64    order0Of4<>+0(SB), Z24
	VMOVDQU64    order1Of4<>+0(SB), Z25
	VMOVDQU64    order2Of4<>+0(SB), Z26
	VMOVDQU64    order3Of4<>+0(SB), Z27
	MASK(0x0c0c0c0c0c0c0c0c, K1)
	MASK(0x3030303030303030, K2)
	MASK(0xc0c0c0c0c0c0c0c0, K3)
	VPBROADCASTW DI, Z28

loop:
	CMPQ R10, SI
	JGE  done
	ENTRIES(0, Z0, Z1, Z2, Z3)
	WORD(FIRST, BYTES4, 256, Z24, Z0, Z1, Z2, Z3)
	ENTRIES(256, Z0, Z1, Z2, Z3)
	WORD(MORE, BYTES4, 256, Z25, Z0, Z1, Z2, Z3)
	ENTRIES(512, Z0, Z1, Z2, Z3)
	WORD(MORE, BYTES4, 256, Z26, Z0, Z1, Z2, Z3)
	ENTRIES(768, Z0, Z1, Z2, Z3)
	WORD(MORE, BYTES4, 256, Z27, Z0, Z1, Z2, Z3)
	MOVQ         $0x00ff00ff00ff00ff, DI
	VPBROADCASTQ DI, Z1
	EVENODD(Z8, Z4)
	EVENODD(Z9, Z5)
	EVENODD(Z10, Z6)
	EVENODD(Z11, Z7)
	LANES(VPADDW, Z8, Z9, Z10, Z11, Z12, Z13, Z2)
	LANES(VPADDW, Z4, Z5, Z6, Z7, Z12, Z13, Z3)
	VPMINUW      Z2, Z3, Z4
	VPCMPUW      $2, Z28, Z4, K6
	KORTESTD     K6, K6
	JZ           next
	VPCMPUW      $2, Z28, Z2, K6
	VPMOVM2W     K6, Z2
	VPANDQ       Z1, Z2, Z2
	VPCMPUW      $2, Z28, Z3, K6
	VPMOVM2W     K6, Z3
	VPSLLW       $8, Z3, Z3
	VPORQ        Z3, Z2, Z2
	VPMOVB2M     Z2, K6
	KMOVQ        K6, DI
	RECORD(0)

next:
	SCANNED(0x00000800)

done:
	VZEROUPPER
	MOVQ R9, ret+40(FP)
	RET
