package metamorphic

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"hashgrove/internal/index"
)

// oracle is the definition of an index: a map of items, and every question goes through all of them.
type oracle struct {
	bits   int
	items  map[index.ID]index.Item
	sorted []index.Item // by id; nil after a change
}

func (o *oracle) all() []index.Item {
	if o.sorted == nil {
		o.sorted = slices.SortedFunc(maps.Values(o.items), func(a, b index.Item) int { return a.ID.Compare(b.ID) })
	}
	return o.sorted
}

// changed is an item with what is said about it anew; what is not said stays.
func changed(old, it index.Item, replace bool) index.Item {
	if it.Label == "" {
		it.Label = old.Label
	}
	if len(it.Tags) == 0 {
		it.Tags = old.Tags
	}
	it.Tags = slices.Compact(slices.Sorted(slices.Values(it.Tags)))
	all := map[string]index.Value{}
	if !replace {
		maps.Copy(all, old.Attributes)
	}
	maps.Copy(all, it.Attributes)
	it.Attributes = all
	return it
}

// add adds items whose ids are new, all or none.
func (o *oracle) add(b *index.Batch) bool {
	seen := map[index.ID]bool{}
	for _, id := range b.IDs {
		if _, there := o.items[id]; there || seen[id] {
			return false
		}
		seen[id] = true
	}
	o.upsert(b)
	return true
}

// upsert adds or changes items; of an id that is there twice the last one counts.
func (o *oracle) upsert(b *index.Batch) {
	before := maps.Clone(o.items)
	for i, id := range b.IDs {
		it := changed(before[id], b.Item(i), false)
		it.Code = slices.Clone(it.Code)
		o.items[id] = it
	}
	o.sorted = nil
}

// update changes what is known about items that are there, and returns how many there are.
func (o *oracle) update(b *index.Batch, replace bool) int {
	n := 0
	for i, id := range b.IDs {
		if old, there := o.items[id]; there {
			it := changed(old, b.Item(i), replace)
			it.Code = old.Code
			o.items[id] = it
			n++
		}
	}
	o.sorted = nil
	return n
}

// remove removes items and returns how many were there.
func (o *oracle) remove(ids []index.ID) int {
	n := len(o.items)
	for _, id := range ids {
		delete(o.items, id)
	}
	o.sorted = nil
	return n - len(o.items)
}

// matching is the items that match a filter, in the order of their ids; false means that it is refused.
func (o *oracle) matching(f index.Filter) ([]index.Item, bool) {
	c, filters := f.Condition()
	if !filters {
		return o.all(), true
	}
	if o.refuses(c) {
		return nil, false
	}
	var list []index.Item
	for _, it := range o.all() {
		if holds(c, it) {
			list = append(list, it)
		}
	}
	return list, true
}

// hit is an item that was found, and answer is all of them.
type hit struct {
	id                index.ID
	distance, margins int
	score             float64
}

func (h hit) String() string {
	return fmt.Sprintf("%v at %d, %d by margins, score %v", h.id, h.distance, h.margins, h.score)
}

type answer struct {
	hits []hit
	tied int // items at the distance of the last hit; -1 when nobody counted
}

func (a answer) equals(b answer) bool {
	return slices.Equal(a.hits, b.hits) && (a.tied == b.tied || a.tied < 0 || b.tied < 0)
}

// query is a question about one code, as options of a search.
type query struct {
	code      []uint64
	k, radius int // math.MaxInt: none
	margins   []float32
	rank      index.Rank
	prefix    int
	shortlist int
	score     bool
}

// ranked is an item with its distances: by the bits that are searched and by all, in units of the ranking, and in bits.
type ranked struct {
	id               index.ID
	first, all, bits int
	penalty          float64
}

// answer goes through the items that match, which are in the order of their ids.
func (o *oracle) answer(q query, items []index.Item) answer {
	first, unit := cmp.Or(q.prefix, o.bits), 1
	weights, weightsOfFirst := ones(o.bits), ones(first)
	if q.rank == index.ByMargins {
		weights, weightsOfFirst, unit = weightsOf(q.margins), weightsOf(q.margins[:first]), 16
	}
	penalise := q.margins != nil && q.rank != index.ByMargins && !q.score
	list := make([]ranked, 0, len(items))
	for _, it := range items {
		x := ranked{id: it.ID}
		for w, word := range it.Code {
			for differ := word ^ q.code[w]; differ != 0; differ &= differ - 1 {
				b := 64*w + 63 - trailing(differ)
				x.bits++
				x.all += weights[b]
				if b < first {
					x.first += weightsOfFirst[b]
				}
				if penalise {
					x.penalty += math.Abs(float64(q.margins[b]))
				}
			}
		}
		if q.radius == math.MaxInt || x.first <= unit*q.radius {
			list = append(list, x)
		}
	}
	list = q.shorten(list)
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.all, b.all), cmp.Compare(a.penalty, b.penalty))
	})
	return q.take(list)
}

// shorten keeps the items of the shortlist, by whole distances.
func (q query) shorten(list []ranked) []ranked {
	n := max(q.k, q.shortlist)
	switch {
	case q.score && q.shortlist > 0:
	case q.score || q.prefix == 0 || q.radius != math.MaxInt:
		return list
	case q.shortlist == 0:
		n = max(100, min(q.k, index.MaxItems)*10)
	}
	if n >= len(list) {
		return list
	}
	distances := make([]int, len(list))
	for i, x := range list {
		distances[i] = x.first
	}
	slices.Sort(distances)
	return slices.DeleteFunc(list, func(x ranked) bool { return x.first > distances[n-1] })
}

// take makes hits of the first items of a list.
func (q query) take(list []ranked) answer {
	a := answer{}
	hits := make([]hit, len(list))
	for i, x := range list {
		hits[i] = hit{id: x.id, distance: x.bits}
		if q.rank == index.ByMargins {
			hits[i].margins = x.all
		}
		if q.score {
			hits[i].score = scoreOf(x.id)
		}
	}
	if q.score {
		slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.score, b.score) })
		a.tied = -1
	}
	a.hits = hits[:min(q.k, len(hits))]
	for _, x := range list {
		if n := len(a.hits); !q.score && n > 0 && x.all == list[n-1].all {
			a.tied++
		}
	}
	return a
}

// weightsOf is what docs/promises.md says about the weights of bits.
func weightsOf(margins []float32) []int {
	sum := 0.0
	for _, m := range margins {
		sum += math.Abs(float64(m))
	}
	weights := make([]int, len(margins))
	for b, m := range margins {
		weights[b] = 16
		if sum > 0 {
			weights[b] = int(min(63, math.Floor(16*math.Abs(float64(m))/(sum/float64(len(margins)))+0.5)))
		}
	}
	return weights
}

func ones(n int) []int { return slices.Repeat([]int{1}, n) }

// scoreOf is a score that some items share.
func scoreOf(id index.ID) float64 {
	sum := 0
	for _, c := range []byte(id.String()) {
		sum += int(c)
	}
	return float64(sum * 17 % 11)
}
