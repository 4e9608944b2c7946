package index

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"hashgrove/internal/hamming"
	"hashgrove/internal/par"
)

// Part is a group of items stored elsewhere.
type Part struct {
	IDs   []ID
	Codes []byte // packed, back to back

	// Read fills in the label, tags and attributes of item i. It is called only if a filter needs them.
	Read func(i int, it *Item) error
}

// Collect makes a snapshot of about n items stored elsewhere, for a few searches with one filter or none. It keeps ids
// and codes as they come, and of labels, tags and attributes only those the filter needs. It builds nothing that only
// many searches would repay, so each search scans the codes. Answers equal those of an Index.
//
// each calls take with all parts, in ascending order of ids.
func Collect(
	n, bits int, fingerprint hamming.Fingerprint, f Filter, each func(take func(Part) error) error,
) (*Snapshot, error) {
	b, columns := newBuilder(0, bits), f.Names()
	var it Item
	err := each(func(p Part) error {
		first := b.ids.len()
		b.reserve(len(p.IDs), n)
		if !b.codes.Append(p.Codes) || b.codes.Len() != first+len(p.IDs) {
			return fmt.Errorf("the codes from id %q on are not codes of %d bits", p.IDs[0].Short(), bits)
		}
		for i, id := range p.IDs {
			b.ids.add(id)
			if len(columns) == 0 {
				continue
			}
			it = Item{ID: id}
			if err := p.Read(i, &it); err != nil {
				return err
			}
			b.describe(uint32(first+i), &it, columns)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s := &Snapshot{bits: bits, detail: fingerprint.Detail(bits), fingerprint: fingerprint}
	if x := b.build(false); x.len() > 0 {
		s.views, s.size = []view{{x, nil, x.len()}}, x.len()
	}
	return s, nil
}

// FromCodes makes a snapshot of codes in place, for a few searches: the id of a code is its position.
func FromCodes(c hamming.Codes) *Snapshot {
	s := &Snapshot{bits: c.Bits, size: c.Len()}
	if n := c.Len(); n > 0 {
		s.views = []view{{&segment{ids: idTable{integers: n}, codes: c, repeats: true}, nil, n}}
	}
	return s
}

// describe sets the named columns of an item, or all if columns is nil. For other attributes it records the kinds of
// their values, for messages.
func (b *builder) describe(pos uint32, it *Item, columns []string) {
	wanted := func(name string) bool { return columns == nil || slices.Contains(columns, name) }
	if it.Label != "" && wanted(LabelName) {
		b.set(pos, LabelName, String(it.Label))
	}
	if len(it.Tags) > 0 && wanted(TagName) {
		for _, tag := range it.Tags {
			b.set(pos, TagName, String(tag))
		}
	}
	for name, v := range it.Attributes { // one value per name, so the order does not matter
		if wanted(name) {
			b.set(pos, name, v)
		} else if c := b.column(name); c.kind != NumberKind|textKinds {
			c.kind |= v.Kind()
		}
	}
}

// builder collects items in ascending order of ids.
type builder struct {
	ids     idTable
	codes   hamming.Codes // by position
	columns map[string]*columnBuilder
}

func newBuilder(n, bits int) *builder {
	b := &builder{ids: idTable{room: n}, codes: hamming.NewCodes(0, bits), columns: map[string]*columnBuilder{}}
	b.codes.Data = make([]uint64, 0, n*b.codes.Words)
	return b
}

// reserve allocates space for more items, of about n in all.
func (b *builder) reserve(more, n int) {
	at, words := b.ids.len(), b.codes.Words
	room := roomFor(at+more, cap(b.codes.Data)/words, n)
	b.codes.Data = regrown(b.codes.Data, room*words)
	if b.ids.room = room; b.ids.number != nil {
		b.ids.number = regrown(b.ids.number, room)
	}
}

func (b *builder) add(id ID, code []uint64) uint32 {
	b.ids.add(id)
	b.codes.Data = append(b.codes.Data, code...)
	return uint32(b.ids.len() - 1)
}

func (b *builder) set(pos uint32, name string, v Value) {
	b.column(name).add(pos, v)
}

func (b *builder) column(name string) *columnBuilder {
	c := b.columns[name]
	if c == nil {
		c = &columnBuilder{}
		b.columns[name] = c
	}
	return c
}

// build makes the segment. It merges repeated codes if that pays.
func (b *builder) build(merge bool) *segment {
	n := b.ids.len()
	b.ids.clip()
	s := &segment{ids: b.ids, codes: b.codes, repeats: !merge, columns: map[string]*column{}}
	if merge {
		slot := make([]uint32, n)
		if distinct := mergeCodes(b.codes, slot); distinct < n {
			s.codes.Data = slices.Clone(b.codes.Data[:distinct*b.codes.Words])
			s.slot = slot
			s.items = newPostings(slot, distinct)
		}
	}
	for name, c := range b.columns {
		s.columns[name] = c.build(n)
	}
	s.ordered = slices.Sorted(maps.Keys(s.columns))
	par.OnLargePages(s.codes.Data)
	return s
}

// mergeCodes moves the distinct codes to the front, in order of first appearance, records which of them each code is,
// and returns their number. It finds equal codes by open addressing.
func mergeCodes(codes hamming.Codes, slot []uint32) int {
	n, words, data := codes.Len(), codes.Words, codes.Data
	const free = math.MaxUint32
	mask := uint64(1)<<bits.Len(uint(n+n/2)) - 1
	place := make([]uint32, mask+1)
	for i := range place {
		place[i] = free
	}
	distinct := 0
	for p := range n {
		code := data[p*words : (p+1)*words]
		at := hash(code) & mask
		for place[at] != free && !slices.Equal(codes.Row(int(place[at])), code) {
			at = (at + 1) & mask
		}
		if place[at] == free {
			place[at] = uint32(distinct)
			copy(codes.Row(distinct), code)
			distinct++
		}
		slot[p] = place[at]
	}
	return distinct
}

// seed differs in every process. Otherwise anyone could choose codes that collide, and finding them would take
// quadratic time. No answer depends on it: slots are in order of positions.
var seed = maphash.MakeSeed()

// hash returns a 64-bit hash of a code.
func hash(code []uint64) uint64 {
	return maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(code))), 8*len(code)))
}

// Source has items of one model and length of codes, to be read a part at a time.
type Source struct {
	Bits        int
	Fingerprint hamming.Fingerprint // of the model; zero if unknown
	Items       int                 // their number; negative means unknown until all are read
	Unique      bool                // ids are known to be unique, so duplicates need not be detected

	// Each passes on all items, in the same order on every call. The receiver owns each part.
	Each func(ctx context.Context, take func(*Batch) error) error
}
