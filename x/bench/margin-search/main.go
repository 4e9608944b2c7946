// Margin-search compares ranking by margins with ranking by Hamming distance: exact searches for the k nearest of many
// random codes, in turns. Its peer is faiss_margins.py.
//
//	go run -C x/bench ./margin-search -bits 64 -codes 1000000
//
// The margins are normal, or with -margins even all nearly equal, as those of expected codes are, and with -margins
// detail a fifth of that from bit 64 on.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

var (
	bits      = flag.Int("bits", 64, "bits of random codes")
	codes     = flag.Int("codes", 1_000_000, "codes to search")
	queries   = flag.Int("queries", 1000, "queries of a batch")
	k         = flag.Int("k", 100, "neighbours")
	threads   = flag.String("threads", "1,2", "numbers of threads")
	runs      = flag.Int("runs", 3, "runs of which the shortest counts; ten times as many for single queries")
	processor = flag.Bool("processor", false, "measure processor time")
	kind      = flag.String("margins", "normal", "margins of random codes: normal, even or detail")
)

var start = time.Now()

var rng = rand.New(rand.NewPCG(1, 1))

func main() {
	log.SetFlags(0)
	flag.Parse()
	ctx := context.Background()
	items, asked, margins := randomCodes(*codes), randomCodes(*queries), make([]float32, *bits**queries)
	for i := range margins {
		margins[i] = margin(i % *bits)
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
			measure(ctx, s, some{asked, margins, count, n, index.Scan})
			if tables {
				measure(ctx, s, some{asked, margins, count, n, ""})
			}
		}
	}
}

// some describes what to search for, and how.
type some struct {
	queries        hamming.Codes
	margins        []float32
	count, threads int
	method         index.Strategy
}

// measure searches by both distances in turns and prints the shortest times. It runs several single queries in
// sequence, because some take longer than others, and adds up the shortest time of each.
func measure(ctx context.Context, s *index.Snapshot, w some) {
	single, turns := 1, *runs
	if w.count == 1 {
		single, turns = min(20, w.queries.Len()), 10**runs
	}
	ranks := []index.Rank{index.ByHamming, index.ByMargins}
	best := [2][]time.Duration{make([]time.Duration, single), make([]time.Duration, single)}
	for turn := range turns {
		for r, rank := range ranks {
			for first := range single {
				part := w.queries
				part.Data = part.Data[first*part.Words : (first+w.count)*part.Words]
				o := index.Options{Strategy: w.method, Threads: w.threads, Rank: rank}
				if rank == index.ByMargins {
					o.Margins = w.margins[first**bits : (first+w.count)**bits]
				}
				began := now()
				_, err := s.Search(ctx, part, *k, math.MaxInt, o)
				took := now() - began
				check(err)
				if turn == 0 || took < best[r][first] {
					best[r][first] = took
				}
			}
		}
	}
	method := w.method
	if method == "" {
		method = "auto"
	}
	var us [2]float64 // per query
	for r, all := range best {
		for _, took := range all {
			us[r] += float64(took.Nanoseconds()) / 1000 / float64(single*w.count)
		}
	}
	fmt.Printf("BenchmarkMargins/codes=random/bits=%d/n=%d/k=%d/queries=%d/threads=%d/method=%s 1 "+
		"%.1f us-hamming %.1f us-margins %.2f times\n", *bits, s.Len(), *k, w.count, w.threads, method,
		us[0], us[1], us[1]/us[0])
}

// now returns the time since the start, or the processor time of all threads, which is less noisy on a shared machine.
func now() time.Duration {
	if !*processor {
		return time.Since(start)
	}
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// randomCodes returns n random codes.
func randomCodes(n int) hamming.Codes {
	c := hamming.NewCodes(n, (*bits+63)/64*64)
	for i := range c.Data {
		c.Data[i] = rng.Uint64()
	}
	return c.Prefix(*bits)
}

// margin returns a margin for a bit of a random code.
func margin(bit int) float32 {
	x := rng.NormFloat64()
	switch *kind {
	case "normal":
		return float32(x)
	case "even":
		return float32(1 + x/20)
	case "detail":
		if bit < 64 {
			return float32(1 + x/20)
		}
		return float32(x / 5)
	}
	log.Fatalf("margins are normal, even or detail, not %q", *kind)
	return 0
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
