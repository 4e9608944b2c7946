package inference

import (
	"context"
	"sync/atomic"

	"hashgrove/affinity"
	"hashgrove/internal/par"
)

// neighbours tells which units are similar to a unit: only itself when there are no tags. The lists of tags are stored
// when they are not too long, else found again whenever they are needed.
type neighbours struct {
	tags  *affinity.Tags
	first []int
	list  []int32
}

// maxStored is the most list entries that an Inference stores: a quarter of a gigabyte.
const maxStored = 64 << 20

func newNeighbours(tags *affinity.Tags, threads int, most int64) *neighbours {
	s := &neighbours{tags: tags}
	if tags == nil {
		return s
	}
	const size = 256
	var total atomic.Int64
	units := tags.Units()
	lists := make([][]int32, units)
	_ = par.Blocks(context.Background(), threads, units, size, func(_, lo, hi int) {
		similar := tags.SimilarUnits()
		for u := lo; u < hi && total.Load() <= most; u++ {
			found := similar(int32(u))
			lists[u] = append([]int32(nil), found...)
			total.Add(int64(len(found)))
		}
	})
	if total.Load() > most {
		return s
	}
	s.first, s.list = make([]int, units+1), make([]int32, 0, total.Load())
	for u, l := range lists {
		s.list = append(s.list, l...)
		s.first[u+1] = len(s.list)
		lists[u] = nil
	}
	return s
}

// reader returns a function for one goroutine that lends the units similar to u, u included, ascending.
func (s *neighbours) reader() func(u int32) []int32 {
	switch {
	case s.list != nil:
		return func(u int32) []int32 { return s.list[s.first[u]:s.first[u+1]] }
	case s.tags != nil:
		return s.tags.SimilarUnits()
	}
	own := make([]int32, 1)
	return func(u int32) []int32 {
		own[0] = u
		return own
	}
}
