package eval

import (
	"encoding/binary"
	"math/bits"
)

// tally holds the sums over a run of queries. Runs are merged in query order, so the report does not depend on which
// thread did which run.
type tally struct {
	o *Options

	queries, judged int // all, and those with a relevant item
	short           int // those with fewer ranked items than the largest K
	allRelevant     int // those without an irrelevant item
	relevant        int // relevant items of all queries

	mean, worst, best float64   // AP over the whole ranking
	cutAP             float64   // AP in the paper's convention
	prior             float64   // relevant share of the ranking
	precision         []float64 // by entry of K
	reachable         float64   // precision of the first min(100, relevant items)
	near10, near100   float64   // recall of float neighbours
	ofClass           float64   // share of the nearest of the class in the first ten
	ofClassQueries    int

	chance []float64 // by rank: chance that the item there is relevant
	hits   []int     // by position in the cut list: relevant items there
	recall []float64 // by position in the cut list: the same, as a share of the query's relevant items

	radiusItems, radiusRelevant []int // by radius, pooled; nil for vectors
	unit                        int   // the distance of a radius of 1
}

// single is what one query contributes to the table by class.
type single struct {
	ap, reachable float64
	relevant      int
}

func (j judgement) newTally(o *Options) *tally {
	cut, curve := min(o.Cut, j.base), o.CurveTo
	t := &tally{
		o:         o,
		precision: make([]float64, len(o.K)),
		hits:      make([]int, cut),
		recall:    make([]float64, cut),
	}
	if j.radii > 0 {
		t.unit, t.radiusItems, t.radiusRelevant = j.unit, make([]int, j.radii), make([]int, j.radii)
	} else {
		curve = j.base // the precision-recall curve of vectors runs over ranks
	}
	t.chance = make([]float64, curve)
	return t
}

// add adds the ranking of one query.
func (t *tally) add(l *list, h harmonic) single {
	t.queries++
	var mean, worst, best float64
	N, P := 0, 0
	for d, n := range l.items {
		if n == 0 {
			continue
		}
		p := l.relevant[d]
		m, w, b := h.bucketAP(n, p, N, P)
		mean, worst, best = mean+m, worst+w, best+b
		if p > 0 && N < len(t.chance) {
			c := float64(p) / float64(n)
			for rank := N; rank < min(N+n, len(t.chance)); rank++ {
				t.chance[rank] += c
			}
		}
		N, P = N+n, P+p
	}
	one := single{relevant: P}
	for i, k := range t.o.K {
		t.precision[i] += l.precisionAt(k)
	}
	if k := t.o.K; len(k) > 0 && k[len(k)-1] > N {
		t.short++
	}
	if t.radiusItems != nil {
		t.addRadii(l)
	}
	if P == 0 {
		return one
	}
	one.ap = mean / float64(P)
	one.reachable = l.precisionAt(min(100, P))
	t.reachable += one.reachable
	t.judged++
	t.relevant += P
	if P == N {
		t.allRelevant++
	}
	t.mean += one.ap
	t.worst += worst / float64(P)
	t.best += best / float64(P)
	t.prior += float64(P) / float64(N)
	t.addCut(l.hits, P)
	return one
}

// addNeighbours adds the recall of one query's float neighbours.
func (t *tally) addNeighbours(first10, first100 float64) {
	t.near10 += first10
	t.near100 += first100
}

// addOfClass adds the share of the nearest of its class that a query finds, if it has any.
func (t *tally) addOfClass(share float64, ok bool) {
	if ok {
		t.ofClass += share
		t.ofClassQueries++
	}
}

// precisionAt returns the expected precision of the first k items; positions beyond the end are misses.
func (l *list) precisionAt(k int) float64 {
	N, P := 0, 0
	for d, n := range l.items {
		if N+n >= k {
			return (float64(P) + float64(float64(l.relevant[d])*(float64(k-N)/float64(n)))) / float64(k)
		}
		N, P = N+n, P+l.relevant[d]
	}
	return float64(P) / float64(k)
}

// addRadii adds what lies within each radius, counted in distance units.
func (t *tally) addRadii(l *list) {
	for d, n := range l.items {
		if n > 0 {
			radius := (d + t.unit - 1) / t.unit
			t.radiusItems[radius] += n
			t.radiusRelevant[radius] += l.relevant[d]
		}
	}
}

