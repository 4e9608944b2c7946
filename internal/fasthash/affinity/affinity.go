// Package affinity says which rows are similar: the matrix Y of the paper, with y_ij = +1 for similar rows, -1 for
// dissimilar ones and 0 if nothing is known.
//
//	ByClass     rows of one class are similar, all others dissimilar
//	ByTags      rows that share enough tags are similar, all others dissimilar
//	FromPairs   what a list says; every other pair is unknown
//	Sample      some pairs of each row of another matrix; every other pair is unknown
//
// Classes and tags define all n² pairs without storing any.
package affinity

import (
	"slices"
	"sync"

	"hashgrove/internal/message"
)

// Matrix is Y: symmetric, over Len rows. At returns y_ij in {-1, 0, +1}, and 0 for a row with itself. It is *Classes,
// *Tags or *Pairs.
type Matrix interface {
	Len() int
	At(i, j int) int
	// Counts returns the number of unordered pairs of each kind.
	Counts() (similar, dissimilar int64)
}

// DefaultShared is the default for the least number of tags that similar rows share.
const DefaultShared = 2

// units groups the rows that are alike in Y: classes, or distinct sets of tags.
type units struct {
	unit  []int32        // of each row, numbered from 0 without gaps
	first []int32        // rows of unit u: rows()[first[u]:first[u+1]], ascending
	rows  func() []int32 // built on demand, since many rows take much memory
}

func newUnits(unit []int32, count int) units {
	first := make([]int32, count+1)
	for _, u := range unit {
		first[u+1]++
	}
	for u := range count {
		first[u+1] += first[u]
	}
	return units{unit, first, sync.OnceValue(func() []int32 {
		rows, next := make([]int32, len(unit)), slices.Clone(first)
		for i, u := range unit {
			rows[next[u]] = int32(i)
			next[u]++
		}
		return rows
	})}
}

// Len returns the number of rows.
func (s *units) Len() int { return len(s.unit) }

// Units returns the number of units.
func (s *units) Units() int { return len(s.first) - 1 }

// RowUnits returns the unit of every row, without copying.
func (s *units) RowUnits() []int32 { return s.unit }

// Rows returns the rows of unit u, ascending, without copying.
func (s *units) Rows(u int32) []int32 { return s.rows()[s.first[u]:s.first[u+1]] }

// Size returns the number of rows of unit u.
func (s *units) Size(u int32) int { return int(s.first[u+1] - s.first[u]) }

// Classes is the affinity of rows with one class each. Its units are the classes, in the order of their numbers.
type Classes struct{ units }

// ByClass makes rows of the same class similar and all others dissimilar. class[i] >= 0 is the class of row i; the
// slice is kept and must not change.
func ByClass(class []int32) (*Classes, error) {
	if len(class) == 0 {
		return nil, message.New("no-rows", "there are no rows to learn from")
	}
	most := int32(0)
	for i, c := range class {
		if c < 0 {
			return nil, message.New("no-label", "row %d has no class; label it or leave it out", i)
		}
		most = max(most, c)
	}
	if int(most) < len(class) { // nearly always
		seen := make([]bool, most+1)
		for _, c := range class {
			seen[c] = true
		}
		if !slices.Contains(seen, false) {
			return &Classes{newUnits(class, len(seen))}, nil
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(class)))
	unit := make([]int32, len(class))
	for i, v := range class {
		k, _ := slices.BinarySearch(names, v)
		unit[i] = int32(k)
	}
	return &Classes{newUnits(unit, len(names))}, nil
}

// At implements Matrix.
func (c *Classes) At(i, j int) int {
	switch {
	case i == j:
		return 0
	case c.unit[i] == c.unit[j]:
		return 1
	}
	return -1
}

// Sizes returns the number of rows in the smallest and in the largest class.
func (c *Classes) Sizes() (least, most int) {
	least = c.Len()
	for u := range c.Units() {
		size := c.Size(int32(u))
		least, most = min(least, size), max(most, size)
	}
	return least, most
}

// Counts returns the number of unordered pairs of each kind.
func (c *Classes) Counts() (similar, dissimilar int64) {
	for u := range c.Units() {
		similar += pairsAmong(c.Size(int32(u)))
	}
	return similar, pairsAmong(c.Len()) - similar
}

func pairsAmong(n int) int64 { return int64(n) * int64(n-1) / 2 }
