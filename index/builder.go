package index

import (
	"math"
	"math/bits"
	"slices"

	"hashgrove/hamming"
)

// Builder makes a snapshot for a few searches of items that lie elsewhere. It keeps ids and codes as they come, and of
// labels, tags and attributes only what a filter looks at; nothing is built that only many searches repay, so each of
// them scans the codes. Answers are those of an Index.
type Builder struct {
	items       *builder
	fingerprint hamming.Fingerprint
	columns     []string
}

// NewBuilder expects n items with codes of the given length, made by the model with the fingerprint. The snapshot can be
// searched with the filter.
func NewBuilder(n, bits int, fingerprint hamming.Fingerprint, f Filter) *Builder {
	return &Builder{newBuilder(n, bits), fingerprint, f.columns()}
}

// Filters tells whether labels, tags or attributes matter; when they do not, items need not be described.
func (b *Builder) Filters() bool { return len(b.columns) > 0 }

// Append adds items with their packed codes, one after the other. Items must come in ascending order of their ids. It
// reports false when a code has bits beyond its length, or the codes are not as many.
func (b *Builder) Append(ids []ID, packed []byte) bool {
	x := b.items
	if len(packed) != x.codes.Bytes()*len(ids) {
		return false
	}
	first := x.ids.len()
	x.codes.Data = slices.Grow(x.codes.Data, len(ids)*x.codes.Words)[:(first+len(ids))*x.codes.Words]
	for _, id := range ids {
		x.ids.add(id)
	}
	return x.codes.Unpack(first, packed)
}

// Describe gives the item that was appended at a position its label, tags and attributes. Positions must ascend.
func (b *Builder) Describe(pos int, it *Item) {
	set := func(name string, v Value) { b.items.set(uint32(pos), name, v) }
	for _, name := range b.columns {
		switch name {
		case labelName:
			if it.Label != "" {
				set(name, String(it.Label))
			}
		case tagName:
			for _, tag := range it.Tags {
				set(name, String(tag))
			}
		default:
			if v, ok := it.Attributes[name]; ok {
				set(name, v)
			}
		}
	}
}

// Len is the number of items so far.
func (b *Builder) Len() int { return b.items.ids.len() }

// Snapshot returns the items. The builder must not be used again.
func (b *Builder) Snapshot() *Snapshot {
	s := &Snapshot{bits: b.items.codes.Bits, fingerprint: b.fingerprint}
	if x := b.items.build(false); x.len() > 0 {
		s.views, s.size = []view{{x, nil, x.len()}}, x.len()
	}
	return s
}

// builder collects items in ascending order of their ids.
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

func (b *builder) add(id ID, code []uint64) uint32 {
	b.ids.add(id)
	b.codes.Data = append(b.codes.Data, code...)
	return uint32(b.ids.len() - 1)
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

// build makes the segment. Codes that repeat are merged into one, or left as they come where that does not pay.
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
	return s
}

// mergeCodes moves the distinct codes to the front, in the order in which they come first, notes which of them each code
// is, and returns how many there are. Equal codes are found by open addressing: places by the hash of a code.
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

// hash mixes a code into 64 bits.
func hash(code []uint64) uint64 {
	h := uint64(0)
	for _, w := range code {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h * 0xbf58476d1ce4e5b9 >> 20
}
