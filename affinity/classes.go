package affinity

import (
	"errors"
	"fmt"
	"slices"
)

// Classes is the affinity of rows with one class each.
type Classes struct {
	class []int32 // of each row, numbered 0, 1, ... in the order of the given numbers
	first []int32 // rows of class c: rows[first[c]:first[c+1]]
	rows  []int32
}

// ByClass makes rows of the same class similar and all others dissimilar. class[i] >= 0 is the class of row i.
func ByClass(class []int32) (*Classes, error) {
	if len(class) == 0 {
		return nil, errors.New("there are no rows to learn from")
	}
	for i, c := range class {
		if c < 0 {
			return nil, fmt.Errorf("row %d has no class; label it or leave it out", i)
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(class)))
	c := &Classes{class: make([]int32, len(class))}
	for i, v := range class {
		k, _ := slices.BinarySearch(names, v)
		c.class[i] = int32(k)
	}
	c.first, c.rows = groupRows(c.class, len(names))
	return c, nil
}

// groupRows sorts row numbers by the unit they belong to: unit u has rows[first[u]:first[u+1]], ascending.
func groupRows(unit []int32, units int) (first, rows []int32) {
	first, rows = make([]int32, units+1), make([]int32, len(unit))
	for _, u := range unit {
		first[u+1]++
	}
	for u := range units {
		first[u+1] += first[u]
	}
	next := slices.Clone(first)
	for i, u := range unit {
		rows[next[u]] = int32(i)
		next[u]++
	}
	return first, rows
}

// Len is the number of rows.
func (c *Classes) Len() int { return len(c.class) }

// At implements Matrix.
func (c *Classes) At(i, j int) int {
	switch {
	case i == j:
		return 0
	case c.class[i] == c.class[j]:
		return 1
	}
	return -1
}

// Units is the number of classes.
func (c *Classes) Units() int { return len(c.first) - 1 }

// Unit is the class of row i, numbered from 0 without gaps.
func (c *Classes) Unit(i int) int32 { return c.class[i] }

// Rows lends the rows of class u, ascending.
func (c *Classes) Rows(u int32) []int32 { return c.rows[c.first[u]:c.first[u+1]] }

// Counts returns the number of unordered pairs of each kind.
func (c *Classes) Counts() (similar, dissimilar int64) {
	for u := range c.Units() {
		similar += pairsAmong(len(c.Rows(int32(u))))
	}
	return similar, pairsAmong(c.Len()) - similar
}

func pairsAmong(n int) int64 { return int64(n) * int64(n-1) / 2 }
