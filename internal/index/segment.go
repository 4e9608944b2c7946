package index

import (
	"context"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"hashgrove/internal/hamming"
)

// segment is an immutable set of items. A position is the rank of an item's id, so breaking ties by position means
// breaking them by id. Each distinct code is stored once, in a slot; slots are in order of the least position that has
// the code. Only Collect keeps codes as they come.
type segment struct {
	ids     idTable
	codes   hamming.Codes // by slot
	slot    []uint32      // slot of each position; nil if slots are positions
	repeats bool          // slots are positions although codes may repeat, because that was not checked
	items   postings      // positions of each slot; unused if slot is nil
	columns map[string]*column
	ordered []string  // names of the columns
	tables  []*tables // for multi-index hashing, in the order to try; nil if they do not pay
}

func (s *segment) len() int { return s.ids.len() }

func (s *segment) slotOf(pos uint32) uint32 {
	if s.slot == nil {
		return pos
	}
	return s.slot[pos]
}

func (s *segment) code(pos uint32) []uint64 { return s.codes.Row(int(s.slotOf(pos))) }

// distinct returns the number of distinct codes.
func (s *segment) distinct() int {
	if !s.repeats {
		return s.codes.Len()
	}
	codes := s.codes
	codes.Data = slices.Clone(codes.Data)
	return mergeCodes(codes, make([]uint32, s.len()))
}

// count returns the number of allowed items with the code in a slot; nil allows all.
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

// item returns the item at a position.
func (s *segment) item(pos uint32) Item {
	it := Item{ID: s.ids.get(pos), Code: slices.Clone(s.code(pos))}
	for _, name := range s.ordered {
		s.columns[name].values(pos, func(v Value) {
			switch name {
			case LabelName:
				it.Label = v.text
			case TagName:
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

// Memory is the memory of an index in bytes, by purpose.
type Memory struct {
	Codes    int // distinct codes
	Postings int // which items have which code
	IDs      int
	Columns  int // labels, tags and attributes, for filters
	Tables   int // multi-index hashing
}

// Total returns the sum.
func (m Memory) Total() int { return m.Codes + m.Postings + m.IDs + m.Columns + m.Tables }

// addMemory adds the memory of the segment.
func (s *segment) addMemory(m *Memory) {
	m.Codes += 8 * cap(s.codes.Data)
	m.Postings += 4*cap(s.slot) + s.items.bytes()
	m.IDs += s.ids.bytes()
	for _, c := range s.columns {
		m.Columns += c.bytes()
	}
	for _, t := range s.tables {
		m.Tables += t.bytes()
	}
}

// view is a segment and its live items.
type view struct {
	*segment
	live *roaring.Bitmap // immutable; nil means all
	size int             // number of live items
}

// remaining returns the view without some positions, which must be ascending.
func (v view) remaining(gone []uint32) view {
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

// mergeSegments makes one segment of the live items of the views and the rows of a batch, which must be in ascending
// order of ids. No id may occur twice. It checks ctx now and then.
func mergeSegments(ctx context.Context, width int, views []view, batch *Batch, rows []int) (*segment, error) {
	n := len(rows)
	for _, v := range views {
		n += v.size
	}
	b := newBuilder(n, width)
	type source struct {
		view
		names []string
		next  int
	}
	sources := make([]*source, len(views))
	for i, v := range views {
		sources[i] = &source{v, v.ordered, -1}
	}
	// step advances a source to its next live item.
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
		if b.ids.len()&0xffff == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		least, from := ID{}, -1
		if row < len(rows) {
			least, from = batch.IDs[rows[row]], len(sources)
		}
		for i, s := range sources {
			if id := s.ids.get(uint32(s.next)); from < 0 || id.Compare(least) < 0 {
				least, from = id, i
			}
		}
		if from == len(sources) {
			it := batch.Item(rows[row])
			b.describe(b.add(it.ID, it.Code), &it, nil)
			row++
			continue
		}
		s := sources[from]
		old := uint32(s.next)
		pos := b.add(least, s.code(old))
		for _, name := range s.names {
			s.columns[name].values(old, func(v Value) { b.set(pos, name, v) })
		}
		if !step(s) {
			sources = slices.Delete(sources, from, from+1)
		}
	}
	return b.build(true), nil
}
