package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Scan sums for one query straight from the codes, because planes that only one query reads cost more to write than to
// use. A register is four lanes of 16 bytes, and VPSHUFB looks every lane up in a table of its own, so that groups of
// codes need not fill a register. For one word of 64 codes:
//
//	VPERMB         eight codes       byte g of all eight, for g = 0 to 7
//	VPUNPCKxQDQ    sixteen codes     lane l has byte 2l of all sixteen, or byte 2l+1
//	VPSHUFB        both halves of every byte, four bits each
//
// The sums of the lanes are added up last, which turns four registers of 16 codes into one of 64.

// scanTables is the size of the tables of a word: the lower and upper halves of even bytes, then of odd ones.
const scanTables = 256

// scanner is the registers of a kernel of scan.
type scanner struct {
	words                     int
	codes, tables             Register
	order                     []VecVirtual // by word: where its bytes are in a register of codes
	part                      []Register   // by register of codes, from the second on: the bytes that it fills
	low, high                 VecVirtual   // the lower half of a byte, and the matrix that extracts the upper one
	entries                   [][]VecVirtual
	upper, odd                Register // the lanes 2 and 3, and 1 and 3
	swapped                   VecVirtual
	dst, out, number, current Register
}

// orders is where byte g of word w of code c is, for eight codes in as many registers as they have words.
func orders(words, w int) Mem {
	bytes := make([]byte, 64)
	for g := range 8 {
		for c := range 8 {
			bytes[8*g+c] = byte(8*(words*(c%(8/words))+w) + g)
		}
	}
	return table(fmt.Sprintf("order%dOf%d", w, words), bytes)
}

func constant(x uint64) Register {
	r := GP64()
	MOVQ(U64(x), r)
	return r
}

func mask(x uint64) Register {
	k := K()
	KMOVQ(constant(x), k)
	return k
}

func newScanner(words int) *scanner {
	s := &scanner{words: words, dst: param("dst"), codes: param("codes"), tables: param("tables")}
	for w := range words {
		order := ZMM()
		VMOVDQU64(orders(words, w), order)
		s.order = append(s.order, order)
	}
	for r := 1; r < words; r++ {
		bytes := uint64(1)<<(8/words) - 1
		s.part = append(s.part, mask(bytes<<(8/words*r)*0x0101010101010101))
	}
	s.low, s.high, s.swapped = ZMM(), ZMM(), ZMM()
	VPBROADCASTQ(constant(0x0f0f0f0f0f0f0f0f), s.low)
	VPBROADCASTQ(constant(0x1020408000000000), s.high)
	swap := make([]byte, 64)
	for i, from := range []byte{2, 3, 8, 9, 6, 7, 12, 13} {
		swap[8*i] = from
	}
	VMOVDQU64(table(fmt.Sprintf("swapped%d", words), swap), s.swapped)
	s.upper, s.odd = mask(0xf0), mask(0xcc)
	if words <= 2 { // more tables do not fit the registers
		for w := range words {
			s.entries = append(s.entries, s.load(w))
		}
	}
	s.out, s.number = GP64(), GP64()
	XORQ(s.out, s.out)
	XORQ(s.number, s.number)
	return s
}

// load returns the tables of a word.
func (s *scanner) load(w int) (entries []VecVirtual) {
	for i := range scanTables / 64 {
		v := ZMM()
		VMOVDQU64(Mem{Base: s.tables, Disp: scanTables*w + 64*i}, v)
		entries = append(entries, v)
	}
	return entries
}

// row returns the bytes of word w of eight codes, sorted by their place in the word.
func (s *scanner) row(w, row int) VecVirtual {
	v := ZMM()
	for r := range s.words {
		at := Mem{Base: s.codes, Disp: 64 * (s.words*row + r)}
		if r == 0 {
			VPERMB(at, s.order[w], v)
		} else {
			VPERMB(at, s.order[w], s.part[r-1], v)
		}
	}
	return v
}

