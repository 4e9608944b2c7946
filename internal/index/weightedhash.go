package index

import (
	"cmp"
	"math"
	"slices"

	"hashgrove/internal/hamming"
)

// Multi-index hashing by margins. The distance D of a code is the sum over the parts of the weights that differ there,
// D = d_1 + ... + d_m. When all values of part i at most t_i from the query's were looked up, every code that was not
// met has a larger d_i in each part: at least n_i, the least sum of weights of the part that is greater than t_i. So
//
//	D >= n_1 + ... + n_m   for every code that was not met,
//
// and the search ends when that is beyond the limit. This is the argument of multihash.go with weights instead of
// counts: flips of doubtful bits are tried first, because they cost little. The values at most t from the query's are
// the subsets of the part's bits whose weights add up to t or less, which are gone through with the bits in ascending
// order of weight:
//
//	repeat   raise t of the part with the fewest look-ups so far by a quarter of a bit
//	         look up all values between the old t and the new one
//
// Cost: the look-ups and the codes they meet; the subsets below the old t are gone through again, without a look-up.

// raise is how far t goes up in a step: a quarter of a bit.
const raise = hamming.BitUnits / 4

// flipped is a bit of a part: what the hash changes by when it is flipped, and its weight.
type flipped struct {
	flip   uint64
	weight int
}

// weightedPart is what a search knows about a part.
type weightedPart struct {
	hash    uint64    // of the query's own value
	bits    []flipped // in ascending order of weight
	done    int       // t: all values up to it were looked up; -1 at first
	next    int       // the least sum beyond t
	lookUps int
}

// byMargins is a search by margins.
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

// bound is the least distance of a code that was not met; there is none once a part has looked everything up.
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

// subsets looks up what results from the hash and the flips of some of the bits, where the weights add up to more than
// from and at most to w.done.
func (p *byMargins) subsets(w *weightedPart, hash uint64, bits []flipped, sum, from int) bool {
	if sum > from {
		if p.hashes = append(p.hashes, hash); len(p.hashes) == perLookUp && !p.lookUp(p) {
			return false
		}
	}
	for i, b := range bits {
		if sum+b.weight > w.done {
			w.next = min(w.next, sum+b.weight)
			break // the others weigh no less
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
// the sketch tells less of them apart.
const visitCost = 25

func (m *byMargins) measure(p *probe) {
	p.paid += float64(visitCost * float64(len(p.visits)))
	for i, s := range p.visits {
		p.distance[i] = m.q.Distance(p.codes.Row(int(s)))
	}
}
