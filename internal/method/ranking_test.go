package method

import (
	"testing"

	"hashgrove/internal/supervision"
)

// TestRareClassesCountMore in the table of codes than their rows are: a row of one of n counts 1/√n, in sixteenths of a
// row of the largest class. Rows without classes count once.
func TestRareClassesCountMore(t *testing.T) {
	d := &supervision.Data{Rows: 5}
	if w := rowWeights(d, 5); w != nil {
		t.Errorf("without classes: %v", w)
	}
	d.Labels = &supervision.Labels{Names: []string{"a", "b"}, Class: []int32{0, 0, 1, 0, 0}}
	if w := rowWeights(d, 5); w[0] != 16 || w[2] != 32 || w[4] != 16 {
		t.Errorf("of four rows and one: %v", w)
	}
}
