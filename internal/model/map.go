package model

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"

	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Map is a step before an encoder: a function from vectors to vectors. Methods are many, maps are few. Each is a type
// in the model file, so only this package can add one: a type, a case in codeMap, and a line in docs/formats.md.
//
//	Affine       y = W (scale (x - mean)) + bias, to unit length if wanted    PCA, CCA, standardised columns
//	Gaussian     y_q = exp(-|x - a_q|^2 / width) - mean_q                     KSH, SDH; squared distances for spheres;
//	             or the shares of the nearest anchors                         AGH
//	ByteGaussian the same Gaussian, with columns rounded to bytes             kernel columns of FastHash
//	Curves       piecewise linear functions of single columns                 MDSH, the second layer of AGH
//	Winner       one for the greatest value, zero for the others              a classifier's answer
//	Extension    x, followed by other maps of x                               linear columns of FastHash
//
// Every machine computes the same values, and a row has the same values alone as among others.
type Map interface {
	// Out returns the length of the resulting vectors.
	Out() int
	// Check reports an incomplete map. One that passes gives finite values for all finite vectors.
	Check() error

	// dim returns the length of the vectors it takes.
	dim() int
	// apply writes the values of the rows of x to the rows of dst. It uses one goroutine and memory in proportion to
	// the rows; several goroutines may share a map.
	apply(dst, x vectors.Matrix)
	// tag and code are the canonical bytes.
	tag() byte
	code(c *codec)
}

// Transform returns the values of all rows of x under the maps, in sequence, computed on the given number of
// threads (0 for all cores). It panics if the sizes of the maps do not fit.
func Transform(ctx context.Context, threads int, x vectors.Matrix, maps ...Map) (vectors.Matrix, error) {
	if len(maps) == 0 {
		return x, nil
	}
	out := maps[len(maps)-1].Out()
	y := vectors.Matrix{Rows: x.Rows, Cols: out, Data: make([]float32, x.Rows*out)}
	each := max(x.Rows/par.Threads(threads), fewestRows)
	err := par.Blocks(ctx, threads, x.Rows, min(mapRows(maps), each), func(_, lo, hi int) {
		apply(y.Slice(lo, hi), x.Slice(lo, hi), maps)
	})
	return y, err
}

// fewestRows go through maps at a time even if that leaves threads without work: with fewer, reading the maps' weights
// takes longer than using them.
const fewestRows = 32

// Through returns a source of the values of src under the maps, with the names, classes and tags of src.
func Through(src vectors.Source, threads int, maps ...Map) vectors.Source {
	return through{src, threads, maps}
}

type through struct {
	vectors.Source
	threads int
	maps    []Map
}

func (t through) Dim() int {
	if len(t.maps) == 0 {
		return t.Source.Dim()
	}
	return t.maps[len(t.maps)-1].Out()
}

func (t through) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for c, err := range t.Source.Chunks(ctx) {
			if err != nil {
				yield(vectors.Chunk{}, err)
				return
			}
			step := max(1<<24/max(t.Dim(), 1), 1) // rows that make 64 megabytes
			for lo := 0; lo < c.X.Rows; lo += step {
				part := c.Slice(lo, min(lo+step, c.X.Rows))
				if part.X, err = Transform(ctx, t.threads, part.X, t.maps...); err != nil {
					yield(vectors.Chunk{}, err)
					return
				}
				if !yield(part, nil) {
					return
				}
			}
		}
	}
}

// mapRows returns how many rows go through maps at a time: a block, or fewer if the maps give more than 16,384 values,
// since a map may take four times the memory of its values.
func mapRows(maps []Map) int {
	widest := 1
	for _, m := range maps {
		widest = max(widest, m.Out(), m.dim())
	}
	return min(max(1<<22/widest, 1), block)
}

