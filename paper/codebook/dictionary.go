package codebook

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// A codebook is a dictionary D of words (unit vectors) found by OMP-1, that is gain-shape vector quantisation, on
// whitened patches x. It is K-SVD with one non-zero coefficient and a power step instead of the singular value
// decomposition.
//
//	D = random directions
//	repeat 50 times
//		for each patch     i = argmax |d_i . x|,  z = d_i . x     a matrix product, and most of the time
//		for each word      d_i = sum of z x over its patches, scaled to length 1; redrawn if it has none
//
// This takes 2 x patches x values x words operations per iteration. Sums are taken over fixed blocks of patches in
// order, so the result does not depend on the number of threads.

// The random streams of one seed.
const (
	streamPatches = 1
	streamWords   = 2 << 32 // plus iteration << 20 plus word
)

// Learn learns a codebook from pictures with the same number of channels, none smaller than a patch, on the given
// number of threads (0 for all cores).
func Learn(ctx context.Context, o Options, pictures []picture.Picture, threads int) (*Codebook, error) {
	o = o.WithDefaults()
	x, err := drawPatches(ctx, o, pictures, threads)
	if err != nil {
		return nil, err
	}
	mean, p, err := whitening(ctx, x, threads)
	if err != nil {
		return nil, err
	}
	white, err := whitened(ctx, x, mean, p, threads)
	if err != nil {
		return nil, err
	}
	x = vectors.Matrix{}
	d, err := o.dictionary(ctx, white, threads)
	if err != nil {
		return nil, err
	}
	filters, bias := fold(d, mean, p)
	return &Codebook{Options: o, Channels: pictures[0].Channels, Filters: filters, Bias: bias}, nil
}

// fold multiplies the dictionary by the whitening matrix.
func fold(d, mean, p []float32) (filters, bias []float32) {
	dim := len(mean)
	words := len(d) / dim
	filters, bias = make([]float32, words*dim), make([]float32, words)
	// P is symmetric, so its rows serve as columns.
	product, left := gemm.RowMajor(words, dim, filters), gemm.RowMajor(words, dim, d)
	_ = gemm.Mul(context.Background(), 1, product, left, gemm.RowMajor(dim, dim, p))
	for i := range bias {
		sum := 0.0
		for k, v := range filters[i*dim:][:dim] {
			sum += float64(float64(v) * float64(mean[k])) // exact products: nothing to fuse
		}
		bias[i] = float32(-sum)
	}
	return filters, bias
}

// samples holds whitened patches as the right factor of the product with the dictionary, in panels of 16 patches.
type samples struct {
	gemm.Right
	n, dim int
}

// patchesPerBlock is the number of patches summed in a block, on any number of threads; a multiple of 16.
const patchesPerBlock = 8192

// whitened returns (x - M) P.
func whitened(ctx context.Context, x vectors.Matrix, mean, p []float32, threads int) (*samples, error) {
	s := &samples{n: x.Rows, dim: x.Cols}
	s.Reset(x.Cols, x.Rows)
	right := gemm.PackRight(gemm.RowMajor(x.Cols, x.Cols, p))
	err := par.Blocks(ctx, threads, x.Rows, 1024, func(_, lo, hi int) {
		rows := centred(x.Slice(lo, hi), mean)
		out := make([]float32, len(rows))
		product := gemm.RowMajor(hi-lo, x.Cols, out)
		_ = gemm.MulRight(context.Background(), 1, product, gemm.RowMajor(hi-lo, x.Cols, rows), right)
		for i := lo; i < hi; i++ {
			panel := s.Panel(i / 16)
			for k, v := range out[(i-lo)*x.Cols:][:x.Cols] {
				panel[k*16+i%16] = v
			}
		}
	})
	return s, err
}

// dictionary learns the words, one per row.
func (o Options) dictionary(ctx context.Context, x *samples, threads int) ([]float32, error) {
	d := make([]float32, o.Words*x.dim)
	for i := range o.Words {
		o.draw(d[i*x.dim:][:x.dim], i, 0)
	}
	for t := range o.Iterations {
		if err := o.omp1(ctx, d, x, t+1, threads); err != nil {
			return nil, fmt.Errorf("iteration %d of learning the codebook: %w", t+1, err)
		}
	}
	return d, nil
}

