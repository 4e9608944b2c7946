package index

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"hashgrove/internal/hamming"
)

// naive is the definition of an index: a list of items, searched in full.
type naive []Item

func (n naive) put(it Item) naive {
	n = n.drop(func(other Item) bool { return other.ID == it.ID })
	return append(n, it)
}

// changed returns an item with the given changes; everything else stays.
func (n naive) changed(it Item, replace bool) (Item, bool) {
	i := slices.IndexFunc(n, func(other Item) bool { return other.ID == it.ID })
	if i < 0 {
		return it, false
	}
	old := n[i]
	if it.Code == nil {
		it.Code = old.Code
	}
	if it.Label == "" {
		it.Label = old.Label
	}
	if len(it.Tags) == 0 {
		it.Tags = old.Tags
	}
	attributes := map[string]Value{}
	if !replace {
		maps.Copy(attributes, old.Attributes)
	}
	maps.Copy(attributes, it.Attributes)
	it.Attributes = attributes
	return it, true
}

func (n naive) drop(gone func(Item) bool) naive {
	return slices.DeleteFunc(slices.Clone(n), gone)
}

// search sorts all matching items as the options say, and counts those at the last distance.
func (n naive) search(q []uint64, k, r, bits int, keep func(Item) bool, o Options) (hits []Hit, tied int) {
	// An item with its distance by the searched bits, by all bits, in bits, and its sum of margins.
	type ranked struct {
		Item
		first, all, bits int
		penalty          float64
	}
	differs := func(it Item, b int) bool { return (q[b/64]^it.Code[b/64])>>(63-b%64)&1 != 0 }
	first := cmp.Or(o.Prefix, bits)
	ones := slices.Repeat([]uint8{1}, bits)
	weights, weightsOfFirst, unit := ones, ones, 1
	if o.Rank == ByMargins {
		weights, weightsOfFirst, unit = hamming.Weights(o.Margins), hamming.Weights(o.Margins[:first]), 16
	}
	var list []ranked
	for _, it := range n {
		x := ranked{Item: it}
		for b := range bits {
			if differs(it, b) {
				x.bits++
				x.all += int(weights[b])
				if b < first {
					x.first += int(weightsOfFirst[b])
				}
				if o.Margins != nil && o.Rank != ByMargins {
					x.penalty += math.Abs(float64(o.Margins[b]))
				}
			}
		}
		if keep(it) && (r == math.MaxInt || x.first <= unit*r) {
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
			n++ // the shortlist includes all ties
		}
		list = list[:n]
	}
	slices.SortFunc(list, byAll)
	for _, it := range list[:min(k, len(list))] {
		hits = append(hits, Hit{ID: it.ID, Distance: it.bits})
		if o.Rank == ByMargins {
			hits[len(hits)-1].MarginDistance = it.all
		}
	}
	for _, it := range list {
		if len(hits) > 0 && it.all == list[len(hits)-1].all {
			tied++
		}
	}
	return hits, tied
}

// scannable returns the list as a snapshot built for searches with one filter.
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

// placeless returns hits without their places in a snapshot, which are not compared.
func placeless(hits []Hit) []Hit {
	hits = slices.Clone(hits)
	for i := range hits {
		hits[i].place = place{}
	}
	return hits
}

// condition is a filter as text and as a Go function.
type condition struct {
	filter string
	keep   func(Item) bool
	fits   func(naive) bool // reports whether any item has what the filter compares; an empty list accepts all filters
}

// anyItem is a condition on a list: it is empty, or something holds for one of its items.
func anyItem(holds func(Item) bool) func(naive) bool {
	return func(n naive) bool { return len(n) == 0 || slices.ContainsFunc(n, holds) }
}

