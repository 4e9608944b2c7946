package index

import (
	"context"
	"math"
	"math/bits"

	"hashgrove/internal/hamming"
)

// The planner decides how to search a segment. All strategies give the same answer and differ only in time.
//
//	list     compare the query with each allowed item    few items are allowed
//	tables   multi-index hashing                          near neighbours are dense, or the radius is small
//	scan     compare the query with each code             everything else, and whenever tables exceed their budget
//
// Costs are estimates in nanoseconds of one core. Only their proportions matter.

// Strategy is a way to search a segment.
type Strategy string

// The strategies. The empty one lets the planner choose; the others are requests, and a segment that cannot fulfil one
// in reasonable time is scanned.
const (
	Scan   Strategy = "scan"
	Tables Strategy = "tables"
	List   Strategy = "list"
)

// perWord is the time to compare one word of a cached code.
var perWord = func() float64 {
	switch hamming.Kernel() {
	case "avx512":
		return 0.1
	case "avx2":
		return 0.2
	case "neon":
		return 0.3 // from its 25 vector instructions for 16 words, two per cycle: no processor was timed
	}
	return 0.8
}()

// readCost is the time to read a byte of a long array on one core.
const readCost = 1.0 / 12

// scanCost returns the time of a query's share of a scan: a single query waits for memory, a batch does not.
func (s *segment) scanCost(batch bool) float64 {
	words := float64(s.codes.Len() * s.codes.Words)
	if batch {
		return words * perWord
	}
	return words * max(perWord, 8*readCost)
}

// perWeightedWord is the time to compare one word of a code by margins, for a query alone and for one of many. Measured
// over a million random or clustered codes of 64 to 256 bits, which take about the same time. A query alone looks up
// codes as they are with AVX-512; with AVX2 it turns them into planes first, as many queries do together (package
// hamming, weightedtile.go); plain Go adds up tables by byte.
var perWeightedWord = func() (t struct{ alone, batch float64 }) {
	switch hamming.Kernel() {
	case "avx512":
		t.alone, t.batch = 0.35, 0.12
	case "avx2":
		t.alone, t.batch = 5.3, 0.43
	case "neon":
		t.alone, t.batch = 8, 0.65 // as much more than with AVX2 as by bits: no processor was timed
	default:
		t.alone, t.batch = 17, 17
	}
	return t
}()

// weightedScanCost is scanCost by margins.
func (s *segment) weightedScanCost(batch bool) float64 {
	words := float64(s.codes.Len() * s.codes.Words)
	if batch {
		return words * perWeightedWord.batch
	}
	return words * perWeightedWord.alone
}

// listCost returns the time to compare a query with n items one by one.
func (s *segment) listCost(n int) float64 { return float64(n) * (8 + float64(s.codes.Words)) }

// budgetShare returns the share of the cost of a scan that each set of tables may use before the next one is tried:
// little for the first, because it answers dense queries at once or not at all.
func budgetShare(set, sets int) float64 {
	if set < sets-1 {
		return 1.0 / 32
	}
	return 1.0 / 2
}

// tablesFrom is the number of codes above which tables are considered.
const tablesFrom = 1 << 15

// Choosing tables. Items of the segment stand in for queries: for a few of them, a scan finds the distance of the tenth
// neighbour, and a sample shows how many codes each number m of parts would meet on the way there. This reveals skew:
// if many codes share the value of a part, few and long parts win. A set of m tables, and one more set of fewer tables
// before it, are kept if they promise to be much faster than the scan.
const (
	planQueries = 64
	planK       = 10
	worthwhile  = 4 // times faster than the scan, otherwise no tables
)

// candidates returns the numbers of parts to consider.
func candidates(width int) []int {
	var ms []int
	for _, m := range []int{1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64} {
		if m == 1 || width/m >= 8 {
			ms = append(ms, m)
		}
	}
	return ms
}

// outlook is the cost of a query with m parts: of each step up to the tenth neighbour.
type outlook []float64