// block returns the sums of 64 codes: register p has, in every lane, those of codes 16p to 16p+15 over some groups.
func (s *scanner) block() []VecVirtual {
	sums := make([]VecVirtual, 4)
	for w := range s.words {
		var entries []VecVirtual
		if s.entries == nil {
			entries = s.load(w)
		} else {
			entries = s.entries[w]
		}
		for p := range sums {
			a, b := s.row(w, 2*p), s.row(w, 2*p+1)
			even := ZMM()
			VPUNPCKLQDQ(b, a, even)
			VPUNPCKHQDQ(b, a, a)
			for i, bytes := range []VecVirtual{even, a} {
				low, high := ZMM(), ZMM()
				VPANDQ(s.low, bytes, low)
				VGF2P8AFFINEQB(Imm(0), s.high, bytes, high)
				VPSHUFB(low, entries[2*i], low)
				VPSHUFB(high, entries[2*i+1], high)
				VPADDUSB(high, low, low)
				if sums[p] == nil {
					sums[p] = low
				} else {
					VPADDUSB(low, sums[p], sums[p])
				}
			}
		}
	}
	return sums
}

// addLanes adds up the lanes of four registers: lane p of the result is the sum of those of register p.
func (s *scanner) addLanes(sums []VecVirtual, add instruction) VecVirtual {
	fold := func(a, b VecVirtual) VecVirtual { // lanes 0 and 1 of each, to which 2 and 3 are added
		const twoThreeZeroOne = 0x4e
		v, w := ZMM(), ZMM()
		VPBLENDMQ(b, a, s.upper, v)
		VSHUFI64X2(Imm(twoThreeZeroOne), b, a, w)
		add(w, v, v)
		return v
	}
	a, b, v := fold(sums[0], sums[2]), fold(sums[1], sums[3]), ZMM()
	VPBLENDMQ(b, a, s.odd, v)
	VPERMT2Q(b, s.swapped, a)
	add(a, v, v)
	return v
}

// scan is a kernel for codes of a few words. The sums are bytes; for four words those of a lane are, and the sum of
// these has 16 bits.
func scan(words int) {
	TEXT(fmt.Sprintf("scan%dAVX512", 64*words), NOSPLIT,
		"func(dst, codes *uint64, tables *uint8, blocks, limit int) int")
	s := newScanner(words)
	blocks, limit, within := param("blocks"), param("limit"), ZMM()
	if words == 4 {
		VPBROADCASTW(limit.(GPVirtual).As32(), within)
	} else {
		VPBROADCASTB(limit.(GPVirtual).As32(), within)
	}
	Label("loop")
	CMPQ(s.number, blocks)
	JGE(LabelRef("done"))
	found := GP64()
	if words == 4 {
		s.wideSums(within, found)
	} else {
		sum, k := s.addLanes(s.block(), VPADDUSB), K()
		VPCMPUB(Imm(atMost), within, sum, k)
		KORTESTQ(k, k)
		JZ(LabelRef("next"))
		KMOVQ(k, found)
	}
	MOVQ(found, Mem{Base: s.dst})
	MOVQ(s.number, Mem{Base: s.dst, Disp: numberAt})
	ADDQ(Imm(recordSize), s.dst)
	INCQ(s.out)
	Label("next")
	ADDQ(U32(uint32(8*perBlock*words)), s.codes)
	INCQ(s.number)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	Store(s.out, ReturnIndex(0))
	RET()
}

// wideSums leaves the codes within the limit in found, or jumps to next if there are none.
func (s *scanner) wideSums(within VecVirtual, found GPVirtual) {
	even, odd := s.block(), make([]VecVirtual, 4)
	low := ZMM()
	VPBROADCASTQ(constant(0x00ff00ff00ff00ff), low)
	for p, sum := range even {
		odd[p] = ZMM()
		VPSRLW(Imm(8), sum, odd[p])
		VPANDQ(low, sum, sum)
	}
	a, b, k := s.addLanes(even, VPADDW), s.addLanes(odd, VPADDW), K()
	least := ZMM()
	VPMINUW(a, b, least)
	VPCMPUW(Imm(atMost), within, least, k)
	KORTESTD(k, k)
	JZ(LabelRef("next"))
	VPCMPUW(Imm(atMost), within, a, k)
	VPMOVM2W(k, a)
	VPANDQ(low, a, a)
	VPCMPUW(Imm(atMost), within, b, k)
	VPMOVM2W(k, b)
	VPSLLW(Imm(8), b, b)
	VPORQ(b, a, a)
	VPMOVB2M(a, k)
	KMOVQ(k, found)
}
