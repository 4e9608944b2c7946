// Codebook features (Coates and Ng, "The importance of encoding versus training with sparse coding and vector
// quantization", ICML 2011), pooled over a pyramid as in the FastHash paper: 800 words and 1 + 4 + 9 cells give 11,200
// values.
//
//	every patch x of the picture, normalised (internal/patch)
//	z = D P (x - M)            response to every word of the dictionary D, after whitening (dictionary/whiten.go)
//	max(z - alpha, 0)          soft threshold
//	sum over the cells         pooling.go
//	over the sum of all        so that a busy picture and a quiet one with the same things in it are alike
//
// The last step is not in the paper; paper/results/tuning.md has what it is worth.
//
// D P is multiplied out when the codebook is learned, and - D P M becomes a bias b, so a picture is one matrix product,
// 2 x places x values x words operations and most of the time. The product is made in strips of 16 words that are
// thresholded and pooled at once; no response is ever stored.

package feature

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"hashgrove/internal/feature/internal/patch"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// Sides selects how responses of either sign count.
type Sides uint8

// The sides of a response z with threshold alpha.
const (
	Positive Sides = iota // max(z - alpha, 0)
	Absolute              // max(|z| - alpha, 0)
	Split                 // max(z - alpha, 0), and as a value of its own min(z + alpha, 0)
)

// Pool selects how the responses in a cell become one value.
type Pool uint8

// The kinds of pooling.
const (
	SumPool Pool = iota // their sum
	MaxPool             // the one with the largest magnitude
)

// Norm selects how a vector is scaled.
type Norm uint8

// The kinds of scaling.
const (
	SumNorm Norm = iota // divided by the sum of its absolute values; zeros stay zeros
	NoNorm              // unscaled
)

// Limits of a codebook, which bound what a hostile file can ask for.
const (
	MaxWords  = 1 << 16
	maxSquare = 16 // side of a patch
	maxLevels = 8
	maxFactor = 1e15
)

// Codebook is the extractor learned by package dictionary. It is safe for concurrent use; its fields must not change
// once it has been used.
type Codebook struct {
	Patch     int // side of a patch
	Channels  int
	Stride    int // pixels from one patch to the next
	Levels    int // of the pyramid
	Sides     Sides
	Pool      Pool
	Norm      Norm
	Threshold float32 // alpha
	Contrast  float32 // added to the variance of a patch

	Filters []float32 // D P: a row of Patch*Patch*Channels values per word
	Bias    []float32 // -D P M, one per word

	// Made records how the codebook was learned. It is not part of the canonical bytes.
	Made CodebookOptions

	once     sync.Once
	right    *gemm.Right
	up, down [][16]float32 // b - alpha and b + alpha, by panels of words
	spare    sync.Pool     // of *codebookScratch
}

// Kind implements Extractor.
func (c *Codebook) Kind() string { return "codebook" }

// Words returns the number of words in the dictionary.
func (c *Codebook) Words() int { return len(c.Bias) }

func (c *Codebook) patchDim() int { return c.Patch * c.Patch * c.Channels }

// perCell returns the number of values per cell.
func (c *Codebook) perCell() int {
	if c.Sides == Split {
		return 2 * c.Words()
	}
	return c.Words()
}

// Dim implements Extractor.
func (c *Codebook) Dim() int { return cellsOf(c.Levels) * c.perCell() }

// Check implements Extractor.
func (c *Codebook) Check() error {
	if err := c.checkOptions(); err != nil {
		return err
	}
	if c.Words() < 1 || c.Words() > MaxWords || len(c.Filters) != c.Words()*c.patchDim() {
		return fmt.Errorf("codebook of %d words with %d values for patches of %d", c.Words(), len(c.Filters), c.patchDim())
	}
	if c.Dim() > MaxDim {
		return fmt.Errorf("codebook whose vectors have %d values, over %d", c.Dim(), MaxDim)
	}
	for i, v := range c.Filters {
		// Together with the bounds on the other numbers, this keeps all sums finite.
		if !(math.Abs(float64(v)) < maxFactor) {
			return fmt.Errorf("word %d of the codebook has the value %v", i/c.patchDim(), v)
		}
	}
	for i, v := range c.Bias {
		if !(math.Abs(float64(v)) < maxFactor) {
			return fmt.Errorf("word %d of the codebook has the bias %v", i, v)
		}
	}
	return nil
}

// Fits implements Extractor.
func (c *Codebook) Fits(s picture.Shape) error { return patch.Fits(s, c.Patch, c.Channels) }

