// Package solve has the steps that several methods share on the way from labelled rows to an encoder.
//
//	DrawLabelled, Targets                the rows that a supervised method learns from, and their classes
//	ReadRows, SampleRows, ReadThrough    rows of a source in memory
//	Standardise, UnitColumns             means and variances
//	GaussianKernel, Features             similarities with anchors, and products with them
//	Principal, RotateToCorners           principal components; the rotation of ITQ
//	SimilarNeighbours                    the graph of the nearest similar rows and its smoothest vectors
//	Likeness                             products with the matrix of similarities
//	FitLogistic, FitBudgeted             logistic regression, kernel machines on a budget
package solve

import (
	"fmt"
	"math/rand/v2"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
)

// MaxWeights limits the weights of a projection: 1 GB of float32.
const MaxWeights = 1 << 28

// CheckSize rejects a projection that is too large.
func CheckSize(bits, dim int) error {
	if bits < 1 || bits > hamming.MaxBits {
		return message.New("bits-out-of-range", "codes of %d bits are outside of 1 to %d", bits, hamming.MaxBits)
	}
	if dim < 1 || dim > MaxWeights/bits {
		return message.New("weights-out-of-range", "%d bits of vectors with %d dimensions: a projection has 1 to %d weights",
			bits, dim, MaxWeights)
	}
	return nil
}

// AxisSigns returns the encoder of one bit per value, [x_k >= threshold_k].
func AxisSigns(bits int, threshold []float32) *model.Projection {
	p := &model.Projection{Weight: make([]float32, bits*bits), Threshold: threshold}
	for k := range bits {
		p.Weight[k*bits+k] = 1
	}
	return p
}

// Checked validates an encoder: values near the limits of float32 can lead to weights that are not finite.
func Checked(e model.Encoder) (model.Encoder, error) {
	if err := e.Check(); err != nil {
		return nil, fmt.Errorf("no model came of these vectors, are their values very large? %w", err)
	}
	return e, nil
}

// Gaussian draws a number of mean 0 and variance 1 that is normal enough for hyperplanes: the sum of twelve uniform
// numbers minus 6, of kurtosis 2.9 and never beyond 6. The usual exact methods need a logarithm, whose last digit
// differs between machines; this is integer arithmetic and one rounding.
func Gaussian(rng *rand.Rand) float32 {
	sum := int64(-6 << 32)
	for range 12 {
		sum += int64(rng.Uint32())
	}
	return float32(float64(sum) / (1 << 32))
}
