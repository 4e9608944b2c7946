package index

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"hashgrove/hamming"
)

// segment is a set of items that never changes. A position is the place of an item's id in the order of ids, so
// that breaking ties by position is breaking them by id. Each distinct code is there once, under a number called its
// slot, in the order of the least position that has it.
type segment struct {
	ids     idTable
	codes   hamming.Codes // by slot
	slot    []uint32      // slot of each position; nil when slots are positions, because no code is there twice
	items   postings      // positions of each slot; unused when slot is nil
	columns map[string]*column
	tables  []*tables // for multi-index hashing, in the order they are tried; nil when they do not pay
}

func (s *segment) len() int { return s.ids.len() }

func (s *segment) slotOf(pos uint32) uint32 {
	if s.slot == nil {
		return pos
	}
	return s.slot[pos]
}

func (s *segment) code(pos uint32) []uint64 { return s.codes.Row(int(s.slotOf(pos))) }

// count is the number of allowed items (all when allowed is nil) with the code in a slot.
func (s *segment) count(slot uint32, allowed *roaring.Bitmap) int {
	if s.slot == nil {
		if allowed == nil || allowed.Contains(slot) {
			return 1
		}
		return 0
	}
	return s.items.count(slot, allowed)
}

// first appends the first k allowed items with the code in a slot.
func (s *segment) first(dst []uint32, slot uint32, k int, allowed *roaring.Bitmap) []uint32 {
	if s.slot == nil {
		if k > 0 && (allowed == nil || allowed.Contains(slot)) {
			dst = append(dst, slot)
		}
		return dst
	}
	return s.items.first(dst, slot, k, allowed)
}

// item gathers what is known about a position.
func (s *segment) item(pos uint32) Item {
	it := Item{ID: s.ids.at(pos), Code: slices.Clone(s.code(pos))}
	for _, name := range s.names() {
		s.columns[name].at(pos, func(v Value) {
			switch name {
			case labelName:
				it.Label = v.text
			case tagName:
				it.Tags = append(it.Tags, v.text)
			default:
				if it.Attributes == nil {
					it.Attributes = map[string]Value{}
				}
				it.Attributes[name] = v
			}
		})
	}
	return it
}

