package hamming

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

// Sweeps by margins. The queries of a block share the work of turning a tile of codes into planes, where byte i of
// plane g is group g of the bits of code i:
//
//	sweep           for each tile of codes
//	                    pack: the planes of the tile                     once for all queries
//	                    for each query of the block
//	                        bound: look up and add a byte per group      64 codes at a time
//	                        the codes within the limit: exact distance   rare after the first few tiles
//
// A query has a table per group, which holds the sum of the weights of the differing bits for every value of the group
// (Andre, Kermarrec, Le Scouarnec, "Cache locality is not enough: High-Performance Nearest Neighbor Search with Product
// Quantization Fast Scan", VLDB 2015, look up such tables in registers for product quantisers). Sums are bytes that
// saturate at 255. With a scale s a table holds
//
//	min(255, floor(sum of the weights / s)),
//
// and the bytes never add up to more than D/s for a code at distance D, so no code within the limit T has more than
// floor(T/s). For T < 255 the scale is 1 and the bytes are the distance itself. Beyond that, bytes are summed only
// within each word (or half of it, if there is just one), and these sums in 16 bits: the scale stays small, and few
// codes pass that are too far. Those are compared again. Cost: a look-up and an addition per group and 64 codes (or
// 32), 11 groups of 6 bits (or 16 of 4) per word.
//
// A single query cannot share planes. Its codes first go through the kernel of Hamming distances, as long as that
// leaves few: a code within T differs in at most as many bits as there are smallest weights that add up to T.

// perBlock is the number of codes whose planes are stored together.
const perBlock = 64

// nearBlock is a block with codes within the limit, as the kernels write it.
type nearBlock struct {
	sums   [perBlock]uint8
	mask   uint64 // bit i for code i
	number uint64
}

// WeightedQuery is a query with weights for its first bits, which are the ones that count. Sweeps keep tables in it, so
// only one goroutine at a time may use it.
type WeightedQuery struct {
	code     []uint64
	weights  []uint8
	last     uint64   // mask of the bits that count in the last word
	smallest []int    // smallest[h] is the sum of the h smallest weights
	bytes    []uint16 // sums of weights by byte of the code and its value

	group  int      // bits per group; 0 before the first table
	exact  []uint16 // by group and value: the sum of the weights
	tables []uint8  // the same, divided by scale and rounded down
	scale  int

	hopeless int // for single queries: this many differing bits leave too many codes
}

// NewWeightedQuery returns a query with weights for its first bits.
func NewWeightedQuery(code []uint64, weights []uint8) *WeightedQuery {
	if len(weights) < 1 || len(weights) > MaxWeightedBits || len(weights) > 64*len(code) {
		panic("hamming: sizes of query and weights differ")
	}
	q := &WeightedQuery{
		code: code[:(len(weights)+63)/64], weights: weights, last: math.MaxUint64 << (-len(weights) & 63),
		smallest: make([]int, 1, len(weights)+1), hopeless: len(weights),
	}
	var count [MaxWeight + 1]int
	for _, w := range weights {
		if w > MaxWeight {
			panic("hamming: a weight above the greatest")
		}
		count[w]++
	}
	for w, n := range count {
		for range n {
			q.smallest = append(q.smallest, q.smallest[len(q.smallest)-1]+w)
		}
	}
	return q
}

// Code returns the words of the query's code that count.
func (q *WeightedQuery) Code() []uint64 { return q.code }

// Weights returns the weights of the first bits.
func (q *WeightedQuery) Weights() []uint8 { return q.weights }

// Most returns the largest possible distance: the sum of all weights.
func (q *WeightedQuery) Most() int { return q.smallest[len(q.smallest)-1] }

// Distance returns the distance to a code, as defined by WeightedDistance.
func (q *WeightedQuery) Distance(code []uint64) int {
	return byteDistance(q.byteSums(), code[:len(q.code)])
}

