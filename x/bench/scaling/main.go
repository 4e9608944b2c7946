// Scaling measures training, encoding and batch search on 1, 2, 4... threads, up to all cores: seconds, the share of
// linear speed-up, and whether models, codes and answers are the same. It generates its own data.
//
//	go run -C x/bench ./scaling [-part NAME] [-rows 50000] [-bits 4] [-turns 2]
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

var (
	part    = flag.String("part", "", "the only part to run: machine, narrow, logistic, wide, encode or search")
	rows    = flag.Int("rows", 50_000, "rows to learn from and to encode")
	bits    = flag.Int("bits", 4, "bits to learn; half of it for wide vectors")
	turns   = flag.Int("turns", 2, "runs of each measurement, of which the best counts")
	ctx     = context.Background()
	threads []int
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	for n := 1; n < runtime.NumCPU(); n *= 2 {
		threads = append(threads, n)
	}
	threads = append(threads, runtime.NumCPU())
	fmt.Printf("%d cores, %s, kernels %s\n\n", runtime.NumCPU(), runtime.GOARCH, hamming.Kernel())
	fmt.Printf("%-54s", "seconds by threads")
	for _, n := range threads {
		fmt.Printf("%14d", n)
	}
	fmt.Println()
	ok := true
	for _, p := range []struct {
		name string
		run  func() bool
	}{
		{"machine", machine},
		{"narrow", func() bool { return train("320 columns", 320, *bits, boost.Options{}) }},
		{"logistic", func() bool { return train("320 columns, logistic", 320, *bits, boost.Options{Boost: boost.Logistic}) }},
		{"wide", func() bool { return train("11,200 columns", 11200, max(1, *bits/2), boost.Options{}) }},
		{"encode", encode},
		{"search", search},
	} {
		if *part == "" || *part == p.name {
			ok = p.run() && ok
			runtime.GC()
		}
	}
	if !ok {
		log.Fatal("results differ between numbers of threads")
	}
	fmt.Println("\nmodels, codes and answers are the same for all numbers of threads")
}

// measure runs f on each number of threads and prints a line for each of the times it returns. It reports whether the
// digest is always the same.
func measure(what string, times []string, f func(threads int) (digest [32]byte, seconds []float64)) bool {
	best := make([][]float64, len(times))
	var first [32]byte
	same := true
	for i, n := range threads {
		runtime.GOMAXPROCS(n)
		for turn := range *turns {
			digest, seconds := f(n)
			if i == 0 && turn == 0 {
				first = digest
			}
			same = same && digest == first
			for k, s := range seconds {
				if turn == 0 {
					best[k] = append(best[k], s)
				}
				best[k][i] = min(best[k][i], s)
			}
		}
	}
	runtime.GOMAXPROCS(runtime.NumCPU())
	for k, name := range times {
		fmt.Printf("%-54s", what+name)
		for i, s := range best[k] {
			fmt.Printf(" %7.3f %4.0f%%", s, 100*best[k][0]/s/float64(threads[i]))
		}
		fmt.Println()
	}
	if !same {
		fmt.Println("THE RESULTS DIFFER")
	}
	return same
}

// labelled makes rows of ten classes. Each class raises a tenth of the columns a little; the rest is noise.
func labelled(dim int) (vectors.Matrix, []string) {
	x := vectors.Matrix{Rows: *rows, Cols: dim, Data: make([]float32, *rows*dim)}
	class := make([]string, x.Rows)
	var wait sync.WaitGroup
	const block = 1000
	for lo := 0; lo < x.Rows; lo += block {
		wait.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(lo)))
			for i := lo; i < min(lo+block, x.Rows); i++ {
				c := rng.IntN(10)
				class[i] = strconv.Itoa(c)
				row := x.Row(i)
				for j := range row {
					r := rng.Uint32() // the sum of four bytes is close to a normal distribution
					row[j] = float32(r&255+r>>8&255+r>>16&255+r>>24) / 256
					if (j*31+c*17)%10 == 0 && (j/10+c)%3 != 0 {
						row[j] += 0.1
					}
				}
			}
		})
	}
	wait.Wait()
	return x, class
}

// train measures the two steps of learning and the preparation.
func train(what string, dim, bits int, o boost.Options) bool {
	x, class := labelled(dim)
	what = fmt.Sprintf("%d bits of %d x %s", bits, x.Rows, what)
	return measure(what, []string{"", ", Step 1", ", reading"}, func(threads int) ([32]byte, []float64) {
		began := time.Now()
		d, err := supervision.Scan(ctx, vectors.WithLabels(x, class), supervision.ScanOptions{})
		check(err)
		report := new(fasthash.Report)
		options := fasthash.Options{LinearColumns: columns.Off, Candidates: 1, Bits: bits, Trees: o, Threads: threads}
		m, err := fasthash.Method{Options: options, Run: fasthash.Run{Report: report}}.Train(ctx, d)
		check(err)
		total, boosted, inferred := time.Since(began), time.Duration(0), time.Duration(0)
		for _, b := range report.Bits {
			boosted += b.Boost
			inferred += b.Inference
		}
		var b []byte
		for _, f := range m.Encoder.(*model.Binned).Functions {
			b = model.AppendFunction(b, f)
		}
		return sha256.Sum256(b), []float64{
			(boosted + inferred).Seconds(), inferred.Seconds(), (total - boosted - inferred).Seconds(),
		}
	})
}

