package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// Facet summarises the values that matching items have under a name, for people who build filters.
type Facet struct {
	Name  string
	Kind  Kind    // of all values of the name, even of items that do not match
	Items int     // with a value
	Texts []Count // the most frequent texts, alphabetically among equal counts

	Distinct  int     // texts
	Min, Max  float64 // of the numbers, if there are any
	Numbers   int     // items with a number
	Histogram []int   // of the numbers, in equal parts between Min and Max; nil without numbers

	First, Last string // of the dates, if there are any; the alphabetically first text for a moment
}

// Count is a text and the number of items that have it.
type Count struct {
	Text  string
	Items int
}

// Facet summarises the values under a name, which is LabelName, TagName or an attribute, among the items that match a
// filter. It returns at most top texts and a histogram with the given number of parts.
func (s *Snapshot) Facet(name string, f Filter, top, parts int) Facet {
	a := Facet{Name: name, Min: math.Inf(1), Max: math.Inf(-1)}
	counts := map[string]int{}
	sets := make([]*roaring.Bitmap, len(s.views)) // matching items; nil means all
	for i, v := range s.views {
		a.Kind |= v.kind(name)
		c := v.columns[name]
		if sets[i] = f.allowed(v); c == nil {
			continue
		}
		a.Items += c.countItems(v.len(), sets[i])
		for t := range c.texts.len() {
			if n := c.having.count(uint32(t), sets[i]); n > 0 {
				counts[c.texts.get(t)] += n
			}
		}
		c.eachNumber(sets[i], func(x float64) {
			a.Numbers++
			a.Min, a.Max = min(a.Min, x), max(a.Max, x)
		})
	}
	if a.Numbers == 0 {
		a.Min, a.Max = 0, 0
	} else if parts > 0 {
		a.Histogram = make([]int, parts)
		for i, v := range s.views {
			if c := v.columns[name]; c != nil {
				c.eachNumber(sets[i], func(x float64) { a.Histogram[a.part(x)]++ })
			}
		}
	}
	a.Distinct = len(counts)
	for text, n := range counts {
		a.Texts = append(a.Texts, Count{text, n})
	}
	a.findDates()
	slices.SortFunc(a.Texts, func(x, y Count) int {
		return cmp.Or(cmp.Compare(y.Items, x.Items), cmp.Compare(x.Text, y.Text))
	})
	a.Texts = slices.Clip(a.Texts[:min(top, len(a.Texts))])
	return a
}

// findDates sets the first and the last date among the texts.
func (a *Facet) findDates() {
	if a.Kind&DateKind == 0 {
		return
	}
	for _, c := range a.Texts {
		if kindOfText(c.Text) != DateKind {
			continue
		}
		// The texts are not sorted yet.
		at, byText := parseDate(c.Text), func(other string) int { return cmp.Compare(c.Text, other) }
		if a.First == "" || cmp.Or(at.compare(parseDate(a.First)), byText(a.First)) < 0 {
			a.First = c.Text
		}
		if a.Last == "" || cmp.Or(-at.compare(parseDate(a.Last)), byText(a.Last)) < 0 {
			a.Last = c.Text
		}
	}
}

// part returns the part of the histogram that x falls into.
func (a *Facet) part(x float64) int {
	if a.Max == a.Min {
		return 0
	}
	// Halves, because the difference of two large numbers may overflow.
	share := (float64(x/2) - float64(a.Min/2)) / (float64(a.Max/2) - float64(a.Min/2))
	return min(int(share*float64(len(a.Histogram))), len(a.Histogram)-1)
}

// countItems returns the number of items with a value, among the allowed ones or all n.
func (c *column) countItems(n int, allowed *roaring.Bitmap) int {
	items := 0
	has := func(pos uint32) bool {
		if c.first != nil && c.first[pos] < c.first[pos+1] || c.number != nil && !math.IsNaN(c.number[pos]) {
			items++
		}
		return true
	}
	if allowed != nil {
		allowed.Iterate(has)
		return items
	}
	for pos := range n {
		has(uint32(pos))
	}
	return items
}

// eachNumber calls f with the numbers of the allowed items.
func (c *column) eachNumber(allowed *roaring.Bitmap, f func(x float64)) {
	for _, pos := range c.order {
		if allowed == nil || allowed.Contains(pos) {
			f(c.number[pos])
		}
	}
}
