package model

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

// Ranking by the expected code. Items have only bits, but a query knows its scores s_1 ... s_B, and training knows which
// codes exist: the distinct codes c of the rows it learned from, and how many rows have each. The scores say how likely
// the query's own code is each of those, and the mean of the codes under these odds is what to look for:
//
//	p(c) = count(c) exp(tau <s, c> / mean |s|) / (the same over all codes)      c of -1 and +1
//	w    = sum over c of p(c) c                                                 the expected code
//	item = <w, its code>                                                        greatest first
//
// The sign of w_b is the bit to look for, which need not be the query's own, and |w_b| is its weight, rounded as those of
// margins are (hamming.Weights). So a query with some wrong bits finds the code that it must have meant. A query without
// scores has its bits as scores. Terms below exp(-expectedReach) of the greatest count as zero.
//
//	products    <s, c> of all codes, a look-up for each byte     O(codes · B/8)
//	odds        of the codes within reach                        an exponential each
//	mean        sums by value of each byte, then by bit          O(codes · B/8 + 256 · B/8)

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
	Counts []uint32      // rows with each code
}

// MaxRankingCodes is the largest number of codes in a ranking, so that a query takes microseconds.
const MaxRankingCodes = 4096

const (
	expectedReach = 12.0
	maxTau        = 1000

	maxRanking = 64 + MaxRankingCodes*(4+hamming.MaxBits/8) // bytes
)

// NewRanking returns a ranking by the expected code over the most frequent of some codes; equally frequent ones come in
// ascending order.
func NewRanking(rank string, tau, mix float64, codes hamming.Codes) *Ranking {
	order := make([]int, codes.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(codes.Row(a), codes.Row(b)) })
	type group struct{ code, count int }
	var groups []group
	for _, i := range order {
		if n := len(groups); n > 0 && slices.Equal(codes.Row(groups[n-1].code), codes.Row(i)) {
			groups[n-1].count++
		} else {
			groups = append(groups, group{i, 1})
		}
	}
	slices.SortStableFunc(groups, func(a, b group) int { return b.count - a.count })
	groups = groups[:min(len(groups), MaxRankingCodes)]
	r := &Ranking{Rank: rank, Tau: tau, Mix: mix, Codes: hamming.NewCodes(0, codes.Bits)}
	for _, g := range groups {
		r.Codes.Data = append(r.Codes.Data, codes.Row(g.code)...)
		r.Counts = append(r.Counts, uint32(g.count))
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
	all := hamming.NewCodes(0, bits)
	short := r.Codes.Prefix(bits)
	sums := map[string]int{}
	var b []byte
	for i, n := range r.Counts {
		b = short.AppendBytes(b[:0], i)
		if sums[string(b)] == 0 {
			all.Data = append(all.Data, short.Row(i)...)
		}
		sums[string(b)] += int(n)
	}
	p := NewRanking(r.Rank, r.Tau, r.Mix, all)
	type entry struct {
		code  []uint64
		count int
	}
	list := make([]entry, p.Codes.Len())
	for i := range list {
		list[i] = entry{p.Codes.Row(i), sums[string(p.Codes.AppendBytes(b[:0], i))]}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return b.count - a.count })
	sorted := hamming.NewCodes(0, bits)
	for i, e := range list {
		sorted.Data = append(sorted.Data, e.code...)
		p.Counts[i] = uint32(min(e.count, math.MaxUint32))
	}
	p.Codes = sorted
	return p
}

// appendTo appends the bytes of a ranking; none has no bytes.
func (r *Ranking) appendTo(dst []byte) []byte {
	if r == nil {
		return dst
	}
	le := binary.LittleEndian
	dst = append(dst, uint8(slices.Index(Rankings(), r.Rank)))
	dst = le.AppendUint64(dst, math.Float64bits(r.Tau))
	dst = le.AppendUint64(dst, math.Float64bits(r.Mix))
	dst = le.AppendUint32(dst, uint32(r.Codes.Len()))
	for i, n := range r.Counts {
		dst = le.AppendUint32(r.Codes.AppendBytes(dst, i), n)
	}
	return dst
}

