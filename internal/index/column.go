package index

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// column holds the values of one name for the items of a segment: the label, the tags, or an attribute. It maps items
// to values, for display and merging, and values to items, for filtering.
type column struct {
	texts  stringTable // distinct, ascending
	first  []uint32    // texts of item p: value[first[p]:first[p+1]]; nil if there are no texts
	value  []uint32    // numbers of texts
	having postings    // items of each text

	number []float64 // of each item, NaN if it has none; nil if there are no numbers
	order  []uint32  // the items with a number, by number, then by position

	kind    Kind            // of all values
	moments func() []moment // of the texts, parsed when dates are first compared
}

// columnBuilder collects a column in order of position. Texts are numbered in order of appearance.
type columnBuilder struct {
	textAt   []uint32
	value    []uint32
	numberOf map[string]uint32
	distinct []string
	numberAt []uint32
	numbers  []float64
	kind     Kind
}

func (b *columnBuilder) add(pos uint32, v Value) {
	if v.isNumber {
		b.kind |= NumberKind
		b.numberAt = append(b.numberAt, pos)
		b.numbers = append(b.numbers, v.number)
		return
	}
	n, ok := b.numberOf[v.text]
	if !ok {
		if b.numberOf == nil {
			b.numberOf = map[string]uint32{}
		}
		n = uint32(len(b.distinct))
		b.kind |= kindOfText(v.text)
		b.numberOf[v.text] = n
		b.distinct = append(b.distinct, v.text)
	}
	b.textAt = append(b.textAt, pos)
	b.value = append(b.value, n)
}

// build makes a column of n items.
func (b *columnBuilder) build(n int) *column {
	c := &column{kind: b.kind}
	c.moments = sync.OnceValue(c.readMoments)
	if len(b.distinct) > 0 {
		c.buildTexts(b, n)
	}
	if len(b.numbers) > 0 {
		c.number = make([]float64, n)
		for p := range c.number {
			c.number[p] = math.NaN()
		}
		for i, p := range b.numberAt {
			c.number[p] = b.numbers[i] + 0 // -0 becomes 0
		}
		c.order = slices.Clone(b.numberAt)
		slices.SortFunc(c.order, func(x, y uint32) int {
			return cmp.Or(cmp.Compare(c.number[x], c.number[y]), cmp.Compare(x, y))
		})
	}
	return c
}

func (c *column) buildTexts(b *columnBuilder, n int) {
	place := make([]uint32, len(b.distinct)) // rank of each text in ascending order
	slices.Sort(b.distinct)
	for i, s := range b.distinct {
		place[b.numberOf[s]] = uint32(i)
		c.texts.add(s)
	}
	c.texts.clip()
	// A text counts once per item; entries are in order of position.
	type pair struct{ pos, value uint32 }
	pairs := make([]pair, len(b.value))
	for i, n := range b.value {
		pairs[i] = pair{b.textAt[i], place[n]}
	}
	slices.SortFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(x.pos, y.pos), cmp.Compare(x.value, y.value))
	})
	pairs = slices.Compact(pairs)
	at := make([]uint32, len(pairs))
	c.value, c.first = make([]uint32, len(pairs)), make([]uint32, n+1)
	for i, x := range pairs {
		at[i], c.value[i] = x.pos, x.value
		c.first[x.pos+1]++
	}
	for p := range n {
		c.first[p+1] += c.first[p]
	}
	c.having = newPostingsAt(c.value, at, len(b.distinct))
}

// values calls f with every value of an item.
func (c *column) values(pos uint32, f func(Value)) {
	if c.first != nil {
		for _, v := range c.value[c.first[pos]:c.first[pos+1]] {
			f(String(c.texts.get(int(v))))
		}
	}
	if c.number != nil && !math.IsNaN(c.number[pos]) {
		f(Number(c.number[pos]))
	}
}

// interval returns the range [lo, hi) that satisfies op in a sorted list of n, where [first, after) equals the value.
func interval(op string, first, after, n int) (lo, hi int) {
	switch op {
	case "<":
		return 0, first
	case "<=":
		return 0, after
	case ">":
		return after, n
	case ">=":
		return first, n
	}
	return first, after // =, in
}

// compares reports whether an operator holds for the sign of a comparison: for one text beside the value.
func compares(op string, sign int) bool {
	first, after := 0, 0
	if sign < 0 {
		first = 1
	}
	if sign <= 0 {
		after = 1
	}
	lo, hi := interval(op, first, after, 1)
	return lo < hi
}

// readMoments parses the texts that are dates.
func (c *column) readMoments() []moment {
	list := make([]moment, c.texts.len())
	for i := range list {
		list[i] = parseDate(c.texts.bytesOf(i))
	}
	return list
}

