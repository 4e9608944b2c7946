// What a supervised method learns from: some rows of a source, and who is like whom among them.
//
// A source carries labels or tags in its chunks. Pairs of its rows come from WithPairs. Where it has several of them,
// pairs come before labels and labels before tags.

package baseline

import (
	"context"
	"fmt"
	"math/rand/v2"

	"hashgrove/affinity"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// WithPairs is the source with pairs of its rows that are known to be similar or dissimilar, for the methods that learn
// from any affinity. Rows are counted from 0.
func WithPairs(x vectors.Source, pairs []supervision.Pair) vectors.Source { return paired{x, pairs} }

type paired struct {
	vectors.Source
	pairs []supervision.Pair
}

// Unwrap lends the source without the pairs.
func (p paired) Unwrap() vectors.Source { return p.Source }

// pairsOf finds the pairs of a source, also below sources that are made from it row by row.
func pairsOf(x vectors.Source) []supervision.Pair {
	for {
		switch s := x.(type) {
		case paired:
			return s.pairs
		case interface{ Unwrap() vectors.Source }:
			x = s.Unwrap()
		default:
			return nil
		}
	}
}

// labelled is the chosen rows of a source.
type labelled struct {
	x      vectors.Source // the chosen rows
	rows   int
	y      affinity.Matrix
	labels *supervision.Labels // of the chosen rows; nil where they have none
	tags   *supervision.Tags   // likewise
	all    *supervision.Data   // of all rows of the source
}

// labelledRows draws rows from a source: want of them, or all when want is negative or there are no more. Of a source
// with pairs only rows that are in a pair are drawn. It reads the source once.
func labelledRows(ctx context.Context, x vectors.Source, want, minShared int, seed uint64) (*labelled, error) {
	all, err := supervision.Scan(ctx, x, supervision.ScanOptions{})
	if err != nil {
		return nil, err
	}
	all.Pairs = pairsOf(x)
	if err := all.Trainable(); err != nil {
		return nil, err
	}
	var rows []int32
	for i := range int32(all.Rows) {
		rows = append(rows, i)
	}
	if all.Pairs != nil {
		if rows, err = pairedRows(all.Pairs, all.Rows); err != nil {
			return nil, err
		}
	}
	l := &labelled{x: x, rows: all.Rows, labels: all.Labels, tags: all.Tags, all: all}
	at := make([]int32, all.Rows) // of each row among the chosen ones
	if want >= 0 && want < len(rows) || len(rows) < all.Rows {
		keep := make([]bool, all.Rows)
		if want < 0 {
			want = len(rows)
		}
		for _, k := range draw(len(rows), want, rand.New(rand.NewPCG(seed, 'L'))) {
			keep[rows[k]] = true
		}
		part := all.Only(keep)
		l.x, l.rows, l.labels, l.tags = vectors.Select(x, keep), part.Rows, part.Labels, part.Tags
		next := int32(0)
		for i, k := range keep {
			at[i] = -1
			if k {
				at[i] = next
				next++
			}
		}
	} else {
		copy(at, rows)
	}
	switch {
	case all.Pairs != nil:
		var list []affinity.Pair
		for _, p := range all.Pairs {
			if at[p.A] >= 0 && at[p.B] >= 0 {
				list = append(list, affinity.Pair{A: at[p.A], B: at[p.B], Y: p.Y})
			}
		}
		l.y, err = affinity.FromPairs(l.rows, list)
	case l.labels != nil:
		l.y, err = affinity.ByClass(l.labels.Class)
	default:
		l.y, err = affinity.ByTags(l.tags.Start, l.tags.Tag, minShared)
	}
	return l, err
}

// pairedRows lists the rows that are in a pair, ascending.
func pairedRows(pairs []supervision.Pair, n int) ([]int32, error) {
	in := make([]bool, n)
	for k, p := range pairs {
		if p.A < 0 || p.B < 0 || int(p.A) >= n || int(p.B) >= n {
			return nil, fmt.Errorf("pair %d names rows %d and %d, outside of 0 to %d", k, p.A, p.B, n-1)
		}
		in[p.A], in[p.B] = true, true
	}
	var rows []int32
	for i, yes := range in {
		if yes {
			rows = append(rows, int32(i))
		}
	}
	return rows, nil
}

// maxValues bounds the values that a method keeps in memory: 4 GB of float32.
const maxValues = 1 << 30

// rowsOf reads a source of the given number of rows into memory.
func rowsOf(ctx context.Context, x vectors.Source, rows int) (vectors.Matrix, error) {
	if int64(rows)*int64(x.Dim()) > maxValues {
		return vectors.Matrix{}, fmt.Errorf("%d rows of %d values do not fit into memory: learn from fewer rows", rows, x.Dim())
	}
	m := vectors.Matrix{Rows: rows, Cols: x.Dim(), Data: make([]float32, 0, rows*x.Dim())}
	for c, err := range x.Chunks(ctx) {
		if err == nil && len(m.Data)+len(c.X.Data) > cap(m.Data) {
			err = fmt.Errorf("the data have more than the %d rows seen before: did a file change while it was read?", rows)
		}
		if err != nil {
			return vectors.Matrix{}, err
		}
		m.Data = append(m.Data, c.X.Data...)
	}
	if len(m.Data) < cap(m.Data) {
		return vectors.Matrix{}, fmt.Errorf("the data have fewer than the %d rows seen before: did a file change while it was read?", rows)
	}
	return m, nil
}

// draw returns want different numbers below n, or all when there are no more, in the order they are drawn.
func draw(n, want int, rng *rand.Rand) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	want = min(want, n)
	for i := range want { // the first steps of a shuffle
		j := i + rng.IntN(n-i)
		list[i], list[j] = list[j], list[i]
	}
	return list[:want]
}
