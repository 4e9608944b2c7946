package store

import (
	"flag"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

var size = flag.Int("size", 100_000, "items of the benchmark")

// BenchmarkStore measures an index of -size items with 64-bit codes and integer ids: filling it in one write, writing
// one item, searching it once on disk, opening it, compacting and verifying it.
func BenchmarkStore(b *testing.B) {
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "photos.hgi")
		s, err := Create(ctx, path, Options{Bits: 64})
		ok(b, err)
		n := *size
		batch := &index.Batch{IDs: make([]index.ID, n), Codes: hamming.NewCodes(n, 64)}
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			batch.IDs[i] = index.Int(int64(i))
			batch.Codes.Data[i] = rng.Uint64()
		}
		measure := func(name string, times int, f func()) {
			start := time.Now()
			for range times {
				f()
			}
			b.ReportMetric(time.Since(start).Seconds()*1000/float64(times), name)
		}
		measure("ingest-ms", 1, func() { ok(b, s.Add(ctx, batch)) })
		b.ReportMetric(float64(s.Info().FileBytes)/1e6, "file-MB")
		measure("upsert-ms", 100, func() {
			one := index.NewBatch(64)
			one.Append(index.Item{ID: index.Int(rng.Int64N(int64(n))), Code: []uint64{rng.Uint64()}, Label: "shirt"})
			ok(b, s.Upsert(ctx, one))
		})
		ok(b, s.Close())
		measure("search-once-ms", 1, func() {
			s := open(b, path, OpenOptions{ReadOnly: true, OnDisk: true})
			x, err := s.Select(ctx, index.Filter{}, nil)
			ok(b, err)
			found, err := x.Search(ctx, hamming.Codes{Bits: 64, Words: 1, Data: []uint64{rng.Uint64()}}, 10, math.MaxInt, index.Options{})
			ok(b, err)
			_, err = x.Items(ctx, found[0].Hits)
			ok(b, err)
			ok(b, s.Close())
		})
		measure("open-ms", 1, func() { s = open(b, path, OpenOptions{}) })
		measure("compact-ms", 1, func() { ok(b, s.Compact(ctx)) })
		ok(b, s.Close())
		measure("verify-ms", 1, func() { fine(b)(Verify(ctx, path, nil)) })
	}
}
