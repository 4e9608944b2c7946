package index

import (
	"math"
	"slices"

	"hashgrove/internal/hamming"
)

// Group is the items that share a code.
type Group struct {
	ID    ID     // the first of their ids
	Items int    // number of items
	Label string // the most frequent label, alphabetically first among equals; empty if none has one
}

// Groups returns the distinct codes with their items, ordered by the groups' ids, and whether these are all. If there
// are more codes than most, it returns a fair sample of that size: the codes with the least hashes. The sample depends
// on the items alone, and changes little when a few of them come and go. Memory is bounded by most and the number of
// labels, not by the number of items.
func (s *Snapshot) Groups(most int) (codes hamming.Codes, groups []Group, all bool) {
	if most < 1 {
		panic("index: groups of less than one code")
	}
	limit := s.hashLimit(most)
	g := grouping{codes: hamming.NewCodes(0, s.bits), place: map[string]uint32{}, number: map[string]uint32{}}
	var packed []byte
	for _, v := range s.views {
		labels := g.labelsOf(v)
		for slot := range v.codes.Len() {
			if spread(v.codes.Row(slot)) > limit || v.count(uint32(slot), v.live) == 0 {
				continue
			}
			packed = v.codes.AppendBytes(packed[:0], slot)
			g.add(v, uint32(slot), packed, labels)
		}
	}
	g.chooseLabels()
	return g.ordered(), g.groups, limit == math.MaxUint64
}

// hashLimit returns the greatest hash of the sampled codes. It admits all codes if there are no more than most.
func (s *Snapshot) hashLimit(most int) uint64 {
	limit, least := uint64(math.MaxUint64), make([]uint64, 0, min(2*most, s.size))
	cut := func() {
		slices.Sort(least)
		least = slices.Compact(least) // the same code may be in several segments
		if len(least) > most {
			least = least[:most]
			limit = least[most-1]
		}
	}
	for _, v := range s.views {
		for slot := range v.codes.Len() {
			h := spread(v.codes.Row(slot))
			if h > limit || v.live != nil && v.count(uint32(slot), v.live) == 0 {
				continue
			}
			if least = append(least, h); len(least) >= 2*most {
				cut()
			}
		}
	}
	cut()
	return limit
}

// spread hashes a code so that all 64 bits depend on all of it (the finaliser of splitmix64).
func spread(code []uint64) uint64 {
	h := uint64(0)
	for _, w := range code {
		h ^= w
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
		h += 0x9e3779b97f4a7c15
	}
	return h
}

// grouping collects groups from several segments.
type grouping struct {
	codes  hamming.Codes
	groups []Group
	place  map[string]uint32 // packed code to group

	labels []string          // by number
	number map[string]uint32 // label to number
	counts map[uint64]int    // items by group, in the high half, and label
	pos    []uint32          // scratch space
}

// labelsOf maps the texts of a segment's label column to label numbers.
func (g *grouping) labelsOf(v view) []uint32 {
	c := v.columns[labelName]
	if c == nil {
		return nil
	}
	numbers := make([]uint32, c.texts.len())
	for i := range numbers {
		text := c.texts.get(i)
		n, ok := g.number[text]
		if !ok {
			n = uint32(len(g.labels))
			g.labels = append(g.labels, text)
			g.number[text] = n
		}
		numbers[i] = n
	}
	return numbers
}

// add adds the items of a segment that have the code in a slot.
func (g *grouping) add(v view, slot uint32, packed []byte, labels []uint32) {
	at, ok := g.place[string(packed)]
	if !ok {
		at = uint32(len(g.groups))
		g.place[string(packed)] = at
		g.groups = append(g.groups, Group{})
		g.codes.Append(packed)
	}
	g.pos = v.first(g.pos[:0], slot, math.MaxInt, v.live)
	group := &g.groups[at]
	if id := v.ids.get(g.pos[0]); group.Items == 0 || id.Compare(group.ID) < 0 {
		group.ID = id
	}
	group.Items += len(g.pos)
	if len(labels) == 0 {
		return
	}
	if g.counts == nil {
		g.counts = map[uint64]int{}
	}
	c := v.columns[labelName]
	for _, pos := range g.pos {
		for _, text := range c.value[c.first[pos]:c.first[pos+1]] {
			g.counts[uint64(at)<<32|uint64(labels[text])]++
		}
	}
}

// chooseLabels gives every group the label that most of its items have.
func (g *grouping) chooseLabels() {
	best := make([]int, len(g.groups)) // items with the label of the group
	for key, n := range g.counts {     // the winner does not depend on the order
		group, label := &g.groups[key>>32], g.labels[uint32(key)]
		if n > best[key>>32] || n == best[key>>32] && label < group.Label {
			best[key>>32], group.Label = n, label
		}
	}
}

// ordered sorts the groups by id and returns their codes in the same order.
func (g *grouping) ordered() hamming.Codes {
	order := make([]int, len(g.groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return g.groups[a].ID.Compare(g.groups[b].ID) })
	codes, groups := hamming.NewCodes(len(order), g.codes.Bits), make([]Group, len(order))
	for i, from := range order {
		copy(codes.Row(i), g.codes.Row(from))
		groups[i] = g.groups[from]
	}
	g.groups = groups
	return codes
}
