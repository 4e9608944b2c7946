package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"hashgrove/hamming"
	"hashgrove/internal/par"
)

// Options of a search. The zero value searches all items with all bits.
type Options struct {
	Filter Filter

	// Prefix searches by the first so many bits: the Shortlist nearest items by the prefix, or all within the radius
	// by the prefix, are ordered by the distance of all bits. 0 means all bits.
	Prefix int

	// Margins are the scores of the query before the sign, one per bit, for all queries of a batch one after the
	// other. Items at the same distance come in the order of the margins' sum over the bits that differ, so that a
	// doubtful bit weighs little; then by id. Which items a prefix puts on the shortlist does not depend on them.
	Margins []float32

	// Rerank gives each hit of the shortlist a score, the smaller the nearer, from vectors or whatever the caller has.
	// The answer is ordered by score, distance, id. It is called once per query, from several goroutines.
	Rerank func(query int, hits []Hit, scores []float64) error

	// Shortlist is the number of items that Prefix and Rerank look at; 0 means ten times k, and at least 100.
	Shortlist int

	Limit   int    // of hits within a radius, the nearest ones; 0 means all
	Method  Method // Auto unless a certain way is wanted
	Threads int    // 0 means all cores
	Explain bool   // fill Result.Plan

	// Fingerprint of the model that made the query; zeros when it is not known. Another model's are refused.
	Fingerprint hamming.Fingerprint
}

// Hit is an item that was found.
type Hit struct {
	ID       ID      `json:"id"`
	Distance int     `json:"distance"`
	Score    float64 `json:"score,omitempty"` // by Rerank
}

// Result is the answer to one query, ordered by distance, then by id, unless options say otherwise.
type Result struct {
	Hits []Hit
	Plan Plan // with Options.Explain
}

// Search returns the k nearest items, fewer only when fewer match.
func (s *Snapshot) Search(ctx context.Context, q []uint64, k int, o Options) (Result, error) {
	return s.one(ctx, q, k, math.MaxInt, o)
}

// Within returns all items at distance r or less, or the nearest Options.Limit of them.
func (s *Snapshot) Within(ctx context.Context, q []uint64, r int, o Options) (Result, error) {
	return s.one(ctx, q, limitOf(o), r, o)
}

// SearchBatch is Search for many queries, which share the reading of the codes.
func (s *Snapshot) SearchBatch(ctx context.Context, queries hamming.Codes, k int, o Options) ([]Result, error) {
	return s.many(ctx, queries, k, math.MaxInt, o)
}

// WithinBatch is Within for many queries.
func (s *Snapshot) WithinBatch(ctx context.Context, queries hamming.Codes, r int, o Options) ([]Result, error) {
	return s.many(ctx, queries, limitOf(o), r, o)
}

func limitOf(o Options) int {
	if o.Limit > 0 {
		return o.Limit
	}
	return math.MaxInt
}