// apply writes the values of x under all maps to dst.
func apply(dst, x vectors.Matrix, maps []Map) {
	for i, m := range maps {
		y := dst
		if i < len(maps)-1 {
			lent := borrow(x.Rows * m.Out())
			defer giveBack(lent)
			y = vectors.Matrix{Rows: x.Rows, Cols: m.Out(), Data: *lent}
		}
		if x.Cols != m.dim() || y.Cols != m.Out() || x.Rows != y.Rows || len(x.Data) != x.Rows*x.Cols {
			panic(fmt.Sprintf("model: a map of %d to %d values for %d to %d", m.dim(), m.Out(), x.Cols, y.Cols))
		}
		m.apply(y, x)
		x = y
	}
}

// scratchFloats keeps memory between the blocks of a batch: a fresh block of wide rows would cost more than its map.
var scratchFloats = sync.Pool{New: func() any { return new([]float32) }}

// borrow returns n values of undefined content.
func borrow(n int) *[]float32 {
	b := scratchFloats.Get().(*[]float32)
	if cap(*b) < n {
		*b = make([]float32, n)
	}
	*b = (*b)[:n]
	return b
}

func giveBack(b *[]float32) { scratchFloats.Put(b) }

// checkMapSize reports a map that exceeds the limits.
func checkMapSize(m Map) error {
	if m.dim() < 1 || m.dim() > maxDim || m.Out() < 1 || m.Out() > maxDim {
		return fmt.Errorf("a map of %d to %d values, outside of 1 to %d", m.dim(), m.Out(), maxDim)
	}
	return nil
}

// checkValues reports a list that is neither absent nor n finite values.
func checkValues(what string, v []float32, n int) error {
	if v != nil && len(v) != n {
		return fmt.Errorf("%s of %d values instead of %d", what, len(v), n)
	}
	if i := notFinite(v); i >= 0 {
		return fmt.Errorf("%s holds %v at %d", what, v[i], i)
	}
	return nil
}

// settle rounds to float32 and keeps values finite: too large values become the largest, and NaN, which only sums
// beyond the range of float32 can be, becomes zero.
func settle(v float64) float32 {
	switch {
	case v >= math.MaxFloat32:
		return math.MaxFloat32
	case v <= -math.MaxFloat32:
		return -math.MaxFloat32
	case v != v:
		return 0
	}
	return float32(v)
}

// The first byte of the canonical bytes of a map.
const (
	affineTag = 1 + iota
	gaussianTag
	anchorGraphTag
	curvesTag
	winnerTag
	extensionTag
	byteGaussianTag
)

func codeMap(c *codec, m *Map, within bool) {
	tag := uint8(0)
	if !c.reading {
		tag = (*m).tag()
	}
	c.number(&tag)
	if c.reading {
		switch {
		case c.err != nil:
			return
		case tag == affineTag:
			*m = new(Affine)
		case tag == gaussianTag:
			*m = new(Gaussian)
		case tag == anchorGraphTag:
			*m = &Gaussian{Nearest: 1}
		case tag == curvesTag:
			*m = new(Curves)
		case tag == winnerTag:
			*m = new(Winner)
		case tag == extensionTag && !within:
			*m = new(Extension)
		case tag == byteGaussianTag:
			*m = new(ByteGaussian)
		default:
			c.fail(fmt.Errorf("a map of unknown type %d, or an extension within an extension", tag))
			return
		}
	}
	(*m).code(c)
	if c.reading && c.err == nil {
		c.fail((*m).Check())
	}
}

// codeMaps takes a list of maps, each after its length. An extension cannot contain another.
func codeMaps(c *codec, maps *[]Map, within bool) {
	n := uint8(len(*maps))
	if c.number(&n); n < 1 || n > maxMaps {
		c.fail(fmt.Errorf("%d maps, outside of 1 to %d", n, maxMaps))
		return
	}
	for i := range int(n) {
		if c.reading {
			*maps = append(*maps, nil)
		}
		if c.part(func(c *codec) { codeMap(c, &(*maps)[i], within) }); c.err != nil {
			*maps = nil
			return
		}
	}
}
