package index

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"hashgrove/internal/hamming"
	"hashgrove/internal/par"
)

// queriesPerScan is the number of queries that share one scan of the codes.
const queriesPerScan = 64

// wordsPerPart is the least number of words that queries are compared with in a part, if few queries leave cores idle:
// fewer are done before another core has started.
const wordsPerPart = 1 << 19

// pass searches one segment for all queries. The answer does not depend on the strategy.
type pass struct {
	view
	number  uint32 // of the view
	queries hamming.Codes
	by      weighting
	want    want
	options *Options
	allowed *roaring.Bitmap // items that match the filter; nil means all

	found  [][]found // by query; the pass appends to it
	counts [][]int   // items by query and distance, up to the k-th; the pass adds to it unless it is nil
}

func (p *pass) run(ctx context.Context) error {
	p.allowed = p.options.Filter.allowed(p.view)
	n := p.size
	if p.allowed != nil {
		n = int(p.allowed.GetCardinality())
	}
	if n == 0 || p.want.k == 0 || p.want.radius < 0 {
		return nil
	}
	var err error
	done := make([]bool, p.queries.Len())
	switch p.chooseStrategy(p.options.Strategy, p.want, n, p.queries.Len()) {
	case List:
		err = par.For(ctx, p.options.Threads, len(done), func(q int) {
			p.list(q)
			done[q] = true
		})
	case Tables:
		err = par.For(ctx, p.options.Threads, len(done), func(q int) { done[q] = p.lookUp(q) })
	}
	if err != nil {
		return err
	}
	var rest []int // queries left to scan
	for q := range done {
		if !done[q] {
			rest = append(rest, q)
		}
	}
	return p.scan(ctx, rest)
}

// keep stores the items found for a query.
func (p *pass) keep(q int, list []found) {
	for i := range list {
		list[i].view = p.number
	}
	p.found[q] = append(p.found[q], list...)
}

// take stores the result of a collector for a query.
func (p *pass) take(q int, c *collector) {
	p.addCounts(q, c)
	p.keep(q, c.result(p.penalties(q)))
}

// addCounts adds the counts of a collector up to its limit; the k-th item overall is no farther away.
func (p *pass) addCounts(q int, c *collector) {
	if p.counts == nil {
		return
	}
	for d, n := range c.count[:c.limit+1] {
		if d == len(p.counts[q]) {
			p.counts[q] = append(p.counts[q], 0)
		}
		p.counts[q][d] += n
	}
}

// penalties returns the function that breaks a query's ties by its margins, or nil if ids break them.
func (p *pass) penalties(q int) func(slot uint32) float64 {
	if !p.want.ties {
		return nil
	}
	return penalties(p.segment, p.queries.Row(q), p.options.margins(p.codes.Bits, q))
}

// lookUp searches the tables for a query. It returns false if that takes too long.
func (p *pass) lookUp(q int) bool {
	budget := p.scanCost(p.queries.Len() > 1)
	if p.options.Strategy == Tables {
		budget = float64(10*budget) + 1e6 // an strategy that was asked for may be slow, but it must end
	}
	for i, t := range p.tables {
		c, share := newCollector(p.segment, p.allowed, p.want), budget*budgetShare(i, len(p.tables))
		if t.search(p.codes, p.queries.Row(q), c, share) {
			p.take(q, c)
			return true
		}
	}
	return false
}

// weighted returns a query with its weights.
func (p *pass) weighted(q int) *hamming.WeightedQuery {
	return hamming.NewWeightedQuery(p.by.codes.Row(q), p.by.weights[q])
}

// list compares a query with the allowed items one by one.
func (p *pass) list(q int) {
	c, query := newCollector(p.segment, p.allowed, p.want), p.queries.Row(q)
	compare := func(slot uint32) { c.add(slot, prefixDistance(query, p.codes.Row(int(slot)), p.want.bits)) }
	if p.by.weights != nil {
		weighted := p.weighted(q)
		compare = func(slot uint32) { c.add(slot, weighted.Distance(p.codes.Row(int(slot)))) }
	}
	if p.allowed == nil {
		for slot := range p.codes.Len() {
			compare(uint32(slot))
		}
		p.take(q, c)
		return
	}
	var seen slotSet
	for it := p.allowed.Iterator(); it.HasNext(); {
		slot := p.slotOf(it.Next())
		if p.slot == nil || seen.insert(slot) {
			compare(slot)
		}
	}
	p.take(q, c)
}