// parseRanking is the inverse of appendTo, for codes of this many class bits.
func parseRanking(b []byte, bits int) (*Ranking, error) {
	if len(b) == 0 {
		return nil, nil
	}
	in := &reader{b: b}
	rank := int(in.u8())
	numbers := in.take(16)
	n := int64(in.u32())
	r := &Ranking{Codes: hamming.NewCodes(0, bits)}
	size := int64(r.Codes.Bytes()) + 4
	if in.bad || rank >= len(Rankings()) || n < 1 || n > MaxRankingCodes || int64(len(in.b)) != n*size {
		return nil, fmt.Errorf("a ranking of %d codes of %d bits in %d bytes", n, bits, len(b))
	}
	r.Rank = Rankings()[rank]
	r.Tau = math.Float64frombits(binary.LittleEndian.Uint64(numbers))
	r.Mix = math.Float64frombits(binary.LittleEndian.Uint64(numbers[8:]))
	for range n {
		if !r.Codes.Append(bytes.Clone(in.take(size - 4))) {
			return nil, fmt.Errorf("a code of the ranking has bits beyond %d", bits)
		}
		r.Counts = append(r.Counts, in.u32())
	}
	return r, nil
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

// Expect turns the scores of queries into expected codes, row by row: what ByExpected ranks by. Bits of detail keep their
// scores. Without codes of training rows the scores stay as they are.
func (m *Model) Expect(ctx context.Context, scores vectors.Matrix) error {
	if m.Ranking == nil {
		return nil
	}
	e := m.Ranking.newExpectation()
	for i := range scores.Rows {
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e.replace(scores.Row(i)[:e.Codes.Bits])
	}
	return nil
}

// expectation has the memory to compute expected codes, one at a time.
type expectation struct {
	*Ranking
	sums    [][256]float64 // by byte of a code and its value: the product with the scores
	odds    [][256]float64 // the same: the sum of the odds of the codes with this value
	product []float64      // of every code
	codes   []byte         // packed
}

func (r *Ranking) newExpectation() *expectation {
	e := &expectation{Ranking: r, product: make([]float64, r.Codes.Len())}
	for i := range e.product {
		e.codes = r.Codes.AppendBytes(e.codes, i)
	}
	e.sums, e.odds = make([][256]float64, r.Codes.Bytes()), make([][256]float64, r.Codes.Bytes())
	return e
}

// replace replaces the scores of the class bits by the expected code.
func (e *expectation) replace(s []float32) {
	size := certainty(s)
	if size == 0 {
		return // nothing is known, and every bit counts the same
	}
	e.multiply(s)
	total := e.weigh(e.Tau / size)
	w := make([]float64, len(s))
	for b := range e.odds {
		half := e.odds[b][:]
		for k := 8 * b; k < min(8*b+8, len(s)); k++ { // the highest bit first: the upper half has it
			n := len(half) / 2
			for v := range n {
				w[k] += half[n+v] - half[v]
				half[v] += half[n+v]
			}
			half = half[:n]
		}
	}
	mean := 0.0
	for k := range w {
		w[k] /= total
		mean += math.Abs(w[k])
	}
	mean /= float64(len(w))
	for k, v := range w {
		if e.Mix > 0 {
			v = float64((1-e.Mix)*(v/mean)) + float64(e.Mix*(float64(s[k])/size))
		}
		s[k] = float32(v)
	}
}

// certainty returns the mean magnitude of scores.
func certainty(s []float32) float64 {
	sum := 0.0
	for _, v := range s {
		sum += math.Abs(float64(v))
	}
	return sum / float64(len(s))
}

// multiply computes the products of the scores with all codes.
func (e *expectation) multiply(s []float32) {
	for b := range e.sums {
		t := &e.sums[b]
		t[0] = 0
		for k := range 8 { // from the lowest bit
			v, bit := 0.0, 8*b+7-k
			if bit < len(s) {
				v = float64(s[bit])
			}
			for i := range 1 << k {
				t[1<<k|i] = t[i] + v
				t[i] -= v
			}
		}
	}
	bytes := len(e.sums)
	for c := range e.product {
		p := 0.0
		for b, v := range e.codes[c*bytes : (c+1)*bytes] {
			p += e.sums[b][v]
		}
		e.product[c] = p
	}
}

// weigh adds up the odds of the codes by the values of their bytes, and returns the sum of all.
func (e *expectation) weigh(tau float64) float64 {
	clear(e.odds)
	most, total, bytes := slices.Max(e.product), 0.0, len(e.odds)
	for c, p := range e.product {
		x := tau * (p - most)
		if x < -expectedReach {
			continue
		}
		odds := float64(e.Counts[c]) * portable.ExpBelowZero(x)
		total += odds
		for b, v := range e.codes[c*bytes : (c+1)*bytes] {
			e.odds[b][v] += odds
		}
	}
	return total
}
