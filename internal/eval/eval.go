// Package eval measures codes by the rankings they produce: for every query, all base items ordered by distance.
//
//	Truth           which items are relevant to which queries, from classes, tags or pairs: TruthOf
//	Retrieval       a ranking by Hamming distance       -> Report
//	RetrievalMargins a ranking by the margins of the query: how certain it is of each bit
//	RetrievalFloat  a ranking by the vectors themselves: what the codes give up
//	Unseen          Retrieval for queries of classes that training never saw
//	Neighbours      the queries' nearest vectors, which a ranking should find; needs no labels
//	OfClass         the nearest of their relevant items, which should come first among those
//
// Codes put many items at the same distance, and the order among those is arbitrary. So every headline number is the
// expectation over all orders of the ties, in closed form, with the worst and best case beside it. The paper's own
// convention (ties in base order, lists cut at 10,000, divided by the hits in the list) is reported separately, to
// compare with its tables. Doubts about a number are in Report.Warnings.
//
// A query without relevant items has no recall and no average precision, so it is left out of those averages. It counts
// as 0 in every precision and in the paper's convention.
package eval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/par"
)

// Options choose what to measure. The zero value measures what the paper shows.
type Options struct {
	K       []int // ranks of Precision; nil means those of 1, 10, 100, 1000 that the base has
	Cut     int   // length of the lists of the paper's convention; 0 means 10,000
	CurveTo int   // last rank of the precision curve; 0 means 2000

	Detail int // number of bits, the last ones of the codes, that are detail and weigh less (hamming.EqualWeights)

	Classes    []int32  // class of every query, for the table by class; nil leaves it out
	ClassNames []string // names by class number; nil names them by number

	// Neighbours are the queries' float neighbours in the base, to measure their recall; optional. With Neighbours
	// the truth may be empty: Truth{}.
	Neighbours *Neighbours
	// OfClass holds the nearest relevant items of some queries, to measure how many come first; optional.
	OfClass *OfClass

	Threads  int                   // 0 means all cores; never changes the result
	Progress func(done, total int) // called now and then, by one goroutine at a time; may be nil
}

// Panic messages for mismatched sizes.
const (
	truthMisfits  = "eval: sizes of truth and items differ"
	marginsMisfit = "eval: margins are not one for each bit of each query"
)

// defaultCut is the length of the paper's lists.
const defaultCut = 10_000

func (o Options) withDefaults(base int) (_ Options, doubts []error, _ error) {
	wanted := o.K
	o.K = nil
	for _, k := range wanted {
		if k <= 0 {
			return o, nil, message.New("rank-out-of-range", "precision at %d is not defined: give ranks of 1 or more", k)
		}
		if k > base {
			doubts = append(doubts, message.New("rank-left-out", "precision at %d left out: the base has only %d items", k,
				base))
			continue
		}
		o.K = append(o.K, k)
	}
	if wanted == nil {
		for k := 1; k <= min(1000, base); k *= 10 {
			o.K = append(o.K, k)
		}
	}
	slices.Sort(o.K)
	o.K = slices.Compact(o.K)
	if o.Cut < 0 || o.CurveTo < 0 {
		return o, nil, message.New("cut-out-of-range", "lists cut at %d and a curve to rank %d: give positive ranks", o.Cut,
			o.CurveTo)
	}
	o.Cut = cmp.Or(o.Cut, defaultCut)
	o.CurveTo = min(cmp.Or(o.CurveTo, 2000), base)
	return o, doubts, nil
}

// Retrieval ranks the base by Hamming distance to every query and evaluates the rankings.
//
// It panics if truth or o.Classes do not match the codes in size.
func Retrieval(ctx context.Context, queries, base hamming.Codes, truth Truth, o Options) (*Report, error) {
	j, err := codeJudgement(queries, base, truth)
	if err != nil {
		return nil, err
	}
	if o.Detail > 0 {
		equal := hamming.EqualWeights(base.Bits, o.Detail)
		return j.weighted(ctx, base, func(q int, _ []uint64) ([]uint64, []uint8) { return queries.Row(q), equal }, o)
	}
	j.radii, j.unit = base.Bits+1, 1
	j.ranker = func(_, _ int, o *Options) ranker {
		return j.byCodes(func(q int, near []uint16) int {
			j.codes.codes.Distances(near, queries.Row(q))
			return base.Bits
		}, j.radii, o.Cut)
	}
	return j.run(ctx, o)
}

// codeJudgement sets up a judgement of codes; the caller adds the ranker.
func codeJudgement(queries, base hamming.Codes, truth Truth) (judgement, error) {
	if queries.Bits != base.Bits {
		return judgement{}, message.New("bits-mismatch", "the queries have codes of %d bits and the base has codes of %d: "+
			"encode both with one model", queries.Bits, base.Bits)
	}
	if base.Bits >= math.MaxUint16 {
		return judgement{}, message.New("too-many-bits", "codes of %d bits are longer than the %d that can be judged",
			base.Bits, math.MaxUint16-1)
	}
	return judgement{
		queries: queries.Len(),
		base:    base.Len(),
		bits:    base.Bits,
		truth:   truth,
		same:    slices.Equal(queries.Data, base.Data),
		codes:   distinctOf(base),
	}, nil
}