func (s *Snapshot) one(ctx context.Context, q []uint64, k, r int, o Options) (Result, error) {
	results, err := s.many(ctx, hamming.Codes{Bits: s.bits, Words: len(q), Data: q}, k, r, o)
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

func (s *Snapshot) check(queries hamming.Codes, k int, o Options) error {
	if queries.Bits != s.bits || queries.Words != (s.bits+63)/64 {
		return fmt.Errorf("a query of %d words for codes of %d bits: encode it with the model of the index", queries.Words, s.bits)
	}
	if over := s.bits & 63; over != 0 {
		for q := range queries.Len() {
			if queries.Row(q)[queries.Words-1]<<over != 0 {
				return fmt.Errorf("query %d has bits beyond the %d of a code", q, s.bits)
			}
		}
	}
	switch {
	case k < 0:
		return fmt.Errorf("%d neighbours: ask for 0 or more", k)
	case o.Prefix < 0 || o.Prefix > s.bits:
		return fmt.Errorf("a prefix of %d bits, outside of 1 to %d", o.Prefix, s.bits)
	case o.Margins != nil && len(o.Margins) != s.bits*queries.Len():
		return fmt.Errorf("%d margins for %d queries of %d bits: give one per bit", len(o.Margins), queries.Len(), s.bits)
	case slices.ContainsFunc(o.Margins, func(m float32) bool { return m != m }):
		return errors.New("a margin is not a number")
	}
	return s.Accepts(o.Fingerprint)
}

// many answers queries in up to three stages: the nearest by the bits that are searched, from all segments; their
// order by all bits, when only a prefix was searched; their order by the caller's scores.
func (s *Snapshot) many(ctx context.Context, queries hamming.Codes, k, r int, o Options) ([]Result, error) {
	if err := s.check(queries, k, o); err != nil {
		return nil, err
	}
	if o.Prefix == s.bits {
		o.Prefix = 0
	}
	w := want{k: k, radius: min(r, s.bits), bits: s.bits, ties: o.Margins != nil && o.Prefix == 0}
	if o.Prefix > 0 {
		w.bits, w.radius = o.Prefix, min(r, o.Prefix)
		if r != math.MaxInt {
			w.k = math.MaxInt
		}
	}
	if o.Rerank != nil || o.Prefix > 0 && r == math.MaxInt {
		w.k = max(k, o.Shortlist)
		if o.Shortlist == 0 {
			w.k = max(100, min(k, MaxItems)*10)
		}
	}
	results := make([]Result, queries.Len())
	all := make([][]found, queries.Len())
	for i, v := range s.views {
		if err := v.search(ctx, i, queries, w, o, all, results); err != nil {
			return nil, err
		}
	}
	errs := make([]error, queries.Len())
	err := par.For(ctx, o.Threads, queries.Len(), func(q int) {
		list := s.inOrder(all[q], w.k)
		if o.Prefix > 0 {
			list = s.refine(list, queries.Row(q), margins(o, s.bits, q))
		}
		if o.Rerank == nil {
			list = list[:min(k, len(list))]
		}
		hits := make([]Hit, len(list))
		for i, f := range list {
			hits[i] = Hit{ID: s.views[f.view].ids.at(f.pos), Distance: int(f.distance)}
		}
		if o.Rerank != nil {
			errs[q] = rerank(q, hits, o)
			hits = hits[:min(k, len(hits))]
		}
		results[q].Hits = hits
	})
	if err == nil {
		for q, e := range errs {
			if e != nil {
				return nil, fmt.Errorf("query %d: cannot rerank: %w", q, e)
			}
		}
	}
	return results, err
}

func margins(o Options, bits, q int) []float32 {
	if o.Margins == nil {
		return nil
	}
	return o.Margins[q*bits : (q+1)*bits]
}

// inOrder brings what the segments found, each in its own order, into the order of the index and keeps the first k.
func (s *Snapshot) inOrder(list []found, k int) []found {
	if len(s.views) > 1 {
		slices.SortFunc(list, func(a, b found) int {
			if c := cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.penalty, b.penalty)); c != 0 {
				return c
			}
			return s.views[a.view].ids.at(a.pos).Compare(s.views[b.view].ids.at(b.pos))
		})
	}
	return list[:min(k, len(list))]
}

// refine orders items by all bits.
func (s *Snapshot) refine(list []found, q []uint64, margins []float32) []found {
	for i := range list {
		f := &list[i]
		v := s.views[f.view]
		f.distance = uint32(hamming.Distance(q, v.code(f.pos)))
		if margins != nil {
			f.penalty = penalties(v.segment, q, margins)(v.slotOf(f.pos))
		}
	}
	if len(s.views) == 1 {
		slices.SortFunc(list, compareFound)
	}
	return s.inOrder(list, len(list))
}

// rerank orders hits by the caller's scores.
func rerank(q int, hits []Hit, o Options) error {
	scores := make([]float64, len(hits))
	if err := o.Rerank(q, hits, scores); err != nil {
		return err
	}
	for i, x := range scores {
		if math.IsNaN(x) {
			return fmt.Errorf("the score of id %q is not a number", cut(hits[i].ID.String()))
		}
		hits[i].Score = x
	}
	// The hits are in order of distance and id, which a stable sort keeps for equal scores.
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(a.Score, b.Score) })
	return nil
}

// queriesPerScan is the number of queries that share one reading of the codes.
const queriesPerScan = 64

