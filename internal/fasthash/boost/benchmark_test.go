package boost

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"hashgrove/internal/vectors"
)

// mixture is 10 classes of three Gaussian clouds each in 320 dimensions, like GIST vectors of pictures.
func mixture(n, dim int) (*vectors.Columns, []uint8) {
	rng := rand.New(rand.NewPCG(5, 6))
	centre := make([]float64, 30*dim)
	for i := range centre {
		centre[i] = 128 + 12*rng.NormFloat64()
	}
	class, cloud := make([]uint8, n), make([]int, n)
	for i := range class {
		cloud[i] = rng.IntN(30)
		class[i] = uint8(cloud[i] / 3)
	}
	x := columnsOf(n, dim, func(i, j int) uint8 {
		return uint8(min(max(centre[cloud[i]*dim+j]+35*rng.NormFloat64(), 0), 255))
	})
	return x, class
}

const half = uint16(0b1001110100) // the classes with z = -1

// BenchmarkFit learns one bit: five of ten classes. An update is one row added to one histogram.
func BenchmarkFit(b *testing.B) {
	x, class := mixture(60_000, 320)
	z := make([]int8, len(class))
	for i, c := range class {
		z[i] = 1 - 2*int8(half>>c&1)
	}
	for _, candidates := range []int{200, -1} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("data=mixture/candidates=%d/threads=%d", candidates, threads), func(b *testing.B) {
				t, err := New(x, Options{NodeFeatures: candidates}, threads)
				if err != nil {
					b.Fatal(err)
				}
				bit := 0
				t.updates = 0
				for b.Loop() {
					if _, err := t.Fit(context.Background(), z, nil, 1, bit); err != nil {
						b.Fatal(err)
					}
					bit++
				}
				seconds := b.Elapsed().Seconds()
				b.ReportMetric(float64(x.Rows*bit)/seconds, "rows/s")
				b.ReportMetric(1e9*seconds/float64(t.updates), "ns/update")
			})
		}
	}
}

// BenchmarkTally is the limit of BenchmarkFit: the loop over four columns alone, with all rows in order and everything
// in the first caches, so that only the additions count.
func BenchmarkTally(b *testing.B) {
	const rows, turns = 4096, 64
	rng := rand.New(rand.NewPCG(1, 2))
	x := columnsOf(rows, 4, func(_, _ int) uint8 { return uint8(rng.Uint32()) })
	items := make([]item, rows)
	for i := range items {
		items[i] = newItem(i, 1+rng.Int32N(1000))
	}
	var h [4]histogram
	best := time.Duration(1 << 62)
	for b.Loop() {
		began := time.Now()
		for range turns {
			countFour(&h, items, x.Column(0), x.Column(1), x.Column(2), x.Column(3))
		}
		best = min(best, time.Since(began))
	}
	b.ReportMetric(float64(best.Nanoseconds())/(4*rows*turns), "ns/update")
	b.ReportMetric(0, "ns/op")
}
