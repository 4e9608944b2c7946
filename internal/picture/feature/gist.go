// GIST: the energy of oriented band-pass filters in a grid of blocks (Oliva and Torralba, IJCV 2001), in the variant
// of Torralba's LMgist, which the recipes for CIFAR-10 use.
//
//	grey          mean of the channels, stretched to 0..255
//	prefilter     prefilter.go
//	filters       G_ij at frequency f, angle t:  exp(-3.5 (f/(n f_i) - 1)^2 - 2 pi (16 o_i^2/32^2) t_j^2),
//	              f_i = 0.3/1.85^(i-1) for scale i, t_j = t + (j-1) pi/o_i in (-pi, pi] for orientation j of o_i
//	response      |inverse Fourier transform of G times the transform of the picture, extended by 32 mirrored pixels|
//	vector        for every filter the mean of the response in each block, blocks column by column
//
// Eight pictures share every step (fft.go). The forward transform costs less than one filter. A filter needs a
// transform for each column of the spectrum where G is not zero, and one for each row of the picture:
//
//	for each filter
//		for each column        multiply by G, transform, keep the rows of the picture
//		for each row           transform, keep the columns of the picture, add the absolute values up by blocks
//
// With n the padded side, o filters and s the side of a picture: O(o n (n + s) log n) per picture. Numbers are
// float32: values differ from a computation in float64 by about 1e-6 of the greatest.

package feature

import (
	"context"
	"fmt"
	"sync"

	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/par"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// extension is the number of mirrored pixels added around a picture before filtering.
const extension = 32

// Limits of GIST, which bound the tables that a hostile file can ask for to some hundred megabytes.
const (
	maxGISTSize    = 512
	maxGISTFilters = 64
	maxGISTBlocks  = 16
)

// GISTOptions select the variant.
type GISTOptions struct {
	Size         int   // side of the square pictures, even
	Orientations []int // filters per scale, finest first
	Blocks       int   // blocks along a side
}

// GIST is the GIST extractor. It is safe for concurrent use.
type GIST struct {
	o GISTOptions

	once  sync.Once
	bank  *gabor
	spare sync.Pool // of *gistScratch
}

// NewGIST returns an extractor with the given options.
func NewGIST(o GISTOptions) (*GIST, error) {
	e := &GIST{o: o}
	return e, e.Check()
}

// Kind implements Extractor.
func (e *GIST) Kind() string { return "gist" }

func (e *GIST) filters() int {
	n := 0
	for _, o := range e.o.Orientations {
		n += o
	}
	return n
}

// Dim implements Extractor.
func (e *GIST) Dim() int { return e.filters() * e.o.Blocks * e.o.Blocks }

// Check implements Extractor.
func (e *GIST) Check() error {
	o := e.o
	if o.Size < 2 || o.Size > maxGISTSize || o.Size%2 != 0 {
		return fmt.Errorf("GIST of pictures of side %d: an even side from 2 to %d is allowed", o.Size, maxGISTSize)
	}
	if o.Blocks < 1 || o.Blocks > min(maxGISTBlocks, o.Size) {
		return fmt.Errorf("GIST with %d blocks along a side, outside the range 1 to %d", o.Blocks, min(maxGISTBlocks, o.Size))
	}
	for i, n := range o.Orientations {
		if n < 1 || n > maxGISTFilters {
			return fmt.Errorf("GIST with %d orientations at scale %d, outside the range 1 to %d", n, i+1, maxGISTFilters)
		}
	}
	if len(o.Orientations) > maxGISTFilters || e.filters() < 1 || e.filters() > maxGISTFilters {
		return fmt.Errorf("GIST with orientations %v: 1 to %d filters are allowed", o.Orientations, maxGISTFilters)
	}
	return nil
}

func (e *GIST) tag() byte { return gistTag }

func (e *GIST) appendBody(dst []byte) []byte {
	return put(put(dst, e.o.Size, e.o.Blocks, len(e.o.Orientations)), e.o.Orientations...)
}

func parseGIST(b []byte) (*GIST, error) {
	n, rest, err := take(b, 3)
	if err != nil {
		return nil, err
	}
	if len(rest) != 4*n[2] {
		return nil, fmt.Errorf("orientations at %d scales in %d bytes", n[2], len(rest))
	}
	orientations, _, err := take(rest, n[2])
	return &GIST{o: GISTOptions{n[0], orientations, n[1]}}, err
}

// ColumnName says what a column of the vectors is about, such as "edges in row 2, column 3 of 4 x 4, scale 1, direction
// 5 of 8". All counts begin with 1, the finest scale first.
func (e *GIST) ColumnName(column int) string {
	side := e.o.Blocks
	filter, block := column/(side*side), column%(side*side) // blocks are in order of their columns
	scale := 0
	for filter >= e.o.Orientations[scale] {
		filter -= e.o.Orientations[scale]
		scale++
	}
	return fmt.Sprintf("edges in row %d, column %d of %d x %d, scale %d, direction %d of %d",
		block%side+1, block/side+1, side, side, scale+1, filter+1, e.o.Orientations[scale])
}

// gistScratch is a worker's scratch memory.
type gistScratch struct {
	picture    []vector // size x size
	filter     *filterScratch
	real       []complex8 // the picture as complex numbers
	rows       []complex8 // y, frequency of x
	spectrum   []complex8 // frequency of x, frequency of y
	half       []complex8 // frequency of x, y
	buf, other []complex8 // n
	out        []complex8 // size
	sums       []vector   // blocks x blocks
}

// Fits implements Extractor.
func (e *GIST) Fits(s picture.Shape) error { return fitsSize(s, e.o.Size, e.o.Size) }

// Extract implements Extractor.
func (e *GIST) Extract(ctx context.Context, pictures []picture.Picture, dst vectors.Matrix, threads int) error {
	e.once.Do(func() { e.bank = newGabor(e.o) })
	return par.Blocks(ctx, threads, len(pictures), lanes, func(_, lo, hi int) {
		s, _ := e.spare.Get().(*gistScratch)
		if s == nil {
			s = e.bank.scratch()
		}
		defer e.spare.Put(s)
		clear(s.picture)
		for i := lo; i < hi; i++ {
			logarithms(s.picture, i-lo, pictures[i])
		}
		e.bank.pre.apply(s.picture, s.filter)
		e.bank.transform(s)
		per := e.o.Blocks * e.o.Blocks
		for f := range e.bank.filters {
			e.bank.response(f, s)
			for b := range per {
				for i := lo; i < hi; i++ {
					dst.Row(i)[f*per+b] = s.sums[b][i-lo]
				}
			}
		}
	})
}

// logarithms writes ln(1 + v) for the pixels of p to one lane, where v is the mean of the channels, stretched to the
// range 0 to 255. v depends only on an integer, the sum of the channels, so a table holds the results.
func logarithms(dst []vector, lane int, p picture.Picture) {
	grey := func(i int) int {
		if p.Channels == 1 {
			return int(p.Pix[i])
		}
		return int(p.Pix[3*i]) + int(p.Pix[3*i+1]) + int(p.Pix[3*i+2])
	}
	least, most := grey(0), grey(0)
	for i := range dst {
		least, most = min(least, grey(i)), max(most, grey(i))
	}
	var table [3*255 + 1]float32 // all zero for a picture of one colour
	for v := 1; v <= most-least; v++ {
		table[v] = float32(portable.Ln(1 + 255*float64(v)/float64(most-least)))
	}
	for i := range dst {
		dst[i][lane] = table[grey(i)-least]
	}
}
