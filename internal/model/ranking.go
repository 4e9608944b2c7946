package model

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"hashgrove/internal/hamming"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

// Ranking by the expected code. Items have only bits, but a query knows its scores s_1 ... s_B, and training knows
// which codes exist: the distinct codes c of the rows it learned from, and how many rows have each. The scores say
// how likely the query's own code is each of those, and the mean of the codes under these odds is what to look for:
//
//	p(c) ~ count(c) exp(tau <s, c> / mean |s|)        c of -1 and +1
//	w    = sum over c of p(c) c                       the expected code
//	item = <w, its code>                              greatest first
//
// The sign of w_b is the bit to look for, which need not be the query's own, and |w_b| is its weight, rounded as
// those of margins are (hamming.Weights). So a query with some wrong bits finds the code that it must have meant. A
// query without scores has its bits as scores.
//
// The scores are rounded to the weights of margins first. Then <s, c> / mean |s| is a constant minus D(c) / 8, with
// D(c) the distance by margins in sixteenths of a bit, and the kernel of searches finds the codes that matter:
//
//	sweep   D(c) of the codes, and the least of them         a scan of the table
//	odds    count(c) exp(-tau (D(c) - least) / 8),           one exponential for each distance
//	        zero below exp(-expectedReach)
//	mean    sums by value of each byte, then by bit          O(codes within reach · B/8 + 256 · B/8)

// The rankings, as requests name them.
const (
	ByHamming  = "hamming"
	ByMargins  = "margins"
	ByExpected = "expected"
)

// Rankings lists the rankings, from the plainest on.
func Rankings() []string { return []string{ByHamming, ByMargins, ByExpected} }

// Ranking says how items are best ranked for a query with scores.
type Ranking struct {
	Rank string  // the one that held-out rows chose: ByHamming, ByMargins or ByExpected
	Tau  float64 // how much the scores decide; of ByExpected
	Mix  float64 // share of the scores themselves in the weights, 0 to 1; of ByExpected

	Codes  hamming.Codes // distinct codes of training rows, class bits only, the most frequent first
	Counts []uint32      // rows with each code, or their weights
}

// MaxRankingCodes is the largest number of codes in a ranking, so that a query takes microseconds.
const MaxRankingCodes = 4096

const (
	expectedReach = 8.0
	maxTau        = 1000

	maxRanking = 64 + MaxRankingCodes*(4+hamming.MaxBits/8) // bytes
)

// NewRanking returns a ranking by the expected code over the most frequent of some codes; equally frequent ones come in
// ascending order. Code i counts weight[i] times, or once if weight is nil.
func NewRanking(rank string, tau, mix float64, codes hamming.Codes, weight []uint32) *Ranking {
	order := make([]int, codes.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(codes.Row(a), codes.Row(b)) })
	type group struct{ code, count int }
	var groups []group
	for _, i := range order {
		n := len(groups)
		if n == 0 || !slices.Equal(codes.Row(groups[n-1].code), codes.Row(i)) {
			groups, n = append(groups, group{code: i}), n+1
		}
		if weight == nil {
			groups[n-1].count++
		} else {
			groups[n-1].count += int(weight[i])
		}
	}
	slices.SortStableFunc(groups, func(a, b group) int { return b.count - a.count })
	groups = groups[:min(len(groups), MaxRankingCodes)]
	r := &Ranking{Rank: rank, Tau: tau, Mix: mix, Codes: hamming.NewCodes(0, codes.Bits)}
	for _, g := range groups {
		r.Codes.Data = append(r.Codes.Data, codes.Row(g.code)...)
		r.Counts = append(r.Counts, uint32(min(g.count, math.MaxInt32)))
	}
	return r
}

// check reports a ranking that cannot be used with codes of this many class bits. None is fine.
func (r *Ranking) check(bits int) error {
	if r == nil {
		return nil
	}
	n := r.Codes.Len()
	switch {
	case !slices.Contains(Rankings(), r.Rank):
		return fmt.Errorf("the unknown ranking %q", r.Rank)
	case !(r.Tau >= 0 && r.Tau <= maxTau) || !(r.Mix >= 0 && r.Mix <= 1):
		return fmt.Errorf("a ranking with tau %v and mix %v", r.Tau, r.Mix)
	case n < 1 || n > MaxRankingCodes || n != len(r.Counts) || r.Codes.Bits != bits:
		return fmt.Errorf("a ranking by %d codes of %d bits with %d counts, for codes of %d bits",
			n, r.Codes.Bits, len(r.Counts), bits)
	}
	for i, c := range r.Counts {
		if c == 0 || i > 0 && (c > r.Counts[i-1] ||
			c == r.Counts[i-1] && slices.Compare(r.Codes.Row(i-1), r.Codes.Row(i)) >= 0) {
			return fmt.Errorf("code %d of the ranking is out of order", i)
		}
	}
	return nil
}

