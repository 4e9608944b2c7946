package index

import (
	"cmp"
	"math"
	"slices"

	"hashgrove/internal/hamming"
)

// Multi-index hashing by margins. The distance D of a code is the sum over the parts of the differing weights there, D
// = d_1 + ... + d_m. Once all values of part i at most t_i from the query's have been looked up, every code not met has
// a larger d_i in each part: at least n_i, the least sum of weights of the part greater than t_i. So
//
//	D >= n_1 + ... + n_m   for every code that was not met,
//
// and the search ends when that exceeds the limit. This is the argument of multihash.go with weights instead of counts:
// flips of doubtful bits are tried first, because they cost little. The values at most t from the query's are the
// subsets of the part's bits whose weights add up to at most t, enumerated with the bits in ascending order of weight:
//
//	repeat   raise t of the part with the fewest look-ups so far by a quarter of a bit
//	         look up all values between the old t and the new one
//
// Cost: the look-ups and the codes they meet; subsets below the old t are enumerated again, without a look-up.

// raise is the increase of t in a step: a quarter of a bit.
const raise = hamming.BitUnits / 4

// flipped is a bit of a part: the change of the hash when it is flipped, and its weight.
type flipped struct {
	flip   uint64
	weight int
}

// weightedPart is the state of a search in one part.
type weightedPart struct {
	hash    uint64    // of the query's own value
	bits    []flipped // in ascending order of weight
	done    int       // t: all values up to it have been looked up; -1 at first
	next    int       // the least sum beyond t
	lookUps int
}

// byMargins searches by margins.
type byMargins struct {
	probe
	parts []weightedPart
	q     *hamming.WeightedQuery
}

// searchWeighted is search by margins.
func (t *tables) searchWeighted(
	codes hamming.Codes, q *hamming.WeightedQuery, into *collector, budget float64,
) (effort, bool) {
	p := &byMargins{probe: probe{tables: t, codes: codes, into: into, budget: budget}, q: q}
	for i := range t.parts {
		p.parts = append(p.parts, newWeightedPart(&t.parts[i], q))
	}
	for p.bound() <= into.Limit() {
		p.part = 0
		for i := range p.parts {
			if p.parts[i].lookUps < p.parts[p.part].lookUps {
				p.part = i
			}
		}
		if !p.raise(&p.parts[p.part]) {
			return p.effort, false
		}
	}
	return p.effort, true
}

func newWeightedPart(table *part, q *hamming.WeightedQuery) weightedPart {
	w := weightedPart{hash: table.hash(q.Code()), done: -1}
	for i, flip := range table.flips(q.Code()) {
		w.bits = append(w.bits, flipped{flip, int(q.Weights()[table.bit[i]])})
	}
	slices.SortStableFunc(w.bits, func(a, b flipped) int { return cmp.Compare(a.weight, b.weight) })
	return w
}

// bound returns the least distance of a code not yet met; there is none once a part is exhausted.
func (p *byMargins) bound() int {
	sum := 0
	for i := range p.parts {
		if p.parts[i].next == math.MaxInt {
			return math.MaxInt
		}
		sum += p.parts[i].next
	}
	return sum
}

// raise looks up the values of a part that are a little farther from the query's.
func (p *byMargins) raise(w *weightedPart) bool {
	from, to := w.done, w.next+raise-1
	w.done, w.next = to, math.MaxInt
	before := p.LookUps
	if !p.subsets(w, w.hash, w.bits, 0, from) || !p.lookUp(p) {
		return false
	}
	w.lookUps += p.LookUps - before
	return true
}

// subsets looks up the hashes after flipping any subset of the bits whose weights add up to more than from and at most
// w.done.
func (p *byMargins) subsets(w *weightedPart, hash uint64, bits []flipped, sum, from int) bool {
	if sum > from {
		if p.hashes = append(p.hashes, hash); len(p.hashes) == perLookUp && !p.lookUp(p) {
			return false
		}
	}
	for i, b := range bits {
		if sum+b.weight > w.done {
			w.next = min(w.next, sum+b.weight)
			break // the others weigh at least as much
		}
		if !p.subsets(w, hash+b.flip, bits[i+1:], sum+b.weight, from) {
			return false
		}
	}
	return true
}

// The bits of a sketch alone may be too far.
func (m *byMargins) sift(p *probe, bucket []entry) {
	half := p.tables.parts[p.part].half
	for _, e := range bucket {
		if m.q.HalfDistance(half, e.sketch) > p.limit {
			continue
		}
		if p.visits = append(p.visits, e.slot); len(p.visits) == perVisit {
			p.visit(m)
		}
	}
}

// visitCost is the time of a visit in nanoseconds. By margins more codes are visited than by Hamming distance, because
// sketches separate fewer of them.
const visitCost = 25

func (m *byMargins) measure(p *probe) {
	p.paid += float64(visitCost * float64(len(p.visits)))
	for i, s := range p.visits {
		p.distance[i] = m.q.Distance(p.codes.Row(int(s)))
	}
}
