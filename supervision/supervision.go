package supervision

import (
	"errors"
	"fmt"
	"slices"

	"hashgrove/affinity"
)

// Pair says that rows A and B are similar (Y = +1), dissimilar (-1) or that nobody knows (0).
type Pair = affinity.Pair

// Supervision says which rows are similar. Where it has several answers, pairs come before classes and classes before
// tags.
type Supervision struct {
	Labels *Labels // nil when the rows have none
	Tags   *Tags   // nil when the rows have none
	Pairs  []Pair  // nil when there are none

	MinShared int // tags that similar rows have in common at least; 0 means 2
}

// The kinds of supervision, as models record them.
const (
	ByClasses = "classes"
	ByTags    = "tags"
	ByPairs   = "pairs"
)

// Kind tells what similarity comes from: ByClasses, ByTags, ByPairs, or "" when nothing is known.
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

// ErrNone is the error of data that nothing is known about.
var ErrNone = errors.New("no labels, tags or pairs: nothing says which rows are similar")

// Affinity is Y of the given number of rows.
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

// Only is the supervision of the kept rows. Pairs stay when both their rows do.
func (s *Supervision) Only(keep []bool) Supervision {
	out := Supervision{MinShared: s.MinShared}
	if s.Labels != nil {
		out.Labels = s.Labels.Only(keep)
	}
	if s.Tags != nil {
		out.Tags = s.Tags.Only(keep)
	}
	if s.Pairs != nil {
		out.Pairs = PairsBetween(s.Pairs, keep, keep)
	}
	return out
}

// In is the supervision with the classes and tags numbered as the base does, so that rows of both can be compared.
func (s Supervision) In(base *Supervision) Supervision {
	if s.Labels != nil && base.Labels != nil {
		s.Labels = s.Labels.In(base.Labels)
	}
	if s.Tags != nil && base.Tags != nil {
		s.Tags = s.Tags.In(base.Tags)
	}
	return s
}

// PairsBetween is the pairs of a row of part a and a row of part b, numbered within their parts.
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

// check reports pairs that name rows outside of the data.
func (s *Supervision) check(rows int) error {
	for k, p := range s.Pairs {
		if p.A < 0 || p.B < 0 || int(p.A) >= rows || int(p.B) >= rows {
			return fmt.Errorf("pair %d names rows %d and %d, outside of 0 to %d", k, p.A, p.B, rows-1)
		}
	}
	return nil
}

// trainable says why no code can be learned from this, or nil.
func (s *Supervision) trainable() error {
	switch s.Kind() {
	case ByPairs:
		for _, p := range s.Pairs {
			if p.Y < 0 {
				return nil
			}
		}
		return errors.New("no pair is dissimilar, so all rows would get the same code: mark such pairs with dissimilar or -1 (0 means unknown)")
	case ByClasses:
		return s.Labels.trainable()
	case ByTags:
		return s.Tags.trainable()
	}
	return ErrNone
}
