package method

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

func labelledFrom(src vectors.Source, want int, seed uint64) (*labelled, error) {
	d, err := methodtest.Data(src)
	if err != nil {
		return nil, err
	}
	return drawLabelled(d, want, seed)
}

func mustLabelled(t *testing.T, x vectors.Source, want int) *labelled {
	t.Helper()
	l, err := labelledFrom(x, want, 1)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The chosen rows, their supervision and their affinity must belong together.
func TestLabelledRows(t *testing.T) {
	ctx := context.Background()
	x, class := methodtest.ClusterMatrix(3, 200, 4, 5)
	for _, want := range []int{-1, 60, 500} {
		l := mustLabelled(t, vectors.WithLabels(x, methodtest.ClassNames(class)), want)
		if rows := min(uint(want), 200); l.Rows != int(rows) {
			t.Fatalf("%d of %d rows", l.Rows, want)
		}
		chosen, err := readRows(ctx, l.Source, l.Rows)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for i := range l.Rows {
			for !slices.Equal(x.Row(at), chosen.Row(i)) {
				at++
			}
			if l.Labels.Names[l.Labels.Class[i]] != strconv.Itoa(int(class[at])) {
				t.Fatalf("row %d has the label of another", i)
			}
		}
	}
	pairs := []supervision.Pair{{A: 3, B: 7, Y: 1}, {A: 7, B: 11, Y: -1}, {A: 20, B: 3, Y: -1}}
	l := mustLabelled(t, methodtest.WithPairs(x, pairs), -1)
	if l.Rows != 4 || l.Labels != nil || l.Y.At(0, 1) != 1 || l.Y.At(1, 2) != -1 || l.Y.At(3, 0) != -1 ||
		l.Y.At(2, 3) != 0 {
		t.Errorf("pairs of rows 3, 7, 11 and 20 became others: %d rows", l.Rows)
	}
	for want, src := range map[string]vectors.Source{
		"no labels":   x,
		"all rows":    vectors.WithLabels(x, methodtest.ClassNames(make([]int32, 200))),
		"outside of":  methodtest.WithPairs(x, []supervision.Pair{{A: 3, B: 200, Y: -1}}),
		"no pair is ": methodtest.WithPairs(x, []supervision.Pair{{A: 3, B: 4, Y: 1}}),
	} {
		if _, err := labelledFrom(src, -1, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