// Reach returns the largest number of bits in which a code within a distance can differ, because the distance is at
// least the sum of that many smallest weights. It is negative if the distance is.
func (q *WeightedQuery) Reach(distance int) int {
	h, exact := slices.BinarySearch(q.smallest, distance)
	if !exact {
		return h - 1
	}
	for h+1 < len(q.smallest) && q.smallest[h+1] == distance {
		h++
	}
	return h
}

// byteSums returns the tables for each byte of the code.
func (q *WeightedQuery) byteSums() []uint16 {
	if q.bytes == nil {
		q.bytes = q.sumsBy(8)
	}
	return q.bytes
}

// sumsBy returns the sums of the weights for every value of every group of bits of a word, from the highest on. If the
// word does not divide evenly, its last group has fewer bits, the lowest ones of the value.
func (q *WeightedQuery) sumsBy(group int) []uint16 {
	perWord, size := (63+group)/group, 1<<group
	sums := make([]uint16, 0, len(q.code)*perWord*size)
	for w, x := range q.code {
		for first := 0; first < 64 && 64*w+first < len(q.weights); first += group {
			n := min(group, 64-first)
			table := sums[len(sums) : len(sums)+size]
			sums = sums[:len(sums)+size]
			own := int(x>>(64-first-n)) & (1<<n - 1)
			table[own] = 0
			for i := range n { // bit i, counted from the lowest, doubles the table, on the query's own side of the bit
				weight := uint16(0)
				if b := 64*w + first + n - 1 - i; b < len(q.weights) {
					weight = uint16(q.weights[b])
				}
				for v := range 1 << i {
					table[own&^(1<<i-1)^1<<i|v] = table[own&^(1<<i-1)|v] + weight
				}
			}
			for v := 1 << n; v < size; v++ {
				table[v] = table[v&(1<<n-1)]
			}
		}
	}
	return sums
}

// usual is a sum of bytes that is large but seldom reaches 255.
const usual = 160

// prepare makes the tables for a limit unless the current ones will do. It returns the limit of the sums, and whether
// they have 16 bits.
func (q *WeightedQuery) prepare(group, limit int) (atMost int, wide bool) {
	if q.group != group {
		q.group, q.scale, q.exact = group, 0, q.sumsBy(group)
		q.tables = make([]uint8, len(q.exact))
	}
	scale := 1
	if wide = limit >= 255; wide {
		scale = limit/(usual*max(len(q.code), 2)) + 1
	}
	if scale < q.scale || q.scale == 0 {
		q.scale = scale
		part := uint32(1<<16) / uint32(scale)
		for i, x := range q.exact {
			q.tables[i] = uint8(min(uint32(x)*part>>16, math.MaxUint8))
		}
	}
	return limit / q.scale, wide
}

// planeBytes is the size of the planes of a tile: most of the first cache.
const planeBytes = 24 << 10

// weightedTile is a run of codes and their planes.
type weightedTile struct {
	codes   Codes
	words   int // words that count
	group   int // bits per group; 0 if there are no planes
	size    int // bytes of the planes of a block
	first   int // first code of the tile
	n       int // codes of the tile
	planes  []uint8
	padding []uint64
	near    []nearBlock
	hits    []uint32
}

var weightedTiles = sync.Pool{New: func() any { return new(weightedTile) }}

// open prepares a tile for codes of the given width and returns the largest number of codes it holds, a multiple of
// four blocks.
func (t *weightedTile) open(c Codes, width int) int {
	t.codes, t.words, t.group = c, (width+63)/64, groupBits()
	if t.group == 0 {
		t.hits = slices.Grow(t.hits[:0], 4<<10)[:4<<10]
		return 4 << 10
	}
	t.size = t.words * ((63 + t.group) / t.group) * perBlock
	blocks := max(planeBytes/t.size&^3, 4)
	t.planes = slices.Grow(t.planes[:0], blocks*t.size)[:blocks*t.size]
	t.padding = slices.Grow(t.padding[:0], perBlock*c.Words)[:perBlock*c.Words]
	t.near = slices.Grow(t.near[:0], blocks)[:blocks]
	t.hits = slices.Grow(t.hits[:0], blocks*perBlock+slack)[:blocks*perBlock+slack]
	return blocks * perBlock
}

