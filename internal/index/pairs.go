package index

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"hashgrove/internal/par"
)

// Near-duplicates: all pairs of items whose codes differ in at most r bits of the class, exactly. join.go finds the
// pairs of codes; here they become pairs or groups of items.

// PairOptions say which pairs of items are wanted. Answers do not depend on Threads and Held.
type PairOptions struct {
	Radius   int
	Most     int // pairs; if there are more, they are only counted; 0 means all that there are
	Held     int // pairs in memory at a time; 0 means 33 million, which take 700 MB
	Threads  int // 0 means all cores
	Progress func(done, total int)
}

// Pair is two items and the number of bits of the class in which their codes differ.
type Pair struct {
	A, B     ID // A is the lesser one
	Distance int
}

// NearPairs are the pairs of items within a radius.
type NearPairs struct {
	Count int // of all pairs, also if there are more than were wanted

	join   *join
	o      PairOptions
	blocks []int // pairs whose lesser item is in each block of positions
	held   [][]heldPair
	all    bool // are held
}

// heldPair is a pair by positions, a < b.
type heldPair struct {
	a, b     uint32
	distance uint16
}

// A block has this many positions. A pair is sorted within the block of its lesser item, as position in the block,
// position of the greater item and distance in one word.
const (
	blockBits = 12
	chunkLen  = 1 << 14 // pairs that a worker collects in one piece
)

// whole returns a segment with all items, where equal codes are found together.
func (s *Snapshot) whole(ctx context.Context) (*segment, error) {
	if len(s.views) == 1 && s.views[0].live == nil && !s.views[0].repeats {
		return s.views[0].segment, nil
	}
	return mergeSegments(ctx, s.bits, s.views, nil, nil)
}

// Pairs finds and counts the pairs of items within a radius.
func (s *Snapshot) Pairs(ctx context.Context, o PairOptions) (*NearPairs, error) {
	o.Held = cmp.Or(o.Held, 1<<25)
	o.Most = cmp.Or(o.Most, math.MaxInt)
	seg, err := s.whole(ctx)
	if err != nil {
		return nil, err
	}
	p := &NearPairs{join: newJoin(seg, s.bits-s.detail, o), o: o}
	p.blocks = make([]int, (seg.len()-1)>>blockBits+1)
	c, err := p.pass(ctx, 0, seg.len(), o.Held)
	if err != nil {
		return nil, err
	}
	for _, w := range c.workers {
		p.Count += w.count
		for b, n := range w.blocks {
			p.blocks[b] += n
		}
		p.held = append(p.held, w.chunks...)
	}
	p.all = !c.full.Load()
	if !p.all {
		p.held = nil
	}
	return p, nil
}

// collection is one pass over all pairs. It collects those whose lesser item is at a position from lo to hi, or none if
// they turn out to be more than room or Most.
type collection struct {
	*NearPairs
	lo, hi  uint32
	room    int
	workers []*pairWorker
	counted atomic.Int64 // pairs; the workers know of a few more
	held    atomic.Int64 // pairs in chunks
	full    atomic.Bool
}

// pairWorker is what one worker counts and collects.
type pairWorker struct {
	*collection
	count, told int
	blocks      []int
	chunks      [][]heldPair
	a, b        []uint32 // positions with two codes
}

func (p *NearPairs) pass(ctx context.Context, lo, hi, room int) (*collection, error) {
	c := &collection{NearPairs: p, lo: uint32(lo), hi: uint32(hi), room: room}
	for range par.Threads(p.o.Threads) {
		c.workers = append(c.workers, &pairWorker{collection: c, blocks: make([]int, len(p.blocks))})
	}
	err := p.join.equal(ctx, func(w int, slot uint32) { c.workers[w].equal(slot) })
	if err != nil {
		return nil, err
	}
	return c, p.join.run(ctx, func(w int, a, b uint32, distance int) { c.workers[w].near(a, b, distance) },
		func(w int) { c.workers[w].tell() })
}

