// Package supervision says which rows are similar, by classes, tags or explicit pairs, and joins rows and supervision
// into training data. It provides the affinity for Step 1 and the ground truth for package eval.
//
//	Labels, Tags    one class, or a set of tags, per row
//	Supervision     classes, tags or pairs     -> Affinity
//	Scan            one pass over a source     -> Data: rows, ranges, supervision, bad rows
//	HoldOut, Only   parts of them
package supervision

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// Labels holds one class per row. Classes are numbered in the order of their names: numerically if all are numbers,
// else as strings.
type Labels struct {
	Class []int32 // of each row, an index into Names
	Names []string
}

// Tags holds a set of tags per row, numbered like Labels.
type Tags struct {
	Start []int   // row i has Tag[Start[i]:Start[i+1]]; one more entry than rows
	Tag   []int32 // ascending within a row, an index into Names
	Names []string
}

// Rows returns the number of rows.
func (t *Tags) Rows() int { return len(t.Start) - 1 }

// Row returns the tags of row i, without copying.
func (t *Tags) Row(i int) []int32 { return t.Tag[t.Start[i]:t.Start[i+1]:t.Start[i+1]] }

// Count is a name and the number of rows that have it.
type Count struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
}

// Histogram counts the rows of every class, the most frequent first, ties by name.
func (l *Labels) Histogram() []Count { return histogram(l.Names, l.Counts()) }

// Histogram counts the rows of every tag, the most frequent first, ties by name.
func (t *Tags) Histogram() []Count { return histogram(t.Names, t.Counts()) }

// Counts returns the number of rows of every class.
func (l *Labels) Counts() []int { return tally(l.Class, len(l.Names)) }

// Counts returns the number of rows with every tag.
func (t *Tags) Counts() []int { return tally(t.Tag, len(t.Names)) }

func tally(numbers []int32, n int) []int {
	counts := make([]int, n)
	for _, k := range numbers {
		counts[k]++
	}
	return counts
}

func histogram(names []string, counts []int) []Count {
	list := make([]Count, len(names))
	for k, name := range names {
		list[k] = Count{name, counts[k]}
	}
	slices.SortStableFunc(list, func(a, b Count) int { return cmp.Compare(b.Rows, a.Rows) })
	return list
}

// CanonicalLabel unifies labels that differ only in how a file writes a number: 3.0 and 3.000e+00 become 3. Labels
// without a decimal point stay as they are, since 007 and 7 may be different codes. The empty string and NaN, which
// arrays of numbers use instead, mean no label.
func CanonicalLabel(s string) string {
	s = strings.TrimSpace(s)
	if strings.EqualFold(s, "nan") {
		return ""
	}
	if strings.IndexByte(s, '.') >= 0 {
		if x, ok := decimal(s); ok && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return strconv.FormatInt(int64(x), 10)
		}
	}
	return s
}

// decimal parses a finite decimal number.
func decimal(s string) (float64, bool) {
	if strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false // only Go's syntax calls this a number
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil
}

// naming numbers names in order of appearance.
type naming struct {
	numbers map[string]int32
	names   []string
}

func (n *naming) number(name string) int32 {
	k, ok := n.numbers[name]
	if !ok {
		if n.numbers == nil {
			n.numbers = map[string]int32{}
		}
		name = strings.Clone(name) // the caller reuses its memory
		k = int32(len(n.names))
		n.numbers[name] = k
		n.names = append(n.names, name)
	}
	return k
}

// inOrder returns the sorted names, and for each number assigned so far its final number.
func (n *naming) inOrder() (names []string, lasting []int32) {
	values := make([]float64, len(n.names))
	numeric := true
	for k, name := range n.names {
		var ok bool
		values[k], ok = decimal(name)
		numeric = numeric && ok
	}
	met := make([]int32, len(n.names))
	for k := range met {
		met[k] = int32(k)
	}
	slices.SortFunc(met, func(a, b int32) int {
		if numeric && values[a] != values[b] {
			return cmp.Compare(values[a], values[b])
		}
		return strings.Compare(n.names[a], n.names[b])
	})
	lasting = make([]int32, len(met))
	for k, m := range met {
		names = append(names, n.names[m])
		lasting[m] = int32(k)
	}
	return names, lasting
}

// labelling collects Labels row by row.
type labelling struct {
	naming naming
	class  []int32
}

// add appends the label of the next row.
func (b *labelling) add(m *vectors.Spill, label string) (err error) {
	b.class, err = vectors.Append(m, b.class, b.naming.number(label))
	return err
}

// Labels returns the labels of all rows, or nil if there were none. The builder cannot be used again.
func (b *labelling) Labels() *Labels {
	if b.class == nil {
		return nil
	}
	names, lasting := b.naming.inOrder()
	for i, k := range b.class {
		b.class[i] = lasting[k]
	}
	return &Labels{b.class, names}
}

// tagging collects Tags row by row.
type tagging struct {
	naming naming
	start  []int
	tag    []int32
}

// Add appends the tags of the next row.
func (b *tagging) Add(tags []string) {
	for _, name := range tags {
		if name = strings.TrimSpace(name); name != "" {
			b.tag = append(b.tag, b.naming.number(name))
		}
	}
	b.start = append(b.start, len(b.tag))
}

// Tags returns the tags of all rows, or nil if there were none. The builder cannot be used again.
func (b *tagging) Tags() *Tags {
	if b.start == nil {
		return nil
	}
	names, lasting := b.naming.inOrder()
	t := &Tags{Start: make([]int, 1, len(b.start)+1), Tag: b.tag[:0], Names: names}
	from := 0
	for _, to := range b.start {
		row := b.tag[from:to]
		for i, k := range row {
			row[i] = lasting[k]
		}
		slices.Sort(row)
		t.Tag = append(t.Tag, slices.Compact(row)...) // never ahead of what is read
		t.Start = append(t.Start, len(t.Tag))
		from = to
	}
	return t
}

func (l *Labels) trainable() error {
	several, used := false, 0
	for _, n := range l.Counts() {
		if n > 0 {
			used++
		}
		several = several || n > 1
	}
	switch {
	case used == 1:
		return message.New("one-class",
			"all rows have the label %q: at least two classes are needed to learn from", l.Names[l.Class[0]])
	case !several:
		return message.New("distinct-labels", "every row has a label of its own, so no two rows are similar: "+
			"is it the right label (%q in the first row)?", l.Names[l.Class[0]])
	}
	return nil
}

func (t *Tags) trainable() error {
	if len(t.Tag) == 0 {
		return message.New("no-tags", "no row has a tag: is it the right column or file?")
	}
	for i := 1; i < t.Rows(); i++ {
		if !slices.Equal(t.Row(i), t.Row(0)) {
			return nil
		}
	}
	return message.New("same-tags", "all rows have the same tags: at least two sets of tags are needed to learn from")
}
