package method

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/supervision"
	"hashgrove/vectors"
)

// classed is clusters as a source with labels.
func classed(seed uint64, rows, cols, classes int) vectors.Source {
	x, class := clusters(seed, rows, cols, classes)
	return vectors.WithLabels(x, names(class))
}

func names(class []int32) []string {
	list := make([]string, len(class))
	for i, c := range class {
		list[i] = strconv.Itoa(int(c))
	}
	return list
}

// tagged is a matrix whose rows have tags.
type tagged struct {
	vectors.Matrix
	tags [][]string
}

func (m tagged) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for c, err := range m.Matrix.Chunks(ctx) {
			if err == nil {
				c.Tags = m.tags[c.First : c.First+c.X.Rows]
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// withTags is clusters where every row has the two tags of its class, and often another one or none.
func withTags(seed uint64, rows, cols, classes int) vectors.Source {
	x, class := clusters(seed, rows, cols, classes)
	rng := rand.New(rand.NewPCG(seed, 2))
	tags := make([][]string, rows)
	for i, c := range class {
		switch n := strconv.Itoa(int(c)); rng.IntN(8) {
		case 0:
			tags[i] = []string{"a" + n}
		case 1:
			tags[i] = nil
		case 2, 3:
			tags[i] = []string{"a" + n, "b" + n, "a" + strconv.Itoa(rng.IntN(classes))}
		default:
			tags[i] = []string{"a" + n, "b" + n}
		}
	}
	return tagged{x, tags}
}

// withPairs is clusters with pairs of some rows.
func withPairs(seed uint64, rows, cols, classes, pairs int) vectors.Source {
	x, class := clusters(seed, rows, cols, classes)
	rng := rand.New(rand.NewPCG(seed, 3))
	var list []supervision.Pair
	for range pairs {
		a, b := int32(rng.IntN(rows)), int32(rng.IntN(rows))
		if a == b {
			continue
		}
		p := supervision.Pair{A: a, B: b, Y: -1}
		if class[a] == class[b] {
			p.Y = 1
		}
		list = append(list, p)
	}
	return withPairsOf(x, list)
}

func labelledFrom(src vectors.Source, want int, seed uint64) (*labelled, error) {
	d, err := dataOf(src)
	if err != nil {
		return nil, err
	}
	return labelledRows(d, want, seed)
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
	x, class := clusters(3, 200, 4, 5)
	for _, want := range []int{-1, 60, 500} {
		l := mustLabelled(t, vectors.WithLabels(x, names(class)), want)
		if rows := min(uint(want), 200); l.Rows != int(rows) {
			t.Fatalf("%d of %d rows", l.Rows, want)
		}
		chosen, err := rowsOf(ctx, l.Source, l.Rows)
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
	l := mustLabelled(t, withPairsOf(x, pairs), -1)
	if l.Rows != 4 || l.Labels != nil || l.Y.At(0, 1) != 1 || l.Y.At(1, 2) != -1 || l.Y.At(3, 0) != -1 || l.Y.At(2, 3) != 0 {
		t.Errorf("pairs of rows 3, 7, 11 and 20 became others: %d rows", l.Rows)
	}
	for want, src := range map[string]vectors.Source{
		"no labels":   x,
		"all rows":    vectors.WithLabels(x, names(make([]int32, 200))),
		"outside of":  withPairsOf(x, []supervision.Pair{{A: 3, B: 200, Y: -1}}),
		"no pair is ": withPairsOf(x, []supervision.Pair{{A: 3, B: 4, Y: 1}}),
	} {
		if _, err := labelledFrom(src, -1, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
