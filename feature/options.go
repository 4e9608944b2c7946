package feature

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// CodebookOptions is how a codebook is learned. The zero value gives 11,200 values for a colour picture.
type CodebookOptions struct {
	Words     int     // of the dictionary; 800
	Patch     int     // side of a patch; 6
	Stride    int     // pixels from one patch to the next when pictures are encoded; 1
	Levels    int     // of the pooling pyramid; 3: 1 + 4 + 9 cells
	Sides     Sides   // Positive
	Pool      Pool    // SumPool
	Threshold float64 // alpha; 0.25, negative for none

	Patches    int     // number of random patches to learn from; 400,000, or 100,000 when Sparsity > 1
	Iterations int     // 50
	Sparsity   int     // words per patch while learning: 1 is OMP-1, more is K-SVD; 1
	Contrast   float64 // added to the variance of a patch; 10
	Whitening  float64 // added to the eigenvalues; 0.1
	Seed       uint64
}

// WithDefaults fills in what is 0.
func (o CodebookOptions) WithDefaults() CodebookOptions {
	o.Words = cmp.Or(o.Words, 800)
	o.Patch = cmp.Or(o.Patch, 6)
	o.Stride = cmp.Or(o.Stride, 1)
	o.Levels = cmp.Or(o.Levels, 3)
	o.Threshold = cmp.Or(o.Threshold, 0.25)
	o.Iterations = cmp.Or(o.Iterations, 50)
	o.Sparsity = cmp.Or(o.Sparsity, 1)
	o.Contrast = cmp.Or(o.Contrast, 10)
	o.Whitening = cmp.Or(o.Whitening, 0.1)
	if o.Patches == 0 {
		o.Patches = 400_000
		if o.Sparsity > 1 {
			o.Patches = 100_000
		}
	}
	return o
}

// MaxSparsity bounds the words per patch.
const MaxSparsity = 16

// Check reports options outside of the limits.
func (o CodebookOptions) Check() error {
	switch {
	case o.Words < 1 || o.Words > MaxWords:
		return fmt.Errorf("codebook of %d words, outside of 1 to %d", o.Words, MaxWords)
	case o.Patches < 1 || o.Patches > 1<<24:
		return fmt.Errorf("codebook from %d patches, outside of 1 to %d", o.Patches, 1<<24)
	case o.Iterations < 1 || o.Iterations > 1<<11:
		return fmt.Errorf("codebook in %d iterations, outside of 1 to %d", o.Iterations, 1<<11)
	case o.Sparsity < 1 || o.Sparsity > min(MaxSparsity, o.Words):
		return fmt.Errorf("codebook with %d words per patch, outside of 1 to %d", o.Sparsity, min(MaxSparsity, o.Words))
	case !(o.Whitening > 0) || math.IsInf(o.Whitening, 0):
		return errors.New("whitening needs a positive constant")
	}
	return o.codebook().checkOptions()
}

// codebook is the codebook of these options for grey pictures, without its words.
func (o CodebookOptions) codebook() *Codebook {
	return &Codebook{
		Patch: o.Patch, Stride: o.Stride, Levels: o.Levels, Channels: 1, Sides: o.Sides, Pool: o.Pool,
		Threshold: float32(max(o.Threshold, 0)), Contrast: float32(o.Contrast), Made: o,
	}
}

// Codebook is the codebook of these options, for pictures of a number of channels, with its words.
func (o CodebookOptions) Codebook(channels int, filters, bias []float32) (*Codebook, error) {
	c := o.codebook()
	c.Channels, c.Filters, c.Bias = channels, filters, bias
	return c, c.Check()
}
