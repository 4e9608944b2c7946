package supervision

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/message"
)

// Pair says that rows A and B are similar (Y = +1), dissimilar (-1) or of unknown similarity (0).
type Pair = affinity.Pair

// Supervision says which rows are similar. Pairs take precedence over classes, and classes over tags.
type Supervision struct {
	Labels *Labels // nil when the rows have none
	Tags   *Tags   // nil when the rows have none
	Pairs  []Pair  // nil when there are none

	MinShared int // least number of tags that similar rows share; 0 means 2
}

// The kinds of supervision, as models record them.
const (
	ByClasses = "classes"
	ByTags    = "tags"
	ByPairs   = "pairs"
)

// Kind returns the origin of similarity: ByClasses, ByTags, ByPairs, or "" if nothing is known.
func (s *Supervision) Kind() string {
	switch {
	case s.Pairs != nil:
		return ByPairs
	case s.Labels != nil:
		return ByClasses
	case s.Tags != nil:
		return ByTags
	}
	return ""
}

// ErrNone is returned for data without supervision.
var ErrNone = message.New("no-supervision", "no labels, tags or pairs: nothing says which rows are similar")

// Affinity returns Y for the given number of rows.
func (s *Supervision) Affinity(rows int) (affinity.Matrix, error) {
	switch s.Kind() {
	case ByPairs:
		return affinity.FromPairs(rows, s.Pairs)
	case ByClasses:
		return affinity.ByClass(s.Labels.Class)
	case ByTags:
		return affinity.ByTags(s.Tags.Start, s.Tags.Tag, s.MinShared)
	}
	return nil, ErrNone
}

// unlabelled returns the tags and pairs of the kept rows. Pairs stay if both their rows do.
func (s *Supervision) unlabelled(keep []bool) Supervision {
	out := Supervision{MinShared: s.MinShared}
	if s.Tags != nil {
		out.Tags = s.Tags.Only(keep)
	}
	if s.Pairs != nil {
		out.Pairs = PairsBetween(s.Pairs, keep, keep)
	}
	return out
}

// In returns the supervision with classes and tags numbered as in base, so that rows of both can be compared.
func (s Supervision) In(base *Supervision) Supervision {
	if s.Labels != nil && base.Labels != nil {
		s.Labels = s.Labels.In(base.Labels)
	}
	if s.Tags != nil && base.Tags != nil {
		s.Tags = s.Tags.In(base.Tags)
	}
	return s
}

// PairsBetween returns the pairs between a row of part a and a row of part b, numbered within their parts.
func PairsBetween(pairs []Pair, a, b []bool) []Pair {
	placeA, placeB := places(a), places(b)
	same := slices.Equal(a, b)
	out := []Pair{}
	for _, p := range pairs {
		if a[p.A] && b[p.B] {
			out = append(out, Pair{A: placeA[p.A], B: placeB[p.B], Y: p.Y})
		} else if !same && a[p.B] && b[p.A] {
			out = append(out, Pair{A: placeA[p.B], B: placeB[p.A], Y: p.Y})
		}
	}
	return out
}

// places numbers the rows of a part.
func places(part []bool) []int32 {
	place := make([]int32, len(part))
	next := int32(0)
	for i, in := range part {
		place[i] = next
		if in {
			next++
		}
	}
	return place
}

// check reports pairs that name rows outside the data.
func (s *Supervision) check(rows int) error {
	for k, p := range s.Pairs {
		if p.A < 0 || p.B < 0 || int(p.A) >= rows || int(p.B) >= rows {
			return fmt.Errorf("pair %d names rows %d and %d, outside of 0 to %d", k, p.A, p.B, rows-1)
		}
	}
	return nil
}

// trainable returns an error if no code can be learned from this.
func (s *Supervision) trainable() error {
	switch s.Kind() {
	case ByPairs:
		for _, p := range s.Pairs {
			if p.Y < 0 {
				return nil
			}
		}
		return message.New("no-dissimilar-pair", "no pair is dissimilar, so all rows would get the same code: "+
			"mark such pairs with dissimilar or -1 (0 means unknown)")
	case ByClasses:
		return s.Labels.trainable()
	case ByTags:
		return s.Tags.trainable()
	}
	return ErrNone
}

