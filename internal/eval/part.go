package eval

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"hashgrove/internal/hamming"
)

// Rankings of a base that is spread over many machines.
//
// Everything in a report of Retrieval is a function of two things for each query q:
//
//	n_d, p_d     items and relevant items at distance d               added up over the parts of the base
//	the list     the first Cut items by distance, then by base row    merged: the first Cut of both lists together
//
// Both are integers and independent of the order in which parts are merged, so nothing is rounded before the end. The
// final step is the code that Retrieval runs, over the queries in order: every number has the same digits.
//
// An item of a list is one number: distance (16 bits), row (47 bits), relevance (1 bit). They sort as the list does.
//
// Cost: ranking a part takes O(queries x rows); its size is at most queries x (2 x bits + Cut) numbers.

const (
	rowBits = 47
	// MaxRow is the highest row number of a base in parts.
	MaxRow = 1<<rowBits - 1
)

// Part holds the rankings of a part of the base for some queries.
type Part struct {
	Bits, Cut int
	Base      int // rows, including ignored ones
	rankings  []ranking
}

// ranking is the ranking for one query.
type ranking struct {
	items, relevant []int    // by distance
	first           []uint64 // the first Cut items, ascending
}

// RankPart ranks a part of the base that starts at row first of the whole base. The truth is about the part. A cut
// of 0 means 10,000; all parts must use the same cut.
func RankPart(queries, base hamming.Codes, truth Truth, first int64, cut int) (*Part, error) {
	if _, err := codeJudgement(queries, base, truth); err != nil {
		return nil, err
	}
	if truth.Queries != queries.Len() || truth.Base != base.Len() {
		panic(truthMisfits)
	}
	if cut < 0 || cut > maxCut || first < 0 || first+int64(base.Len()) > MaxRow {
		return nil, fmt.Errorf("rows from %d on with lists cut at %d cannot be ranked", first, cut)
	}
	p := &Part{Bits: base.Bits, Cut: cmp.Or(cut, defaultCut), Base: base.Len(), rankings: make([]ranking, queries.Len())}
	r := newCodeRanker(queries, base, 0) // the list is made here, with rows
	mark, next := make([]uint8, base.Len()), make([]int, base.Bits+2)
	for q := range p.rankings {
		truth.Mark(q, mark)
		l := r.rank(q, mark)
		p.rankings[q] = ranking{slices.Clone(l.items), slices.Clone(l.relevant), p.list(r.distance, l, mark, next, first)}
	}
	return p, nil
}

// list returns the first items of a ranking; ignored items have the distance bits+1.
func (p *Part) list(distance []uint16, l *list, mark []uint8, next []int, first int64) []uint64 {
	at := 0
	for d, n := range l.items {
		next[d] = at
		at += n
	}
	next[p.Bits+1] = p.Cut
	list := make([]uint64, min(at, p.Cut))
	for i, d := range distance {
		if at := next[d]; at < len(list) {
			list[at] = uint64(d)<<(rowBits+1) | uint64(first+int64(i))<<1 | uint64(mark[i])
			next[d]++
		}
	}
	return list
}

// Queries returns the number of queries.
func (p *Part) Queries() int { return len(p.rankings) }

// Slice returns the rankings of queries lo to hi.
func (p *Part) Slice(lo, hi int) *Part {
	return &Part{p.Bits, p.Cut, p.Base, p.rankings[lo:hi]}
}

// Add merges in the rankings of another part of the base for the same queries. The order of merging does not matter.
func (p *Part) Add(other *Part) error {
	if p.Bits != other.Bits || p.Cut != other.Cut || len(p.rankings) != len(other.rankings) {
		return fmt.Errorf("rankings of %d queries, codes of %d bits, lists cut at %d do not go with %d, %d and %d: "+
			"make all of them with the same queries, model and cut", len(p.rankings), p.Bits, p.Cut,
			len(other.rankings), other.Bits, other.Cut)
	}
	p.Base += other.Base
	for q := range p.rankings {
		a, b := &p.rankings[q], &other.rankings[q]
		addSlices(a.items, b.items)
		addSlices(a.relevant, b.relevant)
		a.first = mergeFirst(a.first, b.first, p.Cut)
	}
	return nil
}

// mergeFirst merges two ascending lists and keeps the smallest entries.
func mergeFirst(a, b []uint64, most int) []uint64 {
	if len(b) == 0 {
		return a
	}
	out := make([]uint64, 0, min(len(a)+len(b), most))
	for len(out) < cap(out) {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] <= b[0]:
			out, a = append(out, a[0]), a[1:]
		default:
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}

