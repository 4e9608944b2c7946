package compare

import (
	"cmp"
	"context"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/par"
	"hashgrove/internal/trial"
)

// Limits for the searches that a row shows.
const (
	sampleSearches = 8  // queries whose nearest items are kept
	nearestItems   = 10 // of each query, for Searches and Confusions
	mostConfusions = 20 // pairs of classes at most
)

// addSearches stores the nearest items of a few queries, and the classes that searches confuse most.
func (s *comparison) addSearches(ctx context.Context, row *eval.Row, c codes) error {
	n := c.Queries.Len()
	for i := range min(sampleSearches, n) {
		row.Searches = append(row.Searches, s.search(i*n/min(sampleSearches, n), c))
	}
	if s.data.Queries.Labels == nil {
		return nil
	}
	var err error
	class := trial.Codes{Queries: classOf(c.Queries, c.Detail), Base: classOf(c.Base, c.Detail)}
	row.Confusions, err = s.confusions(ctx, class)
	return err
}

// distances returns the distance of every item to a query, by the ranking that leads.
func (c *codes) distances(q int) (distance []uint16, most int) {
	distance = make([]uint16, c.Base.Len())
	look, weights := c.Queries.Row(q), hamming.EqualWeights(c.Base.Bits, c.Detail)
	if scores := c.Scores(c.rank); scores.Rows > 0 {
		look, weights = make([]uint64, c.Base.Words), hamming.Weights(scores.Row(q), c.Detail)
		hamming.SetSigns(look, scores.Row(q))
	} else if c.Detail == 0 {
		c.Base.Distances(distance, look)
		return distance, c.Base.Bits
	}
	for i := range distance {
		distance[i] = uint16(hamming.WeightedDistance(look, c.Base.Row(i), weights))
		most = max(most, int(distance[i]))
	}
	return distance, most
}

// search returns one query with its nearest items by the ranking that leads; ties are ordered by the vectors, then by
// row. The distances it shows are in bits of the class.
func (s *comparison) search(q int, c codes) eval.Search {
	distance, most := c.distances(q)
	last, _ := lastDistance(distance, most, nearestItems)
	asked, found := classOf(c.Queries, c.Detail), classOf(c.Base, c.Detail)
	type hit struct {
		item, distance int
		apart          float64 // squared distance of the vectors
	}
	var hits []hit
	query, items := s.floats.Queries.X.Row(q), s.floats.searched().X
	for i, d := range distance {
		if int(d) > last {
			continue
		}
		h := hit{item: i, distance: int(d)}
		for j, v := range items.Row(i) {
			gap := float64(v) - float64(query[j])
			h.apart += float64(gap * gap)
		}
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.apart, b.apart), cmp.Compare(a.item, b.item))
	})
	search := eval.Search{Query: q}
	for _, h := range hits[:min(nearestItems, len(hits))] {
		search.Items = append(search.Items, h.item)
		search.Distances = append(search.Distances, hamming.Distance(asked.Row(q), found.Row(h.item)))
	}
	return search
}

// lastDistance returns the distance of the k-th nearest item, and the share of the items at that distance that belong
// to the first k, in whatever order.
func lastDistance(distance []uint16, bits, k int) (last int, share float64) {
	counts := make([]int, bits+1)
	for _, d := range distance {
		counts[d]++
	}
	left := min(k, len(distance))
	for d, n := range counts {
		if n >= left && n > 0 {
			return d, float64(left) / float64(n)
		}
		left -= n
	}
	return bits, 1
}

// mixup is a class that was found for a query of another one.
type mixup struct{ asked, found int32 }

// confusions lists the classes that are found most often for queries of other classes, expected over the order of ties.
func (s *comparison) confusions(ctx context.Context, c trial.Codes) ([]eval.Confusion, error) {
	classes, asked := s.data.searched().Labels.Class, s.data.Queries.Labels.Class
	names := s.data.Queries.Labels.Names // those of the base first
	if more := s.data.searched().Labels.Names; len(more) > len(names) {
		names = more
	}
	found := make([]map[int32]float64, len(asked)) // by query: expected hits of each class
	err := par.Blocks(ctx, s.o.Threads, len(asked), 16, func(_, lo, hi int) {
		distance := make([]uint16, c.Base.Len())
		for q := lo; q < hi; q++ {
			found[q] = nearestClasses(c, q, classes, distance)
		}
	})
	if err != nil {
		return nil, err
	}
	count, total := map[mixup]float64{}, make([]float64, len(names))
	for q, own := range asked {
		total[own] += float64(min(nearestItems, c.Base.Len()))
		for class, hits := range found[q] { // each adds to a place of its own, in the order of the queries
			if class != own {
				count[mixup{own, class}] += hits
			}
		}
	}
	pairs := make([]mixup, 0, len(count))
	for p := range count {
		pairs = append(pairs, p)
	}
	share := func(p mixup) float64 { return count[p] / total[p.asked] }
	slices.SortFunc(pairs, func(a, b mixup) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(a.asked, b.asked), cmp.Compare(a.found, b.found))
	})
	var list []eval.Confusion
	for _, p := range pairs[:min(mostConfusions, len(pairs))] {
		list = append(list, eval.Confusion{Query: names[p.asked], Found: names[p.found], Share: share(p)})
	}
	return list, nil
}

// nearestClasses counts the classes of the nearest items of a query.
func nearestClasses(c trial.Codes, q int, classes []int32, distance []uint16) map[int32]float64 {
	c.Base.Distances(distance, c.Queries.Row(q))
	last, share := lastDistance(distance, c.Base.Bits, nearestItems)
	before, tied := map[int32]int{}, map[int32]int{}
	for i, d := range distance {
		switch {
		case int(d) < last:
			before[classes[i]]++
		case int(d) == last:
			tied[classes[i]]++
		}
	}
	hits := make(map[int32]float64, len(tied))
	for class, n := range before {
		hits[class] = float64(n)
	}
	for class, n := range tied {
		hits[class] += float64(float64(n) * share)
	}
	return hits
}