// scan compares some queries with all codes, in blocks of queries, and in parts of the codes if queries are few.
func (p *pass) scan(ctx context.Context, which []int) error {
	n, blocks := p.codes.Len(), (len(which)+queriesPerScan-1)/queriesPerScan
	parts := 1
	if threads := par.Threads(p.options.Threads); blocks < threads { // a few per thread
		parts = max(min(4*threads, n*p.codes.Words*len(which)/wordsPerPart), 1)
		if parts > threads {
			parts -= parts % threads // so that every thread gets equally many parts
		}
	}
	limits := make([]atomic.Int64, len(which)) // by query, shared by all parts
	for i := range limits {
		limits[i].Store(int64(p.want.radius))
	}
	collectors := make([]*collector, len(which)*parts)
	lists := make([][]found, len(which)*parts)
	err := par.For(ctx, p.options.Threads, blocks*parts, func(turn int) {
		block, part := turn/parts, turn%parts
		lo, hi := block*queriesPerScan, min((block+1)*queriesPerScan, len(which))
		sinks := make([]hamming.Sink, hi-lo)
		for i := range sinks {
			c := newCollector(p.segment, p.allowed, p.want)
			c.ordered = p.slot == nil && !p.want.ties && !p.want.whole && p.counts == nil
			if parts > 1 {
				c.shared = &limits[lo+i]
			}
			sinks[i] = c
		}
		p.sweep(part*n/parts, (part+1)*n/parts, which[lo:hi], sinks)
		for i, sink := range sinks {
			at, c := (lo+i)*parts+part, sink.(*collector)
			lists[at] = c.result(p.penalties(which[lo+i]))
			c.near = nil
			if p.counts == nil {
				c.count = nil
			}
			collectors[at] = c
		}
	})
	if err != nil {
		return err
	}
	for i, q := range which {
		for _, c := range collectors[i*parts : (i+1)*parts] {
			p.addCounts(q, c)
		}
		list := lists[i*parts]
		if parts > 1 {
			list = slices.Concat(lists[i*parts : (i+1)*parts]...)
			slices.SortFunc(list, compareFound)
			list = p.want.first(list)
		}
		p.keep(q, list)
	}
	return nil
}

// sweep scans the codes in [lo, hi) for some queries.
func (p *pass) sweep(lo, hi int, which []int, sinks []hamming.Sink) {
	if p.by.weights != nil {
		queries := make([]*hamming.WeightedQuery, len(which))
		for i, q := range which {
			queries[i] = p.weighted(q)
		}
		p.codes.SweepWeighted(lo, hi, queries, sinks)
		return
	}
	rows := make([][]uint64, len(which))
	for i, q := range which {
		rows[i] = p.queries.Row(q)
	}
	p.codes.Sweep(lo, hi, p.want.bits, rows, sinks)
}

// want describes what to search for: the k nearest items within a radius, by the first bits of the codes.
type want struct {
	k, radius, bits int
	most            int  // the greatest distance
	unit            int  // distance of one bit: 1, or more if items are ranked by margins
	ties            bool // keep all codes at the distance of the k-th item, because ids do not break ties
	whole           bool // return all items at the distance of the k-th
}

// newWant asks for the k nearest within a radius by some bits. most is the greatest distance by margins, otherwise 0.
func newWant(k, radius, bits, most int) want {
	w := want{k: k, bits: bits, most: bits, unit: 1}
	if most > 0 {
		w.most, w.unit = most, hamming.BitUnits
	}
	w.radius = min(radius, w.most)
	return w
}

// first returns the wanted items of a sorted list.
func (w want) first(list []found) []found {
	n := min(w.k, len(list))
	for w.whole && n > 0 && n < len(list) && list[n].distance == list[n-1].distance {
		n++
	}
	return list[:n]
}

// found is an item found in a segment.
type found struct {
	distance, pos uint32
	penalty       float64
	view          uint32
}

func compareFound(a, b found) int {
	return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.penalty, b.penalty), cmp.Compare(a.pos, b.pos))
}

// near is a code and its distance.
type near struct{ slot, distance uint32 }