// load makes the planes of the tile's codes.
func (t *weightedTile) load() {
	if t.group == 0 {
		return
	}
	whole := t.n / perBlock
	codes := t.codes.Data[t.first*t.codes.Words : (t.first+t.n)*t.codes.Words]
	t.pack(t.planes, codes, whole)
	if rest := codes[whole*perBlock*t.codes.Words:]; len(rest) > 0 {
		clear(t.padding[copy(t.padding, rest):])
		t.pack(t.planes[whole*t.size:], t.padding, 1)
	}
}

// pack makes the planes of whole blocks.
func (t *weightedTile) pack(dst []uint8, codes []uint64, blocks int) {
	if blocks == 0 {
		return
	}
	for w := range t.words {
		packWord(dst[w*t.size/t.words:], codes[w:], blocks, t.size, t.codes.Words)
	}
}

// below returns the codes of the tile within the limit, each as distance<<16 | i.
func (t *weightedTile) below(q *WeightedQuery, limit int) []uint32 {
	if limit < 0 {
		return nil
	}
	if t.group == 0 {
		return q.belowGo(t.hits[:0], t.codes.Data[t.first*t.codes.Words:], t.n, t.codes.Words, limit)
	}
	atMost, wide := q.prepare(t.group, limit)
	piece := 0
	if perWord := t.size / perBlock / t.words; wide && t.words == 1 {
		piece = (perWord + 1) / 2
	} else if wide {
		piece = perWord
	}
	blocks := (t.n + 4*perBlock - 1) / (4 * perBlock) * 4
	found := boundBlocks(t.near[:blocks], t.planes[:blocks*t.size], q.tables, atMost, piece)
	hits := t.hits[:0]
	for i := range t.near[:found] {
		b := &t.near[i]
		for mask := b.mask; mask != 0; mask &= mask - 1 {
			at := bits.TrailingZeros64(mask)
			code := int(b.number)*perBlock + at
			if code >= t.n {
				break
			}
			d := int(b.sums[at])
			if wide {
				if d = q.Distance(t.codes.Row(t.first + code)); d > limit {
					continue
				}
			}
			hits = append(hits, uint32(d)<<16|uint32(code))
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
	most := t.open(c, width)
	// The first tiles are small, because no limit has been lowered yet and all their codes are hits.
	run := min(4*perBlock, most)
	for first, next := lo, lo; first < hi; first, run = next, min(2*run, most) {
		next = min(first+run, hi)
		t.first, t.n = first, next-first
		if len(queries) == 1 && t.group > 0 {
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

// belowGo is plain Go: the number of differing bits decides for most codes, and tables by bytes for the others. It
// appends to hits.
func (q *WeightedQuery) belowGo(hits []uint32, codes []uint64, n, stride, limit int) []uint32 {
	sums, words, reach := q.byteSums(), len(q.code), q.Reach(limit)
	for i := range n {
		code := codes[i*stride : i*stride+words]
		if distanceGo(q.code, code, q.last) > reach {
			continue
		}
		if d := byteDistance(sums, code); d <= limit {
			hits = append(hits, uint32(d)<<16|uint32(i))
		}
	}
	return hits
}

// byteDistance adds up the table entries of a code's bytes.
func byteDistance(sums []uint16, code []uint64) int {
	d := 0
	for _, x := range code {
		for shift := 56; shift >= 0 && len(sums) > 0; shift -= 8 {
			d += int(sums[:256][uint8(x>>shift)])
			sums = sums[256:]
		}
	}
	return d
}

// HalfDistance returns the part of the distance that comes from 32 bits of a code, starting at bit 32*half.
func (q *WeightedQuery) HalfDistance(half int, x uint32) int {
	sums := q.byteSums()
	if first := 4 * half * 256; first < len(sums) {
		return byteDistance(sums[first:min(first+4*256, len(sums))], []uint64{uint64(x) << 32})
	}
	return 0
}
