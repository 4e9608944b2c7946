// The input of a supervised method: some rows of the data, and which of them are similar.

package method

import (
	"math/rand/v2"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
)

// labelled holds the chosen rows of the data.
type labelled struct {
	*supervision.Data
	Y affinity.Matrix // of the chosen rows
}

// drawLabelled draws want rows from the data, or all if want is negative or there are no more. With pairs, only rows
// that are in a pair are drawn. It reads nothing.
func drawLabelled(d *supervision.Data, want int, seed uint64) (*labelled, error) {
	if err := d.Trainable(); err != nil {
		return nil, err
	}
	used := *d
	used.Supervision = d.Used()
	part := &used
	paired := make([]bool, d.Rows)
	for _, p := range d.Pairs {
		paired[p.A], paired[p.B] = true, true
	}
	var rows []int
	for i, yes := range paired {
		if yes || d.Pairs == nil {
			rows = append(rows, i)
		}
	}
	if want < 0 {
		want = len(rows)
	}
	if min(want, len(rows)) < d.Rows {
		keep := make([]bool, d.Rows)
		for _, k := range drawDistinct(len(rows), want, rand.New(rand.NewPCG(seed, 'L'))) {
			keep[rows[k]] = true
		}
		part = used.Only(keep)
	}
	y, err := part.Affinity(part.Rows)
	return &labelled{part, y}, err
}

// targets are what rows should be recognised as: each has a class, or any number of tags.
type targets struct {
	Classes int
	Start   []int // row i has Of[Start[i]:Start[i+1]]
	Of      []int32
	Several bool // any number per row, each predicted separately
}

// Row returns the classes or tags of row i, without copying.
func (t targets) Row(i int) []int32 { return t.Of[t.Start[i]:t.Start[i+1]] }

// Counts returns the number of rows of each class or tag.
func (t targets) Counts() []float64 {
	n := make([]float64, t.Classes)
	for _, c := range t.Of {
		n[c]++
	}
	return n
}

// Rows returns the number of rows.
func (t targets) Rows() int { return len(t.Start) - 1 }

// targetsOf returns the labels of the rows or, without labels, their tags, and the names of either.
func targetsOf(d *supervision.Data) (targets, []string, error) {
	switch {
	case d.Labels != nil:
		t := targets{Classes: len(d.Labels.Names), Start: make([]int, d.Rows+1), Of: d.Labels.Class}
		for i := range t.Start {
			t.Start[i] = i
		}
		return t, d.Labels.Names, nil
	case d.Tags != nil:
		return targets{len(d.Tags.Names), d.Tags.Start, d.Tags.Tag, true}, d.Tags.Names, nil
	}
	return targets{}, nil, message.New("only-pairs",
		"there are only pairs of rows, and this method learns from classes or tags")
}
