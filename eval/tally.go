package eval

import (
	"encoding/binary"
	"math/bits"
)

// tally is the sums over a run of queries. Two runs are joined with merge, always in the order of the queries, so
// that the report does not depend on who did which run.
type tally struct {
	o      *Options
	classK int // rank of the precision in the table by class

	queries, judged int // all, and those with a relevant item
	short           int // those with fewer ranked items than the largest K
	allRelevant     int // those without an irrelevant item
	relevant        int // relevant items of all queries

	mean, worst, best float64   // AP over the whole ranking
	cutAP             float64   // AP in the paper's convention
	prior             float64   // relevant share of the ranking
	precision         []float64 // by entry of K

	chance []float64 // by rank: chance that the item there is relevant
	hits   []int     // by place of the cut list: relevant items there
	recall []float64 // by place of the cut list: the same, each as a share of its query's relevant items

	radiusItems, radiusRelevant []int // by Hamming distance, pooled; nil for vectors
	lookup                      []lookup
}

// lookup is the sums for one radius.
type lookup struct {
	precision, recall float64
	items, empty      int
}

// single is what one query leaves for the table by class.
type single struct {
	ap, precision float64
	relevant      int
}

func (j judgement) newTally(o *Options) *tally {
	cut, curve := min(o.Cut, j.base), o.CurveTo
	t := &tally{
		o: o, classK: min(100, j.base),
		precision: make([]float64, len(o.K)),
		hits:      make([]int, cut),
		recall:    make([]float64, cut),
	}
	if j.radii {
		t.radiusItems, t.radiusRelevant = make([]int, j.bits+1), make([]int, j.bits+1)
		t.lookup = make([]lookup, len(o.Radii))
	} else {
		curve = j.base // the precision-recall curve of vectors runs over ranks
	}
	t.chance = make([]float64, curve)
	return t
}

// add counts the ranking of one more query.
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
	one := single{relevant: P, precision: l.precisionAt(t.classK)}
	for i, k := range t.o.K {
		t.precision[i] += l.precisionAt(k)
	}
	if k := t.o.K; len(k) > 0 && k[len(k)-1] > N {
		t.short++
	}
	if t.radiusItems != nil {
		t.addRadii(l, P)
	}
	if P == 0 {
		return one
	}
	one.ap = mean / float64(P)
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

// precisionAt is the expected precision of the first k items; places beyond the end are misses.
func (l *list) precisionAt(k int) float64 {
	N, P := 0, 0
	for d, n := range l.items {
		if N+n >= k {
			return (float64(P) + float64(l.relevant[d])*(float64(k-N)/float64(n))) / float64(k)
		}
		N, P = N+n, P+l.relevant[d]
	}
	return float64(P) / float64(k)
}

// addRadii counts what lies within each Hamming radius.
func (t *tally) addRadii(l *list, relevant int) {
	for d, n := range l.items {
		t.radiusItems[d] += n
		t.radiusRelevant[d] += l.relevant[d]
	}
	for i, radius := range t.o.Radii {
		n, p := 0, 0
		for d := range min(radius, len(l.items)-1) + 1 {
			n, p = n+l.items[d], p+l.relevant[d]
		}
		s := &t.lookup[i]
		s.items += n
		if n == 0 {
			s.empty++
		} else {
			s.precision += float64(p) / float64(n)
		}
		if relevant > 0 {
			s.recall += float64(p) / float64(relevant)
		}
	}
}

// addCut counts the list with ties in base order.
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
	addSlices(t.precision, u.precision)
	addSlices(t.chance, u.chance)
	addSlices(t.hits, u.hits)
	addSlices(t.recall, u.recall)
	addSlices(t.radiusItems, u.radiusItems)
	addSlices(t.radiusRelevant, u.radiusRelevant)
	for i, l := range u.lookup {
		t.lookup[i].precision += l.precision
		t.lookup[i].recall += l.recall
		t.lookup[i].items += l.items
		t.lookup[i].empty += l.empty
	}
}

// addSlices adds src to dst, element by element.
func addSlices[T int | float64](dst, src []T) {
	for i, v := range src {
		dst[i] += v
	}
}