// tell adds what was counted to the sum.
func (w *pairWorker) tell() {
	if w.counted.Add(int64(w.count-w.told)) > int64(w.o.Most) {
		w.full.Store(true)
	}
	w.told = w.count
}

// near takes two codes.
func (w *pairWorker) near(a, b uint32, distance int) {
	seg := w.join.segment
	if seg.slot == nil {
		w.take(min(a, b), max(a, b), distance)
		return
	}
	if w.counted.Load() > int64(w.o.Most) {
		w.count += seg.count(a, nil) * seg.count(b, nil)
		return
	}
	w.a, w.b = seg.items.first(w.a[:0], a, MaxItems, nil), seg.items.first(w.b[:0], b, MaxItems, nil)
	if len(w.a)*len(w.b) > w.o.Most {
		w.count += len(w.a) * len(w.b)
		w.full.Store(true)
		return
	}
	for _, p := range w.a {
		for _, q := range w.b {
			w.take(min(p, q), max(p, q), distance)
		}
	}
}

// equal takes the pairs of items with one code.
func (w *pairWorker) equal(slot uint32) {
	n := w.join.count(slot, nil)
	if all := n * (n - 1) / 2; all > w.o.Most-min(w.count, w.o.Most) {
		w.count += all
		w.full.Store(true)
		return
	}
	w.a = w.join.items.first(w.a[:0], slot, n, nil)
	for i, p := range w.a {
		for _, q := range w.a[i+1:] {
			w.take(p, q, 0)
		}
	}
}

// take counts a pair of positions and collects it.
func (w *pairWorker) take(p, q uint32, distance int) {
	w.count++
	w.blocks[p>>blockBits]++
	if p < w.lo || p >= w.hi || w.full.Load() {
		return
	}
	last := len(w.chunks) - 1
	if last < 0 || len(w.chunks[last]) == chunkLen {
		if w.held.Add(chunkLen)-chunkLen*int64(len(w.workers)) > int64(w.room) {
			w.full.Store(true)
			w.chunks = nil
			return
		}
		last++
		w.chunks = append(w.chunks, make([]heldPair, 0, chunkLen))
	}
	w.chunks[last] = append(w.chunks[last], heldPair{p, q, uint16(distance)})
}

// IntegerIDs reports whether the ids of all items are integers.
func (p *NearPairs) IntegerIDs() bool { return p.join.ids.text.len() == 0 }

// All returns the pairs in order of the lesser item, then of the other one. If too many were found to hold them in
// memory, it finds them again, as many at a time as can be held.
func (p *NearPairs) All(ctx context.Context) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		n := p.join.len()
		for lo := 0; lo < len(p.blocks); {
			hi, sum := lo, 0
			for hi < len(p.blocks) && (hi == lo || sum+p.blocks[hi] <= p.o.Held || p.all) {
				sum += p.blocks[hi]
				hi++
			}
			chunks := p.held
			if !p.all {
				c, err := p.pass(ctx, lo<<blockBits, min(hi<<blockBits, n), math.MaxInt)
				if err != nil {
					yield(Pair{}, err)
					return
				}
				for _, w := range c.workers {
					chunks = append(chunks, w.chunks...)
				}
			}
			if more, err := p.yield(ctx, lo, p.blocks[lo:hi], chunks, yield); err != nil {
				yield(Pair{}, err)
				return
			} else if !more {
				return
			}
			lo = hi
		}
	}
}

