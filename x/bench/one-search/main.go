// One-search measures one query by code from the command line: it builds an index of random 64-bit codes, each item
// with a label, and runs the program several times.
//
//	go run ./one-search -program ../../bin/hashgrove -items 500000
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/store"
)

func main() {
	program := flag.String("program", "../bin/hashgrove", "the program to run")
	items := flag.Int("items", 500_000, "items in the index")
	runs := flag.Int("runs", 21, "number of runs")
	flag.Parse()
	dir, err := os.MkdirTemp("", "one-search")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "random.hgi")
	check(build(context.Background(), path, *items))

	var times []time.Duration
	for range *runs {
		cmd := exec.Command(*program, "search", path, "--code", "0123456789abcdef", "-k", "10", "--quiet")
		began := time.Now()
		out, err := cmd.Output()
		times = append(times, time.Since(began))
		if err != nil {
			log.Fatalf("%v: %s", err, out)
		}
	}
	slices.Sort(times)
	fmt.Printf("%d items: %v median of %d runs, %v least\n", *items,
		times[len(times)/2].Round(time.Millisecond/10), len(times), times[0].Round(time.Millisecond/10))
}

// build writes the index, a million items at a time.
func build(ctx context.Context, path string, items int) error {
	s, err := store.Create(ctx, path, store.Options{Bits: 64, Fingerprint: hamming.Fingerprint{1}})
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for lo := 0; lo < items; lo += 1_000_000 {
		b := index.NewBatch(64)
		b.Fingerprint = hamming.Fingerprint{1}
		for i := lo; i < min(lo+1_000_000, items); i++ {
			b.Append(index.Item{
				ID: index.Int(int64(i)), Code: []uint64{rng.Uint64()}, Label: "class " + strconv.Itoa(rng.IntN(10)),
			})
		}
		if err := s.Add(ctx, b); err != nil {
			return err
		}
	}
	return s.Close()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
