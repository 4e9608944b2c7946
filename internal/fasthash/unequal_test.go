package fasthash

import (
	"slices"
	"testing"

	"hashgrove/internal/fasthash/boost"
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
		{"default", Options{}, 2, KernelScores, true},
		{"best", Options{Effort: Best}, 2, KernelScores, true},
		{"paper", Options{Effort: Paper}, 4, "", false},
		{"order", Options{Order: TSH}, 4, "", false},
		{"set", Options{Trees: boost.Options{Depth: 3}, LinearColumns: LinearOff}, 3, LinearOff, true},
		{"weights", Options{Inference: inference.Options{SimilarWeight: 1, DissimilarWeight: 1}}, 2, KernelScores, false},
		{"pairs", Options{BalancePairs: true}, 2, KernelScores, false},
	} {
		o, err := c.given.fillIn(about{rows: 700, classes: 10, unequal: 10})
		if err != nil || o.Trees.Depth != c.depth || o.LinearColumns != c.columns || o.Inference.BalanceClasses != c.balance {
			t.Errorf("%s: %+v, %v", c.name, o, err)
		}
	}
}

// TestFoldsOfClassesAreEven: each class is spread evenly over the folds, and equal rows stay together.
func TestFoldsOfClassesAreEven(t *testing.T) {
	var hashes []uint64
	var class []int32
	for k, n := range []int{500, 5, 12} {
		for range n {
			hashes, class = append(hashes, uint64(len(hashes))), append(class, int32(k))
		}
	}
	hashes, class = append(hashes, hashes[3]), append(class, 2) // a row that is there again, in another class
	fold, different := rowFolds(hashes, class, 5, 1, 1)
	if different != len(hashes)-1 || fold[3] != fold[len(fold)-1] {
		t.Errorf("%d different rows; equal ones in folds %d and %d", different, fold[3], fold[len(fold)-1])
	}
	counts := make([][5]int, 3)
	for i, f := range fold[:len(fold)-1] {
		counts[class[i]][f]++
	}
	for k, c := range counts {
		if slices.Max(c[:])-slices.Min(c[:]) > 1 {
			t.Errorf("class %d has %v rows in the folds", k, c)
		}
	}
}

// TestScoresBalanceClasses: with balanced classes a row of a small class counts more in the scores.
func TestScoresBalanceClasses(t *testing.T) {
	d := slantedData(t, 200, 4)
	for _, balanced := range []bool{false, true} {
		f := &scoreFit{Data: d, fold: make([]uint8, d.Rows)}
		f.chooseTargets(balanced)
		if (f.count != nil) != balanced {
			t.Fatalf("balanced %v: rows count %v", balanced, f.count)
		}
		sizes := make([]int, len(d.Labels.Names))
		for _, k := range d.Labels.Class {
			sizes[k]++
		}
		for k, got := range f.count {
			if want := float64(slices.Max(sizes)+10) / float64(sizes[k]+10); got != want {
				t.Errorf("a row of class %d counts %v, want %v", k, got, want)
			}
		}
	}
}
