package index

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/hamming"
)

// naive is the definition of an index: a list of items that is gone through.
type naive []Item

func (n naive) put(it Item) naive {
	n = n.drop(func(other Item) bool { return other.ID == it.ID })
	return append(n, it)
}

func (n naive) drop(gone func(Item) bool) naive {
	return slices.DeleteFunc(slices.Clone(n), gone)
}

// search orders all items that match by what the options say, by sorting, and counts those at the last distance.
func (n naive) search(q []uint64, k, r, bits int, keep func(Item) bool, o Options) (hits []Hit, tied int) {
	// An item with its distance by the bits that are searched, by all bits, and its sum of margins.
	type ranked struct {
		Item
		first, all int
		penalty    float64
	}
	differs := func(it Item, b int) bool { return (q[b/64]^it.Code[b/64])>>(63-b%64)&1 != 0 }
	first := cmp.Or(o.Prefix, bits)
	var list []ranked
	for _, it := range n {
		x := ranked{Item: it}
		for b := range bits {
			if differs(it, b) {
				x.all++
				if b < first {
					x.first++
				}
				if o.Margins != nil {
					x.penalty += math.Abs(float64(o.Margins[b]))
				}
			}
		}
		if keep(it) && x.first <= r {
			list = append(list, x)
		}
	}
	byID := func(a, b ranked) int { return a.ID.Compare(b.ID) }
	byAll := func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.all, b.all), cmp.Compare(a.penalty, b.penalty), byID(a, b))
	}
	if o.Prefix > 0 && r == math.MaxInt {
		slices.SortFunc(list, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.first, b.first), byID(a, b)) })
		n := min(len(list), max(k, o.Shortlist))
		for n > 0 && n < len(list) && list[n].first == list[n-1].first {
			n++ // the shortlist takes whole distances
		}
		list = list[:n]
	}
	slices.SortFunc(list, byAll)
	for _, it := range list[:min(k, len(list))] {
		hits = append(hits, Hit{ID: it.ID, Distance: it.all})
	}
	for _, it := range list {
		if len(hits) > 0 && it.all == hits[len(hits)-1].Distance {
			tied++
		}
	}
	return hits, tied
}

// scannable is the list as a snapshot that was built for the searches with one filter.
func (n naive) scannable(bits int, f Filter) *Snapshot {
	s, err := Collect(len(n), bits, hamming.Fingerprint{}, f, func(take func(Part) error) error {
		for _, it := range slices.SortedFunc(slices.Values(n), func(a, b Item) int { return a.ID.Compare(b.ID) }) {
			code := hamming.Codes{Bits: bits, Words: len(it.Code), Data: it.Code}.AppendBytes(nil, 0)
			read := func(_ int, to *Item) error { *to = it; return nil }
			if err := take(Part{[]ID{it.ID}, code, read}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return s
}

// auto lets the planner choose.
const auto = Method("")

// placeless is hits without their places in a snapshot, which nobody compares.
func placeless(hits []Hit) []Hit {
	hits = slices.Clone(hits)
	for i := range hits {
		hits[i].place = place{}
	}
	return hits
}

// condition is a filter in both worlds.
type condition struct {
	filter string
	keep   func(Item) bool
}

func conditions(rng *rand.Rand) condition {
	number := func(it Item, name string) (float64, bool) { return it.Attributes[name].Number() }
	x := float64(rng.IntN(20))
	simple := []condition{
		{"", func(Item) bool { return true }},
		{`label = "a"`, func(it Item) bool { return it.Label == "a" }},
		{`label != "a"`, func(it Item) bool { return it.Label != "a" && it.Label != "" }},
		{`label in ("b", "c", "zzz")`, func(it Item) bool { return it.Label == "b" || it.Label == "c" }},
		{`tag = "t1"`, func(it Item) bool { return slices.Contains(it.Tags, "t1") }},
		{`tag != "t1"`, func(it Item) bool { return len(it.Tags) > 0 && !slices.Contains(it.Tags, "t1") }},
		{`tag not in ("t1", "t2")`, func(it Item) bool { return !slices.Contains(it.Tags, "t1") && !slices.Contains(it.Tags, "t2") }},
		{`has tag`, func(it Item) bool { return len(it.Tags) > 0 }},
		{fmt.Sprintf("price < %v", x), func(it Item) bool { p, ok := number(it, "price"); return ok && p < x }},
		{fmt.Sprintf("price >= %v", x), func(it Item) bool { p, ok := number(it, "price"); return ok && p >= x }},
		{fmt.Sprintf("price = %v", x), func(it Item) bool { p, ok := number(it, "price"); return ok && p == x }},
		{fmt.Sprintf("id <= %v", 10*x), func(it Item) bool { n, ok := it.ID.Integer(); return ok && float64(n) <= 10*x }},
		{`id > "k5"`, func(it Item) bool { _, ok := it.ID.Integer(); return !ok && it.ID.String() > "k5" }},
		{`kind > "new"`, func(it Item) bool { s, ok := it.Attributes["kind"].Text(); return ok && s > "new" }},
		{`id in (3, 5, "k7")`, func(it Item) bool { return slices.Contains([]string{"3", "5", "k7"}, it.ID.String()) }},
		{`nothing = 3`, func(Item) bool { return false }},
	}
	a, b := simple[rng.IntN(len(simple))], simple[1+rng.IntN(len(simple)-1)]
	if a.filter == "" {
		return a
	}
	switch rng.IntN(4) {
	case 0:
		return condition{a.filter + " and " + b.filter, func(it Item) bool { return a.keep(it) && b.keep(it) }}
	case 1:
		return condition{"not (" + a.filter + " or " + b.filter + ")", func(it Item) bool { return !a.keep(it) && !b.keep(it) }}
	}
	return a
}

// randomItem has a code near one of a few centres, so that codes repeat and distances tie; a single centre is far
// away, so that hardly any code repeats.
func randomItem(rng *rand.Rand, centres hamming.Codes) Item {
	it := Item{ID: Int(int64(rng.IntN(300))), Code: slices.Clone(centres.Row(rng.IntN(centres.Len())))}
	if rng.IntN(3) == 0 {
		it.ID = Text(fmt.Sprintf("k%d", rng.IntN(100)))
	}
	flips := 3
	if centres.Len() == 1 {
		flips = centres.Bits
	}
	for range rng.IntN(flips) {
		b := rng.IntN(centres.Bits)
		it.Code[b/64] ^= 1 << (63 - b%64)
	}
	it.Label = []string{"", "a", "b", "c"}[rng.IntN(4)]
	for range rng.IntN(3) {
		it.Tags = append(it.Tags, fmt.Sprintf("t%d", rng.IntN(4)))
	}
	it.Attributes = map[string]Value{}
	if rng.IntN(2) == 0 {
		it.Attributes["price"] = Number(float64(rng.IntN(20)))
	}
	if rng.IntN(3) == 0 {
		it.Attributes["kind"] = String([]string{"new", "old", "used"}[rng.IntN(3)])
	}
	return it
}

func randomCodes(n, bits int, seed uint64) hamming.Codes {
	rng := rand.New(rand.NewPCG(seed, 77))
	c := hamming.NewCodes(n, bits)
	for i := range n {
		for b := range bits {
			c.SetBit(i, b, rng.IntN(2) == 1)
		}
	}
	return c
}
