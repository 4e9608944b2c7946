package index

import (
	"context"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"hashgrove/hamming"
	"hashgrove/internal/par"
)

// queriesPerScan is the number of queries that share one reading of the codes.
const queriesPerScan = 64

// codesPerPart is the least number of codes of a part when few queries leave cores idle.
const codesPerPart = 1 << 16

// pass is the search of one segment for all queries. Nothing in the answer depends on the method.
type pass struct {
	view
	number  uint32 // of the view
	queries hamming.Codes
	want    want
	options *Options
	allowed *roaring.Bitmap // items that match the filter; nil: all

	found   [][]found // by query; the pass appends to it
	results []Result  // by query; the pass appends to their plans
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
	method, reason := p.chooseMethod(p.options.Method, p.want, n, p.queries.Len())
	steps, done := make([]Step, p.queries.Len()), make([]bool, p.queries.Len())
	for q := range steps {
		steps[q] = Step{Method: method, Reason: reason, Items: p.len(), Codes: p.codes.Len()}
	}
	var err error
	switch method {
	case List:
		err = par.For(ctx, p.options.Threads, len(done), func(q int) {
			p.keep(q, p.list(q))
			done[q] = true
		})
	case Tables:
		err = par.For(ctx, p.options.Threads, len(done), func(q int) { done[q] = p.lookUp(q, &steps[q]) })
	}
	if err != nil {
		return err
	}
	var rest []int // queries that are to be scanned
	for q := range done {
		if p.options.Explain {
			p.results[q].Plan = append(p.results[q].Plan, steps[q])
		}
		if !done[q] {
			rest = append(rest, q)
		}
	}
	return p.scan(ctx, rest)
}

// keep takes what was found for a query.
func (p *pass) keep(q int, list []found) {
	for i := range list {
		list[i].view = p.number
	}
	p.found[q] = append(p.found[q], list...)
}

// penalties breaks ties of a query by its margins; nil when ids do.
func (p *pass) penalties(q int) func(slot uint32) float64 {
	if !p.want.ties {
		return nil
	}
	return penalties(p.segment, p.queries.Row(q), p.options.margins(p.codes.Bits, q))
}

// lookUp searches the tables for a query. It reports false, and says so in the step, when that takes too long.
func (p *pass) lookUp(q int, step *Step) bool {
	budget := p.scanCost(p.queries.Len() > 1)
	if p.options.Method == Tables {
		budget = 10*budget + 1e6 // what was asked for may be slow, but it must end
	}
	for i, t := range p.tables {
		c := newCollector(p.segment, p.allowed, p.want)
		effort, ok := t.search(p.codes, p.queries.Row(q), c, budget*budgetShare(i, len(p.tables)))
		step.LookUps += effort.LookUps
		step.Met += effort.Met
		if ok {
			p.keep(q, c.result(p.penalties(q)))
			return true
		}
	}
	step.Method, step.Reason = Scan, "look-ups took too long"
	return false
}

// list compares a query with the allowed items one by one.
func (p *pass) list(q int) []found {
	c, query := newCollector(p.segment, p.allowed, p.want), p.queries.Row(q)
	words, last := (p.want.bits+63)/64, ^uint64(0)<<(-p.want.bits&63)
	compare := func(slot uint32) {
		code, d := p.codes.Row(int(slot)), 0
		for i := range words - 1 {
			d += bits.OnesCount64(query[i] ^ code[i])
		}
		c.add(slot, d+bits.OnesCount64((query[words-1]^code[words-1])&last))
	}
	if p.allowed == nil {
		for slot := range p.codes.Len() {
			compare(uint32(slot))
		}
		return c.result(p.penalties(q))
	}
	var seen slotSet
	for it := p.allowed.Iterator(); it.HasNext(); {
		slot := p.slotOf(it.Next())
		if p.slot == nil || seen.insert(slot) {
			compare(slot)
		}
	}
	return c.result(p.penalties(q))
}

// scan compares some queries with all codes: blocks of queries, and parts of the codes where queries are few.
func (p *pass) scan(ctx context.Context, which []int) error {
	n, blocks := p.codes.Len(), (len(which)+queriesPerScan-1)/queriesPerScan
	parts := 1
	if threads := par.Threads(p.options.Threads); blocks < threads { // a few per thread: every part finds its own limit
		parts = max(min(4*threads, n/codesPerPart), 1)
	}
	lists := make([][]found, len(which)*parts)
	err := par.For(ctx, p.options.Threads, blocks*parts, func(turn int) {
		block, part := turn/parts, turn%parts
		lo, hi := block*queriesPerScan, min((block+1)*queriesPerScan, len(which))
		rows, sinks := make([][]uint64, hi-lo), make([]hamming.Sink, hi-lo)
		for i := range rows {
			c := newCollector(p.segment, p.allowed, p.want)
			c.strict = p.slot == nil && !p.want.ties
			rows[i], sinks[i] = p.queries.Row(which[lo+i]), c
		}
		p.codes.Sweep(part*n/parts, (part+1)*n/parts, p.want.bits, rows, sinks)
		for i, sink := range sinks {
			lists[(lo+i)*parts+part] = sink.(*collector).result(p.penalties(which[lo+i]))
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
			list = list[:min(p.want.k, len(list))]
		}
		p.keep(q, list)
	}
	return nil
}
