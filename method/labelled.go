// What a supervised method learns from: some rows of the data, and which of them are similar.

package method

import (
	"math/rand/v2"

	"hashgrove/affinity"
	"hashgrove/supervision"
)

// labelled is the chosen rows of the data.
type Labelled struct {
	*supervision.Data
	Y affinity.Matrix // of the chosen rows
}

// labelledRows draws rows from the data: want of them, or all when want is negative or there are no more. Of data
// with pairs only rows that are in a pair are drawn. It reads nothing.
func DrawLabelled(d *supervision.Data, want int, seed uint64) (*Labelled, error) {
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
		for _, k := range Draw(len(rows), want, rand.New(rand.NewPCG(seed, 'L'))) {
			keep[rows[k]] = true
		}
		part = used.Only(keep)
	}
	y, err := part.Affinity(part.Rows)
	return &Labelled{part, y}, err
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
