package hamming

import (
	"math/bits"
	"slices"
	"sync"
)

// Sweeps by margins. A query has a table per group of bits, which holds the sum of the weights of the differing bits
// for every value of the group (Andre, Kermarrec, Le Scouarnec, "Cache locality is not enough: High-Performance Nearest
// Neighbor Search with Product Quantization Fast Scan", VLDB 2015, look up such tables in registers for product
// quantisers). The groups of each word, half of a single word, or a lane of the register make a piece, whose sum is a
// byte that saturates at 255; the sums of the pieces are added in 16 bits. (A scan of up to two words has one piece.)
// With a scale s a table holds
//
//	min(255, floor(sum of the weights / s)),
//
// so no code within the limit T has a sum of more than floor(T/s). The scale is such that few pieces saturate, and the
// codes that pass are compared again. Planes with one piece, too, would be at most a quarter faster.
//
// Many queries share the work of turning a tile of codes into planes, where byte i of plane g is group g of the bits of
// code i:
//
//	sweep           for each tile of codes
//	                    pack: the planes of the tile                     once for all queries
//	                    for each query
//	                        bound: look up and add a byte per group      64 codes at a time
//	                        the codes within the limit: exact distance   rare after the first few tiles
//
// Cost: a look-up and an addition per group and 64 codes (or 32), 11 groups of 6 bits (or 16 of 4) per word.
//
// A few queries cannot share planes. With AVX-512 they look up codes as they are, 16 groups per word (scan). Otherwise
// the codes first go through the kernel of Hamming distances, as long as that leaves few: a code within T differs in at
// most as many bits as there are smallest weights that add up to T.
//
// On an Emerald Rapids, microseconds per query over 65,536 codes, alone and in a batch of 64:
//
//	bits   Go      AVX2           AVX-512, planes   AVX-512, scan
//	64     1,250   334 and 17     57 and 6          15
//	128    4,600   752 and 52     110 and 16        29
//	256    8,900   2,022 and 143  254 and 30        91

// perBlock is the number of codes whose planes are stored together.
const perBlock = 64

// nearBlock is a block with codes within the limit, as the kernels write it.
type nearBlock struct {
	mask   uint64 // bit i for code i
	number uint64
}

// planeBytes is the size of the planes of a tile: most of the first cache.
const planeBytes = 24 << 10

// scanRun is the number of codes of a tile without planes.
const scanRun = 4 << 10

// fewQueries is the number of queries above which sharing planes pays off.
const fewQueries = 4

// weightedTile is a run of codes and their planes.
type weightedTile struct {
	codes   Codes
	words   int // words that count
	layout  layout
	size    int // bytes of the planes of a block; 0 if there are none
	first   int // first code of the tile
	n       int // codes of the tile
	planes  []uint8
	padding []uint64
	near    []nearBlock
	hits    []uint32
}

var weightedTiles = sync.Pool{New: func() any { return new(weightedTile) }}

// open prepares a tile for some queries over codes of the given width and returns the largest number of codes it holds,
// a multiple of four blocks.
func (t *weightedTile) open(c Codes, width, queries int) int {
	t.codes, t.words, t.layout, t.size = c, (width+63)/64, layout{group: groupBits()}, 0
	blocks := scanRun / perBlock
	switch group := t.layout.group; {
	case group == 0:
	case queries < fewQueries && canScan(c.Words):
		t.layout = layout{group: 4, words: c.Words}
	default:
		t.size = t.words * ((63 + group) / group) * perBlock
		blocks = max(planeBytes/t.size&^3, 4)
		t.planes = slices.Grow(t.planes[:0], blocks*t.size)[:blocks*t.size]
	}
	t.padding = slices.Grow(t.padding[:0], perBlock*c.Words)[:perBlock*c.Words]
	t.near = slices.Grow(t.near[:0], blocks)[:blocks]
	t.hits = slices.Grow(t.hits[:0], blocks*perBlock+slack)[:blocks*perBlock+slack]
	return blocks * perBlock
}

// load makes the planes of the tile's codes.
func (t *weightedTile) load() {
	if t.size == 0 {
		return
	}
	whole := t.n / perBlock
	codes := t.codes.Data[t.first*t.codes.Words : (t.first+t.n)*t.codes.Words]
	if whole > 0 {
		packBlocks(t.planes, codes, whole, t.size, t.words, t.codes.Words)
	}
	if rest := codes[whole*perBlock*t.codes.Words:]; len(rest) > 0 {
		packBlocks(t.planes[whole*t.size:], t.pad(rest), 1, t.size, t.words, t.codes.Words)
	}
}

// pad returns the codes of a block that is not whole, followed by zeros.
func (t *weightedTile) pad(codes []uint64) []uint64 {
	clear(t.padding[copy(t.padding, codes):])
	return t.padding
}