// HoldOut sets aside a random share of the rows for validation; keep is false for those. Every class is divided in the
// same proportion, up to rounding, and keeps at least one row. The result depends only on the labels and the arguments.
func (l *Labels) HoldOut(share float64, seed uint64) (keep []bool) {
	if !(share >= 0 && share < 1) {
		panic("supervision: HoldOut of a share that is not in [0, 1)")
	}
	sizes := l.Counts()
	keep = make([]bool, len(l.Class))
	// The total is rounded once. Each class gives its whole part, and those with the largest remainders one row more.
	left := int(float64(share*float64(len(keep))) + 0.5)
	take := make([]int, len(sizes))
	order := make([]int, len(sizes))
	rest := make([]float64, len(sizes))
	for k, size := range sizes {
		part := float64(share * float64(size))
		take[k] = int(part)
		rest[k] = part - float64(take[k])
		order[k] = k
		left -= take[k]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, k := range order {
		if left > 0 && take[k]+1 < sizes[k] {
			take[k]++
			left--
		}
	}
	drawn := make([][]int32, len(sizes)) // places of the rows set aside, within their class
	for k, size := range sizes {
		drawn[k] = drawPlaces(rand.New(rand.NewPCG(seed, uint64(k))), size, take[k])
	}
	place := make([]int32, len(sizes))
	for i, k := range l.Class {
		if keep[i] = len(drawn[k]) == 0 || drawn[k][0] != place[k]; !keep[i] {
			drawn[k] = drawn[k][1:]
		}
		place[k]++
	}
	return keep
}

// drawPlaces draws some of n places by the first steps of a shuffle and returns them in order.
func drawPlaces(rng *rand.Rand, n, some int) []int32 {
	drawn := make([]int32, some)
	moved := map[int]int32{} // what lies at a place, if not its own number
	at := func(place int) int32 {
		if there, ok := moved[place]; ok {
			return there
		}
		return int32(place)
	}
	for t := range drawn {
		j := t + rng.IntN(n-t)
		drawn[t], moved[j] = at(j), at(t)
	}
	slices.Sort(drawn)
	return drawn
}

// kept returns the entries of a list, which may be nil, for which keep is true.
func kept[T any](list []T, keep []bool) (out []T) {
	for i, v := range list {
		if keep[i] {
			out = append(out, v)
		}
	}
	return out
}

// Only returns the tags of the kept rows; tags keep their names and numbers.
func (t *Tags) Only(keep []bool) *Tags {
	if len(keep) != t.Rows() {
		panic("supervision: Tags.Only with the wrong number of rows")
	}
	out := &Tags{Start: []int{0}, Names: t.Names}
	for i, k := range keep {
		if k {
			out.Tag = append(out.Tag, t.Row(i)...)
			out.Start = append(out.Start, len(out.Tag))
		}
	}
	return out
}

// In numbers the classes as in base, so that rows of both can be compared; classes unknown to base come after its own.
func (l *Labels) In(base *Labels) *Labels {
	names, lasting := renumber(l.Names, base.Names)
	return &Labels{renumbered(l.Class, lasting), names}
}

// In numbers the tags as in base; tags unknown to base come after its own.
func (t *Tags) In(base *Tags) *Tags {
	names, lasting := renumber(t.Names, base.Names)
	out := &Tags{t.Start, renumbered(t.Tag, lasting), names}
	for i := range t.Rows() {
		slices.Sort(out.Row(i))
	}
	return out
}

func renumber(own, base []string) (names []string, lasting []int32) {
	var known naming
	for _, name := range base {
		known.number(name)
	}
	lasting = make([]int32, len(own))
	for k, name := range own {
		lasting[k] = known.number(name)
	}
	return known.names, lasting
}

// Used drops the classes and tags that no row has, as parts may have them, and renumbers the others in the same order.
func (s Supervision) Used() Supervision {
	if l := s.Labels; l != nil {
		names, place := usedNames(l.Names, l.Class)
		s.Labels = &Labels{renumbered(l.Class, place), names}
	}
	if t := s.Tags; t != nil {
		names, place := usedNames(t.Names, t.Tag)
		s.Tags = &Tags{t.Start, renumbered(t.Tag, place), names}
	}
	return s
}

// renumbered maps numbers through a table.
func renumbered(numbers, table []int32) []int32 {
	out := make([]int32, len(numbers))
	for i, k := range numbers {
		out[i] = table[k]
	}
	return out
}

// usedNames returns the names that occur among the numbers, and the place of each name among them.
func usedNames(names []string, numbers []int32) (used []string, place []int32) {
	place = make([]int32, len(names))
	for k, n := range tally(numbers, len(names)) {
		place[k] = int32(len(used))
		if n > 0 {
			used = append(used, names[k])
		}
	}
	return used, place
}

// Without keeps the rows of all classes but the named ones, which training must not see.
func (l *Labels) Without(names []string) (keep []bool, err error) {
	hide := make([]bool, len(l.Names))
	for _, name := range names {
		k := slices.Index(l.Names, CanonicalLabel(name))
		if k < 0 {
			return nil, message.New("no-such-class", "no class is named %q; the classes are %s", name, message.List(l.Names))
		}
		hide[k] = true
	}
	keep = make([]bool, len(l.Class))
	for i, k := range l.Class {
		keep[i] = !hide[k]
	}
	return keep, nil
}
