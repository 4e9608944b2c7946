package hamming_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// randomWords returns codes of random words, made quickly.
func randomWords(n, bits int, seed uint64) hamming.Codes {
	rng := rand.New(rand.NewPCG(seed, 0))
	c := hamming.NewCodes(n, bits)
	for i := range c.Data {
		c.Data[i] = rng.Uint64()
	}
	if bits%64 == 0 {
		return c
	}
	return c.Prefix(bits) // nothing beyond the length
}

// readLoop is the plain loop that a scan is compared with: it reads every word once.
func readLoop(data []uint64) uint64 {
	var s [4]uint64
	for ; len(data) >= 4; data = data[4:] {
		s[0] += data[0]
		s[1] += data[1]
		s[2] += data[2]
		s[3] += data[3]
	}
	return s[0] + s[1] + s[2] + s[3]
}

var sum uint64

// fastest returns the shortest of a few runs.
func fastest(runs int, f func()) time.Duration {
	best := time.Duration(1 << 62)
	for range runs {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

// BenchmarkScan measures one query over all codes on one thread, k = 10, next to a read loop and to plain Go: read% is
// the share of the read loop's bandwidth, xgo the speed-up over the Go kernel.
func BenchmarkScan(b *testing.B) {
	for _, size := range []struct{ n, bits int }{{10_000_000, 64}, {1_000_000, 128}, {10_000_000, 256}, {1_000_000, 512}, {1_000_000, 200}} {
		b.Run(fmt.Sprintf("bits=%d/n=%d", size.bits, size.n), func(b *testing.B) {
			c, q := randomWords(size.n, size.bits, 1), randomWords(1, size.bits, 2)
			scan := func() {
				if _, err := index.FromCodes(c).Search(context.Background(), q, 10, math.MaxInt, index.Options{Threads: 1}); err != nil {
					b.Fatal(err)
				}
			}
			best := fastest(b.N+4, scan)
			loop := fastest(5, func() { sum += readLoop(c.Data) })
			kernel := hamming.Kernel()
			hamming.Use("go")
			plain := fastest(3, scan)
			hamming.Use(kernel)
			b.ReportMetric(float64(best.Nanoseconds()), "ns/scan")
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(len(c.Data)*8)/float64(best.Nanoseconds()), "GB/s")
			b.ReportMetric(100*loop.Seconds()/best.Seconds(), "read%")
			b.ReportMetric(plain.Seconds()/best.Seconds(), "xgo")
		})
	}
}

// BenchmarkBatch measures many queries together, per query, with every kernel of the machine.
func BenchmarkBatch(b *testing.B) {
	defer hamming.Use(hamming.Kernel())
	for _, size := range []struct{ n, bits, k int }{{1_000_000, 64, 10}, {1_000_000, 64, 100}, {1_000_000, 256, 10}, {1_000_000, 512, 10}} {
		c, q := randomWords(size.n, size.bits, 1), randomWords(256, size.bits, 2)
		for _, kernel := range hamming.Kernels() {
			b.Run(fmt.Sprintf("bits=%d/n=%d/k=%d/kernel=%s", size.bits, size.n, size.k, kernel), func(b *testing.B) {
				hamming.Use(kernel)
				best := fastest(b.N, func() {
					if _, err := index.FromCodes(c).Search(context.Background(), q, size.k, math.MaxInt, index.Options{Threads: 1}); err != nil {
						b.Fatal(err)
					}
				})
				b.ReportMetric(float64(best.Microseconds())/float64(q.Len()), "us/query")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