// ranker ranks the base for one query after another.
type ranker interface {
	// rank orders the base for query q. The list is valid until the next call.
	rank(q int, mark []uint8) *list
}

// list is the ranking for one query, without items that its truth ignores.
type list struct {
	// Buckets of items at the same distance, nearest first: all items, and the relevant ones. For codes the bucket
	// number is the distance, so buckets may be empty.
	items, relevant []int
	// The first items with ties in base order: 1 if relevant. The length is a multiple of 8, padded with zeros.
	hits []byte
}

// judgement is one evaluation: n queries against a base, with everything that differs between codes and vectors.
type judgement struct {
	queries, base, bits int
	truth               Truth
	radii               int  // number of radii, from 0, if buckets are distances of codes; 0 for vectors
	unit                int  // the distance of a radius of 1
	same                bool // queries and base are the same items
	unjudged            bool // without relevance, only the recall of neighbours is measured
	ranker              func(lo, hi int, o *Options) ranker
	codes               distinct // of the base; none for vectors
}

// blocks is the number of blocks of queries. Sums are taken block by block, so it must not depend on the number of
// threads. Each block has its own sums for every rank: 64 blocks take about 10 MB.
const blocks = 64

// check rejects bad options before anything is ranked. Mismatched sizes are programming errors.
func (j judgement) check(o Options) error {
	if j.queries == 0 {
		return message.New("no-queries", "there are no queries to judge")
	}
	if j.base == 0 {
		return message.New("empty-base", "the base is empty: nothing can be found in it")
	}
	if j.base > math.MaxInt32 {
		return fmt.Errorf("a base of %d items is larger than the %d that can be judged: take a sample",
			j.base, math.MaxInt32)
	}
	if n := o.Neighbours; n != nil && (n.Queries() != j.queries || n.Base() != j.base) {
		panic("eval: sizes of neighbours and items differ")
	}
	if n := o.OfClass; n != nil && n.near.Base() != j.base {
		panic("eval: sizes of the nearest of a class and items differ")
	}
	if !j.unjudged && (j.truth.Queries != j.queries || j.truth.Base != j.base) {
		panic(truthMisfits)
	}
	if o.Classes != nil && len(o.Classes) != j.queries {
		panic("eval: classes are not one per query")
	}
	return nil
}

func (j judgement) run(ctx context.Context, o Options) (*Report, error) {
	j.unjudged = j.truth.Mark == nil && o.Neighbours != nil
	if err := j.check(o); err != nil {
		return nil, err
	}
	o, doubts, err := o.withDefaults(j.base)
	if err != nil {
		return nil, err
	}

	h := newHarmonic(j.base)
	size := (j.queries + blocks - 1) / blocks
	tallies := make([]*tally, (j.queries+size-1)/size)
	singles := make([]single, j.queries)
	var (
		mu   sync.Mutex
		done int
	)
	err = par.Blocks(ctx, o.Threads, j.queries, size, func(b, lo, hi int) {
		t := j.newTally(&o)
		r := j.ranker(lo, hi, &o)
		mark, near := make([]uint8, j.base), make([]uint8, j.base)
		for q := lo; q < hi && ctx.Err() == nil; q++ {
			if j.truth.Mark != nil {
				j.truth.Mark(q, mark)
			}
			if !j.unjudged {
				singles[q] = t.add(r.rank(q, mark), h)
			}
			if o.Neighbours != nil {
				t.addNeighbours(o.Neighbours.recall(q, r, near))
			}
			if o.OfClass != nil && !j.unjudged {
				t.addOfClass(o.OfClass.share(q, r, mark))
			}
			if o.Progress != nil {
				mu.Lock()
				done++
				if done*100/j.queries != (done-1)*100/j.queries {
					o.Progress(done, j.queries)
				}
				mu.Unlock()
			}
		}
		tallies[b] = t
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("judging was stopped: %w", err)
	}
	sum := tallies[0]
	for _, t := range tallies[1:] {
		sum.merge(t)
	}

	report := sum.report(j)
	report.AP = averagePrecisions(singles)
	report.DistinctCodes, report.LargestBucket = j.codes.codes.Len(), j.codes.most()
	report.PerClass, report.MacroMAP = perClass(o, singles)
	report.WeakClasses = weakClasses(report.PerClass, report.MacroMAP)
	report.doubt(doubts...)
	report.addWarnings(j, sum)
	return report, nil
}

// averagePrecisions returns that of each query, -1 where nothing is relevant.
func averagePrecisions(singles []single) []float64 {
	ap := make([]float64, len(singles))
	for q, one := range singles {
		ap[q] = one.ap
		if one.relevant == 0 {
			ap[q] = -1
		}
	}
	return ap
}
