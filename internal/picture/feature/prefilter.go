package feature

import (
	"math"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/portable"
)

// The prefilter of GIST evens out brightness and contrast (Torralba's LMgist): with I the logarithm of the picture,
//
//	J = I - lowpass(I),   K = J / (0.2 + sqrt(|lowpass(J^2)|)),
//
// where the low-pass multiplies frequency f by exp(-f^2 ln 2 / fc^2), fc = 4 cycles per picture, after the picture was
// extended by its mirror image by 5 pixels on each side.
//
// The Gaussian is the product of one factor per axis. So the low-pass is A I A' for a fixed matrix A, the circular
// convolution on one axis, and needs no Fourier transform: two small matrix products for eight pictures at once.
const (
	cutoff = 4 // fc
	margin = 5
)

type prefilter struct {
	size, n int   // side of the picture and of the extended one
	from    []int // position in the extended picture -> position in the picture, on one axis
	a       gemm.Left
}

func newPrefilter(size int) *prefilter {
	n := size + 2*margin
	f := &prefilter{size: size, n: n, from: mirror(size, margin)}
	// Row 0 of A is the impulse response: the mean over the frequencies of gain times cosine.
	response := make([]float32, n)
	for d := range response {
		sum := 0.0
		for k := -n / 2; k < n/2; k++ {
			cos, _ := portable.Cis(k*d, n)
			gain := portable.Exp(-float64(k*k) * math.Ln2 / (cutoff * cutoff))
			sum += float64(gain * cos)
		}
		response[d] = float32(sum / float64(n))
	}
	f.a.Reset(n, n)
	for i := range n {
		row, step := f.a.Row(i)
		for j := range n {
			row[j*step] = response[(i-j+n)%n]
		}
	}
	return f
}

// mirror extends [0, size) by repeated mirror images to margin more positions on both sides. The pixel at the edge is
// repeated.
func mirror(size, margin int) []int {
	from := make([]int, size+2*margin)
	for i := range from {
		at := ((i-margin)%(2*size) + 2*size) % (2 * size)
		from[i] = min(at, 2*size-1-at)
	}
	return from
}

// filterScratch is a worker's scratch memory.
type filterScratch struct {
	image, low, work []vector // n x n
	right            gemm.Right
	strip            []float32
}

func (f *prefilter) scratch() *filterScratch {
	image := func() []vector { return make([]vector, f.n*f.n) }
	s := &filterScratch{image: image(), low: image(), work: image()}
	s.strip = make([]float32, f.a.StripRows()*gemm.StripCols)
	s.right.Reset(f.n, gemm.StripCols)
	return s
}

// apply filters eight pictures of size x size logarithms in place.
func (f *prefilter) apply(pictures []vector, s *filterScratch) {
	n := f.n
	for y, from := range f.from {
		for x, at := range f.from {
			s.image[y*n+x] = pictures[from*f.size+at]
		}
	}
	f.lowpass(s.low, s.image, s)
	for i := range s.image {
		j, low := &s.image[i], &s.low[i]
		for l := range lanes {
			j[l] -= low[l]
			low[l] = j[l] * j[l]
		}
	}
	f.lowpass(s.low, s.low, s)
	for y := range f.size {
		for x := range f.size {
			at := (y+margin)*n + x + margin
			out, j, low := &pictures[y*f.size+x], &s.image[at], &s.low[at]
			for l := range lanes {
				std := float32(math.Sqrt(math.Abs(float64(low[l]))))
				out[l] = j[l] / (0.2 + std)
			}
		}
	}
}

// lowpass sets dst = A src A', of n x n numbers each. dst and src may be the same.
func (f *prefilter) lowpass(dst, src []vector, s *filterScratch) {
	f.pass(s.work, src, s)
	f.pass(dst, s.work, s)
}

// pass sets dst = A src', two rows of src at a time: 2 x 8 lanes are the 16 columns of a strip.
func (f *prefilter) pass(dst, src []vector, s *filterScratch) {
	n, panel := f.n, s.right.Panel(0)
	for y := 0; y < n; y += 2 {
		for x := range n {
			copy(panel[16*x:], src[y*n+x][:])
			copy(panel[16*x+8:], src[(y+1)*n+x][:])
		}
		f.a.Strip(s.strip, &s.right, 0)
		for x := range n {
			copy(dst[x*n+y][:], s.strip[16*x:])
			copy(dst[x*n+y+1][:], s.strip[16*x+8:])
		}
	}
}