// machine measures the combined speed of the cores: each thread adds to a small table of its own, so only clocks and
// shared units can slow it down.
func machine() bool {
	const additions = 1 << 30
	return measure("2^30 additions to private tables", []string{""}, func(threads int) ([32]byte, []float64) {
		began := time.Now()
		var wait sync.WaitGroup
		for range threads {
			wait.Go(func() {
				var table [256]uint32
				v := uint32(1)
				for i := range uint32(additions / threads) {
					v = v*1664525 + 1013904223
					table[v>>24] += i
				}
				runtime.KeepAlive(&table)
			})
		}
		wait.Wait()
		return [32]byte{}, []float64{time.Since(began).Seconds()}
	})
}

// encode measures 64 bits of 400 trees whose leaves have two bits each, with random splits on 320 columns.
func encode() bool {
	const dim, bits, trees, depth = 320, 64, 400, 4
	x, _ := labelled(dim)
	rng := rand.New(rand.NewPCG(2, 2))
	e := &model.Binned{Quantizer: vectors.Quantizer{Lo: make([]float32, dim), Hi: slices.Repeat([]float32{4.1}, dim)}}
	for range bits {
		f := &model.Ensemble{Depth: depth}
		for range trees {
			unit := 1 + rng.Int32N(1000)
			columns, bins := make([]uint32, model.Splits(depth)), make([]uint8, model.Splits(depth))
			for i := range columns {
				columns[i], bins[i] = rng.Uint32N(dim), uint8(96+rng.IntN(64))
			}
			for digit := range 2 {
				f.Feature, f.Bin = append(f.Feature, columns...), append(f.Bin, bins...)
				f.Leaf, f.Weight = append(f.Leaf, rng.Uint64()>>48), append(f.Weight, unit<<digit)
			}
		}
		e.Functions = append(e.Functions, f)
	}
	m := &model.Model{Encoder: e}
	_, err := m.Encode(ctx, x, 0) // warm up
	check(err)
	return measure(fmt.Sprintf("encoding %d x 320, %d bits x %d trees", x.Rows, bits, trees), []string{""},
		func(threads int) ([32]byte, []float64) {
			began := time.Now()
			codes, err := m.Encode(ctx, x, threads)
			check(err)
			return digestOf(codes.Data), []float64{time.Since(began).Seconds()}
		})
}

// search measures scans of a million random codes for a batch of queries.
func search() bool {
	const n, queries, k = 1_000_000, 2000, 100
	ok := true
	for _, bits := range []int{64, 256} {
		rng := rand.New(rand.NewPCG(3, 3))
		random := func(n int) hamming.Codes {
			c := hamming.NewCodes(n, bits)
			for i := range c.Data {
				c.Data[i] = rng.Uint64()
			}
			return c
		}
		items := &index.Batch{IDs: make([]index.ID, n), Codes: random(n)}
		for i := range n {
			items.IDs[i] = index.Int(int64(i))
		}
		x := index.New(bits, hamming.Fingerprint{}, index.Config{Tables: -1})
		check(x.Add(ctx, items))
		s, asked := x.Snapshot(), random(queries)
		for _, count := range []int{queries, 1} {
			some := asked
			some.Data = some.Data[:count*some.Words]
			what := fmt.Sprintf("%d queries, %d codes of %d bits", count, n, bits)
			ok = measure(what, []string{""}, func(threads int) ([32]byte, []float64) {
				began := time.Now()
				results, err := s.SearchBatch(ctx, some, k, index.Options{Method: index.Scan, Threads: threads})
				took := time.Since(began).Seconds()
				check(err)
				var found []uint64
				for _, r := range results {
					for _, h := range r.Hits {
						id, err := strconv.ParseUint(h.ID.String(), 10, 64)
						check(err)
						found = append(found, id, uint64(h.Distance))
					}
				}
				return digestOf(found), []float64{took}
			}) && ok
		}
	}
	return ok
}

func digestOf(words []uint64) [32]byte {
	h := sha256.New()
	for _, w := range words {
		fmt.Fprintln(h, w)
	}
	return [32]byte(h.Sum(nil))
}

func check(err error) {
	if err != nil {
		log.Print(err)
		os.Exit(1)
	}
}
