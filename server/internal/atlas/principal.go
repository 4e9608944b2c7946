package atlas

import (
	"context"
	"math"
	"math/bits"

	"hashgrove/internal/hamming"
	"hashgrove/internal/par"
)

// covarianceRows is the number of evenly spaced codes used for the covariance of the bits.
const covarianceRows = 1 << 15

// principalPlane projects the codes, as rows of -1 and +1, onto their first two principal components, scaled so that
// the longer side is about ten: the distance at which codes without neighbours still affect each other.
func principalPlane(ctx context.Context, codes hamming.Codes, threads int) ([]float32, error) {
	n, width := codes.Len(), codes.Bits
	mean, covariance, err := bitMoments(ctx, codes, threads)
	if err != nil {
		return nil, err
	}
	u, v := topTwo(covariance, width)
	y := make([]float32, 2*n)
	err = par.Blocks(ctx, threads, n, 1024, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			var a, b float64
			for j := range width {
				x := -1 - mean[j]
				if codes.Bit(i, j) {
					x = 1 - mean[j]
				}
				a += float64(x * u[j])
				b += float64(x * v[j])
			}
			y[2*i], y[2*i+1] = float32(a), float32(b)
		}
	})
	if err != nil {
		return nil, err
	}
	spread := 0.0
	for _, v := range y {
		spread = max(spread, math.Abs(float64(v)))
	}
	for i := range y {
		if spread > 0 {
			y[i] *= float32(5 / spread)
		}
		// Codes may have the same projection; refining needs them apart.
		y[i] += float32(1e-3 * (float32(float32(mix(uint64(i))>>40)/(1<<24)) - 0.5))
	}
	return y, nil
}

// bitMoments returns the means and covariances of the bits as -1 and +1, counted with bits as columns.
func bitMoments(ctx context.Context, codes hamming.Codes, threads int) (mean, covariance []float64, err error) {
	n, width := codes.Len(), codes.Bits
	rows := min(n, covarianceRows)
	words := (rows + 63) / 64
	column, ones := make([]uint64, width*words), make([]int, width)
	for b := range width {
		for r := range rows {
			if codes.Bit(r*n/rows, b) {
				column[b*words+r>>6] |= 1 << (r & 63)
				ones[b]++
			}
		}
	}
	mean, covariance = make([]float64, width), make([]float64, width*width)
	for b, k := range ones {
		mean[b] = 2*float64(k)/float64(rows) - 1
	}
	err = par.For(ctx, threads, width, func(a int) {
		for b := range width {
			differ := 0
			other := column[b*words : (b+1)*words]
			for w, x := range column[a*words : (a+1)*words] {
				differ += bits.OnesCount64(x ^ other[w])
			}
			covariance[a*width+b] = 1 - 2*float64(differ)/float64(rows) - float64(mean[a]*mean[b])
		}
	})
	return mean, covariance, err
}

// topTwo returns two orthonormal vectors that nearly span the space of the two greatest eigenvalues of a positive
// semidefinite matrix, by orthogonal iteration.
func topTwo(m []float64, n int) (u, v []float64) {
	u, v = make([]float64, n), make([]float64, n)
	for i := range n {
		u[i], v[i] = float64(mix(uint64(2*i))>>11), float64(mix(uint64(2*i+1))>>11)
		u[i], v[i] = float64(u[i]/(1<<53))-0.5, float64(v[i]/(1<<53))-0.5
	}
	for range 60 {
		orthogonalise(u, v)
		nextU, nextV := make([]float64, n), make([]float64, n)
		for i := range n {
			for j, x := range m[i*n : (i+1)*n] {
				nextU[i] += float64(x * u[j])
				nextV[i] += float64(x * v[j])
			}
		}
		u, v = nextU, nextV
	}
	orthogonalise(u, v)
	return u, v
}

// orthogonalise normalises u, and makes v a unit vector orthogonal to it; zero vectors stay.
func orthogonalise(u, v []float64) {
	unit := func(x []float64) {
		sum := 0.0
		for _, a := range x {
			sum += float64(a * a)
		}
		for i := range x {
			if sum > 0 {
				x[i] /= math.Sqrt(sum)
			}
		}
	}
	unit(u)
	along := 0.0
	for i := range u {
		along += float64(u[i] * v[i])
	}
	for i := range u {
		v[i] -= float64(along * u[i])
	}
	unit(v)
}

// mix hashes a number to 64 bits (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
