package boost

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// fashion reads the training pictures of Fashion-MNIST from the folder named by FASHION_MNIST, or where Debian's
// dataset-fashion-mnist puts them; it skips the benchmark where they are not.
func fashion(b *testing.B) (*vectors.Columns, []uint8) {
	folder := os.Getenv("FASHION_MNIST")
	if folder == "" {
		folder = "/usr/share/datasets/fashion-mnist"
	}
	read := func(name string, header int) []byte {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			needs.Skip(b, needs.Fashion, err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			b.Fatal(err)
		}
		data, err := io.ReadAll(z)
		if err != nil || len(data) < header {
			b.Fatalf("%s: %d bytes, %v", name, len(data), err)
		}
		return data[header:]
	}
	class := read("train-labels-idx1-ubyte.gz", 8)
	pixels := read("train-images-idx3-ubyte.gz", 16)
	x := columnsOf(len(class), 784, func(i, j int) uint8 { return pixels[i*784+j] })
	return x, class
}

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
	for _, c := range []struct {
		data       string
		candidates int
	}{{"fashion", 200}, {"mixture", 200}, {"mixture", -1}} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("data=%s/candidates=%d/threads=%d", c.data, c.candidates, threads), func(b *testing.B) {
				var x *vectors.Columns
				var class []uint8
				if c.data == "fashion" {
					x, class = fashion(b)
				} else {
					x, class = mixture(60_000, 320)
				}
				z := make([]int8, len(class))
				for i, c := range class {
					z[i] = 1 - 2*int8(half>>c&1)
				}
				t, err := New(x, Options{NodeFeatures: c.candidates}, threads)
				if err != nil {
					b.Fatal(err)
				}
				bit, miss := 0, 0.0
				t.updates = 0
				for b.Loop() {
					_, _, m, err := t.Fit(context.Background(), z, nil, 1, bit)
					if err != nil {
						b.Fatal(err)
					}
					miss += m
					bit++
				}
				seconds := b.Elapsed().Seconds()
				b.ReportMetric(miss/float64(bit), "train-error")
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