// addCut adds the list with ties in base order.
func (t *tally) addCut(hits []byte, relevant int) {
	share := 1 / float64(relevant)
	sum, found := 0.0, 0
	for at := 0; at < len(hits); at += 8 {
		for w := binary.LittleEndian.Uint64(hits[at:]); w != 0; w &= w - 1 {
			place := at + bits.TrailingZeros64(w)>>3
			found++
			sum += float64(found) / float64(place+1)
			t.hits[place]++
			t.recall[place] += share
		}
	}
	t.cutAP += sum / float64(max(1, found))
}

// merge adds the sums of the queries that follow.
func (t *tally) merge(u *tally) {
	t.queries += u.queries
	t.judged += u.judged
	t.short += u.short
	t.allRelevant += u.allRelevant
	t.relevant += u.relevant
	t.mean += u.mean
	t.worst += u.worst
	t.best += u.best
	t.cutAP += u.cutAP
	t.prior += u.prior
	t.reachable += u.reachable
	t.addNeighbours(u.near10, u.near100)
	t.ofClass += u.ofClass
	t.ofClassQueries += u.ofClassQueries
	addSlices(t.precision, u.precision)
	addSlices(t.chance, u.chance)
	addSlices(t.hits, u.hits)
	addSlices(t.recall, u.recall)
	addSlices(t.radiusItems, u.radiusItems)
	addSlices(t.radiusRelevant, u.radiusRelevant)
}

// addSlices adds src to dst, element by element.
func addSlices[T int | float64](dst, src []T) {
	for i, v := range src {
		dst[i] += v
	}
}

// Average precision with ties (McSherry and Najork, ECIR 2008; formulas as in tie-aware ranking for hashing, He et al.,
// CVPR 2018).
//
// A bucket holds n items at one distance, p of them relevant; N items with P relevant ones come before it. Its part
// of the sum of precisions at relevant items depends on the order inside. At position t of the bucket
//
//	expected     p/n · (P + 1 + (t-1) c) / (N + t),   c = (p-1)/(n-1)       t = 1..n, mean over all orders
//	best         (P + t) / (N + t)                    relevant items first  t = 1..p
//	worst        (P + t) / (N + n - p + t)            relevant items last   t = 1..p
//
// All three are sums of (a + b t)/(M + t) = b + (a - b M)/(M + t), so with the harmonic numbers H
//
//	sum over t = 1..m of (a + b t)/(M + t) = b m + (a - b M) (H(M+m) - H(M)).
//
// AP is the sum over all buckets divided by the number of relevant items. Cost: O(buckets) per query.

// sumOver evaluates the last formula above.
func (h harmonic) sumOver(a, b float64, M, m int) float64 {
	return float64(b*float64(m)) + float64((a-float64(b*float64(M)))*h.between(M, M+m))
}

// bucketAP returns the sum of precisions at the relevant items of one bucket: expected, worst and best over the
// orders of its items.
func (h harmonic) bucketAP(n, p, N, P int) (mean, worst, best float64) {
	if p == 0 {
		return 0, 0, 0
	}
	best = h.sumOver(float64(P), 1, N, p)
	if p == n { // every order is the same; so is every digit
		return best, best, best
	}
	c := float64(p-1) / float64(n-1)
	mean = float64(p) / float64(n) * h.sumOver(float64(P)+1-c, c, N, n)
	worst = h.sumOver(float64(P), 1, N+n-p, p)
	return mean, worst, best
}

// harmonic is the table of H(0), H(1), ...
type harmonic []float64

// newHarmonic returns a table up to H(n).
func newHarmonic(n int) harmonic {
	h := make(harmonic, n+1)
	for i := 1; i <= n; i++ {
		h[i] = h[i-1] + 1/float64(i)
	}
	return h
}

// between returns H(hi) - H(lo). Short runs are summed term by term, because the difference would cancel.
func (h harmonic) between(lo, hi int) float64 {
	const short = 32
	if hi-lo > short {
		return h[hi] - h[lo]
	}
	sum := 0.0
	for i := lo + 1; i <= hi; i++ {
		sum += 1 / float64(i)
	}
	return sum
}
