package inference

// Balanced classes. With c_i the number of rows in the class of row i and c the largest of these, a row counts as
//
//	a_i = (c + 10) / (c_i + 10)
//
// rows: the pair weights are a_i a_j w_ij. That is the same as learning from a_i copies of each row, whose pairs with
// each other are constant, but costs nothing: copies would be in one group, and only its mass changes. The 10 keeps
// classes of a few rows, which say little about others of their kind, from counting as much as large ones.
//
// The a_i are rounded to sixteenths, so that sums stay integers.

import (
	"fmt"
	"slices"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/message"
)

const (
	countUnit = 16
	maxCount  = 1000 * countUnit // of a row
	fewRows   = 10               // a class of this size counts half of what it otherwise would
)

// BalancedCount returns the weight of a row in a class of this many rows if the largest class has most.
func BalancedCount(rows, most int) float64 { return float64(most+fewRows) / float64(rows+fewRows) }

// rowCounts returns the weight of each row or, for classes and tags, of each unit's rows.
func (o Options) rowCounts(y affinity.Matrix, bits int) ([]int64, error) {
	var classes *affinity.Classes
	n := y.Len()
	switch y := y.(type) {
	case *affinity.Classes:
		classes, n = y, y.Units()
	case *affinity.Tags:
		n = y.Units()
	case *affinity.Pairs:
		classes = y.Classes()
	}
	count := slices.Repeat([]int64{1}, n)
	if !o.BalanceClasses {
		return count, nil
	}
	if classes == nil {
		return nil, message.New("no-classes", "classes can be balanced only where there are classes, not tags or pairs")
	}
	by, total := classCounts(classes)
	if err := o.check(total, bits); err != nil {
		return nil, fmt.Errorf("with balanced classes: %w", err)
	}
	if classes == y {
		return by, nil
	}
	for i, u := range classes.RowUnits() {
		count[i] = by[u]
	}
	return count, nil
}

// classCounts returns the weight of a row of each class, in the smallest whole numbers, and the total over all rows.
func classCounts(y *affinity.Classes) (count []int64, total int) {
	_, most := y.Sizes()
	divisor := int64(0)
	for u := range y.Units() {
		ratio := BalancedCount(y.Size(int32(u)), most)
		c := int64(min(float64(countUnit*ratio)+0.5, maxCount))
		count = append(count, c)
		for b := c; b != 0; { // the greatest common divisor
			divisor, b = b, divisor%b
		}
	}
	for u := range count {
		count[u] /= divisor
		total += int(count[u]) * y.Size(int32(u))
	}
	return count, total
}
