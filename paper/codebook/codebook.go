// Package codebook makes the codebook features of the paper's tables (Coates and Ng, "The importance of encoding versus
// training with sparse coding and vector quantization", ICML 2011), pooled over a pyramid as in the FastHash paper: 800
// words and 1 + 4 + 9 cells give 11,200 values.
//
//	every patch x of the picture, normalised (patch.go)
//	z = D P (x - M)            response to every word of the dictionary D (dictionary.go), after whitening (whiten.go)
//	max(z - alpha, 0)          soft threshold
//	sum over the cells         pooling.go
//	over the sum of all        so that a busy picture and a quiet one with the same things in it are alike
//
// The last step is not in the paper.
//
// D P is multiplied out when the codebook is learned, and - D P M becomes a bias b, so a picture is one matrix product,
// 2 x places x values x words operations and most of the time. The product is made in strips of 16 words that are
// thresholded and pooled at once; no response is ever stored.
package codebook

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// The settings of the paper and of the recipe that it follows.
const (
	levels    = 3    // of the pooling pyramid: 1 + 4 + 9 cells
	cells     = 14   // of all levels
	threshold = 0.25 // alpha
	contrast  = 10   // added to the variance of a patch
	whitener  = 0.1  // added to the eigenvalues
)

// Options configure how a codebook is learned. The zero value gives 11,200 values, with settings chosen on a validation
// part of CIFAR-10.
type Options struct {
	Words    int  // of the dictionary; 800
	Patch    int  // side of a patch; 8
	Split    bool // negative responses, min(z + alpha, 0), are values of their own
	Unscaled bool // vectors are not divided by the sums of their values

	Patches    int // number of random patches to learn from; 400,000
	Iterations int // 50
	Seed       uint64
}

// WithDefaults returns the options with defaults in place of zeros.
func (o Options) WithDefaults() Options {
	o.Words = cmp.Or(o.Words, 800)
	o.Patch = cmp.Or(o.Patch, 8)
	o.Patches = cmp.Or(o.Patches, 400_000)
	o.Iterations = cmp.Or(o.Iterations, 50)
	return o
}

// Codebook turns pictures into vectors. It is safe for concurrent use; its fields must not change once it has been
// used.
type Codebook struct {
	Options  Options
	Channels int
	Filters  []float32 // D P: a row of Patch*Patch*Channels values per word
	Bias     []float32 // -D P M, one per word

	once     sync.Once
	right    *gemm.Right
	up, down [][16]float32 // b - alpha and b + alpha, by panels of words
	spare    sync.Pool     // of *scratch
}

// Kind implements feature.Maker.
func (c *Codebook) Kind() string { return "codebook" }

func (c *Codebook) patchDim() int { return c.Options.Patch * c.Options.Patch * c.Channels }

// perCell returns the number of values per cell.
func (c *Codebook) perCell() int {
	if c.Options.Split {
		return 2 * len(c.Bias)
	}
	return len(c.Bias)
}

// Dim implements feature.Maker.
func (c *Codebook) Dim() int { return cells * c.perCell() }

// Fits implements feature.Maker.
func (c *Codebook) Fits(s picture.Shape) error {
	if s.Channels != c.Channels || min(s.Width, s.Height) < c.Options.Patch {
		return fmt.Errorf("pictures of %v for a codebook of %d channels and patches of %d x %d", s, c.Channels,
			c.Options.Patch, c.Options.Patch)
	}
	return nil
}

// prepare lays out the words for the matrix product.
func (c *Codebook) prepare() {
	c.right = gemm.PackRight(gemm.RowMajor(len(c.Bias), c.patchDim(), c.Filters).T())
	c.up, c.down = make([][16]float32, c.right.Panels()), make([][16]float32, c.right.Panels())
	for i, b := range c.Bias {
		c.up[i/16][i%16], c.down[i/16][i%16] = b-threshold, b+threshold
	}
}

// scratch is a worker's scratch memory.
type scratch struct {
	left  gemm.Left
	strip []float32
	pools pools
}

// Extract implements feature.Maker.
func (c *Codebook) Extract(ctx context.Context, pictures []picture.Picture, dst vectors.Matrix, threads int) error {
	c.once.Do(c.prepare)
	return par.For(ctx, threads, len(pictures), func(i int) {
		s, _ := c.spare.Get().(*scratch)
		if s == nil {
			s = new(scratch)
		}
		defer c.spare.Put(s)
		c.encode(dst.Row(i), pictures[i], s)
	})
}

// encode writes the vector of one picture.
func (c *Codebook) encode(dst []float32, p picture.Picture, s *scratch) {
	across, down := p.Width-c.Options.Patch+1, p.Height-c.Options.Patch+1
	s.pools.reset(across, down, len(c.up))
	// As many patches at a time as fit in the second-level cache: 768 colour patches of 6 x 6, all of a 32 x 32
	// picture.
	step := max(48, 768*108/c.patchDim())
	for first := 0; first < across*down; first += step {
		count := min(step, across*down-first)
		s.left.Reset(count, c.patchDim())
		for i := range count {
			row, apart := s.left.Row(i)
			patch(row, apart, p, c.Options.Patch, (first+i)%across, (first+i)/across)
		}
		if n := s.left.StripRows() * gemm.StripCols; len(s.strip) < n {
			s.strip = make([]float32, n)
		}
		strip := s.strip[:s.left.StripRows()*gemm.StripCols]
		for panel := range c.up {
			s.left.Strip(strip, c.right, panel)
			c.add(&s.pools, panel, strip, first, count)
		}
	}
	c.collect(dst, &s.pools)
	if !c.Options.Unscaled {
		scaleToSum(dst)
	}
}

// scaleToSum divides values by the sum of their absolute values. Zeros stay zeros.
func scaleToSum(values []float32) {
	sum := 0.0
	for _, v := range values {
		sum += math.Abs(float64(v))
	}
	if sum == 0 {
		return
	}
	for i, v := range values {
		values[i] = float32(float64(v) / sum)
	}
}