// Parts is a whole base that was ranked in parts.
type Parts struct {
	Queries []*Part // the queries in order, in one run or several, each about the whole base

	// The number of distinct codes and the size of the largest bucket, if they were counted.
	DistinctCodes, LargestBucket int
}

// Report returns the report that Retrieval makes for the whole base. Two warnings are missing, because they need the
// rows side by side: that the base is ordered by class, and that it equals the queries. Options must have no
// neighbours.
func (p *Parts) Report(ctx context.Context, o Options) (*Report, error) {
	if len(p.Queries) == 0 {
		return nil, errors.New("there are no queries to judge")
	}
	if o.Neighbours != nil || o.OfClass != nil {
		panic("eval: neighbours of a base in parts")
	}
	head := p.Queries[0]
	var all storedRanker
	for _, part := range p.Queries {
		if part.Bits != head.Bits || part.Cut != head.Cut || part.Base != head.Base {
			return nil, fmt.Errorf("some queries ranked %d rows and others %d: parts of the base are missing or repeated",
				head.Base, part.Base)
		}
		all = append(all, part.rankings...)
	}
	if o.Cut = cmp.Or(o.Cut, defaultCut); o.Cut != head.Cut {
		return nil, fmt.Errorf("the lists are cut at %d, not at %d", head.Cut, o.Cut)
	}
	return judgement{
		queries: len(all), base: head.Base, bits: head.Bits, radii: head.Bits + 1, unit: 1, parts: p,
		ranker: func(_, _ int, _ *Options) ranker { return all },
	}.run(ctx, o)
}

// storedRanker returns stored rankings.
type storedRanker []ranking

func (s storedRanker) rank(q int, _ []uint8) *list {
	r := s[q]
	l := &list{items: r.items, relevant: r.relevant, hits: make([]byte, (len(r.first)+7)&^7)}
	for place, item := range r.first {
		l.hits[place] = byte(item & 1)
	}
	return l
}

// partVersion is the first byte of an encoded part.
const partVersion = 1

// AppendBinary implements encoding.BinaryAppender. All numbers are varints: version, bits, cut, rows and queries,
// then for each query its items and relevant items by distance and its list as differences.
func (p *Part) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, partVersion)
	for _, n := range []int{p.Bits, p.Cut, p.Base, len(p.rankings)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, r := range p.rankings {
		for d, n := range r.items {
			b = binary.AppendUvarint(b, uint64(n))
			if n > 0 {
				b = binary.AppendUvarint(b, uint64(r.relevant[d]))
			}
		}
		b = binary.AppendUvarint(b, uint64(len(r.first)))
		last := uint64(0)
		for _, item := range r.first {
			b = binary.AppendUvarint(b, item-last)
			last = item
		}
	}
	return b, nil
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (p *Part) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// errPart reports bytes that AppendBinary did not write.
var errPart = errors.New("a part of a ranking is damaged")

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (p *Part) UnmarshalBinary(b []byte) error {
	if len(b) == 0 || b[0] != partVersion {
		return errPart
	}
	r := &partReader{b: b[1:]}
	read := Part{Bits: r.number(1<<16 - 2), Cut: r.number(maxCut), Base: r.number(min(MaxRow, math.MaxInt))}
	queries := r.number(len(b))
	if read.Cut == 0 || r.bad || queries*(read.Bits+1) > len(b) { // every distance takes a byte
		return errPart
	}
	read.rankings = make([]ranking, queries)
	for q := range read.rankings {
		read.rankings[q] = r.ranking(&read)
	}
	if r.bad || len(r.b) > 0 {
		return errPart
	}
	*p = read
	return nil
}

// partReader reads numbers and remembers whether one was bad.
type partReader struct {
	b   []byte
	bad bool
}

func (r *partReader) varint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *partReader) number(most int) int {
	v := r.varint()
	if v > uint64(most) {
		r.bad = true
		return 0
	}
	return int(v)
}

// ranking reads and validates the ranking for one query.
func (r *partReader) ranking(p *Part) ranking {
	one := ranking{items: make([]int, p.Bits+1), relevant: make([]int, p.Bits+1)}
	left := p.Base
	for d := range one.items {
		if one.items[d] = r.number(left); one.items[d] > 0 {
			left -= one.items[d]
			one.relevant[d] = r.number(one.items[d])
		}
	}
	n := r.number(min(p.Cut, p.Base-left))
	if n > len(r.b) { // every item takes a byte
		r.bad = true
		return one
	}
	one.first = make([]uint64, n)
	last := uint64(0)
	for i := range one.first {
		next, over := bits.Add64(last, r.varint(), 0)
		r.bad = r.bad || over > 0 || next>>(rowBits+1) > uint64(p.Bits)
		last, one.first[i] = next, next
	}
	return one
}
