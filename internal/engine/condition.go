package engine

import (
	"fmt"

	"hashgrove/internal/index"
)

// translated translates a list of conditions or comparisons into an engine's language.
func translated[S, T any](list []S, write func(S) (T, error)) ([]T, error) {
	var done []T
	for _, c := range list {
		x, err := write(c)
		if err != nil {
			return nil, err
		}
		done = append(done, x)
	}
	return done, nil
}

// orderOf returns the rows of a batch to write, ordered by id, after checking that codes have the given number of
// bits. If an id occurs twice, the last row counts.
func orderOf(b *index.Batch, bits int) ([]int, error) {
	if b.Codes.Bits != bits {
		return nil, fmt.Errorf("codes of %d bits for a table of codes of %d", b.Codes.Bits, bits)
	}
	return b.Order(true)
}