// search appends what one segment has for each query. Nothing in the answer depends on the way.
func (v view) search(ctx context.Context, number int, queries hamming.Codes, w want, o Options, all [][]found, results []Result) error {
	allowed := o.Filter.allowed(v)
	n := v.size
	if allowed != nil {
		n = int(allowed.GetCardinality())
	}
	if n == 0 || w.k == 0 || w.radius < 0 {
		return nil
	}
	method, reason := v.way(o.Method, w, n, queries.Len())
	rest := make([]int, 0, queries.Len()) // queries that are to be scanned
	explain := func(q int, step Step) {
		if o.Explain {
			step.Items, step.Codes = v.len(), v.codes.Len()
			results[q].Plan = append(results[q].Plan, step)
		}
	}
	keep := func(q int, list []found) {
		for i := range list {
			list[i].view = number
		}
		all[q] = append(all[q], list...)
	}
	tie := func(q int) func(uint32) float64 {
		if !w.ties {
			return nil
		}
		return penalties(v.segment, queries.Row(q), margins(o, v.codes.Bits, q))
	}

	if method != Scan {
		budget := v.scanCost(queries.Len() > 1)
		if o.Method == Tables {
			budget = 10*budget + 1e6 // what was asked for may be slow, but it must end
		}
		done, steps := make([]bool, queries.Len()), make([]Step, queries.Len())
		err := par.For(ctx, o.Threads, queries.Len(), func(q int) {
			steps[q] = Step{Method: method, Reason: reason}
			if method == List {
				c := newCollector(v.segment, allowed, w)
				v.list(c, queries.Row(q), allowed)
				keep(q, c.result(tie(q)))
				done[q] = true
				return
			}
			for i, t := range v.tables {
				c := newCollector(v.segment, allowed, w)
				effort, ok := t.search(v.codes, queries.Row(q), c, budget*share(i, len(v.tables)))
				steps[q].LookUps += effort.LookUps
				steps[q].Met += effort.Met
				if ok {
					keep(q, c.result(tie(q)))
					done[q] = true
					return
				}
			}
			steps[q].Method, steps[q].Reason = Scan, "look-ups went on for too long"
		})
		if err != nil {
			return err
		}
		for q := range done {
			explain(q, steps[q])
			if !done[q] {
				rest = append(rest, q)
			}
		}
	} else {
		for q := range queries.Len() {
			explain(q, Step{Method: method, Reason: reason})
			rest = append(rest, q)
		}
	}
	return v.scan(ctx, queries, rest, w, allowed, o.Threads, tie, keep)
}

// list compares the query with the allowed items one by one.
func (v view) list(c *collector, q []uint64, allowed *roaring.Bitmap) {
	words, last := (c.want.bits+63)/64, ^uint64(0)<<(-c.want.bits&63)
	compare := func(slot uint32) {
		code, d := v.codes.Row(int(slot)), 0
		for i := range words - 1 {
			d += bits.OnesCount64(q[i] ^ code[i])
		}
		c.add(slot, d+bits.OnesCount64((q[words-1]^code[words-1])&last))
	}
	if allowed == nil {
		for slot := range v.codes.Len() {
			compare(uint32(slot))
		}
		return
	}
	var seen slotSet
	for it := allowed.Iterator(); it.HasNext(); {
		slot := v.slotOf(it.Next())
		if v.slot == nil || seen.insert(slot) {
			compare(slot)
		}
	}
}

// scan compares some queries with all codes: blocks of queries, and parts of the codes where queries are few.
func (v view) scan(ctx context.Context, queries hamming.Codes, which []int, w want, allowed *roaring.Bitmap, threads int, tie func(q int) func(uint32) float64, keep func(q int, list []found)) error {
	n, blocks := v.codes.Len(), (len(which)+queriesPerScan-1)/queriesPerScan
	parts := v.codes.Parts(blocks, threads)
	lists := make([][]found, len(which)*parts)
	err := par.For(ctx, threads, blocks*parts, func(turn int) {
		block, part := turn/parts, turn%parts
		lo, hi := block*queriesPerScan, min((block+1)*queriesPerScan, len(which))
		rows, sinks := make([][]uint64, hi-lo), make([]hamming.Sink, hi-lo)
		for i := range rows {
			c := newCollector(v.segment, allowed, w)
			c.strict = v.slot == nil && !w.ties
			rows[i], sinks[i] = queries.Row(which[lo+i]), c
		}
		v.codes.Sweep(part*n/parts, (part+1)*n/parts, w.bits, rows, sinks)
		for i, sink := range sinks {
			lists[(lo+i)*parts+part] = sink.(*collector).result(tie(which[lo+i]))
		}
	})
	if err != nil {
		return err
	}
	for i, q := range which {
		list := lists[i*parts]
		if parts > 1 {
			list = slices.Concat(lists[i*parts : (i+1)*parts]...)
			slices.SortFunc(list, compareFound)
			list = list[:min(w.k, len(list))]
		}
		keep(q, list)
	}
	return nil
}
