package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/testkit/needs"
)

// BenchmarkPeer is our side of bench/search.sh, which also runs FAISS: scans of random codes, alone and in batches, in
// microseconds per query. HASHGROVE_SIZES lists bits:items, HASHGROVE_BATCH the queries of a batch.
func BenchmarkPeer(b *testing.B) {
	batch := 1000
	if n, err := strconv.Atoi(os.Getenv("HASHGROVE_BATCH")); err == nil {
		batch = n
	}
	var width, n int
	if _, err := fmt.Sscanf(os.Getenv("HASHGROVE_SIZES"), "%d:%d", &width, &n); err != nil {
		needs.Skip(b, needs.Input, "run bench/search.sh")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	random := func(n int) hamming.Codes {
		c := hamming.NewCodes(n, width)
		for i := range c.Data {
			c.Data[i] = rng.Uint64()
		}
		return c
	}
	items := &Batch{IDs: make([]ID, n), Codes: random(n)}
	for i := range n {
		items.IDs[i] = Int(int64(i))
	}
	x := New(width, hamming.Fingerprint{}, Config{Tables: -1})
	if err := x.Add(ctx, items); err != nil {
		b.Fatal(err)
	}
	items = nil
	s := x.Snapshot()
	fastest := func(runs int, f func()) float64 {
		best := time.Duration(1 << 62)
		for range runs {
			start := time.Now()
			f()
			best = min(best, time.Since(start))
		}
		return float64(best.Nanoseconds()) / 1000
	}
	var sum uint64
	data := s.views[0].codes.Data
	loop := fastest(5, func() {
		var a [4]uint64
		for i := 0; i+4 <= len(data); i += 4 {
			a[0] += data[i]
			a[1] += data[i+1]
			a[2] += data[i+2]
			a[3] += data[i+3]
		}
		sum += a[0] + a[1] + a[2] + a[3]
	})
	b.Run(fmt.Sprintf("bits=%d/n=%d/read", width, n), func(b *testing.B) {
		b.ReportMetric(float64(sum&1)*0, "ns/op")
		b.ReportMetric(loop, "us/query")
		b.ReportMetric(float64(8*len(data))/loop/1000, "GB/s")
	})
	for _, count := range []int{1, batch} {
		queries := random(count)
		for _, k := range []int{10, 100} {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("bits=%d/n=%d/k=%d/queries=%d/threads=%d", width, n, k, count, threads), func(b *testing.B) {
					runs := 2
					if count == 1 {
						runs = 10
					}
					us := fastest(runs, func() {
						if _, err := s.Search(ctx, queries, k, math.MaxInt, Options{Strategy: Scan, Threads: threads}); err != nil {
							b.Fatal(err)
						}
					})
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(us/float64(count), "us/query")
				})
			}
		}
	}
}