// addDates adds the items with a text for which keep returns true; keep gets the moment of each text.
func (c *column) addDates(dst *roaring.Bitmap, keep func(m moment, text []byte) bool) {
	lo := 0 // start of the current run of texts
	for i, m := range c.moments() {
		if !keep(m, c.texts.bytesOf(i)) {
			if lo < i {
				c.having.union(dst, lo, i)
			}
			lo = i + 1
		}
	}
	if n := c.texts.len(); lo < n {
		c.having.union(dst, lo, n)
	}
}

// addBetween adds the items with a value from low to high.
func (c *column) addBetween(dst *roaring.Bitmap, low, high Value) {
	if low.isNumber {
		number := func(i int) float64 { return c.number[c.order[i]] }
		lo := sort.Search(len(c.order), func(i int) bool { return number(i) >= low.number })
		hi := sort.Search(len(c.order), func(i int) bool { return number(i) > high.number })
		dst.AddMany(c.order[lo:max(lo, hi)])
		return
	}
	from, to := parseDate(low.text), parseDate(high.text)
	if c.kind&DateKind != 0 && (from != noMoment || to != noMoment) {
		c.addDates(dst, func(m moment, text []byte) bool {
			return compareTexts(text, m, low.text, from) >= 0 && compareTexts(text, m, high.text, to) <= 0
		})
		return
	}
	if n := c.texts.len(); n > 0 {
		lo, hi := c.texts.search(low.text, false), c.texts.search(high.text, true)
		c.having.union(dst, lo, max(lo, hi))
	}
}

// compareTexts compares two texts: as moments if both are dates, else by their bytes.
func compareTexts(a []byte, at moment, b string, bt moment) int {
	if at != noMoment && bt != noMoment {
		return at.compare(bt)
	}
	return cmp.Compare(string(a), b)
}

// addPrefixed adds the items with a text that starts with prefix.
func (c *column) addPrefixed(dst *roaring.Bitmap, prefix string) {
	if c.texts.len() > 0 {
		lo, hi := c.texts.prefixed(prefix)
		c.having.union(dst, lo, hi)
	}
}

// addMatches adds the items with a value that satisfies op. Texts and numbers never compare.
func (c *column) addMatches(dst *roaring.Bitmap, op string, v Value) {
	if v.isNumber {
		number := func(i int) float64 { return c.number[c.order[i]] }
		first := sort.Search(len(c.order), func(i int) bool { return number(i) >= v.number })
		after := sort.Search(len(c.order), func(i int) bool { return number(i) > v.number })
		lo, hi := interval(op, first, after, len(c.order))
		dst.AddMany(c.order[lo:hi])
		return
	}
	if at := parseDate(v.text); at != noMoment && c.kind&DateKind != 0 {
		c.addDates(dst, func(m moment, text []byte) bool { return compares(op, compareTexts(text, m, v.text, at)) })
		return
	}
	if n := c.texts.len(); n > 0 {
		lo, hi := interval(op, c.texts.search(v.text, false), c.texts.search(v.text, true), n)
		c.having.union(dst, lo, hi)
	}
}

// addAll adds the items that have any value.
func (c *column) addAll(dst *roaring.Bitmap) {
	dst.AddMany(c.order)
	if n := c.texts.len(); n > 0 {
		c.having.union(dst, 0, n)
	}
}

func (c *column) bytes() int {
	return c.texts.bytes() + 4*cap(c.first) + 4*cap(c.value) + c.having.bytes() + 8*cap(c.number) + 4*cap(c.order)
}

// postings are ascending lists of positions: the items of every code, or of every label.
//
// Most lists are short and stored back to back in one array, without headers; a long one is a Roaring bitmap
// (Lemire et al., 2018), in which a run of ten million positions takes a few kilobytes.
type postings struct {
	start []uint32 // list i is pos[start[i]:start[i+1]]
	pos   []uint32
	long  map[uint32]*roaring.Bitmap // lists of at least longList positions, empty in pos
}

// longList is the length above which a list is a bitmap: an array of 16-bit values is no longer smaller.
const longList = 4096

// newPostings sorts positions into lists: position p goes to list of[p].
func newPostings(of []uint32, lists int) postings {
	at := make([]uint32, len(of))
	for p := range at {
		at[p] = uint32(p)
	}
	return newPostingsAt(of, at, lists)
}

// newPostingsAt is newPostings for pairs: at[i] goes to list of[i]; at must not descend within a list.
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

// list returns list i: an array, or a bitmap if it is long.
func (p *postings) list(i uint32) ([]uint32, *roaring.Bitmap) {
	lo, hi := p.start[i], p.start[i+1]
	if lo == hi && p.long != nil {
		return nil, p.long[i]
	}
	return p.pos[lo:hi], nil
}

// first appends the first k allowed positions of list i to dst; nil allows all.
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

// count returns the number of allowed positions of list i.
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
