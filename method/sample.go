// Rows of a source in memory: all of them, or some drawn at random.

package method

import (
	"context"
	"errors"
	"math/rand/v2"

	"hashgrove/supervision"
	"hashgrove/vectors"
)

// sampleRows reads want rows of a source, drawn at random but in order, or all when there are no more. It reads the source
// once for their number and once for the rows.
func sampleRows(ctx context.Context, x vectors.Source, want int, seed uint64) (vectors.Matrix, error) {
	n, err := countRows(ctx, x)
	if err != nil {
		return vectors.Matrix{}, err
	}
	if n == 0 {
		return vectors.Matrix{}, errors.New("there are no rows to learn from")
	}
	if want >= n {
		return rowsOf(ctx, x, n)
	}
	keep := make([]bool, n)
	for _, i := range draw(n, want, rand.New(rand.NewPCG(seed, 'S'))) {
		keep[i] = true
	}
	return rowsOf(ctx, vectors.Select(x, keep), want)
}

// countRows reads a source for the number of its rows.
func countRows(ctx context.Context, x vectors.Source) (int, error) {
	switch m := x.(type) {
	case vectors.Matrix:
		return m.Rows, nil
	case vectors.Table:
		return m.X.Rows, nil
	case *supervision.Data:
		return m.Rows, nil
	}
	n := 0
	for c, err := range x.Chunks(ctx) {
		if err != nil {
			return 0, err
		}
		n += c.X.Rows
	}
	return n, nil
}

// mean returns the mean of every column, summed in the order of the rows.
func mean(ctx context.Context, x vectors.Source) ([]float32, error) {
	sum := make([]float64, x.Dim())
	rows := 0
	for c, err := range x.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range c.X.Rows {
			for j, v := range c.X.Row(i) {
				sum[j] += float64(v)
			}
		}
		rows += c.X.Rows
	}
	if rows == 0 {
		return nil, errors.New("there are no rows to learn from")
	}
	m := make([]float32, len(sum))
	for j, s := range sum {
		m[j] = float32(s / float64(rows))
	}
	return m, nil
}