// names are the names of the columns in order.
func (s *segment) names() []string {
	names := make([]string, 0, len(s.columns))
	for name := range s.columns {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Memory is where the bytes of an index go.
type Memory struct {
	Codes    int // distinct codes
	Postings int // which items have which code
	IDs      int
	Columns  int // labels, tags and attributes, for filters
	Tables   int // multi-index hashing
}

// Total is the sum.
func (m Memory) Total() int { return m.Codes + m.Postings + m.IDs + m.Columns + m.Tables }

func (s *segment) memory() Memory {
	m := Memory{Codes: 8 * cap(s.codes.Data), Postings: 4*cap(s.slot) + s.items.bytes(), IDs: s.ids.bytes()}
	for _, c := range s.columns {
		m.Columns += c.bytes()
	}
	for _, t := range s.tables {
		m.Tables += t.bytes()
	}
	return m
}

// builder collects items in ascending order of their ids.
type builder struct {
	ids     []ID
	codes   hamming.Codes // by position
	columns map[string]*columnBuilder
}

func newBuilder(n, bits int) *builder {
	b := &builder{ids: make([]ID, 0, n), codes: hamming.NewCodes(n, bits), columns: map[string]*columnBuilder{}}
	b.codes.Data = b.codes.Data[:0]
	return b
}

func (b *builder) add(id ID, code []uint64) uint32 {
	b.ids = append(b.ids, id)
	b.codes.Data = append(b.codes.Data, code...)
	return uint32(len(b.ids) - 1)
}

func (b *builder) set(pos uint32, name string, v Value) {
	c := b.columns[name]
	if c == nil {
		c = &columnBuilder{}
		b.columns[name] = c
	}
	c.add(pos, v)
}

// addBatch adds row i of a batch.
func (b *builder) addBatch(batch *Batch, i int) {
	pos := b.add(batch.IDs[i], batch.Codes.Row(i))
	if len(batch.Labels) > 0 && batch.Labels[i] != "" {
		b.set(pos, labelName, String(batch.Labels[i]))
	}
	if len(batch.Tags) > 0 {
		for _, tag := range batch.Tags[i] {
			b.set(pos, tagName, String(tag))
		}
	}
	if len(batch.Attributes) > 0 {
		for name, v := range batch.Attributes[i] { // one value per name: the order does not matter
			b.set(pos, name, v)
		}
	}
}

// build makes the segment. Equal codes are found by open addressing: slots by the hash of their codes.
func (b *builder) build() *segment {
	n, words := len(b.ids), b.codes.Words
	s := &segment{ids: newIDTable(b.ids), columns: map[string]*column{}}
	const free = math.MaxUint32
	mask := uint64(1)<<bits.Len(uint(n+n/2)) - 1
	place := make([]uint32, mask+1)
	for i := range place {
		place[i] = free
	}
	slot := make([]uint32, n)
	distinct := 0
	data := b.codes.Data // the codes of slots move to the front
	for p := range n {
		code := data[p*words : (p+1)*words]
		at := hash(code) & mask
		for place[at] != free && !slices.Equal(data[int(place[at])*words:(int(place[at])+1)*words], code) {
			at = (at + 1) & mask
		}
		if place[at] == free {
			place[at] = uint32(distinct)
			copy(data[distinct*words:(distinct+1)*words], code)
			distinct++
		}
		slot[p] = place[at]
	}
	s.codes = b.codes
	s.codes.Data = data[:distinct*words]
	if distinct < n {
		s.codes.Data = slices.Clone(s.codes.Data)
		s.slot = slot
		s.items = newPostings(slot, distinct, free)
	}
	for name, c := range b.columns {
		s.columns[name] = c.build(n)
	}
	return s
}

// hash mixes a code into 64 bits.
func hash(code []uint64) uint64 {
	h := uint64(0)
	for _, w := range code {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h * 0xbf58476d1ce4e5b9 >> 20
}

// view is a segment and which of its items are left.
type view struct {
	*segment
	live *roaring.Bitmap // nil means all; never changed
	size int             // items left
}

// without returns the view less some positions, in ascending order.
func (v view) without(gone []uint32) view {
	live := roaring.New()
	if v.live != nil {
		live = v.live.Clone()
	} else {
		live.AddRange(0, uint64(v.len()))
	}
	for _, pos := range gone {
		live.Remove(pos)
	}
	return view{v.segment, live, int(live.GetCardinality())}
}

// merged makes one segment of the items that are left in the views and of the rows of a batch, which are given in
// ascending order of ids. No id is in two of them. It looks at ctx now and then.
func merged(ctx context.Context, width int, views []view, batch *Batch, rows []int) (*segment, error) {
	n := len(rows)
	for _, v := range views {
		n += v.size
	}
	b := newBuilder(n, width)
	// The names of each view are looked up once, not per item.
	type source struct {
		view
		names []string
		next  int
	}
	sources := make([]*source, len(views))
	for i, v := range views {
		sources[i] = &source{v, v.names(), -1}
	}
	// step moves a source to its next live item.
	step := func(s *source) bool {
		s.next++
		if s.live != nil {
			for s.next < s.len() && !s.live.Contains(uint32(s.next)) {
				s.next++
			}
		}
		return s.next < s.len()
	}
	sources = slices.DeleteFunc(sources, func(s *source) bool { return !step(s) })
	for row := 0; row < len(rows) || len(sources) > 0; {
		if len(b.ids)&0xffff == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		least, from := ID{}, -1
		if row < len(rows) {
			least, from = batch.IDs[rows[row]], len(sources)
		}
		for i, s := range sources {
			if id := s.ids.at(uint32(s.next)); from < 0 || id.Compare(least) < 0 {
				least, from = id, i
			}
		}
		if from == len(sources) {
			b.addBatch(batch, rows[row])
			row++
			continue
		}
		s := sources[from]
		old := uint32(s.next)
		pos := b.add(least, s.code(old))
		for _, name := range s.names {
			s.columns[name].at(old, func(v Value) { b.set(pos, name, v) })
		}
		if !step(s) {
			sources = slices.Delete(sources, from, from+1)
		}
	}
	return b.build(), nil
}

// inOrder returns the rows of a batch by id. It reports the second row of an id that is there twice, or keeps only
// the last one when that is wanted.
func inOrder(b *Batch, lastWins bool) (rows []int, twice int) {
	rows = make([]int, len(b.IDs))
	for i := range rows {
		rows[i] = i
	}
	byID := func(i, j int) bool { return b.IDs[rows[i]].Compare(b.IDs[rows[j]]) < 0 }
	if !sort.SliceIsSorted(rows, byID) {
		sort.SliceStable(rows, byID)
	}
	out := rows[:0]
	for i, r := range rows {
		if i > 0 && b.IDs[r] == b.IDs[rows[i-1]] {
			if !lastWins {
				return nil, r
			}
			out[len(out)-1] = r
			continue
		}
		out = append(out, r)
	}
	return out, -1
}
