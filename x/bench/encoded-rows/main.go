// Encoded-rows encodes vectors from memory several times and prints the least time per row, including quantisation, the
// time of all processors, and the median time to encode a single row. Its peer is xgboost_predict.py.
//
//	go run -C x/bench ./encoded-rows model.hgm vectors.npy [THREADS [TURNS]]
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
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 || len(os.Args) > 5 {
		log.Fatal("usage: encoded-rows model.hgm vectors.npy [THREADS [TURNS]]")
	}
	numbers := []int{1, 3} // threads and turns
	for i, arg := range os.Args[3:] {
		var err error
		numbers[i], err = strconv.Atoi(arg)
		check(err)
	}
	vectorFile, threads, turns := os.Args[2], numbers[0], numbers[1]
	ctx := context.Background()
	m, err := model.ReadFile(os.Args[1])
	check(err)
	set, err := dataset.Open(dataset.Spec{Paths: []string{vectorFile}})
	check(err)
	x := vectors.Matrix{Cols: set.Dim()}
	for c, err := range set.Chunks(ctx) {
		check(err)
		x.Rows += c.X.Rows
		x.Data = append(x.Data, c.X.Data...)
		if x.Rows >= 50_000 {
			break
		}
	}
	best, spent := time.Duration(1<<62), time.Duration(1<<62)
	for range turns {
		began, before := time.Now(), processorTime()
		_, err := m.Encode(ctx, x, threads)
		check(err)
		best, spent = min(best, time.Since(began)), min(spent, processorTime()-before)
	}
	var latency []time.Duration
	for i := range min(5000, x.Rows) {
		began := time.Now()
		_, err := m.EncodeRow(x.Row(i))
		check(err)
		latency = append(latency, time.Since(began))
	}
	slices.Sort(latency)
	fmt.Printf("BenchmarkEncode/method=hashgrove/data=%s/threads=%d 1 %.2f us/row %.2f cpu-us/row "+
		"%.1f us-one-row-median\n",
		strings.TrimSuffix(filepath.Base(vectorFile), ".npy"), threads,
		best.Seconds()/float64(x.Rows)*1e6, spent.Seconds()/float64(x.Rows)*1e6, latency[len(latency)/2].Seconds()*1e6)
}

// processorTime returns the CPU time of all threads of this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
