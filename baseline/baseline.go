// Package baseline holds the methods that FastHash is compared with. Each is one file: a struct of parameters whose
// zero values are the documented defaults, and Train, which leaves one of the encoders of package model.
//
//	RandomCodes  codes that know nothing of the vector: the floor
//	LSH          random hyperplanes: what codes give without learning
//	Sign         the sign of every centred column: what engines call binary quantisation
//	PCAITQ       rotated principal components
//	AGH          eigenvectors of an anchor graph, with one or two bits each
//	Spherical    spheres with equal halves and quarters
//	MDSH         eigenfunctions of single principal components
//	PCA          principal components in front of any method
//
// Methods lists all of them by name, those that learn from classes or tags too.
package baseline

import (
	"context"
	"errors"
	"fmt"

	"hashgrove/hamming"
	"hashgrove/model"
	"hashgrove/vectors"
)

// Method learns an encoder from the rows of a source. Supervised methods find classes, tags or pairs there too.
// The encoder is a function of the rows, the parameters and the seed.
type Method interface {
	Train(ctx context.Context, x vectors.Source) (model.Encoder, error)
}

// Weigher is a method that knows how its bits count in the ranking that it was made for.
type Weigher interface {
	Method
	Fit(ctx context.Context, x vectors.Source) (model.Encoder, []hamming.BitWeight, error)
}

// Train has a method learn. The weights are nil where plain Hamming distance is the method's own ranking.
func Train(ctx context.Context, m Method, x vectors.Source) (model.Encoder, []hamming.BitWeight, error) {
	if w, ok := m.(Weigher); ok {
		return w.Fit(ctx, x)
	}
	e, err := m.Train(ctx, x)
	return e, nil, err
}

var (
	_ Method = LSH{}
	_ Method = Sign{}
)

// maxWeights bounds the weights of a projection: 1 GB of float32.
const maxWeights = 1 << 28

// checkSize reports a projection that is too large to make.
func checkSize(bits, dim int) error {
	if bits < 1 || bits > model.MaxBits {
		return fmt.Errorf("codes of %d bits are outside of 1 to %d", bits, model.MaxBits)
	}
	if dim < 1 || dim > maxWeights/bits {
		return fmt.Errorf("%d bits of vectors with %d dimensions: a projection has 1 to %d weights", bits, dim, maxWeights)
	}
	return nil
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
