package index

import (
	"context"
	"math"
	"math/bits"

	"hashgrove/internal/hamming"
	"hashgrove/internal/par"
)

// Multi-index hashing (Norouzi, Punjani, Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012).
//
// The bits of a code are divided into m parts, and each part has a table from its value to the codes that have it. If
// two codes differ in at most r = m*a + t bits (0 <= t < m), then by the pigeonhole principle they differ in at most a
// bits in one of the parts 0 to t, or in at most a-1 bits in one of the others. So step r of a search,
//
//	look up in table t = r mod m all values that differ from the query's in exactly a = r / m bits,
//
// completes the codes at distance r: after it, every code at distance r or less has been found. The steps continue
// until k items within r are known, or r is the radius. Cost: C(s, a) look-ups for a part of s bits, and the codes they
// find.
//
// A table has about as many buckets as there are codes. The bucket of a value is the top of
//
//	h(x) = sum over words w of (x_w AND part_w) * c_w   mod 2^64,
//
// which is linear: flipping a bit adds or subtracts a constant, so a look-up costs an addition. Collisions are
// harmless, because the full distance to a code is always computed before it counts. Besides the slot of a code, a
// bucket holds a sketch of it: 32 bits, mostly from outside the part. Most codes differ from the query in too many of
// these and are skipped without reading the code itself, which would miss the caches.
type tables struct {
	shift uint // h >> shift is the bucket
	parts []part
}

// part is the table of one part.
type part struct {
	mask    []uint64 // the bits of the part
	bit     []int    // their numbers
	half    int      // which 32 bits of a code are its sketch
	outside uint32   // the bits of the sketch that are outside the part
	start   []uint32 // bucket b holds entries[start[b]:start[b+1]]
	entries []entry
}

// entry is a code in a bucket.
type entry struct{ slot, sketch uint32 }

func (p *part) sketch(code []uint64) uint32 { return uint32(code[p.half>>1] >> (32 &^ (p.half << 5))) }