// slowDate parses a date with the standard library.
func slowDate(s string) (time.Time, bool) {
	for _, layout := range []string{
		"2006-01-02", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05-0700",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func conditions(rng *rand.Rand) condition {
	number := func(it Item, name string) (float64, bool) { return it.Attributes[name].Number() }
	text := func(it Item, name string) (string, bool) {
		v, ok := it.Attributes[name]
		s, isText := v.Text()
		return s, ok && isText
	}
	x := float64(rng.IntN(20))
	all := func(naive) bool { return true }
	hasPrice := anyItem(func(it Item) bool { _, ok := number(it, "price"); return ok })
	hasKind := anyItem(func(it Item) bool { _, ok := text(it, "kind"); return ok })
	hasDate := anyItem(func(it Item) bool { _, ok := text(it, "added"); return ok })
	hasTruth := anyItem(func(it Item) bool { _, ok := text(it, "new"); return ok })
	hasLabel := anyItem(func(it Item) bool { return it.Label != "" })
	hasTag := anyItem(func(it Item) bool { return len(it.Tags) > 0 })
	hasInteger := anyItem(func(it Item) bool { _, ok := it.ID.Integer(); return ok })
	hasTextID := anyItem(func(it Item) bool { _, ok := it.ID.Integer(); return !ok })
	noItem := func(n naive) bool { return len(n) == 0 }
	none := func(Item) bool { return false }
	// dated compares the date of an item with days of January 2024.
	dated := func(holds func(t, first, second time.Time) bool, first, second int) func(Item) bool {
		return func(it Item) bool {
			s, ok := text(it, "added")
			t, isDate := slowDate(s)
			day := func(d int) time.Time { return time.Date(2024, 1, d, 0, 0, 0, 0, time.UTC) }
			return ok && isDate && holds(t, day(first), day(second))
		}
	}
	day := 1 + rng.IntN(9)
	simple := []condition{
		{"", func(Item) bool { return true }, all},
		{`label = "a"`, func(it Item) bool { return it.Label == "a" }, hasLabel},
		{`label != "a"`, func(it Item) bool { return it.Label != "a" && it.Label != "" }, hasLabel},
		{`label in ("b", "c", "zzz")`, func(it Item) bool { return it.Label == "b" || it.Label == "c" }, hasLabel},
		{`tag = "t1"`, func(it Item) bool { return slices.Contains(it.Tags, "t1") }, hasTag},
		{`tag != "t1"`, func(it Item) bool { return len(it.Tags) > 0 && !slices.Contains(it.Tags, "t1") }, hasTag},
		{`tag not in ("t1", "t2")`, func(it Item) bool { return !slices.Contains(it.Tags, "t1") && !slices.Contains(it.Tags, "t2") }, hasTag},
		{`tag between "t1" and "t2"`, func(it Item) bool { return slices.Contains(it.Tags, "t1") || slices.Contains(it.Tags, "t2") }, hasTag},
		{`has tag`, func(it Item) bool { return len(it.Tags) > 0 }, hasTag},
		{fmt.Sprintf("price < %v", x), func(it Item) bool { p, ok := number(it, "price"); return ok && p < x }, hasPrice},
		{fmt.Sprintf("price >= %v", x), func(it Item) bool { p, ok := number(it, "price"); return ok && p >= x }, hasPrice},
		{fmt.Sprintf("price = %v", x), func(it Item) bool { p, ok := number(it, "price"); return ok && p == x }, hasPrice},
		{fmt.Sprintf("price between %v and %v", x, x+3), func(it Item) bool { p, ok := number(it, "price"); return ok && p >= x && p <= x+3 }, hasPrice},
		{fmt.Sprintf("price not between %v and %v", x, x+3), func(it Item) bool { p, ok := number(it, "price"); return !ok || p < x || p > x+3 }, hasPrice},
		{fmt.Sprintf("id <= %v", 10*x), func(it Item) bool { n, ok := it.ID.Integer(); return ok && float64(n) <= 10*x }, hasInteger},
		{`id between 17 and "110"`, func(it Item) bool { n, ok := it.ID.Integer(); return ok && n >= 17 && n <= 110 }, hasInteger},
		{`id > "k5"`, func(it Item) bool { _, ok := it.ID.Integer(); return !ok && it.ID.String() > "k5" }, hasTextID},
		{`id starts with "1"`, func(it Item) bool { return strings.HasPrefix(it.ID.String(), "1") }, all},
		{`id starts with "k1"`, func(it Item) bool { return strings.HasPrefix(it.ID.String(), "k1") }, all},
		{`kind > "new"`, func(it Item) bool { s, ok := text(it, "kind"); return ok && s > "new" }, hasKind},
		{`kind starts with "ne"`, func(it Item) bool { s, ok := text(it, "kind"); return ok && strings.HasPrefix(s, "ne") }, hasKind},
		{`id in (3, 5, "k7")`, func(it Item) bool { return slices.Contains([]string{"3", "5", "k7"}, it.ID.String()) }, all},
		{fmt.Sprintf("added >= 2024-01-0%d", day), dated(func(t, a, _ time.Time) bool { return !t.Before(a) }, day, 1), hasDate},
		{fmt.Sprintf(`added < "2024-01-0%dT00:00Z"`, day), dated(func(t, a, _ time.Time) bool { return t.Before(a) }, day, 1), hasDate},
		{fmt.Sprintf(`added = "2024-01-0%d"`, day), dated(func(t, a, _ time.Time) bool { return t.Equal(a) }, day, 1), hasDate},
		{"added between 2024-01-03 and 2024-01-06", dated(func(t, a, b time.Time) bool { return !t.Before(a) && !t.After(b) }, 3, 6), hasDate},
		{"new = true", func(it Item) bool { s, _ := text(it, "new"); return s == "true" }, hasTruth},
		{`new != "true"`, func(it Item) bool { s, _ := text(it, "new"); return s == "false" }, hasTruth},
		{`nothing = 3`, none, noItem},
		{`price < "10"`, none, noItem},
		{`kind = 3`, none, noItem},
		{`new = 1`, none, noItem},
		{`added >= 2024`, none, noItem},
		{`added >= "01/02/2024"`, func(it Item) bool { s, _ := text(it, "added"); return s >= "01/02/2024" }, noItem},
		{`price starts with "1"`, none, noItem},
		{`has nothing`, none, noItem},
	}
	a, b := simple[rng.IntN(len(simple))], simple[1+rng.IntN(len(simple)-1)]
	if a.filter == "" {
		return a
	}
	fits := func(n naive) bool { return a.fits(n) && b.fits(n) }
	switch rng.IntN(4) {
	case 0:
		return condition{a.filter + " and " + b.filter, func(it Item) bool { return a.keep(it) && b.keep(it) }, fits}
	case 1:
		return condition{"not (" + a.filter + " or " + b.filter + ")", func(it Item) bool { return !a.keep(it) && !b.keep(it) }, fits}
	}
	return a
}

// randomItem returns an item with a code near one of a few centres, so that codes repeat and distances tie; one centre
// is far away, so that its codes hardly repeat.
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
	if rng.IntN(3) == 0 {
		format := []string{
			"2024-01-0%d", "2024-01-0%dT00:00", "2024-01-0%d 09:30:00", "2024-01-0%dT23:30:00Z", "2024-01-0%dT02:00:00+02:00",
			"2024-01-0%dT23:30:00-0100",
		}[rng.IntN(6)]
		it.Attributes["added"] = String(fmt.Sprintf(format, 1+rng.IntN(9)))
	}
	if rng.IntN(3) == 0 {
		it.Attributes["new"] = String([]string{"true", "false"}[rng.IntN(2)])
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
