package fasthash

import (
	"slices"
	"testing"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/supervision"
)

// sizedClasses is rows of classes of the given sizes, without vectors.
func sizedClasses(sizes ...int) *supervision.Data {
	d := &supervision.Data{}
	d.Labels = &supervision.Labels{}
	for k, n := range sizes {
		d.Labels.Names = append(d.Labels.Names, string(rune('a'+k)))
		d.Labels.Class = append(d.Labels.Class, slices.Repeat([]int32{int32(k)}, n)...)
		d.Rows += n
	}
	return d
}

// TestUnequalClasses: at least half of the classes are small, and rows are few. A single small class is no reason.
func TestUnequalClasses(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  int
	}{
		{[]int{600, 20, 20, 15, 15, 10, 10, 8, 5, 5}, 10},
		{[]int{90, 5, 0, 10}, 3},
		{[]int{60, 10}, 2},
		{[]int{50, 10}, 0},
		{[]int{100, 100, 100, 100, 5}, 0},
		{[]int{990, 11}, 0},
		{[]int{100}, 0},
	} {
		if got := unequalClasses(sizedClasses(c.sizes...)); got != c.want {
			t.Errorf("%v: %d unequal classes, want %d", c.sizes, got, c.want)
		}
	}
}

// TestUnequalClassesHaveTheirOwnDefaults: not with the paper's settings, other learners or orders, and what is set stays.
func TestUnequalClassesHaveTheirOwnDefaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		given   Options
		depth   int
		columns string
		balance bool
	}{
		{"default", Options{}, 2, columns.Kernel, true},
		{"best", Options{Effort: Best}, 2, columns.Kernel, true},
		{"paper", Options{Effort: Paper}, 4, "", false},
		{"order", Options{Order: TSH}, 4, "", false},
		{"set", Options{Trees: boost.Options{Depth: 3}, LinearColumns: columns.Off}, 3, columns.Off, true},
		{"weights", Options{Inference: inference.Options{SimilarWeight: 1, DissimilarWeight: 1}}, 2, columns.Kernel, false},
		{"pairs", Options{BalancePairs: true}, 2, columns.Kernel, false},
	} {
		o, err := c.given.fillIn(about{rows: 700, classes: 10, unequal: 10})
		if err != nil || o.Trees.Depth != c.depth || o.LinearColumns != c.columns || o.Inference.BalanceClasses != c.balance {
			t.Errorf("%s: %+v, %v", c.name, o, err)
		}
	}
}
