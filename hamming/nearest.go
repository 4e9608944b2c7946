package hamming

import (
	"context"
	"math"
	"slices"

	"hashgrove/internal/par"
)

// Nearest codes by counting. Distances are small integers, so nothing is sorted until the k nearest are known:
// count[d] is the number of codes seen at distance d, and the limit is the least d with
//
//	count[0] + ... + count[d] >= k.
//
// The limit only falls, and a code beyond it is never looked at again. Codes come in order of position, so that a
// later code at the limit itself loses the tie.

// Near is a code and its distance.
type Near struct {
	Pos      uint32
	Distance uint32
}

// compare orders by distance, then by position.
func compare(a, b Near) int {
	if a.Distance != b.Distance {
		return int(a.Distance) - int(b.Distance)
	}
	return int(int64(a.Pos) - int64(b.Pos))
}

// top is the Sink that keeps the k nearest codes.
type top struct {
	k      int
	limit  int   // the distance of the k-th nearest so far; beyond all distances while there are fewer
	within int   // codes seen at the limit or nearer
	count  []int // by distance
	near   []Near
}

func newTop(k, bits int) *top { return &top{k: k, limit: bits + 1, count: make([]int, bits+2)} }

func (t *top) Limit() int {
	if t.k == 0 {
		return -1
	}
	return t.limit - 1
}

func (t *top) Take(first int, hits []uint32) {
	for _, h := range hits {
		d := int(h >> 16)
		if d >= t.limit {
			continue
		}
		t.near = append(t.near, Near{uint32(first) + h&0xffff, uint32(d)})
		t.count[d]++
		if t.within++; t.within >= t.k {
			t.lower()
		}
	}
}

// lower moves the limit to where it belongs.
func (t *top) lower() {
	for t.limit > 0 && t.within-t.count[t.limit] >= t.k {
		t.within -= t.count[t.limit]
		t.limit--
	}
	if len(t.near) > 2*t.within+1024 {
		t.near = slices.DeleteFunc(t.near, func(n Near) bool { return int(n.Distance) > t.limit })
	}
}

// result returns the k nearest in order.
func (t *top) result() []Near {
	near := slices.DeleteFunc(t.near, func(n Near) bool { return int(n.Distance) > t.limit })
	slices.SortFunc(near, compare)
	return near[:min(t.k, len(near))]
}

// queriesPerSweep is the number of queries that share one reading of the codes.
const queriesPerSweep = 64

// codesPerTurn is the least number of codes of one turn when few queries leave cores idle.
const codesPerTurn = 1 << 16

// Parts is the number of parts that codes are cut into when as many blocks of queries are to keep the threads busy:
// a few per thread, because every part finds its own limit. Answers do not depend on it.
func (c Codes) Parts(blocks, threads int) int {
	threads = par.Threads(threads)
	if blocks >= threads {
		return 1
	}
	return max(min(4*threads, c.Len()/codesPerTurn), 1)
}

// Nearest returns for every query the k nearest codes, ordered by distance, then by position; all codes when there
// are fewer than k. The answer does not depend on the number of threads (0 for all cores).
func (c Codes) Nearest(ctx context.Context, queries Codes, k, threads int) ([][]Near, error) {
	if queries.Bits != c.Bits || k < 0 {
		panic("hamming: queries of another length, or less than no neighbours")
	}
	n, blocks := c.Len(), (queries.Len()+queriesPerSweep-1)/queriesPerSweep
	k = min(k, n)
	parts := c.Parts(blocks, threads)
	found := make([][]Near, parts*queries.Len())
	err := par.For(ctx, threads, blocks*parts, func(turn int) {
		block, part := turn/parts, turn%parts
		lo, hi := block*queriesPerSweep, min((block+1)*queriesPerSweep, queries.Len())
		rows, sinks := make([][]uint64, hi-lo), make([]Sink, hi-lo)
		for i := range rows {
			rows[i], sinks[i] = queries.Row(lo+i), newTop(k, c.Bits)
		}
		c.Sweep(part*n/parts, (part+1)*n/parts, c.Bits, rows, sinks)
		for i, s := range sinks {
			found[(lo+i)*parts+part] = s.(*top).result()
		}
	})
	if err != nil || parts == 1 {
		return found, err
	}
	near := make([][]Near, queries.Len())
	for q := range near {
		all := slices.Concat(found[q*parts : (q+1)*parts]...)
		slices.SortFunc(all, compare)
		near[q] = all[:min(k, len(all))]
	}
	return near, nil
}

// ball is the Sink that keeps all codes within a radius.
type ball struct {
	radius int
	near   []Near
}

func (b *ball) Limit() int { return b.radius }

func (b *ball) Take(first int, hits []uint32) {
	for _, h := range hits {
		b.near = append(b.near, Near{uint32(first) + h&0xffff, h >> 16})
	}
}

// Within returns all codes at distance r or less of q, ordered by distance, then by position.
func (c Codes) Within(q []uint64, r int) []Near {
	if len(q) != c.Words {
		panic("hamming: query of another length")
	}
	b := &ball{radius: min(r, c.Bits)}
	if c.Len() > 0 {
		c.Sweep(0, c.Len(), c.Bits, [][]uint64{q}, []Sink{b})
	}
	return ByDistance(b.near, c.Bits)
}

// ByDistance orders codes by distance, keeping the order of codes at one distance: a counting sort. No distance may
// be greater than most.
func ByDistance(near []Near, most int) []Near {
	if len(near) == 0 {
		return near
	}
	if most > math.MaxUint16 {
		panic("hamming: distance beyond all codes")
	}
	start := make([]int, most+2)
	for _, n := range near {
		start[n.Distance+1]++
	}
	for d := range most {
		start[d+1] += start[d]
	}
	out := make([]Near, len(near))
	for _, n := range near {
		out[start[n.Distance]] = n
		start[n.Distance]++
	}
	return out
}
