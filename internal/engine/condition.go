package engine

import (
	"fmt"

	"hashgrove/internal/index"
)

// translated writes a list of conditions or comparisons in the language of an engine.
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

// orderOf returns the rows of a batch that are to be written into a table of codes of so many bits, in the order of
// their ids: of an id that is there twice the last row counts.
func orderOf(b *index.Batch, bits int) ([]int, error) {
	if b.Codes.Bits != bits {
		return nil, fmt.Errorf("codes of %d bits for a table of codes of %d", b.Codes.Bits, bits)
	}
	return b.Order(true)
}
