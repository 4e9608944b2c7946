package index

import (
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
)

// postings are lists of positions, each ascending: the items of every code, or of every label.
//
// Most lists are short and lie behind each other in one array, without a header of their own; a long one is a
// Roaring bitmap (Lemire et al., 2018), which a run of ten million positions leaves at a few kilobytes.
type postings struct {
	start []uint32 // list i is pos[start[i]:start[i+1]]
	pos   []uint32
	long  map[uint32]*roaring.Bitmap // lists of longList positions or more, empty in pos
}

// longList is the length from which a list is a bitmap: where an array of 16-bit values stops being smaller.
const longList = 4096

// newPostings sorts positions into lists: position p belongs to list of[p].
func newPostings(of []uint32, lists int) postings {
	at := make([]uint32, len(of))
	for p := range at {
		at[p] = uint32(p)
	}
	return newPostingsAt(of, at, lists)
}

// newPostingsAt is newPostings for pairs: at[i] belongs to list of[i]; at does not descend within a list.
func newPostingsAt(of, at []uint32, lists int) postings {
	count := make([]uint32, lists)
	for _, l := range of {
		count[l]++
	}
	p := postings{start: make([]uint32, lists+1)}
	for l, n := range count {
		if n >= longList {
			if p.long == nil {
				p.long = map[uint32]*roaring.Bitmap{}
			}
			p.long[uint32(l)] = roaring.New()
			n = 0
		}
		p.start[l+1] = p.start[l] + n
		count[l] = p.start[l]
	}
	p.pos = make([]uint32, p.start[lists])
	for i, l := range of {
		if set := p.long[l]; set != nil {
			set.Add(at[i])
			continue
		}
		p.pos[count[l]] = at[i]
		count[l]++
	}
	for _, set := range p.long {
		set.RunOptimize()
	}
	return p
}

// list returns list i: an array, or a bitmap when it is long.
func (p *postings) list(i uint32) ([]uint32, *roaring.Bitmap) {
	lo, hi := p.start[i], p.start[i+1]
	if lo == hi && p.long != nil {
		return nil, p.long[i]
	}
	return p.pos[lo:hi], nil
}

// first returns the first k positions of list i that are allowed (all of them when allowed is nil), appended to dst.
func (p *postings) first(dst []uint32, i uint32, k int, allowed *roaring.Bitmap) []uint32 {
	list, set := p.list(i)
	if set != nil {
		if allowed != nil {
			set = roaring.And(set, allowed)
		}
		it := set.Iterator()
		for n := 0; n < k && it.HasNext(); n++ {
			dst = append(dst, it.Next())
		}
		return dst
	}
	for _, pos := range list {
		if k == 0 {
			break
		}
		if allowed == nil || allowed.Contains(pos) {
			dst = append(dst, pos)
			k--
		}
	}
	return dst
}

// count is the number of positions of list i that are allowed.
func (p *postings) count(i uint32, allowed *roaring.Bitmap) int {
	list, set := p.list(i)
	switch {
	case set != nil && allowed != nil:
		return int(set.AndCardinality(allowed))
	case set != nil:
		return int(set.GetCardinality())
	case allowed == nil:
		return len(list)
	}
	n := 0
	for _, pos := range list {
		if allowed.Contains(pos) {
			n++
		}
	}
	return n
}

// union adds the lists lo to hi to a bitmap.
func (p *postings) union(dst *roaring.Bitmap, lo, hi int) {
	dst.AddMany(p.pos[p.start[lo]:p.start[hi]])
	keys := make([]uint32, 0, len(p.long))
	for i := range p.long {
		if int(i) >= lo && int(i) < hi {
			keys = append(keys, i)
		}
	}
	sort.Slice(keys, func(a, b int) bool { return keys[a] < keys[b] })
	for _, i := range keys {
		dst.Or(p.long[i])
	}
}

func (p *postings) bytes() int {
	n := 4*cap(p.start) + 4*cap(p.pos)
	for _, set := range p.long {
		n += int(set.GetSizeInBytes())
	}
	return n
}
