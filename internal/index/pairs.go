package index

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"hashgrove/internal/hamming"
	"hashgrove/internal/par"
)

// Near-duplicates: all pairs of items whose codes differ in at most r bits of the class, exactly. join.go finds the
// pairs of codes; here they become pairs or groups of items.

// PairOptions say which pairs of items are wanted. Answers do not depend on Threads.
type PairOptions struct {
	Radius   int
	Most     int // pairs; if there are more, they are only counted; 0 means all that there are
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

	join  *join
	pairs []uint64 // in order: the position of the lesser item, and that of the other one
}

// whole returns a segment with all items, where equal codes are found together.
func (s *Snapshot) whole(ctx context.Context) (*segment, error) {
	if len(s.views) == 1 && s.views[0].live == nil && !s.views[0].repeats {
		return s.views[0].segment, nil
	}
	return mergeSegments(ctx, s.bits, s.views, nil, nil)
}

// Pairs finds and counts the pairs of items within a radius.
func (s *Snapshot) Pairs(ctx context.Context, o PairOptions) (*NearPairs, error) {
	seg, err := s.whole(ctx)
	if err != nil {
		return nil, err
	}
	p := &NearPairs{join: newJoin(seg, s.bits-s.detail, o)}
	return p, p.collect(ctx, cmp.Or(o.Most, math.MaxInt))
}

// chunkLen is the number of pairs that a worker collects in one piece.
const chunkLen = 1 << 14

// collection is the pairs that all workers collect.
type collection struct {
	*segment
	most, threads int
	held          atomic.Int64 // room in chunks
	full          atomic.Bool  // there are more than most
}

// pairWorker is what one worker counts and collects.
type pairWorker struct {
	*collection
	count  int
	chunks [][]uint64
	a, b   []uint32 // positions with two codes
}

// collect finds the pairs, unless they turn out to be more than most.
func (p *NearPairs) collect(ctx context.Context, most int) error {
	j := p.join
	c, workers := &collection{segment: j.segment, most: most, threads: j.threads}, make([]pairWorker, j.threads)
	for w := range workers {
		workers[w].collection = c
	}
	err := j.equal(ctx, func(w int, slot uint32) { workers[w].equal(slot) })
	if err == nil {
		err = j.run(ctx, func(w int, a, b uint32) { workers[w].near(a, b) })
	}
	var chunks [][]uint64
	for _, w := range workers {
		p.Count += w.count
		chunks = append(chunks, w.chunks...)
	}
	if err != nil || p.Count > most {
		return err
	}
	// Sorted into blocks of 4,096 lesser items, and then in each block.
	const shift = 32 + 12
	start := make([]int, uint64(j.len())>>(shift-32)+2)
	for _, chunk := range chunks {
		for _, pair := range chunk {
			start[pair>>shift+1]++
		}
	}
	for b := range start[1:] {
		start[b+1] += start[b]
	}
	next := slices.Clone(start)
	p.pairs = make([]uint64, p.Count)
	for _, chunk := range chunks {
		for _, pair := range chunk {
			p.pairs[next[pair>>shift]] = pair
			next[pair>>shift]++
		}
	}
	return par.For(ctx, j.threads, len(start)-1, func(b int) { slices.Sort(p.pairs[start[b]:start[b+1]]) })
}

// counts counts pairs, and reports whether there are too many to collect them.
func (w *pairWorker) counts(pairs int) bool {
	w.count += pairs
	if pairs > w.most {
		w.full.Store(true)
	}
	return w.full.Load()
}

// near takes two codes.
func (w *pairWorker) near(a, b uint32) {
	if w.counts(w.segment.count(a, nil) * w.segment.count(b, nil)) {
		return
	}
	w.a, w.b = w.first(w.a[:0], a, MaxItems, nil), w.first(w.b[:0], b, MaxItems, nil)
	for _, p := range w.a {
		for _, q := range w.b {
			w.take(min(p, q), max(p, q))
		}
	}
}

// equal takes the pairs of items with one code.
func (w *pairWorker) equal(slot uint32) {
	n := w.segment.count(slot, nil)
	if w.counts(n * (n - 1) / 2) {
		return
	}
	w.a = w.first(w.a[:0], slot, n, nil)
	for i, p := range w.a {
		for _, q := range w.a[i+1:] {
			w.take(p, q)
		}
	}
}

// take collects a pair of positions.
func (w *pairWorker) take(p, q uint32) {
	last := len(w.chunks) - 1
	if last < 0 || len(w.chunks[last]) == chunkLen {
		if w.full.Load() || w.held.Add(chunkLen)-chunkLen*int64(w.threads) > int64(w.most) {
			w.full.Store(true)
			w.chunks = nil
			return
		}
		last++
		w.chunks = append(w.chunks, make([]uint64, 0, chunkLen))
	}
	w.chunks[last] = append(w.chunks[last], uint64(p)<<32|uint64(q))
}

// IntegerIDs reports whether the ids of all items are integers.
func (p *NearPairs) IntegerIDs() bool { return p.join.ids.text.len() == 0 }

// All returns the pairs in order of the lesser item, then of the other one.
func (p *NearPairs) All(ctx context.Context) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		j := p.join
		for i, pair := range p.pairs {
			if i%4096 == 0 && ctx.Err() != nil {
				yield(Pair{}, context.Cause(ctx))
				return
			}
			a, b := uint32(pair>>32), uint32(pair)
			d := hamming.Distance(j.codes.Row(int(j.slotOf(a))), j.codes.Row(int(j.slotOf(b))))
			if !yield(Pair{j.ids.get(a), j.ids.get(b), d}, nil) {
				return
			}
		}
	}
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
	err = j.run(ctx, func(_ int, a, b uint32) { tree.unite(a, b) })
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