// collector keeps the nearest codes of one segment for one query by counting: distances are small integers, so nothing
// is sorted until the k nearest are known. With count[d] the number of allowed items seen at distance d, the limit is
// the least d with
//
//	count[0] + ... + count[d] >= k.
//
// The limit only falls, and a code beyond it is never looked at again. A code stands for several items, so a later code
// at the limit may still have a smaller id: it is kept too, unless codes are items and come in order.
type collector struct {
	segment *segment
	allowed *roaring.Bitmap // nil means all
	want    want
	ordered bool // codes come in order and stand for one item each
	full    bool // k items within the limit have been seen
	limit   int
	within  int   // items seen within the limit
	count   []int // by distance
	near    []near

	// The least limit of the collectors of all parts; nil if there is one part. At least k items are within each limit,
	// so none of the k nearest is beyond the least.
	shared *atomic.Int64
}

func newCollector(s *segment, allowed *roaring.Bitmap, w want) *collector {
	return &collector{segment: s, allowed: allowed, want: w, limit: w.radius, count: make([]int, w.most+1)}
}

// Limit implements hamming.Sink.
func (c *collector) Limit() int {
	if c.want.k == 0 {
		return -1
	}
	limit := c.limit
	if c.ordered && c.full {
		limit--
	}
	if c.shared != nil {
		limit = min(limit, int(c.shared.Load()))
	}
	return limit
}

// share publishes the limit to the other parts.
func (c *collector) share() {
	for {
		old := c.shared.Load()
		if int64(c.limit) >= old || c.shared.CompareAndSwap(old, int64(c.limit)) {
			return
		}
	}
}

// Take implements hamming.Sink.
func (c *collector) Take(first int, hits []uint32) {
	for _, h := range hits {
		c.add(uint32(first)+h&0xffff, int(h>>16))
	}
}

// add takes a code that was not seen before.
func (c *collector) add(slot uint32, distance int) {
	if distance > c.Limit() {
		return
	}
	items := 1
	if c.segment.slot != nil || c.allowed != nil {
		if items = c.segment.count(slot, c.allowed); items == 0 {
			return
		}
	}
	c.near = append(c.near, near{slot, uint32(distance)})
	c.count[distance] += items
	if c.within += items; c.within < c.want.k {
		return
	}
	c.full = true
	for c.limit > 0 && c.within-c.count[c.limit] >= c.want.k {
		c.within -= c.count[c.limit]
		c.limit--
	}
	if c.shared != nil {
		c.share()
	}
	if len(c.near) > 2*c.within+1024 {
		c.drop()
	}
}

// drop removes the codes beyond the limit.
func (c *collector) drop() {
	c.near = slices.DeleteFunc(c.near, func(n near) bool { return int(n.distance) > c.limit })
}

// byDistance stably sorts codes by distance with a counting sort. No distance may exceed most.
func byDistance(codes []near, most int) []near {
	start := make([]int, most+2)
	for _, n := range codes {
		start[n.distance+1]++
	}
	for d := range most {
		start[d+1] += start[d]
	}
	out := make([]near, len(codes))
	for _, n := range codes {
		out[start[n.distance]] = n
		start[n.distance]++
	}
	return out
}

// result returns the items in order. Items of one code share their penalty, so at most k of each are needed.
func (c *collector) result(penalty func(slot uint32) float64) []found {
	c.drop()
	codes := byDistance(c.near, c.want.most)
	out := make([]found, 0, min(c.within, c.want.k))
	var pos []uint32
	for i := 0; i < len(codes) && len(out) < c.want.k; {
		d, begin := codes[i].distance, len(out)
		for ; i < len(codes) && codes[i].distance == d; i++ {
			p := 0.0
			if penalty != nil {
				p = penalty(codes[i].slot)
			}
			most := c.want.k - begin
			if c.want.whole {
				most = math.MaxInt
			}
			pos = c.segment.first(pos[:0], codes[i].slot, most, c.allowed)
			for _, at := range pos {
				out = append(out, found{d, at, p, 0})
			}
		}
		slices.SortFunc(out[begin:], compareFound)
	}
	return c.want.first(out)
}

// penalties returns a function that breaks ties by the query's margins (the scores before the sign): codes that differ
// in bits with small margins come first. Margins are added in bit order.
func penalties(s *segment, q []uint64, margins []float32) func(slot uint32) float64 {
	if margins == nil {
		return nil
	}
	return func(slot uint32) float64 {
		code, sum := s.codes.Row(int(slot)), 0.0
		for b, m := range margins {
			if (q[b>>6]^code[b>>6])>>(63-b&63)&1 != 0 {
				sum += math.Abs(float64(m))
			}
		}
		return sum
	}
}
