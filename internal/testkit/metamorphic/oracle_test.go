package metamorphic

import (
	"fmt"
	"maps"
	"slices"

	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

// oracle is the definition of an index: a map of items, searched in full for every question.
type oracle struct {
	bits   int
	detail int // of the bits, the last ones
	items  map[index.ID]index.Item
	sorted []index.Item // by id; nil after a change
}

func (o *oracle) all() []index.Item {
	if o.sorted == nil {
		o.sorted = slices.SortedFunc(maps.Values(o.items), func(a, b index.Item) int { return a.ID.Compare(b.ID) })
	}
	return o.sorted
}

// changed returns an item with the given changes; everything else stays.
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

// add adds items with new ids, all or none.
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

// upsert adds or changes items; if an id occurs twice, the last one counts.
func (o *oracle) upsert(b *index.Batch) {
	before := maps.Clone(o.items)
	for i, id := range b.IDs {
		it := changed(before[id], b.Item(i), false)
		it.Code = slices.Clone(it.Code)
		o.items[id] = it
	}
	o.sorted = nil
}

// update changes existing items and returns how many there are.
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
	list, err := searchtest.Matching(o.all(), f)
	return list, err == nil
}

// answer is what the definition of a search finds.
func (o *oracle) answer(q searchtest.Question, items []index.Item) answer {
	q.Bits, q.Detail = o.bits, o.detail
	found := q.Answer(items)
	a := answer{tied: found.Tied}
	if q.Score != nil {
		a.tied = -1
	}
	for _, h := range found.Hits {
		a.hits = append(a.hits, hit{h.ID, h.Distance, h.DetailDistance, h.MarginDistance, h.Score})
	}
	return a
}

// hit is an item that was found, and answer is all of them.
type hit struct {
	id                        index.ID
	distance, detail, margins int
	score                     float64
}

func (h hit) String() string {
	return fmt.Sprintf("%v at %d and %d of detail, %d by weights, score %v", h.id, h.distance, h.detail, h.margins, h.score)
}

type answer struct {
	hits []hit
	tied int // items at the distance of the last hit; -1 when nobody counted
}

func (a answer) equals(b answer) bool {
	return slices.Equal(a.hits, b.hits) && (a.tied == b.tied || a.tied < 0 || b.tied < 0)
}

// scoreOf is a score that some items share.
func scoreOf(id index.ID) float64 {
	sum := 0
	for _, c := range []byte(id.String()) {
		sum += int(c)
	}
	return float64(sum * 17 % 11)
}
