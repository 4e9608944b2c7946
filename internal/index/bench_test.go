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
)

// learned returns the codes of the file HASHGROVE_CODES, or codes like those of a model of ten classes: six of ten are one
// of ten centres, the others are up to 16 bits away from one.
func learned(b *testing.B) hamming.Codes {
	if path := os.Getenv("HASHGROVE_CODES"); path != "" {
		t, err := hamming.ReadFile(path)
		if err != nil || t.Codes.Bits != 64 {
			b.Fatalf("codes of 64 bits are wanted: %v", err)
		}
		return t.Codes
	}
	rng := rand.New(rand.NewPCG(4, 4))
	centres, c := randomCodes(10, 64, 4), hamming.NewCodes(60_000, 64)
	for i := range c.Data {
		c.Data[i] = centres.Data[rng.IntN(10)]
		if rng.IntN(10) >= 6 {
			for range 1 + rng.IntN(16) {
				c.Data[i] ^= 1 << rng.IntN(64)
			}
		}
	}
	return c
}

// perturbed returns n codes, each a learned one with every bit flipped with probability 1/16.
func perturbed(from hamming.Codes, n int, seed uint64) hamming.Codes {
	rng := rand.New(rand.NewPCG(seed, 0))
	c := hamming.NewCodes(n, 64)
	for i := range c.Data {
		c.Data[i] = from.Data[rng.IntN(len(from.Data))] ^ rng.Uint64()&rng.Uint64()&rng.Uint64()&rng.Uint64()
	}
	return c
}

// BenchmarkTables searches for the ten nearest of many clustered 64-bit codes, one query at a time on one thread, with
// the planner's choice and with a plain scan: xscan is how many times faster the choice is.
func BenchmarkTables(b *testing.B) {
	n := 10_000_000
	if items, err := strconv.Atoi(os.Getenv("HASHGROVE_ITEMS")); err == nil {
		n = items
	}
	from := learned(b)
	batch := &Batch{IDs: make([]ID, n), Codes: perturbed(from, n, 1)}
	for i := range n {
		batch.IDs[i] = Int(int64(i))
	}
	queries := perturbed(from, 500, 2)
	b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
		x := New(64, hamming.Fingerprint{}, Config{})
		start := time.Now()
		if err := x.Add(ctx, batch); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "build-s")
		s := x.Snapshot()
		run := func(n int, strategy Strategy) (perQuery float64) {
			start := time.Now()
			for q := range n {
				if _, err := s.one(queries.Row(q), 10, math.MaxInt, Options{Strategy: strategy, Threads: 1}); err != nil {
					b.Fatal(err)
				}
			}
			return float64(time.Since(start).Microseconds()) / float64(n)
		}
		scan := run(20, Scan)
		for range b.N {
			fast := run(queries.Len(), auto)
			b.ReportMetric(fast, "us/query")
			b.ReportMetric(scan/fast, "xscan")
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(scan, "us/scan")
		b.ReportMetric(float64(s.Memory().Total())/float64(n), "bytes/item")
		b.ReportMetric(float64(s.Codes())/float64(n), "distinct")
	})
}
