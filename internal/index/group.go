package index

import (
	"maps"
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

// grouped is a group in the making.
type grouped struct {
	Group
	code   []uint64
	hash   uint64
	labels map[string]int // items with each
}

// Groups returns the distinct codes with their items, ordered by the groups' ids, and whether these are all. If there
// are more codes than most, it returns a fair sample of that size: the codes with the least hashes. The sample depends
// on the items alone, and changes little when a few of them come and go. Memory is bounded by most and the number of
// labels, not by the number of items.
func (s *Snapshot) Groups(most int) (codes hamming.Codes, groups []Group, all bool) {
	if most < 1 {
		panic("index: groups of less than one code")
	}
	found, limit := map[string]*grouped{}, uint64(math.MaxUint64)
	var key []byte
	var pos []uint32
	for _, v := range s.views {
		for slot := range v.codes.Len() {
			code := v.codes.Row(slot)
			hash := spread(code)
			if hash > limit {
				continue
			}
			if pos = v.first(pos[:0], uint32(slot), math.MaxInt, v.live); len(pos) == 0 {
				continue
			}
			key = v.codes.AppendBytes(key[:0], slot)
			g := found[string(key)]
			if g == nil {
				g = &grouped{code: code, hash: hash, labels: map[string]int{}}
				found[string(key)] = g
			}
			g.add(v, pos)
			if len(found) >= 2*most {
				limit = keepLeast(found, most)
			}
		}
	}
	if len(found) > most {
		limit = keepLeast(found, most)
	}
	codes, groups = hamming.NewCodes(0, s.bits), make([]Group, 0, len(found))
	for _, g := range slices.SortedFunc(maps.Values(found), func(a, b *grouped) int { return a.ID.Compare(b.ID) }) {
		g.chooseLabel()
		codes.Data, groups = append(codes.Data, g.code...), append(groups, g.Group)
	}
	return codes, groups, limit == math.MaxUint64
}

// add adds items of a segment, in order of their ids.
func (g *grouped) add(v view, pos []uint32) {
	if id := v.ids.get(pos[0]); g.Items == 0 || id.Compare(g.ID) < 0 {
		g.ID = id
	}
	g.Items += len(pos)
	if c := v.columns[labelName]; c != nil {
		for _, at := range pos {
			c.values(at, func(label Value) { g.labels[label.text]++ })
		}
	}
}

// chooseLabel sets the label that most items have.
func (g *grouped) chooseLabel() {
	most := 0
	for label, n := range g.labels { // the winner does not depend on the order
		if n > most || n == most && label < g.Label {
			most, g.Label = n, label
		}
	}
}

// keepLeast keeps the given number of groups, those with the least hashes, and returns the greatest of these.
func keepLeast(found map[string]*grouped, most int) uint64 {
	hashes := make([]uint64, 0, len(found))
	for _, g := range found {
		hashes = append(hashes, g.hash)
	}
	slices.Sort(hashes)
	limit := hashes[most-1]
	maps.DeleteFunc(found, func(_ string, g *grouped) bool { return g.hash > limit })
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
