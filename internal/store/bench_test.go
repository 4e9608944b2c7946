package store

import (
	"context"
	"flag"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

var size = flag.Int("size", 100_000, "items of the benchmark")

// BenchmarkStore measures an index of -size items with 64-bit codes and integer ids: filling it in one write, writing
// one item or a thousand, deleting a tenth, reading and checking the file, opening it with and without the tables of
// multi-index hashing, searching it once on disk, compacting and verifying it.
func BenchmarkStore(b *testing.B) {
	ctx := context.Background()
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "photos.hgi")
		s, err := Create(ctx, path, Options{Bits: 64})
		if err != nil {
			b.Fatal(err)
		}
		n := *size
		batch := &index.Batch{IDs: make([]index.ID, n), Codes: hamming.NewCodes(n, 64)}
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			batch.IDs[i] = index.Int(int64(i))
			batch.Codes.Data[i] = rng.Uint64()
		}
		measure := func(name string, per int, f func() error) {
			start := time.Now()
			if err := f(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(time.Since(start).Seconds()*1000/float64(per), name)
		}
		measure("ingest-ms", 1, func() error { return s.Add(ctx, batch) })
		b.ReportMetric(float64(s.Info().FileBytes)/1e6, "file-MB")
		measure("upsert-ms", 100, func() error {
			for range 100 {
				one := index.NewBatch(64)
				one.Append(index.Item{ID: index.Int(rng.Int64N(int64(n))), Code: []uint64{rng.Uint64()}, Label: "shirt"})
				if err := s.Upsert(ctx, one); err != nil {
					return err
				}
			}
			return nil
		})
		measure("upsert-1000-ms", 10, func() error {
			for range 10 {
				some := index.NewBatch(64)
				for range 1000 {
					some.Append(index.Item{ID: index.Int(rng.Int64N(int64(n))), Code: []uint64{rng.Uint64()}})
				}
				if err := s.Upsert(ctx, some); err != nil {
					return err
				}
			}
			return nil
		})
		measure("delete-tenth-ms", 1, func() error {
			ids := make([]index.ID, 0, n/10)
			for i := 0; i < n; i += 10 {
				ids = append(ids, index.Int(int64(i)))
			}
			_, err := s.Delete(ctx, ids...)
			return err
		})
		b.ReportMetric(float64(s.Info().FileBytes)/1e6, "file-after-MB")
		measure("close-ms", 1, s.Close)
		measure("scan-ms", 1, func() error {
			f, _, err := inspect(ctx, path, time.Now(), func(c *contents) error { return c.check(ctx, nil, nil) })
			if err != nil {
				return err
			}
			return f.Close()
		})
		measure("open-untabled-ms", 1, func() error {
			s, err := Open(ctx, path, OpenOptions{ReadOnly: true, Index: index.Config{Tables: -1}})
			if err != nil {
				return err
			}
			return s.Close()
		})
		measure("search-once-ms", 1, func() error {
			s, err := Open(ctx, path, OpenOptions{ReadOnly: true, OnDisk: true})
			if err != nil {
				return err
			}
			defer s.Close()
			x, err := s.Select(ctx, index.Filter{}, nil)
			if err != nil {
				return err
			}
			found, err := x.Search(ctx, []uint64{rng.Uint64()}, 10, index.Options{})
			if err != nil {
				return err
			}
			_, err = x.Items(ctx, found.Hits)
			return err
		})
		measure("open-ms", 1, func() (err error) {
			s, err = Open(ctx, path, OpenOptions{})
			return err
		})
		measure("compact-ms", 1, func() error { return s.Compact(ctx) })
		b.ReportMetric(float64(s.Info().FileBytes)/1e6, "file-compact-MB")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		measure("verify-ms", 1, func() error {
			_, err := Verify(ctx, path, nil)
			return err
		})
	}
}
