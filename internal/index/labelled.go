package index

import (
	"cmp"
	"math"
	"slices"

	"hashgrove/internal/hamming"
)

// Labelled holds items with labels in an order that is random yet depends only on their ids: the first items are a fair
// sample of all.
type Labelled struct {
	Codes  hamming.Codes
	Label  []int32  // number of each item's label
	Names  []string // labels by number, in alphabetical order
	Counts []int    // items of the snapshot with each label
}

// Labelled returns the items that have a label, or a fair sample of size most if there are more.
func (s *Snapshot) Labelled(most int) Labelled {
	g := grouping{number: map[string]uint32{}} // used to number labels
	numbers := make([][]uint32, len(s.views))
	for i, v := range s.views {
		numbers[i] = g.labelsOf(v)
	}
	l := Labelled{Codes: hamming.NewCodes(0, s.bits), Counts: make([]int, len(g.labels))}
	sample := bottom[place]{most: most, limit: math.MaxUint64}
	for i, v := range s.views {
		c := v.columns[labelName]
		if c == nil {
			continue
		}
		for pos := range uint32(v.len()) {
			if texts := c.value[c.first[pos]:c.first[pos+1]]; len(texts) > 0 && (v.live == nil || v.live.Contains(pos)) {
				l.Counts[numbers[i][texts[0]]]++
				sample.add(v.ids.get(pos).hash(), place{uint32(i), pos})
			}
		}
	}
	sample.cut()
	for _, e := range sample.kept {
		v := s.views[e.value.view]
		c := v.columns[labelName]
		l.Codes.Data = append(l.Codes.Data, v.code(e.value.pos)...)
		l.Label = append(l.Label, int32(numbers[e.value.view][c.value[c.first[e.value.pos]]]))
	}
	l.sortNames(g.labels)
	return l
}

// sortNames numbers the labels in alphabetical order and drops those that no live item has.
func (l *Labelled) sortNames(names []string) {
	var order []int
	for n, items := range l.Counts {
		if items > 0 {
			order = append(order, n)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(names[a], names[b]) })
	number, counts := make([]int32, len(names)), make([]int, len(order))
	for to, from := range order {
		number[from], counts[to] = int32(to), l.Counts[from]
		l.Names = append(l.Names, names[from])
	}
	l.Counts = counts
	for i, n := range l.Label {
		l.Label[i] = number[n]
	}
}

// bottom keeps the values with the least hashes, sorted by hash: a fair sample, whatever the order they come in. It
// uses memory for twice as many.
type bottom[V any] struct {
	most  int
	limit uint64 // the greatest hash that can still be kept
	kept  []hashed[V]
}

type hashed[V any] struct {
	hash  uint64
	value V
}

func (b *bottom[V]) add(hash uint64, v V) {
	if hash > b.limit {
		return
	}
	if b.kept = append(b.kept, hashed[V]{hash, v}); len(b.kept) >= 2*b.most {
		b.cut()
	}
}

// cut sorts the kept values and drops the surplus.
func (b *bottom[V]) cut() {
	slices.SortFunc(b.kept, func(x, y hashed[V]) int { return cmp.Compare(x.hash, y.hash) })
	if len(b.kept) > b.most {
		b.kept = b.kept[:b.most]
		b.limit = b.kept[b.most-1].hash
	}
}

// hash returns a 64-bit hash of the id.
func (a ID) hash() uint64 {
	if a.text == "" {
		return spread([]uint64{uint64(a.number)})
	}
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(a.text) {
		h = (h ^ uint64(a.text[i])) * 1099511628211
	}
	return spread([]uint64{h})
}