// prefix returns the ranking of the first bits.
func (r *Ranking) prefix(bits int) *Ranking {
	if r == nil || bits >= r.Codes.Bits {
		return r
	}
	return NewRanking(r.Rank, r.Tau, r.Mix, r.Codes.Prefix(bits), r.Counts)
}

// code goes through the bytes of a ranking, whose codes have their length already.
func (r *Ranking) code(c *codec) {
	rank, n, size := uint8(max(0, slices.Index(Rankings(), r.Rank))), uint32(len(r.Counts)), r.Codes.Bytes()
	c.number(&rank)
	c.number(&r.Tau)
	c.number(&r.Mix)
	c.number(&n)
	if c.reading {
		if int(rank) >= len(Rankings()) || n < 1 || n > MaxRankingCodes || len(c.b) != int(n)*(size+4) {
			c.fail(fmt.Errorf("a ranking of %d codes of %d bits in %d bytes", n, r.Codes.Bits, len(c.b)))
			return
		}
		r.Rank, r.Counts = Rankings()[rank], make([]uint32, n)
	}
	for i := range r.Counts {
		if b := c.next(int64(size)); !c.reading {
			copy(b, r.Codes.AppendBytes(nil, i))
		} else if !r.Codes.Append(b) {
			c.fail(fmt.Errorf("a code of the ranking has bits beyond %d", r.Codes.Bits))
			return
		}
		c.number(&r.Counts[i])
	}
}

// DetailBits returns how many bits of a code, the last ones, are detail.
func (m *Model) DetailBits() int { return DetailBits(m.Encoder) }

// ClassBits returns the number of bits before those of detail.
func (m *Model) ClassBits() int { return m.Encoder.Bits() - m.DetailBits() }

// Rank returns the ranking that training chose; by Hamming distance if it chose none.
func (m *Model) Rank() string {
	if m == nil || m.Ranking == nil {
		return ByHamming
	}
	return m.Ranking.Rank
}

// Expected returns the expected codes of queries with these margins, which stay as they are; nothing without margins or
// without codes of training rows.
func (m *Model) Expected(ctx context.Context, margins vectors.Matrix) (vectors.Matrix, error) {
	if m.Ranking == nil || margins.Rows == 0 {
		return vectors.Matrix{}, nil
	}
	margins.Data = slices.Clone(margins.Data)
	return margins, m.Expect(ctx, margins)
}

// Expect turns the scores of queries into expected codes, row by row: what ByExpected ranks by. Bits of detail keep
// their scores. Without codes of training rows the scores stay as they are.
func (m *Model) Expect(ctx context.Context, scores vectors.Matrix) error {
	if m.Ranking == nil {
		return nil
	}
	e := expectations.Get().(*expectation)
	defer expectations.Put(e)
	for i := range scores.Rows {
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e.replace(m.Ranking, scores.Row(i)[:m.Ranking.Codes.Bits])
	}
	return nil
}

var expectations = sync.Pool{New: func() any { return new(expectation) }}

// expectation has the memory to compute expected codes, one at a time. It is the sink of a sweep.
type expectation struct {
	tau   float64
	terms []float64 // exp(-tau d / 8) by d, as far as needed; 0 if not computed

	least, reach int
	near         []nearCode
	code         []uint64
	sums         []oddsByByte // of every word of a code
	mean         []float64
}

// nearCode is a code of the table and its distance from the query, then its odds.
type nearCode struct {
	code, distance int32
	odds           float64
}

// oddsByByte has, by byte of a word, from the highest on, and its value, the sum of the odds of the codes with this
// value.
type oddsByByte [8][256]float64

// Limit implements hamming.Sink.
func (e *expectation) Limit() int { return e.least + e.reach }

// Take implements hamming.Sink.
func (e *expectation) Take(first int, hits []uint32) {
	least := e.least
	e.near = slices.Grow(e.near, len(hits))
	for _, h := range hits {
		least = min(least, int(h>>16))
		e.near = append(e.near, nearCode{code: int32(first) + int32(h&0xffff), distance: int32(h >> 16)})
	}
	e.least = least
}

