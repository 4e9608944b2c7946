// Margin-search compares ranking by margins with ranking by Hamming distance: exact searches for the k nearest of many
// codes, random ones or a model's, in turns. Its peer is faiss_margins.py.
//
//	go run -C x/bench ./margin-search -bits 64 -codes 1000000
//	go run -C x/bench ./margin-search -model m.hgm -base items.npy -new queries.npy
//
// With a model, the codes are those of the base, repeated with each bit flipped with probability 1/16 up to the number
// of codes, and the queries are the new vectors with their own margins. The margins of random codes are normal.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

var (
	bits      = flag.Int("bits", 64, "bits of random codes")
	codes     = flag.Int("codes", 1_000_000, "codes to search")
	queries   = flag.Int("queries", 1000, "queries of a batch")
	k         = flag.Int("k", 100, "neighbours")
	threads   = flag.String("threads", "1,2", "numbers of threads")
	runs      = flag.Int("runs", 3, "runs of which the shortest counts; ten times as many for single queries")
	modelFile = flag.String("model", "", "model that makes the codes")
	base      = flag.String("base", "", "vectors of the items, with -model")
	newFile   = flag.String("new", "", "vectors of the queries, with -model")
)

var rng = rand.New(rand.NewPCG(1, 1))

func main() {
	log.SetFlags(0)
	flag.Parse()
	ctx := context.Background()
	name, items, asked, margins := "random", randomCodes(*codes), randomCodes(*queries), make([]float32, *bits**queries)
	for i := range margins {
		margins[i] = float32(rng.NormFloat64())
	}
	if *modelFile != "" {
		name = strings.TrimSuffix(*modelFile, ".hgm")
		m, err := model.ReadFile(*modelFile)
		check(err)
		*bits = m.Encoder.Bits()
		learned, _ := encoded(ctx, m, *base)
		items = perturbed(learned, *codes)
		var all vectors.Matrix
		asked, all = encoded(ctx, m, *newFile)
		*queries = min(*queries, asked.Len())
		asked.Data, margins = asked.Data[:*queries*asked.Words], all.Data[:*queries**bits]
	}
	b := &index.Batch{Codes: items, IDs: make([]index.ID, items.Len())}
	for i := range b.IDs {
		b.IDs[i] = index.Int(int64(i))
	}
	x := index.New(*bits, hamming.Fingerprint{}, index.Config{})
	check(x.Add(ctx, b))
	s := x.Snapshot()
	tables := s.Memory().Tables > 0
	for _, count := range []int{1, *queries} {
		for text := range strings.SplitSeq(*threads, ",") {
			n, err := strconv.Atoi(text)
			check(err)
			measure(ctx, s, some{name, asked, margins, count, n, index.Scan})
			if tables {
				measure(ctx, s, some{name, asked, margins, count, n, ""})
			}
		}
	}
}

// some describes what to search for, and how.
type some struct {
	name           string
	queries        hamming.Codes
	margins        []float32
	count, threads int
	method         index.Method
}

// measure searches by both distances in turns and prints the shortest times. It runs several single queries in
// sequence, because some take longer than others.
func measure(ctx context.Context, s *index.Snapshot, w some) {
	single := 1
	if w.count == 1 {
		single = min(20, w.queries.Len())
	}
	best := map[index.Rank]time.Duration{}
	for range *runs {
		for _, rank := range []index.Rank{index.ByHamming, index.ByMargins} {
			began := time.Now()
			for first := range single {
				part := w.queries
				part.Data = part.Data[first*part.Words : (first+w.count)*part.Words]
				o := index.Options{Method: w.method, Threads: w.threads, Rank: rank}
				if rank == index.ByMargins {
					o.Margins = w.margins[first**bits : (first+w.count)**bits]
				}
				_, err := s.SearchBatch(ctx, part, *k, o)
				check(err)
			}
			took := time.Since(began) / time.Duration(single*w.count)
			if old, ok := best[rank]; !ok || took < old {
				best[rank] = took
			}
		}
	}
	method := w.method
	if method == "" {
		method = "auto"
	}
	us := func(r index.Rank) float64 { return float64(best[r].Nanoseconds()) / 1000 }
	fmt.Printf("BenchmarkMargins/codes=%s/bits=%d/n=%d/k=%d/queries=%d/threads=%d/method=%s 1 "+
		"%.1f us-hamming %.1f us-margins %.2f times\n", w.name, *bits, s.Len(), *k, w.count, w.threads, method,
		us(index.ByHamming), us(index.ByMargins), us(index.ByMargins)/us(index.ByHamming))
}

// encoded returns the codes and margins of a file's vectors.
func encoded(ctx context.Context, m *model.Model, file string) (hamming.Codes, vectors.Matrix) {
	set, err := dataset.Open(dataset.Spec{Paths: []string{file}})
	check(err)
	x := vectors.Matrix{Cols: set.Dim()}
	for c, err := range set.Chunks(ctx) {
		check(err)
		x.Rows += c.X.Rows
		x.Data = append(x.Data, c.X.Data...)
	}
	codes, err := m.Encode(ctx, x, 0)
	check(err)
	margins, err := m.Margins(ctx, x, 0)
	check(err)
	return codes, margins
}

// randomCodes returns n random codes.
func randomCodes(n int) hamming.Codes {
	c := hamming.NewCodes(n, (*bits+63)/64*64)
	for i := range c.Data {
		c.Data[i] = rng.Uint64()
	}
	return c.Prefix(*bits)
}

// perturbed returns n codes: first the given ones, then repetitions with each bit flipped with probability 1/16.
func perturbed(from hamming.Codes, n int) hamming.Codes {
	c := hamming.NewCodes(n, from.Bits)
	copy(c.Data, from.Data)
	last := ^uint64(0) << (-from.Bits & 63)
	for i := len(from.Data); i < len(c.Data); i++ {
		flips := rng.Uint64() & rng.Uint64() & rng.Uint64() & rng.Uint64()
		if i%c.Words == c.Words-1 {
			flips &= last
		}
		c.Data[i] = from.Data[i%len(from.Data)] ^ flips
	}
	return c
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
