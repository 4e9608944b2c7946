package inference

// Balance of classes. With c_i the number of rows in the class of row i, a row counts as a_i = (most/c_i)^b rows: the
// pair weights are a_i a_j w_ij. That is the same as learning from a_i copies of each row, whose pairs with each other
// are constant, but costs nothing: copies would be in one group, and only its mass changes.
//
// b = 1 makes all classes alike, whatever their sizes. The a_i are rounded to sixteenths, so that sums stay integers.

import (
	"errors"
	"fmt"
	"slices"

	"hashgrove/affinity"
	"hashgrove/internal/portable"
)

const (
	countUnit = 16
	maxCount  = 1000 * countUnit // a class counts at most as a thousand times its rows
)

// rowCounts tells what each row counts, for classes and tags by unit.
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
	if o.ClassBalance == 0 {
		return count, nil
	}
	if classes == nil {
		return nil, errors.New("classes can be balanced only where there are classes, not tags or pairs")
	}
	by, total := o.classCounts(classes)
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

// classCounts tells what a row of each class counts, in the smallest whole numbers, and what all rows count.
func (o Options) classCounts(y *affinity.Classes) (count []int64, total int) {
	most := 0
	for u := range y.Units() {
		most = max(most, len(y.Rows(int32(u))))
	}
	divisor := int64(0)
	for u := range y.Units() {
		ratio := float64(most) / float64(len(y.Rows(int32(u))))
		if o.ClassBalance < 1 {
			ratio = portable.Exp(float64(o.ClassBalance * portable.PreciseLn(ratio)))
		}
		c := int64(min(float64(countUnit*ratio)+0.5, maxCount))
		count = append(count, c)
		for a, b := divisor, c; ; a, b = b, a%b {
			if b == 0 {
				divisor = a
				break
			}
		}
	}
	for u := range count {
		count[u] /= divisor
		total += int(count[u]) * len(y.Rows(int32(u)))
	}
	return count, total
}
