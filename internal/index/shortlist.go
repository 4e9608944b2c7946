package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"hashgrove/internal/hamming"
)

// Shortlisted returns how many items a search for k looks at, unless Options.Shortlist says otherwise: ten times as
// many as are wanted, and at least 100. A reranking of all items would throw away what the codes found; a longer
// list finds more of the nearest vectors, and fewer items of the class of the query.
func Shortlisted(k int) int { return max(100, 10*min(k, MaxItems/10)) }

// Shortlist represents the items nearest to each of some queries by code, including all ties. It stores only a radius
// per query, so its memory does not depend on the length of the lists. Use it for one reranking at a time.
type Shortlist struct {
	snapshot *Snapshot
	queries  hamming.Codes
	bits     int               // number of compared bits
	weights  weighting         // of these bits
	all      weighting         // of all bits
	allowed  []*roaring.Bitmap // by segment; nil means all
	met      [][]uint64        // by segment, a bit per item
	radius   []int             // by query, in units of the ranking
	size     []int             // by query
	plans    []Result          // by query, with Options.Explain
}

// Shortlist finds the radius around each query that contains Options.Shortlist items, 0 meaning all, but at most r
// bits.
func (s *Snapshot) Shortlist(ctx context.Context, queries hamming.Codes, r int, o Options) (*Shortlist, error) {
	if err := s.check(queries, 0, o); err != nil {
		return nil, err
	}
	r = s.within(r, &o)
	l := &Shortlist{
		snapshot: s, queries: queries, bits: s.bits,
		radius: make([]int, queries.Len()), size: make([]int, queries.Len()), plans: make([]Result, queries.Len()),
	}
	if o.Prefix > 0 {
		l.bits = o.Prefix
	}
	l.weights, l.all = s.weigh(queries, &o, l.bits), s.weigh(queries, &o, s.bits)
	matching := 0
	for _, v := range s.views {
		allowed := o.Filter.allowed(v)
		l.allowed, l.met = append(l.allowed, allowed), append(l.met, make([]uint64, (v.len()+63)/64))
		if allowed == nil {
			matching += v.len()
		} else {
			matching += int(allowed.GetCardinality())
		}
	}
	n := o.Shortlist
	if n == 0 {
		n = matching
	}
	w := newWant(min(n, MaxItems), r, l.bits, l.weights.most())
	w.counts = true
	if n >= matching && w.radius == w.most {
		var plan Plan
		for _, v := range s.views {
			plan = append(plan, Step{
				Method: string(List), Items: v.len(), Codes: v.codes.Len(), Reason: "all items that match are compared",
			})
		}
		for q := range l.radius {
			l.radius[q], l.size[q] = w.most, matching
			if o.Explain {
				l.plans[q].Plan = plan
			}
		}
		return l, nil
	}
	if n >= matching {
		w.k = math.MaxInt
	}
	return l, l.measure(ctx, w, o)
}

// measure counts the items by distance and sets the radius of each query.
func (l *Shortlist) measure(ctx context.Context, w want, o Options) error {
	counts := make([][]int, l.queries.Len())
	for i, v := range l.snapshot.views {
		p := pass{
			view: v, number: uint32(i), queries: l.queries, by: l.weights, want: w, options: &o, results: l.plans,
			counts: counts,
		}
		if err := p.run(ctx); err != nil {
			return err
		}
	}
	for q, count := range counts {
		l.radius[q] = w.radius
		for d := range count {
			if l.size[q] += count[d]; l.size[q] >= w.k {
				l.radius[q] = d
				break
			}
		}
	}
	return nil
}

// Len returns the number of items on the list of a query.
func (l *Shortlist) Len(q int) int { return l.size[q] }

// Plan returns how the list of a query was found, with Options.Explain.
func (l *Shortlist) Plan(q int) Plan { return l.plans[q].Plan }

