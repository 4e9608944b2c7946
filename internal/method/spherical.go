// Spherical hashing (Heo, Lee, He, Chang and Yoon, CVPR 2012).
//
//	bit k = [|x - p_k| <= r_k]
//
// Every sphere holds half of the rows, and every two share a quarter, as nearly as possible: then bits are balanced and
// pairwise independent.
//
//	sample      up to 20,000 rows, N in all
//	start       p_k = the mean of five rows drawn at random
//	repeat      until the overlaps are good, at most 100 times
//		radii       r_k = the distance of the N/2-th nearest row                         O(N r dim)
//		overlaps    O_ij = rows within spheres i and j                                   O(N r^2 / 64)
//		stop        if mean |O_ij - N/4| <= 0.10 N/4 and std O_ij <= 0.15 N/4
//		forces      p_i += (1/r) sum over j of 1/2 (O_ij - N/4)/(N/4) (p_i - p_j)        O(r^2 dim)
//
// Spheres that share too much repel each other, others attract each other. The authors' code does not bound the number
// of iterations.

package method

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// spherical learns spheres. It keeps the sample in memory.
type spherical struct{ Options }

const (
	sphereSample = 20_000 // N at most, the rows to learn from, drawn at random
	sphereTurns  = 100    // at most
)

// Targets for the overlaps: their mean distance from N/4 and their standard deviation, as shares of N/4.
const overlapMean, overlapSpread = 0.10, 0.15

func (m spherical) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	if err := checkSize(m.Bits, x.Dim()); err != nil {
		return nil, err
	}
	sample, err := sampleRows(ctx, x, sphereSample, m.Seed)
	if err != nil {
		return nil, err
	}
	s := newSpheres(sample, m.Bits, m.Seed, m.Threads)
	for step := 0; ; step++ {
		if err := s.measure(ctx); err != nil {
			return nil, err
		}
		if mean, spread := s.quality(); step == sphereTurns || mean <= overlapMean && spread <= overlapSpread {
			break
		}
		s.movePivots()
	}
	p := axisSigns(m.Bits, make([]float32, m.Bits))
	for k, square := range s.radius { // [-|x - p|^2 >= -r^2]
		p.Weight[k*m.Bits+k], p.Threshold[k] = -1, -square
	}
	return model.Compose(p, &model.Gaussian{Anchors: s.pivots}), nil
}

// spheres is the state of the iteration.
type spheres struct {
	x       vectors.Matrix
	pivots  vectors.Matrix
	radius  []float32 // squared
	inside  [][]uint64
	overlap []int // of spheres i < j at i*r + j
	threads int
}

func newSpheres(x vectors.Matrix, r int, seed uint64, threads int) *spheres {
	s := &spheres{x: x, pivots: vectors.Matrix{Rows: r, Cols: x.Cols, Data: make([]float32, r*x.Cols)}, threads: threads,
		radius: make([]float32, r), inside: make([][]uint64, r), overlap: make([]int, r*r)}
	const few = 5
	for k := range r {
		rng := rand.New(rand.NewPCG(seed, uint64(k)))
		sum := make([]float64, x.Cols)
		for range few {
			for j, v := range x.Row(rng.IntN(x.Rows)) {
				sum[j] += float64(v)
			}
		}
		for j, v := range sum {
			s.pivots.Row(k)[j] = float32(v / few)
		}
		s.inside[k] = make([]uint64, (x.Rows+63)/64)
	}
	return s
}

// measure sets radii and overlaps, with the same distances that the encoder computes.
func (s *spheres) measure(ctx context.Context) error {
	n, r := s.x.Rows, s.pivots.Rows
	d, err := model.Transform(ctx, s.threads, s.x, &model.Gaussian{Anchors: s.pivots})
	if err != nil {
		return err
	}
	err = par.For(ctx, s.threads, r, func(k int) {
		s.radius[k] = linalg.KthSmallest(column(d, k), max(n/2-1, 0))
		clear(s.inside[k])
		for i, v := range column(d, k) {
			if v <= s.radius[k] {
				s.inside[k][i/64] |= 1 << (i % 64)
			}
		}
	})
	if err != nil {
		return err
	}
	return par.For(ctx, s.threads, r, func(i int) {
		for j := i + 1; j < r; j++ {
			both := 0
			for w, a := range s.inside[i] {
				both += bits.OnesCount64(a & s.inside[j][w])
			}
			s.overlap[i*r+j] = both
		}
	})
}

// quality returns the mean distance of the overlaps from N/4, and their standard deviation, as shares of N/4.
func (s *spheres) quality() (mean, spread float64) {
	r, quarter := s.pivots.Rows, float64(float64(s.x.Rows)/4)
	var sum, square, off, pairs float64
	for i := range r {
		for j := i + 1; j < r; j++ {
			o := float64(s.overlap[i*r+j])
			sum, square, off, pairs = sum+o, square+float64(o*o), off+math.Abs(o-quarter), pairs+1
		}
	}
	if pairs == 0 {
		return 0, 0
	}
	return off / pairs / quarter, math.Sqrt(max(0, square/pairs-float64(sum/pairs*(sum/pairs)))) / quarter
}

// movePivots moves the pivots by the forces on them, all at once.
func (s *spheres) movePivots() {
	r, quarter := s.pivots.Rows, float64(float64(s.x.Rows)/4)
	force := make([]float64, len(s.pivots.Data))
	for i := range r {
		own := force[i*s.x.Cols:][:s.x.Cols]
		for j := range r {
			if i == j {
				continue
			}
			f := (float64(s.overlap[min(i, j)*r+max(i, j)]) - quarter) / quarter / 2 / float64(r)
			a, b := s.pivots.Row(i), s.pivots.Row(j)
			for k := range own {
				own[k] += float64(f * (float64(a[k]) - float64(b[k])))
			}
		}
	}
	for i, f := range force {
		s.pivots.Data[i] = float32(float64(s.pivots.Data[i]) + f)
	}
}
