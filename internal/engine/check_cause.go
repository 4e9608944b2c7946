package engine

import (
	"context"
	"fmt"

	"hashgrove/api"
	"hashgrove/internal/index"
)

// pair holds two answers to one query.
type pair struct {
	*check
	search *SearchReport
	query  int
	radius *int // nil means any
	filter index.Filter
	ours   api.Result
	theirs []api.Hit

	ties, others int // differences
	foreign      int // hits that do not match the filter
}

// compare finds the differences between two answers and their causes. It returns how many of our hits the engine
// also has; an item at the same distance counts.
func (p *pair) compare(ctx context.Context) (found int, err error) {
	last, cut := p.lastDistance()
	if cut {
		p.search.Tied++
	}
	mine, his := map[api.ID]int{}, map[api.ID]int{}
	for _, h := range p.ours.Hits {
		mine[h.ID] = h.Ranked()
	}
	swapped := 0 // their items at the last distance instead of ours
	for _, h := range p.theirs {
		his[h.ID] = h.Ranked()
		want, common := mine[h.ID]
		switch {
		case common && want != h.Ranked():
			p.note(p.causeOf(h.ID, CauseDistance), h.ID,
				fmt.Sprintf("the engine says distance %s, and it is %s", p.spelled(h.Ranked()), p.spelled(want)))
			found++
		case common:
			found++
		default:
			if p.noteUnexpected(h, last, cut) {
				found++
				swapped++
			}
		}
	}
	for _, h := range p.ours.Hits {
		if _, common := his[h.ID]; common {
			continue
		}
		if cut && h.Ranked() == last && swapped > 0 {
			swapped--
			p.note(CauseTies, h.ID, fmt.Sprintf("another item at distance %s takes its place", p.spelled(last)))
			continue
		}
		if err := p.noteMissed(ctx, h); err != nil {
			return 0, err
		}
	}
	if p.ties+p.others == 0 {
		p.compareOrder()
	}
	switch p.outcome() {
	case outcomeDiffer:
		p.search.Differ++
	case outcomeTies:
		p.search.Ties++
	default:
		p.search.Same++
	}
	return min(found, len(p.ours.Hits)), nil
}

// Outcomes of comparing two answers.
const (
	outcomeSame   = "same"
	outcomeTies   = "ties"
	outcomeDiffer = "differ"
)

// outcome says how the answers compare.
func (p *pair) outcome() string {
	switch {
	case p.others > 0:
		return outcomeDiffer
	case p.ties > 0:
		return outcomeTies
	}
	return outcomeSame
}

// answer returns both answers, cut to the first hits.
func (p *pair) answer() Answer {
	first := func(hits []api.Hit) []api.Hit { return hits[:min(len(hits), answerHits)] }
	return Answer{p.search.Search, p.query, p.outcome(), first(p.ours.Hits), first(p.theirs)}
}

// lastDistance returns the distance of our last hit, and whether items at that distance were cut off.
func (p *pair) lastDistance() (last int, cut bool) {
	n := len(p.ours.Hits)
	if n == 0 {
		return -1, false
	}
	return p.ours.Hits[n-1].Ranked(), p.ours.Tied > p.ours.TiedHits
}

// note records a difference for this query.
func (p *pair) note(cause string, id api.ID, text string) {
	if cause == CauseTies {
		p.ties++
	} else {
		p.others++
	}
	p.add(Difference{cause, p.search.Search, p.query, string(id), text})
}

// causeOf returns why an item differs: the difference found in its contents, or else otherwise.
func (p *pair) causeOf(id api.ID, otherwise string) string {
	if cause := p.bad[key(id)]; cause != "" {
		return cause
	}
	return otherwise
}

// key converts an id to the index's form.
func key(id api.ID) index.ID { return index.Text(string(id)) }

// noteUnexpected records a hit that we do not have and reports whether it is as good as one of ours.
func (p *pair) noteUnexpected(h api.Hit, last int, cut bool) bool {
	it, there := p.exact.Get(key(h.ID))
	if !there {
		p.note(CauseExtra, h.ID, "the engine finds an item that the index does not have")
		return false
	}
	of := shape{p.exact.Bits(), p.exact.Detail()}
	measured := of.hit(key(h.ID), p.o.Queries.Row(p.query), it.Code)
	distance := measured.Distance
	if of.detail > 0 {
		distance = measured.MarginDistance
	}
	matches := p.exact.Count(index.And(p.filter, index.IDs(key(h.ID)))) > 0
	switch cause := p.bad[key(h.ID)]; {
	case cause == CauseDetails && matches || cause != "" && cause != CauseDetails:
		p.note(cause, h.ID, "the engine finds an item that differs")
	case !matches && cause != "":
		p.note(cause, h.ID, "the item matches the filter only as the engine has it")
	case !matches:
		p.foreign++
		p.note(CauseFilter, h.ID, "the engine finds it, and it does not match the filter")
	case distance != h.Ranked():
		p.note(CauseDistance, h.ID,
			fmt.Sprintf("the engine says distance %s, and it is %s", p.spelled(h.Ranked()), p.spelled(distance)))
	case p.radius != nil && distance > p.units()**p.radius:
		p.note(CauseRadius, h.ID, fmt.Sprintf("the engine finds it at distance %s", p.spelled(distance)))
	case cut && distance == last:
		return true
	}
	return false // farther than ours, instead of one that was missed
}

// noteMissed records a hit of ours that the engine does not have.
func (p *pair) noteMissed(ctx context.Context, h api.Hit) error {
	cause, text := p.bad[key(h.ID)], fmt.Sprintf("at distance %s, and the engine does not find it", p.spelled(h.Ranked()))
	if cause == "" && p.filter.String() != "" {
		matches := false
		err := p.engine.Read(ctx, index.And(p.filter, index.IDs(key(h.ID))), func(*index.Batch) error {
			matches = true
			return nil
		})
		if err != nil {
			return err
		}
		if !matches {
			cause, text = CauseFilter, "it matches the filter, and the engine says that it does not"
		}
	}
	switch {
	case cause != "":
	case p.foreign > 0:
		cause, text = CauseFilter, "an item that does not match the filter takes its place"
	case p.radius != nil && h.Ranked() > p.units()*(*p.radius-1): // at the edge
		cause = CauseRadius
	default:
		cause = CauseApprox
	}
	p.note(cause, h.ID, text)
	return nil
}

// compareOrder compares the order of answers with the same items at the same distances.
func (p *pair) compareOrder() {
	for i := 1; i < len(p.theirs); i++ {
		if before := p.theirs[i-1].Ranked(); p.theirs[i].Ranked() < before {
			p.note(CauseOrder, p.theirs[i].ID, fmt.Sprintf("comes after an item at distance %s", p.spelled(before)))
			return
		}
	}
	for i, h := range p.theirs {
		if h.ID != p.ours.Hits[i].ID {
			p.note(CauseTies, h.ID, fmt.Sprintf("comes before %s at the same distance", p.ours.Hits[i].ID))
			return
		}
	}
}