// replace replaces the scores of the class bits by the expected code.
func (e *expectation) replace(r *Ranking, s []float32) {
	weights := hamming.Weights(s, 0)
	e.code = slices.Grow(e.code[:0], r.Codes.Words)[:r.Codes.Words]
	hamming.SetSigns(e.code, s)
	e.prepare(r.Tau, hamming.MaxWeight*len(s))
	r.Codes.SweepWeighted(0, r.Codes.Len(), []*hamming.WeightedQuery{hamming.NewWeightedQuery(e.code, weights)},
		[]hamming.Sink{e})
	e.average(r, s, weights)
}

// average replaces the scores by the mean of the codes that a sweep found. It does not matter which codes out of reach
// are among them, which depends on the kernel.
func (e *expectation) average(r *Ranking, s []float32, weights []uint8) {
	total := e.weigh(r)
	if len(e.near) <= fewCodes {
		e.addBits(r, len(s))
	} else {
		e.addBytes(r)
		e.fold(len(s))
	}
	size := 0.0
	for k := range e.mean {
		e.mean[k] /= total
		size += math.Abs(e.mean[k])
	}
	if size /= float64(len(s)); size == 0 {
		size = 1
	}
	for k, w := range e.mean {
		if r.Mix > 0 {
			own := float64(weights[k]) / hamming.BitUnits
			if math.Signbit(float64(s[k])) {
				own = -own
			}
			w = float64((1-r.Mix)*(w/size)) + float64(r.Mix*own)
		}
		s[k] = float32(w)
	}
}

// prepare makes room for a query whose distances are at most this far.
func (e *expectation) prepare(tau float64, most int) {
	e.near, e.least, e.reach = e.near[:0], most, most
	if tau > 0 {
		e.reach = int(min(float64(most), 8*expectedReach/tau))
	}
	if e.tau != tau {
		e.tau, e.terms = tau, e.terms[:0]
	}
	for len(e.terms) <= e.reach {
		e.terms = append(e.terms, 0)
	}
}

// weigh keeps the codes within reach, sets their odds, relative to those of the nearest one, and returns the sum.
func (e *expectation) weigh(r *Ranking) float64 {
	total, terms, kept := 0.0, e.terms, e.near[:0]
	for _, c := range e.near {
		d := int(c.distance) - e.least
		if d > e.reach {
			continue
		}
		term := terms[d]
		if term == 0 {
			term = portable.ExpBelowZero(float64(-e.tau * float64(d) / 8))
			terms[d] = term
		}
		c.odds = float64(float64(r.Counts[c.code]) * term)
		total += c.odds
		kept = append(kept, c)
	}
	e.near = kept
	return total
}

// fewCodes is the number of codes up to which their bits are added one by one.
const fewCodes = 16

// addBits adds up the codes within reach bit by bit.
func (e *expectation) addBits(r *Ranking, bits int) {
	e.mean = slices.Grow(e.mean[:0], bits)[:bits]
	clear(e.mean)
	for _, c := range e.near {
		code := r.Codes.Row(int(c.code))
		for k := range e.mean {
			if code[k>>6]>>(63-k&63)&1 != 0 {
				e.mean[k] += c.odds
			} else {
				e.mean[k] -= c.odds
			}
		}
	}
}

// addBytes adds up the odds of the codes within reach by the values of their bytes.
func (e *expectation) addBytes(r *Ranking) {
	words := r.Codes.Words
	e.sums = slices.Grow(e.sums[:0], words)[:words]
	clear(e.sums)
	for w := range e.sums {
		data, sums := r.Codes.Data[w:], &e.sums[w]
		for _, c := range e.near {
			v := data[int(c.code)*words]
			sums[0][v>>56] += c.odds
			sums[1][v>>48&0xff] += c.odds
			sums[2][v>>40&0xff] += c.odds
			sums[3][v>>32&0xff] += c.odds
			sums[4][v>>24&0xff] += c.odds
			sums[5][v>>16&0xff] += c.odds
			sums[6][v>>8&0xff] += c.odds
			sums[7][v&0xff] += c.odds
		}
	}
}

// fold turns the sums by value into sums by bit: those of codes that have it minus those of the others.
func (e *expectation) fold(bits int) {
	e.mean = e.mean[:0]
	for b := range (bits + 7) / 8 {
		half := e.sums[b/8][b%8][:]
		for k := 8 * b; k < min(8*b+8, bits); k++ { // the highest bit first: the upper half of the values has it
			n, sum := len(half)/2, 0.0
			for v := range n {
				sum += half[n+v] - half[v]
				half[v] += half[n+v]
			}
			half = half[:n]
			e.mean = append(e.mean, sum)
		}
	}
}
