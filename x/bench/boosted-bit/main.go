// Boosted-bit learns one bit as in Step 2, with 200 trees of depth 4 from equal weights, and prints the time without
// reading and quantising. The bit is +1 for the first five classes in alphabetical order. Its peers are in
// boosted_peers.py.
//
//	go run -C x/bench ./boosted-bit vectors.npy labels.txt CANDIDATES [THREADS [BOOST]]
//
// CANDIDATES is the number of columns drawn per node; -1 means all columns. BOOST is adaboost or logistic, which has
// the loss and the rate of the peers.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hashgrove/internal/dataset"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 4 || len(os.Args) > 6 {
		log.Fatal("usage: boosted-bit vectors.npy labels.txt CANDIDATES [THREADS [BOOST]]")
	}
	trees := boost.Options{Boost: boost.AdaBoost}
	if len(os.Args) == 6 {
		trees.Boost = boost.Algorithm(os.Args[5])
	}
	numbers := []int{-1, 2} // candidates and threads
	for i, arg := range os.Args[3:min(len(os.Args), 5)] {
		var err error
		numbers[i], err = strconv.Atoi(arg)
		check(err)
	}
	vectorFile, labelFile, candidates, threads := os.Args[1], os.Args[2], numbers[0], numbers[1]
	ctx := context.Background()
	set, err := dataset.Open(dataset.Spec{Paths: []string{vectorFile}})
	check(err)
	s, err := supervision.Scan(ctx, set, supervision.ScanOptions{})
	check(err)
	q, err := s.QuantizerBy(ctx, vectors.Linear)
	check(err)
	x, err := vectors.Quantize(ctx, set, s.Rows, q, 0)
	check(err)
	text, err := os.ReadFile(labelFile)
	check(err)
	class := strings.Fields(string(text))
	if len(class) != x.Rows {
		log.Fatalf("%d labels for %d rows", len(class), x.Rows)
	}
	names := slices.Clone(class)
	slices.Sort(names)
	names = slices.Compact(names)
	z := make([]int8, x.Rows)
	for i, c := range class {
		z[i] = -1
		if slices.Index(names, c) < 5 {
			z[i] = 1
		}
	}
	trees.NodeFeatures = candidates
	learner, err := boost.New(x, trees, threads)
	check(err)
	before, began := cpuSeconds(), time.Now()
	e, err := learner.Fit(ctx, z, nil, 1, 0)
	check(err)
	wall, cpu := time.Since(began).Seconds(), cpuSeconds()-before
	said, wrong := make([]int8, x.Rows), 0
	check(model.Outputs(ctx, e, x, threads, said))
	for i, v := range said {
		if v != z[i] {
			wrong++
		}
	}
	fmt.Printf("BenchmarkBoostedBit/method=%s/data=%s 1 %.2f wall-s %.2f cpu-s %.4f train-error\n", trees.Boost,
		strings.TrimSuffix(filepath.Base(vectorFile), ".npy"), wall, cpu, float64(wrong)/float64(x.Rows))
}

func cpuSeconds() float64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
