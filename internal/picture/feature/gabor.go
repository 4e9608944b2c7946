package feature

import (
	"math"

	"hashgrove/internal/numeric/portable"
)

// Values of G below negligible count as zero: they do not affect a float32 sum.
const negligible = 1e-8

// gabor is the filter bank of GIST with all tables that depend on the options only.
type gabor struct {
	size, n  int
	blocks   int
	edges    []int // of the blocks, on one axis
	pre      *prefilter
	forward  *fft // all n outputs
	inverse  *fft // the outputs within the picture
	ones     []float32
	byRow    []int32 // order of a row of the picture, extended
	byColumn []int32 // order of a column of rows, extended
	byHalf   []int32 // order of a column of half
	filters  []filter
}

// filter is one transfer function, divided by n^2 for the two inverse transforms.
type filter struct {
	columns []int     // frequencies of x at which it is not zero, modulo n
	gains   []float32 // n per column, in the order of the inverse transform
}

func newGabor(o GISTOptions) *gabor {
	n := o.Size + 2*extension
	g := &gabor{size: o.Size, n: n, blocks: o.Blocks, pre: newPrefilter(o.Size)}
	for b := range o.Blocks + 1 {
		g.edges = append(g.edges, b*o.Size/o.Blocks)
	}
	var all, within []int
	for i := range n {
		all = append(all, n-i) // frequency i of the forward transform is output -i of ours
		g.ones = append(g.ones, 1)
	}
	for i := range o.Size {
		within = append(within, extension+i)
	}
	g.forward, g.inverse = newFFT(n, all), newFFT(n, within)
	from := mirror(o.Size, extension)
	for _, i := range g.forward.order {
		g.byRow = append(g.byRow, int32(from[i]))
		g.byColumn = append(g.byColumn, int32(from[i]*n))
	}
	for _, i := range g.inverse.order {
		g.byHalf = append(g.byHalf, i*int32(o.Size))
	}
	for i, orientations := range o.Orientations {
		for j := range orientations {
			g.filters = append(g.filters, newFilter(n, i, j, orientations, g.inverse.order))
		}
	}
	return g
}

// newFilter tabulates G for scale i and orientation j, both from 0.
func newFilter(n, i, j, orientations int, order []int32) filter {
	var f filter
	column := make([]float32, n)
	for fx := range n {
		live := false
		for at, fy := range order {
			g := transfer(signed(fx, n), signed(int(fy), n), n, i, j, orientations)
			column[at] = 0
			if g >= negligible {
				column[at] = float32(g / float64(n*n))
				live = true
			}
		}
		if live {
			f.columns = append(f.columns, fx)
			f.gains = append(f.gains, column...)
		}
	}
	return f
}

// signed returns the frequency in [-n/2, n/2) that k stands for.
func signed(k, n int) float64 {
	if k >= n/2 {
		k -= n
	}
	return float64(k)
}

// transfer returns G at a frequency.
func transfer(fx, fy float64, n, i, j, orientations int) float64 {
	scale := 0.3
	for range i {
		scale /= 1.85
	}
	t := portable.Atan2(fy, fx) + math.Pi*float64(j)/float64(orientations)
	if t > math.Pi {
		t -= 2 * math.Pi
	}
	radial := math.Sqrt(float64(fx*fx)+float64(fy*fy))/float64(n)/scale - 1
	spread := 16 * float64(orientations*orientations) / (32 * 32)
	return portable.Exp(-float64(3.5*radial*radial) - float64(2*math.Pi*spread*t*t))
}

func (g *gabor) scratch() *gistScratch {
	numbers := func(n int) []complex8 { return make([]complex8, n) }
	return &gistScratch{
		picture:  make([]vector, g.size*g.size),
		filter:   g.pre.scratch(),
		real:     numbers(g.size * g.size),
		rows:     numbers(g.size * g.n),
		spectrum: numbers(g.n * g.n),
		half:     numbers(g.n * g.size),
		buf:      numbers(g.n),
		other:    numbers(g.n),
		out:      numbers(g.size),
		sums:     make([]vector, g.blocks*g.blocks),
	}
}

// transform sets s.spectrum to the Fourier transform of the extended picture. Mirrored rows need no transforms of their
// own.
func (g *gabor) transform(s *gistScratch) {
	for i, v := range s.picture {
		s.real[i].re = v
	}
	for y := range g.size {
		gather(s.buf, s.real[y*g.size:], g.byRow, g.ones)
		g.forward.run(s.rows[y*g.n:][:g.n], s.buf, s.other)
	}
	for fx := range g.n {
		gather(s.buf, s.rows[fx:], g.byColumn, g.ones)
		g.forward.run(s.spectrum[fx*g.n:][:g.n], s.buf, s.other)
	}
}

// response sets s.sums to the mean energies of filter f in the blocks, column by column.
func (g *gabor) response(f int, s *gistScratch) {
	filter := &g.filters[f]
	clear(s.half)
	for c, fx := range filter.columns {
		gather(s.buf, s.spectrum[fx*g.n:][:g.n], g.inverse.order, filter.gains[c*g.n:][:g.n])
		g.inverse.run(s.half[fx*g.size:][:g.size], s.buf, s.other)
	}
	clear(s.sums)
	for by := range g.blocks {
		for y := g.edges[by]; y < g.edges[by+1]; y++ {
			gather(s.buf, s.half[y:], g.byHalf, g.ones)
			g.inverse.run(s.out, s.buf, s.other)
			for bx := range g.blocks {
				magnitude(&s.sums[bx*g.blocks+by], s.out[g.edges[bx]:g.edges[bx+1]])
			}
		}
	}
	for by := range g.blocks {
		for bx := range g.blocks {
			area := float32((g.edges[by+1] - g.edges[by]) * (g.edges[bx+1] - g.edges[bx]))
			sum := &s.sums[bx*g.blocks+by]
			for l := range lanes {
				sum[l] /= area
			}
		}
	}
}