// draw sets a word to a random direction. The sum of twelve uniform numbers is close enough to normal here, and needs
// no logarithm.
func (o Options) draw(word []float32, i, iteration int) {
	rng := rand.New(rand.NewPCG(o.Seed, streamWords+uint64(iteration)<<20+uint64(i)))
	v := make([]float64, len(word))
	for k := range v {
		v[k] = -6
		for range 12 {
			v[k] += float64(rng.Float64())
		}
	}
	if !unit(word, v) {
		word[0] = 1 // a zero vector: practically impossible
	}
}

// unit sets word to v scaled to length 1. It returns false and changes nothing if v is too short.
func unit(word []float32, v []float64) bool {
	squares := 0.0
	for _, x := range v {
		squares += float64(x * x)
	}
	if squares < 0.001 {
		return false
	}
	length := math.Sqrt(squares)
	for k, x := range v {
		word[k] = float32(x / length)
	}
	return true
}

// omp1 runs one iteration.
func (o Options) omp1(ctx context.Context, d []float32, x *samples, iteration, threads int) error {
	var words gemm.Left
	pack(&words, d, x.dim)
	blocks := (x.n + patchesPerBlock - 1) / patchesPerBlock
	sums := make([][]float64, blocks)
	err := par.Blocks(ctx, threads, x.n, patchesPerBlock, func(b, lo, hi int) {
		sum := make([]float64, len(d))
		strip := make([]float32, words.StripRows()*gemm.StripCols)
		var (
			value [16]float32
			word  [16]int32
		)
		for p := lo / 16; p*16 < hi; p++ {
			words.Strip(strip, &x.Right, p)
			greatest(&value, &word, strip)
			panel := x.Panel(p)
			for j := range min(16, hi-p*16) {
				z, to := float64(value[j]), sum[int(word[j])*x.dim:][:x.dim]
				for k := range to {
					to[k] += float64(z * float64(panel[k*16+j])) // exact products
				}
			}
		}
		sums[b] = sum
	})
	if err != nil {
		return err
	}
	for _, sum := range sums[1:] {
		for i, v := range sum {
			sums[0][i] += v
		}
	}
	for i := range o.Words {
		word := d[i*x.dim:][:x.dim]
		if !unit(word, sums[0][i*x.dim:][:x.dim]) {
			o.draw(word, i, iteration)
		}
	}
	return nil
}

// pack lays out the rows of d for the matrix product.
func pack(left *gemm.Left, d []float32, dim int) {
	left.Reset(len(d)/dim, dim)
	for i := range len(d) / dim {
		row, step := left.Row(i)
		for k, v := range d[i*dim:][:dim] {
			row[k*step] = v
		}
	}
}

// drawPatches returns patches from random positions of random pictures, one per row.
func drawPatches(ctx context.Context, o Options, pictures []picture.Picture, threads int) (vectors.Matrix, error) {
	n, side := o.Patches, o.Patch
	type place struct{ picture, x, y int }
	places := make([]place, n)
	rng := rand.New(rand.NewPCG(o.Seed, streamPatches))
	for i := range places {
		p := rng.IntN(len(pictures))
		places[i] = place{p, rng.IntN(pictures[p].Width - side + 1), rng.IntN(pictures[p].Height - side + 1)}
	}
	dim := side * side * pictures[0].Channels
	m := vectors.Matrix{Rows: n, Cols: dim, Data: make([]float32, n*dim)}
	err := par.Blocks(ctx, threads, n, 1024, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			at := places[i]
			patch(m.Row(i), 1, pictures[at.picture], side, at.x, at.y)
		}
	})
	return m, err
}

// greatest finds the value with the largest magnitude in every column, and its row: the first of equals. A column of
// zeros gives 0 and row 0.
func greatest(value *[16]float32, index *[16]int32, z []float32) {
	*value, *index = [16]float32{}, [16]int32{}
	for i := 0; len(z) > 0; i, z = i+1, z[16:] {
		for j := range value {
			if v := z[j]; max(v, -v) > max(value[j], -value[j]) {
				value[j], index[j] = v, int32(i)
			}
		}
	}
}