// chooseTables returns the numbers of parts of the sets to build, or none if the scan is good enough.
func (s *segment) chooseTables() []int {
	n := s.codes.Len()
	if n < tablesFrom {
		return nil
	}
	scan := float64(s.scanCost(false))
	ms := candidates(s.codes.Bits)
	outlooks := s.outlooks(ms)
	// expected returns the mean cost of trying the sets in turn.
	expected := func(sets ...int) float64 {
		sum := 0.0
		for q := range planQueries {
			left := true
			for i := 0; i < len(sets) && left; i++ {
				cost, budget := 0.0, scan*budgetShare(i, len(sets))
				left = false
				for _, step := range outlooks[sets[i]][q] {
					if cost+step > budget {
						left = true
						break
					}
					cost += step
				}
				sum += cost
			}
			if left {
				sum += scan
			}
		}
		return sum / planQueries
	}
	best, lowest := []int(nil), scan/worthwhile
	for i := range ms {
		if c := expected(i); c < lowest {
			best, lowest = []int{i}, c
		}
	}
	for i := range ms {
		for j := range i {
			// A second set costs memory: it must save a third of the time.
			if c := expected(j, i); c < lowest && (len(best) == 2 || c < lowest*2/3) {
				best, lowest = []int{j, i}, c
			}
		}
	}
	sets := make([]int, len(best))
	for i, b := range best {
		sets[i] = ms[b]
	}
	return sets
}

// outlooks returns the cost of the steps for each number of parts and each sampled query.
func (s *segment) outlooks(ms []int) [][]outlook {
	n := s.codes.Len()
	queries, sinks := make([][]uint64, planQueries), make([]hamming.Sink, planQueries)
	for q := range queries {
		queries[q] = s.code(uint32(q * s.len() / planQueries))
		sinks[q] = newCollector(s, nil, newWant(planK+1, s.codes.Bits, s.codes.Bits, 0))
	}
	s.codes.Sweep(0, n, s.codes.Bits, queries, sinks)
	sample := min(n, max(1<<10, 1<<14/s.codes.Words/s.codes.Words))
	out := make([][]outlook, len(ms))
	for i, m := range ms {
		parts := make([]part, m)
		for p := range parts {
			parts[p] = newPart(s.codes.Bits, m, p)
		}
		for q, code := range queries {
			// met[p][a]: codes of the sample that differ in exactly a bits of part p.
			met := make([][]int, m)
			for p := range parts {
				met[p] = make([]int, len(parts[p].bit)+1)
			}
			for c := range sample {
				row := s.codes.Row(c * n / sample)
				for p := range parts {
					d := 0
					for w, mask := range parts[p].mask {
						if mask != 0 {
							d += bits.OnesCount64((row[w] ^ code[w]) & mask)
						}
					}
					met[p][d]++
				}
			}
			var steps outlook
			for r := 0; r <= sinks[q].(*collector).limit; r++ {
				p, a := r%m, r/m
				if a >= len(met[p]) {
					continue
				}
				lookUps := binomial(len(parts[p].bit), a)
				codes := float64(met[p][a]) * float64(n) / float64(sample)
				steps = append(steps, float64(lookUps*(lookUpCost+meetCost))+float64(meetCost*codes))
			}
			out[i] = append(out[i], steps)
		}
	}
	return out
}

// addTables builds the segment's tables: as many as requested, or as the planner chooses.
func (s *segment) addTables(ctx context.Context, c Config) error {
	var sets []int
	switch {
	case c.Tables > 0 && s.codes.Len() > 0:
		sets = []int{min(c.Tables, s.codes.Bits)}
	case c.Tables == 0:
		sets = s.chooseTables()
	}
	for _, m := range sets {
		t, err := newTables(ctx, s.codes, m, c.Threads)
		if err != nil {
			return err
		}
		s.tables = append(s.tables, t)
	}
	return nil
}

// chooseStrategy chooses between list, tables and scan for one segment in advance.
func (s *segment) chooseStrategy(asked Strategy, w want, allowed, queries int) Strategy {
	hasTables := s.tables != nil && w.bits == s.codes.Bits && w.unit == 1
	if asked == Tables && !hasTables {
		return Scan
	}
	if asked != "" {
		return asked
	}
	scan := s.scanCost(queries > 1)
	if w.unit > 1 {
		scan = s.weightedScanCost(queries > 1)
	}
	switch {
	case w.whole && allowed <= w.k && w.radius == w.most && w.bits == s.codes.Bits:
		return List // all of them are compared
	case allowed < s.len() && s.listCost(allowed) < scan:
		return List
	case !hasTables:
		return Scan
	}
	if w.radius < w.most {
		cheapest := math.Inf(1)
		for _, t := range s.tables {
			cheapest = min(cheapest, t.lookUps(w.radius)*lookUpCost)
		}
		if cheapest <= scan/2 {
			return Tables
		}
		if w.k == math.MaxInt {
			return Scan
		}
	}
	if w.k >= s.codes.Len()/8 {
		return Scan
	}
	return Tables
}

// lookUps returns the number of look-ups needed for everything within a radius.
func (t *tables) lookUps(radius int) float64 {
	sum, m := 0.0, len(t.parts)
	for r := 0; r <= radius && sum < math.MaxInt32; r++ {
		sum += binomial(len(t.parts[r%m].bit), r/m)
	}
	return sum
}
