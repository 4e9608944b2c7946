// What a supervised method learns from: some rows of the data, and which of them are similar.

package method

import (
	"context"
	"fmt"
	"math/rand/v2"

	"hashgrove/affinity"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// labelled is the chosen rows of a source.
type labelled struct {
	x      vectors.Source // the chosen rows
	rows   int
	y      affinity.Matrix
	labels *supervision.Labels // of the chosen rows; nil where they have none
	tags   *supervision.Tags   // likewise
	part   *supervision.Data   // the chosen rows as data
	all    *supervision.Data   // all rows
}

// labelledRows draws rows from the data: want of them, or all when want is negative or there are no more. Of data
// with pairs only rows that are in a pair are drawn. It reads nothing.
func labelledRows(d *supervision.Data, want int, seed uint64) (*labelled, error) {
	if err := d.Trainable(); err != nil {
		return nil, err
	}
	used := *d
	used.Supervision = d.Used()
	part := &used
	rows := make([]int32, d.Rows)
	for i := range rows {
		rows[i] = int32(i)
	}
	if d.Pairs != nil {
		rows = pairedRows(d.Pairs, d.Rows)
	}
	if want >= 0 && want < len(rows) || len(rows) < d.Rows {
		keep := make([]bool, d.Rows)
		if want < 0 {
			want = len(rows)
		}
		for _, k := range draw(len(rows), want, rand.New(rand.NewPCG(seed, 'L'))) {
			keep[rows[k]] = true
		}
		part = used.Only(keep)
	}
	y, err := part.Affinity(part.Rows)
	return &labelled{x: part.Source, rows: part.Rows, y: y, labels: part.Labels, tags: part.Tags, part: part, all: d}, err
}

// pairedRows lists the rows that are in a pair, ascending.
func pairedRows(pairs []supervision.Pair, n int) []int32 {
	in := make([]bool, n)
	for _, p := range pairs {
		in[p.A], in[p.B] = true, true
	}
	var rows []int32
	for i, yes := range in {
		if yes {
			rows = append(rows, int32(i))
		}
	}
	return rows
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
