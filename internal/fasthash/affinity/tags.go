package affinity

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sync/atomic"

	"hashgrove/internal/message"
	"hashgrove/internal/par"
)

// Tags is the affinity of rows with sets of tags.
//
// Rows with the same tags are alike in every way, so everything is done with units: a unit is a distinct set of at
// least MinShared tags, with all its rows. A row with fewer tags is similar to no row, not even to one with the same
// tags, and is a unit of its own.
type Tags struct {
	units     // in the order of their first rows
	start     []int
	tag       []int32
	minShared int

	holders map[int32][]int32 // of each tag: the units that have it and are similar to some unit
}

// ByTags makes rows similar if they share at least minShared tags (0 means DefaultShared), and all others dissimilar.
// Row i has the tags tag[start[i]:start[i+1]], ascending and without repetition.
func ByTags(start []int, tag []int32, minShared int) (*Tags, error) {
	n := len(start) - 1
	if n < 1 {
		return nil, message.New("no-rows", "there are no rows to learn from")
	}
	if minShared < 0 {
		return nil, message.New("bad-number", "rows cannot be similar from %d shared tags on; give 1 or more", minShared)
	}
	t := &Tags{start: start, tag: tag, minShared: cmp.Or(minShared, DefaultShared), holders: map[int32][]int32{}}
	if start[0] != 0 || start[n] != len(tag) {
		panic("affinity: the starts do not cover the tags")
	}
	known, unit := make(map[string]int32), make([]int32, n)
	count := int32(0)
	var key []byte
	for i := range n {
		row := t.row(i)
		key = key[:0]
		for k, v := range row {
			if v < 0 || k > 0 && v <= row[k-1] {
				return nil, message.New("wrong-order",
					"the tags of row %d are not ascending numbers; sort them and drop repetitions", i)
			}
			key = binary.LittleEndian.AppendUint32(key, uint32(v))
		}
		u, ok := known[string(key)]
		if !ok {
			u = count
			count++
			if len(row) >= t.minShared {
				known[string(key)] = u
			}
		}
		unit[i] = u
	}
	t.units = newUnits(unit, int(count))
	for u := range int32(t.Units()) {
		for _, v := range t.tags(u) {
			t.holders[v] = append(t.holders[v], u)
		}
	}
	return t, nil
}

// tags returns the tags of unit u, or nil if it cannot be similar to any unit.
func (t *Tags) tags(u int32) []int32 {
	row := t.row(int(t.Rows(u)[0]))
	if len(row) < t.minShared {
		return nil
	}
	return row
}

// row returns the tags of row i, without copying.
func (t *Tags) row(i int) []int32 { return t.tag[t.start[i]:t.start[i+1]] }

// At implements Matrix.
func (t *Tags) At(i, j int) int {
	if i == j {
		return 0
	}
	if Shared(t.row(i), t.row(j)) >= t.minShared {
		return 1
	}
	return -1
}

// Shared counts the common numbers of two ascending lists.
func Shared(a, b []int32) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}

// finder finds similar units.
type finder struct {
	t      *Tags
	shared []int32 // number of tags shared with the unit asked for
	found  []int32
}

func (t *Tags) finder() *finder { return &finder{t: t, shared: make([]int32, t.Units())} }

// SimilarUnits returns a function, for one goroutine, that lists the units whose rows are similar to those of u,
// ascending and including u. The list is valid until the next call.
func (t *Tags) SimilarUnits() func(u int32) []int32 {
	f := t.finder()
	return func(u int32) []int32 {
		found := f.find(u)
		slices.Sort(found)
		return found
	}
}

// find lists the similar units in any order, u first.
func (f *finder) find(u int32) []int32 {
	f.found = append(f.found[:0], u)
	for _, v := range f.t.tags(u) {
		for _, o := range f.t.holders[v] {
			f.shared[o]++
			if int(f.shared[o]) == f.t.minShared && o != u {
				f.found = append(f.found, o)
			}
		}
	}
	for _, v := range f.t.tags(u) {
		for _, o := range f.t.holders[v] {
			f.shared[o] = 0
		}
	}
	return f.found
}

// Counts returns the number of unordered pairs of each kind. It visits all pairs of units that share a tag.
func (t *Tags) Counts() (similar, dissimilar int64) {
	var ordered atomic.Int64 // pairs of units, each twice
	_ = par.Blocks(context.Background(), 0, t.Units(), 256, func(_, lo, hi int) {
		f, sum := t.finder(), int64(0)
		for u := int32(lo); u < int32(hi); u++ {
			size := t.Size(u)
			sum += 2 * pairsAmong(size)
			for _, o := range f.find(u)[1:] {
				sum += int64(size) * int64(t.first[o+1]-t.first[o])
			}
		}
		ordered.Add(sum)
	})
	similar = ordered.Load() / 2
	return similar, pairsAmong(t.Len()) - similar
}