// Meet returns the item with an id if it exists, matches, and was not met before.
func (l *Shortlist) Meet(id ID) (Hit, bool) {
	for i, v := range l.snapshot.views {
		pos, ok := v.find(id)
		if !ok {
			continue
		}
		word, bit := pos/64, uint64(1)<<(pos%64)
		if l.met[i][word]&bit != 0 || l.allowed[i] != nil && !l.allowed[i].Contains(pos) {
			return Hit{}, false
		}
		l.met[i][word] |= bit
		return Hit{ID: id, place: place{uint32(i), pos}}, true
	}
	return Hit{}, false
}

// Measured returns an item with its distances from a query by all bits, and whether it is on the query's list.
func (l *Shortlist) Measured(q int, h Hit) (Hit, bool) {
	query, code := l.queries.Row(q), l.snapshot.views[h.place.view].code(h.place.pos)
	h.Distance, h.DetailDistance = l.snapshot.bitsApart(query, code)
	searched := h.Distance
	if l.all.weights != nil {
		h.MarginDistance = l.all.distance(q, code)
		searched = h.MarginDistance
	}
	switch {
	case l.bits == l.snapshot.bits:
	case l.weights.weights != nil:
		searched = l.weights.distance(q, code)
	default:
		searched = prefixDistance(query, code, l.bits)
	}
	return h, searched <= l.radius[q]
}

// Unmet returns at most n items on the list of a query that were not met, by distance and id.
func (l *Shortlist) Unmet(q, n int) []Hit {
	var unmet []Hit
	for i, v := range l.snapshot.views {
		for pos := range uint32(v.len()) {
			if l.met[i][pos/64]>>(pos%64)&1 != 0 || l.allowed[i] != nil && !l.allowed[i].Contains(pos) {
				continue
			}
			if h, on := l.Measured(q, Hit{place: place{uint32(i), pos}}); on {
				h.ID = v.ids.get(pos)
				unmet = append(unmet, h)
			}
		}
	}
	slices.SortFunc(unmet, l.Compare)
	return unmet[:min(n, len(unmet))]
}

// Compare orders hits of a reranking by score, then by the ranking's distance, then by id.
func (l *Shortlist) Compare(a, b Hit) int {
	c := cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.MarginDistance, b.MarginDistance))
	if l.all.weights == nil {
		c = cmp.Or(c, cmp.Compare(a.Distance, b.Distance))
	}
	if c != 0 {
		return c
	}
	return a.ID.Compare(b.ID)
}

// prefixDistance returns the distance of two codes by their first n bits.
func prefixDistance(a, b []uint64, n int) int {
	words, d := (n+63)/64, 0
	for i := range words - 1 {
		d += bits.OnesCount64(a[i] ^ b[i])
	}
	return d + bits.OnesCount64((a[words-1]^b[words-1])&(^uint64(0)<<(-n&63)))
}

// Rerank shortlists the items whose codes are nearest, as Options.Shortlist says or within r bits, and returns the k
// of them with the least score. Equal scores are ordered by the codes' distance, then by id. score is called once for
// every item on the list.
func (s *Snapshot) Rerank(
	ctx context.Context, q []uint64, k, r int, o Options, score func(Hit) (float64, error),
) (Result, error) {
	if k < 0 {
		return Result{}, fmt.Errorf("%d neighbours: ask for 0 or more", k)
	}
	if o.Rank != ByMargins {
		o.Margins = nil // scores decide
	}
	if o.Shortlist == 0 && r == math.MaxInt {
		o.Shortlist = Shortlisted(k)
	}
	if o.Shortlist > 0 {
		o.Shortlist = max(o.Shortlist, k) // so that there are k hits whenever k items match
	}
	l, err := s.Shortlist(ctx, s.single(q), r, o)
	if err != nil {
		return Result{}, err
	}
	o.Prefix, o.Limit, o.Ties = l.bits, 0, false // a radius may have shortened the prefix
	result, err := firstResult(s.answer(ctx, s.single(q), math.MaxInt, l.radius[0], o))
	if err != nil {
		return Result{}, err
	}
	return result, result.Rerank(k, score)
}