// yield sorts pairs, whose lesser items are in blocks from first on, and passes them on.
func (p *NearPairs) yield(
	ctx context.Context, first int, blocks []int, chunks [][]heldPair, yield func(Pair, error) bool,
) (bool, error) {
	start := make([]int, len(blocks)+1)
	for b, n := range blocks {
		start[b+1] = start[b] + n
	}
	next, sorted := slices.Clone(start), make([]uint64, start[len(blocks)])
	for _, chunk := range chunks {
		for _, h := range chunk {
			b := int(h.a>>blockBits) - first
			sorted[next[b]] = uint64(h.a&(1<<blockBits-1))<<44 | uint64(h.b)<<13 | uint64(h.distance)
			next[b]++
		}
	}
	if err := par.For(ctx, p.o.Threads, len(blocks),
		func(b int) { slices.Sort(sorted[start[b]:start[b+1]]) }); err != nil {
		return false, err
	}
	for b := range blocks {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		for _, v := range sorted[start[b]:start[b+1]] {
			a := uint32(first+b)<<blockBits | uint32(v>>44)
			pair := Pair{p.join.ids.get(a), p.join.ids.get(uint32(v >> 13 & (1<<31 - 1))), int(v & (1<<13 - 1))}
			if !yield(pair, nil) {
				return false, nil
			}
		}
	}
	return true, nil
}

// NearGroups are the groups of items that pairs within a radius connect.
type NearGroups struct {
	Count, Items int // groups, and items in them: two or more in each

	ids   idTable
	items postings // of each group
}

// PairGroups finds the groups of items that pairs within a radius connect. It needs little memory, however many pairs
// there are.
func (s *Snapshot) PairGroups(ctx context.Context, o PairOptions) (*NearGroups, error) {
	seg, err := s.whole(ctx)
	if err != nil {
		return nil, err
	}
	j := newJoin(seg, s.bits-s.detail, o)
	tree := newForest(seg.codes.Len())
	err = j.run(ctx, func(_ int, a, b uint32, _ int) { tree.unite(a, b) }, func(int) {})
	if err != nil {
		return nil, err
	}
	// The root of a tree is its least slot, and slots are in order of their first items: so are the groups.
	size := make([]uint32, seg.codes.Len())
	for pos := range seg.len() {
		size[tree.root(seg.slotOf(uint32(pos)))]++
	}
	g := &NearGroups{ids: seg.ids}
	number := make([]uint32, len(size))
	for slot, n := range size {
		if n > 1 {
			number[slot] = uint32(g.Count)
			g.Count++
			g.Items += int(n)
		}
	}
	of, at := make([]uint32, 0, g.Items), make([]uint32, 0, g.Items)
	for pos := range seg.len() {
		if root := tree.root(seg.slotOf(uint32(pos))); size[root] > 1 {
			of, at = append(of, number[root]), append(at, uint32(pos))
		}
	}
	g.items = newPostingsAt(of, at, g.Count)
	return g, nil
}

// IntegerIDs reports whether the ids of all items are integers.
func (g *NearGroups) IntegerIDs() bool { return g.ids.text.len() == 0 }

// All returns the ids of each group in order, the groups in order of their first ids.
func (g *NearGroups) All() iter.Seq[[]ID] {
	return func(yield func([]ID) bool) {
		var at []uint32
		for i := range g.Count {
			at = g.items.first(at[:0], uint32(i), MaxItems, nil)
			ids := make([]ID, len(at))
			for k, pos := range at {
				ids[k] = g.ids.get(pos)
			}
			if !yield(ids) {
				return
			}
		}
	}
}

// forest joins sets on all cores; the parent of a root is itself, and others have lesser parents.
type forest []atomic.Uint32

func newForest(n int) forest {
	f := make(forest, n)
	for i := range f {
		f[i].Store(uint32(i))
	}
	return f
}

func (f forest) root(x uint32) uint32 {
	for {
		p := f[x].Load()
		if p == x {
			return x
		}
		above := f[p].Load()
		f[x].CompareAndSwap(p, above)
		x = above
	}
}

func (f forest) unite(a, b uint32) {
	for {
		a, b = f.root(a), f.root(b)
		if a == b || f[max(a, b)].CompareAndSwap(max(a, b), min(a, b)) {
			return
		}
	}
}