// below returns the codes of the tile within the limit, each as distance<<16 | i.
func (t *weightedTile) below(q *WeightedQuery, limit int) []uint32 {
	switch {
	case limit < 0:
		return nil
	case t.layout.group == 0:
		return q.belowGo(t.hits[:0], t.codes.Data[t.first*t.codes.Words:], t.n, t.codes.Words, limit)
	case t.layout.words > 0:
		return t.collect(q, t.near[:t.scan(q, q.prepare(t.layout, limit))], limit)
	}
	return t.collect(q, t.near[:t.bound(q, q.prepare(t.layout, limit))], limit)
}

// scan finds the blocks with codes whose table entries add up to at most a limit, and returns their number.
func (t *weightedTile) scan(q *WeightedQuery, atMost int) int {
	codes, whole := t.codes.Data[t.first*t.codes.Words:(t.first+t.n)*t.codes.Words], t.n/perBlock
	found := 0
	if whole > 0 {
		found = scanBlocks(t.near[:whole], codes, t.codes.Words, q.tables, atMost)
	}
	if rest := codes[whole*perBlock*t.codes.Words:]; len(rest) > 0 {
		last := t.near[found : found+1]
		if scanBlocks(last, t.pad(rest), t.codes.Words, q.tables, atMost) > 0 {
			last[0].number = uint64(whole)
			found++
		}
	}
	return found
}

// bound is scan by planes.
func (t *weightedTile) bound(q *WeightedQuery, atMost int) int {
	piece := t.size / perBlock / t.words
	if t.words == 1 {
		piece = (piece + 1) / 2
	}
	blocks := t.blocks()
	return boundBlocks(t.near[:blocks], t.planes[:blocks*t.size], q.tables, atMost, piece)
}

// blocks returns the number of blocks of the tile, a multiple of four.
func (t *weightedTile) blocks() int { return (t.n + 4*perBlock - 1) / (4 * perBlock) * 4 }

// collect returns the codes of some blocks within the limit, each as distance<<16 | i.
func (t *weightedTile) collect(q *WeightedQuery, near []nearBlock, limit int) []uint32 {
	hits, sums, words, stride := t.hits[:0], q.byteSums(), len(q.code), t.codes.Words
	for _, b := range near {
		first := int(b.number) * perBlock
		if rest := t.n - first; rest < perBlock { // beyond the last code of the tile
			b.mask &= 1<<max(rest, 0) - 1
		}
		for mask := b.mask; mask != 0; mask &= mask - 1 {
			i := first + bits.TrailingZeros64(mask)
			if d := byteDistance(sums, t.codes.Data[(t.first+i)*stride:][:words]); d <= limit {
				hits = append(hits, uint32(d)<<16|uint32(i))
			}
		}
	}
	return hits
}

// SweepWeighted passes every code in [lo, hi) whose distance by margins is within the limit of a query's sink to that
// sink. All queries have weights for the same number of bits. It uses one goroutine.
func (c Codes) SweepWeighted(lo, hi int, queries []*WeightedQuery, sinks []Sink) {
	if len(queries) != len(sinks) {
		panic("hamming: numbers of queries and sinks differ")
	}
	if len(queries) == 0 {
		return
	}
	width := len(queries[0].weights)
	for _, q := range queries {
		if len(q.weights) != width || width > c.Bits {
			panic("hamming: weights for different numbers of bits")
		}
	}
	t := weightedTiles.Get().(*weightedTile)
	defer weightedTiles.Put(t)
	most := t.open(c, width, len(queries))
	// The first tiles are small, because no limit has been lowered yet and all their codes are hits.
	run := min(4*perBlock, most)
	for first, next := lo, lo; first < hi; first, run = next, min(2*run, most) {
		next = min(first+run, hi)
		t.first, t.n = first, next-first
		if len(queries) == 1 && t.size > 0 {
			if hits, ok := t.belowFew(queries[0], sinks[0].Limit()); ok {
				if len(hits) > 0 {
					sinks[0].Take(first, hits)
				}
				continue
			}
		}
		t.load()
		for i, q := range queries {
			if hits := t.below(q, sinks[i].Limit()); len(hits) > 0 {
				sinks[i].Take(first, hits)
			}
		}
	}
	t.codes = Codes{}
}

// At most one in few codes may be left for an exact comparison one by one.
const few = 32

// belowFew is below by way of Hamming distances. It returns false if that would leave too many codes; it then tries
// again only with fewer bits.
func (t *weightedTile) belowFew(q *WeightedQuery, limit int) (hits []uint32, ok bool) {
	reach := q.Reach(limit)
	if reach >= q.hopeless {
		return nil, false
	}
	codes := t.codes.Data[t.first*t.codes.Words : (t.first+t.n)*t.codes.Words]
	n := below(t.hits[:t.n+slack], q.code, codes, t.codes.Words, q.last, reach)
	if n > t.n/few+8 {
		q.hopeless = reach
		return nil, false
	}
	hits = t.hits[:0]
	for _, h := range t.hits[:n] {
		if d := q.Distance(t.codes.Row(t.first + int(h&0xffff))); d <= limit {
			hits = append(hits, uint32(d)<<16|h&0xffff)
		}
	}
	return hits, true
}