func (c *Codebook) checkOptions() error {
	switch {
	case c.Patch < 1 || c.Patch > maxSquare:
		return fmt.Errorf("codebook with patches of side %d, outside the range 1 to %d", c.Patch, maxSquare)
	case c.Channels != 1 && c.Channels != 3:
		return fmt.Errorf("codebook for %d channels: 1 or 3 are allowed", c.Channels)
	case c.Stride < 1 || c.Stride > picture.MaxSide:
		return fmt.Errorf("codebook with a stride of %d, outside the range 1 to %d", c.Stride, picture.MaxSide)
	case c.Levels < 1 || c.Levels > maxLevels:
		return fmt.Errorf("codebook with %d levels of pooling, outside the range 1 to %d", c.Levels, maxLevels)
	case c.Sides > Split || c.Pool > MaxPool || c.Norm > NoNorm:
		return fmt.Errorf("codebook with unknown sides %d, pooling %d or scaling %d", c.Sides, c.Pool, c.Norm)
	case !(c.Threshold >= 0 && c.Threshold < maxFactor):
		return fmt.Errorf("codebook with the threshold %v", c.Threshold)
	case !(c.Contrast >= 1e-6 && c.Contrast < maxFactor):
		return fmt.Errorf("codebook with the contrast constant %v, which must be at least 1e-6", c.Contrast)
	}
	return nil
}

// prepare lays out the words for the matrix product.
func (c *Codebook) prepare() {
	c.right = gemm.PackRight(gemm.RowMajor(c.Words(), c.patchDim(), c.Filters).T())
	c.up, c.down = make([][16]float32, c.right.Panels()), make([][16]float32, c.right.Panels())
	for i, b := range c.Bias {
		c.up[i/16][i%16], c.down[i/16][i%16] = b-c.Threshold, b+c.Threshold
	}
}

// codebookScratch is a worker's scratch memory.
type codebookScratch struct {
	windows patch.Windows
	grid    *grid
	left    gemm.Left
	strip   []float32
	pools   poolScratch
}

// Extract implements Extractor.
func (c *Codebook) Extract(ctx context.Context, pictures []picture.Picture, dst vectors.Matrix, threads int) error {
	err := checkExtract(c, pictures, dst)
	if err != nil {
		return err
	}
	c.once.Do(c.prepare)
	return par.For(ctx, threads, len(pictures), func(i int) {
		s, _ := c.spare.Get().(*codebookScratch)
		if s == nil {
			s = new(codebookScratch)
		}
		defer c.spare.Put(s)
		c.encode(dst.Row(i), pictures[i], s)
	})
}