// multiplier returns c_w, which is odd.
func multiplier(w int) uint64 {
	x := uint64(w+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31 | 1
}

// newPart returns part i of m, without its table.
func newPart(width, m, i int) part {
	words := (width + 63) / 64
	p := part{mask: make([]uint64, words), half: ((i+1)*width/m + 31) / 32 % (2 * words)}
	for b := i * width / m; b < (i+1)*width/m; b++ {
		p.bit = append(p.bit, b)
		p.mask[b>>6] |= 1 << (63 - b&63)
	}
	p.outside = ^p.sketch(p.mask)
	return p
}

// bucketBits returns the number of bits of a bucket number for n codes.
func bucketBits(n int) int { return max(bits.Len(uint(n))-1, 1) }

// newTables builds m tables in parallel.
func newTables(ctx context.Context, codes hamming.Codes, m, threads int) (*tables, error) {
	n := codes.Len()
	t := &tables{shift: uint(64 - bucketBits(n)), parts: make([]part, m)}
	err := par.For(ctx, threads, m, func(i int) {
		p := newPart(codes.Bits, m, i)
		p.start, p.entries = make([]uint32, 1<<bucketBits(n)+1), make([]entry, n)
		for s := range n {
			p.start[p.hash(codes.Row(s))>>t.shift]++
		}
		sum := uint32(0)
		for b, count := range p.start {
			sum += count
			p.start[b] = sum
		}
		// From the last code to the first, so that start ends at the beginnings and buckets are in ascending order.
		for s := n - 1; s >= 0; s-- {
			code := codes.Row(s)
			b := p.hash(code) >> t.shift
			p.start[b]--
			p.entries[p.start[b]] = entry{uint32(s), p.sketch(code)}
		}
		t.parts[i] = p
	})
	return t, err
}

func (t *tables) bytes() int {
	n := 0
	for _, p := range t.parts {
		n += 4*len(p.start) + 8*len(p.entries)
	}
	return n
}

func (p *part) hash(code []uint64) uint64 {
	h := uint64(0)
	for w, m := range p.mask {
		h += (code[w] & m) * multiplier(w)
	}
	return h
}

// flips returns the change of h when each of the part's bits of the query is flipped.
func (p *part) flips(q []uint64) []uint64 {
	flip := make([]uint64, len(p.bit))
	for i, b := range p.bit {
		one := uint64(1) << (63 - b&63)
		flip[i] = one * multiplier(b>>6)
		if q[b>>6]&one != 0 {
			flip[i] = -flip[i]
		}
	}
	return flip
}

// Cost of a look-up and of a code it finds, in nanoseconds. A look-up misses the caches, but several run at a time; the
// codes of a bucket are adjacent.
const (
	lookUpCost = 40
	meetCost   = 3
)

// Numbers of look-ups and of visits to codes that run at a time.
const (
	perLookUp = 64
	perVisit  = 32
)

// probe is the state of one search.
type probe struct {
	tables *tables
	codes  hamming.Codes
	q      []uint64
	into   *collector
	seen   slotSet
	budget float64 // nanoseconds that are left

	part   int      // of this step
	a      int      // bits that this step flips
	limit  int      // of the collector when last asked
	hashes []uint64 // to look up, at most perLookUp
	visits []uint32 // slots to visit, at most perVisit
	opened uint32   // never used, but keeps the reads alive

	distance [perVisit]int // of the visits
}

// lookUp finds the codes of the collected hashes. Separate loops find, open and read buckets, and codes are visited
// several at a time, so that the processor waits for many reads at once.
func (p *probe) lookUp() bool {
	table := &p.tables.parts[p.part]
	p.budget -= float64(lookUpCost * len(p.hashes))
	var begin, end [perLookUp]uint32
	for i, h := range p.hashes {
		b := h >> p.tables.shift
		begin[i], end[i] = table.start[b], table.start[b+1]
	}
	for i := range p.hashes {
		if begin[i] < end[i] {
			p.opened += table.entries[begin[i]].slot
		}
	}
	p.limit = p.into.Limit()
	for i := range p.hashes {
		bucket := table.entries[begin[i]:end[i]]
		if len(bucket) > 0 {
			p.sift(bucket)
		}
		if p.budget -= float64(meetCost * len(bucket)); p.budget < 0 {
			return false
		}
	}
	p.visit()
	p.hashes = p.hashes[:0]
	return true
}

// visit takes the remaining codes that are near enough.
func (p *probe) visit() {
	p.measure()
	for i, s := range p.visits {
		if p.distance[i] <= p.into.Limit() && p.seen.insert(s) {
			p.into.add(s, p.distance[i])
		}
	}
	p.visits = p.visits[:0]
	p.limit = p.into.Limit()
}

// search runs the steps until the collector has what it wants. It returns false if that would take longer than the
// budget in nanoseconds; the collector is then useless.
func (t *tables) search(codes hamming.Codes, q []uint64, into *collector, budget float64) bool {
	p := &probe{tables: t, codes: codes, q: q, into: into, budget: budget}
	m := len(t.parts)
	hash, flip := make([]uint64, m), make([][]uint64, m)
	for r := 0; r <= into.Limit(); r++ {
		i, a := r%m, r/m
		if a == 0 {
			hash[i], flip[i] = t.parts[i].hash(q), t.parts[i].flips(q)
		}
		if a > len(flip[i]) {
			continue
		}
		if float64(lookUpCost*binomial(len(flip[i]), a)) > p.budget {
			return false
		}
		p.part, p.a = i, a
		if !p.step(hash[i], flip[i], a) || !p.lookUp() {
			return false
		}
		if into.full && into.limit <= r {
			break
		}
	}
	return true
}

// step looks up all values with a more flipped bits.
func (p *probe) step(h uint64, flip []uint64, a int) bool {
	if a == 0 {
		p.hashes = append(p.hashes, h)
		return len(p.hashes) < perLookUp || p.lookUp()
	}
	for i := 0; i+a <= len(flip); i++ {
		if !p.step(h+flip[i], flip[i+1:], a-1) {
			return false
		}
	}
	return true
}

// sift queues the codes of a bucket that may be within the limit for a visit. A code that is here because of its value,
// not by collision, differs in a bits of the part and in the visible bits of the sketch. A code that collides has its
// own look-up.
func (p *probe) sift(bucket []entry) {
	table := &p.tables.parts[p.part]
	sketch := table.sketch(p.q)
	for _, e := range bucket {
		if bits.OnesCount32((e.sketch^sketch)&table.outside) > p.limit-p.a {
			continue
		}
		if p.visits = append(p.visits, e.slot); len(p.visits) == perVisit {
			p.visit()
		}
	}
}

// measure sets the distances to the visited codes.
func (p *probe) measure() {
	if data := p.codes.Data; len(p.q) == 1 {
		for i, s := range p.visits {
			p.distance[i] = bits.OnesCount64(p.q[0] ^ data[s])
		}
		return
	}
	for i, s := range p.visits {
		p.distance[i] = hamming.Distance(p.q, p.codes.Row(int(s)))
	}
}

// slotSet is a set of slots with open addressing, at most half full; 0 is free, otherwise slot+1.
type slotSet struct {
	place []uint32
	n     int
}

// insert adds a slot and reports whether it is new.
func (s *slotSet) insert(slot uint32) bool {
	if 2*s.n >= len(s.place) {
		old := s.place
		*s = slotSet{place: make([]uint32, max(128, 4*s.n))}
		for _, x := range old {
			if x != 0 {
				s.insert(x - 1)
			}
		}
	}
	mask := uint32(len(s.place) - 1)
	at := slot * 0x9e3779b1 >> 7 & mask
	for s.place[at] != 0 {
		if s.place[at] == slot+1 {
			return false
		}
		at = (at + 1) & mask
	}
	s.place[at] = slot + 1
	s.n++
	return true
}

// binomial returns the number of ways to choose k of n, as a float64 because it may be huge.
func binomial(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
		if c > math.MaxInt32 {
			return c
		}
	}
	return c
}