// encode writes the vector of one picture.
func (c *Codebook) encode(dst []float32, p picture.Picture, s *codebookScratch) {
	if s.grid == nil || s.grid.width != p.Width || s.grid.height != p.Height {
		s.grid = newGrid(p.Width, p.Height, c.Patch, c.Stride, c.Levels)
		n := (len(s.grid.starts) - 1) * len(c.up)
		s.pools = poolScratch{make([][16]float32, n), make([][16]float32, n)}
	}
	clear(s.pools.above)
	clear(s.pools.below)
	s.windows.Set(p, c.Patch, float64(c.Contrast))
	g := s.grid
	// As many patches at a time as fit in the second-level cache: 768 colour patches of 6 x 6, all of a 32 x 32
	// picture.
	step := max(48, 768*108/c.patchDim())
	for first := 0; first < len(g.places); first += step {
		count := min(step, len(g.places)-first)
		s.left.Reset(count, c.patchDim())
		for i, at := range g.places[first:][:count] {
			row, apart := s.left.Row(i)
			s.windows.Patch(row, apart, at%g.across*c.Stride, at/g.across*c.Stride)
		}
		if n := s.left.StripRows() * gemm.StripCols; len(s.strip) < n {
			s.strip = make([]float32, n)
		}
		strip := s.strip[:s.left.StripRows()*gemm.StripCols]
		for panel := range c.up {
			s.left.Strip(strip, c.right, panel)
			c.add(&s.pools, g, panel, strip, first, count)
		}
	}
	c.collect(dst, &s.pools, g)
	if c.Norm == SumNorm {
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

func (c *Codebook) tag() byte {
	if c.Norm == SumNorm {
		return scaledCodebookTag
	}
	return codebookTag
}

func (c *Codebook) appendBody(dst []byte) []byte {
	dst = put(dst, c.Patch, c.Channels, c.Stride, c.Levels, int(c.Sides), int(c.Pool),
		int(math.Float32bits(c.Threshold)), int(math.Float32bits(c.Contrast)), c.Words())
	for _, values := range [][]float32{c.Bias, c.Filters} {
		dst, _ = binary.Append(dst, binary.LittleEndian, values) // cannot fail
	}
	return dst
}

func parseCodebook(b []byte, norm Norm) (*Codebook, error) {
	n, rest, err := take(b, 9)
	if err != nil {
		return nil, err
	}
	c := &Codebook{
		Patch: n[0], Channels: n[1], Stride: n[2], Levels: n[3],
		Sides: Sides(min(n[4], 255)), Pool: Pool(min(n[5], 255)), Norm: norm,
		Threshold: math.Float32frombits(uint32(n[6])), Contrast: math.Float32frombits(uint32(n[7])),
	}
	if err := c.checkOptions(); err != nil {
		return nil, err
	}
	words := n[8]
	if words < 1 || words > MaxWords || len(rest) != 4*words*(1+c.patchDim()) {
		return nil, fmt.Errorf("codebook of %d words for patches of %d values in %d bytes", words, c.patchDim(), len(rest))
	}
	values := make([]float32, len(rest)/4)
	_, _ = binary.Decode(rest, binary.LittleEndian, values) // cannot fail
	c.Bias, c.Filters = values[:words:words], values[words:]
	return c, nil
}

// CodebookOptions configure how a codebook is learned. The zero value gives 11,200 values, with settings chosen on a
// validation part of CIFAR-10; the usual recipe has patches of side 6 and NoNorm.
type CodebookOptions struct {
	Words     int     // of the dictionary; 800
	Patch     int     // side of a patch; 8
	Stride    int     // pixels from one patch to the next when pictures are encoded; 1
	Levels    int     // of the pooling pyramid; 3: 1 + 4 + 9 cells
	Sides     Sides   // Positive
	Pool      Pool    // SumPool
	Norm      Norm    `json:",omitempty"` // SumNorm
	Threshold float64 // alpha; 0.25, negative for none

	Patches    int     // number of random patches to learn from; 400,000, or 100,000 when Sparsity > 1
	Iterations int     // 50
	Sparsity   int     // words per patch while learning: 1 is OMP-1, more is K-SVD; 1
	Contrast   float64 // added to the variance of a patch; 10
	Whitening  float64 // added to the eigenvalues; 0.1
	Seed       uint64
}

// WithDefaults returns the options with defaults in place of zeros.
func (o CodebookOptions) WithDefaults() CodebookOptions {
	o.Words = cmp.Or(o.Words, 800)
	o.Patch = cmp.Or(o.Patch, 8)
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

// MaxSparsity is the largest number of words per patch.
const MaxSparsity = 16

// Check returns an error for options outside the limits.
func (o CodebookOptions) Check() error {
	switch {
	case o.Words < 1 || o.Words > MaxWords:
		return fmt.Errorf("codebook of %d words, outside the range 1 to %d", o.Words, MaxWords)
	case o.Patches < 1 || o.Patches > 1<<24:
		return fmt.Errorf("codebook from %d patches, outside the range 1 to %d", o.Patches, 1<<24)
	case o.Iterations < 1 || o.Iterations > 1<<11:
		return fmt.Errorf("codebook in %d iterations, outside the range 1 to %d", o.Iterations, 1<<11)
	case o.Sparsity < 1 || o.Sparsity > min(MaxSparsity, o.Words):
		return fmt.Errorf("codebook with %d words per patch, outside the range 1 to %d", o.Sparsity,
			min(MaxSparsity, o.Words))
	case !(o.Whitening > 0) || math.IsInf(o.Whitening, 0):
		return errors.New("whitening needs a positive constant")
	}
	return o.codebook().checkOptions()
}

// codebook returns a codebook with these options for grey pictures, without words.
func (o CodebookOptions) codebook() *Codebook {
	return &Codebook{
		Patch: o.Patch, Stride: o.Stride, Levels: o.Levels, Channels: 1, Sides: o.Sides, Pool: o.Pool, Norm: o.Norm,
		Threshold: float32(max(o.Threshold, 0)), Contrast: float32(o.Contrast), Made: o,
	}
}

// Codebook returns a codebook with these options, for pictures with the given number of channels, with its words.
func (o CodebookOptions) Codebook(channels int, filters, bias []float32) (*Codebook, error) {
	c := o.codebook()
	c.Channels, c.Filters, c.Bias = channels, filters, bias
	return c, c.Check()
}
