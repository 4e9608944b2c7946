package metamorphic

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"hashgrove/internal/index"
)

// shrinker makes a failing sequence as small as possible: it leaves out steps (half of them, a quarter, ... one), then
// simplifies the arguments of the others, and starts again while that helps.
type shrinker struct {
	fails func(sequence) bool
	until time.Time // then the best so far is good enough
	best  sequence
	runs  int
}

// shrink returns the smallest sequence found that fails.
func shrink(s sequence, limit time.Duration, fails func(sequence) bool) sequence {
	x := &shrinker{fails: fails, until: time.Now().Add(limit), best: s}
	for again := true; again && time.Now().Before(x.until); {
		reduced(x.best.Steps, func(list []step) bool { return x.try(sequence{x.best.Bits, list}) })
		again = x.simplify()
		again = x.narrow() || again
	}
	return x.best
}

// try reports whether a sequence fails too, and if so makes it the best.
func (x *shrinker) try(s sequence) bool {
	if time.Now().After(x.until) {
		return false
	}
	x.runs++
	if !x.fails(s) {
		return false
	}
	x.best = s
	return true
}

// narrow tries codes of fewer bits.
func (x *shrinker) narrow() bool {
	for _, bits := range widths {
		if bits < x.best.Bits && x.try(sequence{bits, x.best.Steps}) {
			return true
		}
	}
	return false
}

// simplify simplifies the arguments of steps while it can.
func (x *shrinker) simplify() bool {
	helped := false
	for i := 0; i < len(x.best.Steps); i++ {
		for again := true; again; {
			again = false
			for _, simpler := range simplerSteps(x.best.Steps[i], x.best.Bits) {
				if reflect.DeepEqual(simpler, x.best.Steps[i]) {
					continue // or this would never end
				}
				steps := slices.Clone(x.best.Steps)
				steps[i] = simpler
				if x.try(sequence{x.best.Bits, steps}) {
					again, helped = true, true
					break
				}
			}
		}
	}
	return helped
}

// reduced removes elements from a failing list while the rest still fails.
func reduced[T any](list []T, fails func([]T) bool) []T {
	for size := len(list); size > 0; size /= 2 {
		for lo := 0; lo < len(list); {
			rest := slices.Concat(list[:lo], list[min(lo+size, len(list)):])
			if fails(rest) {
				list = rest
			} else {
				lo += size
			}
		}
	}
	return list
}

// shorter returns the list without a half, a quarter or an eighth of it, and without single elements if they are few.
func shorter[T any](list []T) [][]T {
	n := len(list)
	if n < 2 {
		return nil
	}
	var all [][]T
	for _, size := range []int{(n + 1) / 2, (n + 3) / 4, (n + 7) / 8, 1} {
		for lo := 0; lo < n && (size > 1 || n <= 40); lo += size {
			all = append(all, slices.Concat(list[:lo], list[min(lo+size, n):]))
		}
	}
	return all
}

// simplerSteps returns steps that do less, the simplest first.
func simplerSteps(s step, bits int) []step {
	var list []step
	with := func(change func(*step)) {
		simpler := s
		change(&simpler)
		list = append(list, simpler)
	}
	if s.Bulk != nil {
		with(func(s *step) { s.Bulk = nil })
		for n := s.Bulk.Items; n > 1 && n > s.Bulk.Items/16; n /= 2 {
			with(func(s *step) { s.Bulk = &bulk{n / 2, s.Bulk.Seed} })
		}
		if n := s.Bulk.Items; n > 1 {
			with(func(s *step) { s.Bulk = &bulk{n - 1, s.Bulk.Seed} })
		}
		if s.Bulk.Items <= 40 { // few enough to write out
			with(func(s *step) { s.Items, s.Bulk = append(slices.Clip(s.Items), s.Bulk.items(bits)...), nil })
		}
	}
	for _, items := range shorter(s.Items) {
		with(func(s *step) { s.Items = items })
	}
	for _, ids := range shorter(s.IDs) {
		with(func(s *step) { s.IDs = ids })
	}
	for _, where := range simplerFilters(s.Where) {
		with(func(s *step) { s.Where = where })
	}
	if s.Apart || s.Replace || s.From > 0 || s.Tables != 0 || s.Parts > 1 {
		with(func(s *step) { s.Apart, s.Replace, s.From, s.Tables, s.Parts = false, false, 0, 0, min(s.Parts, 1) })
		with(func(s *step) { s.Apart = false })
		with(func(s *step) { s.Tables = 0 })
	}
	for i, it := range s.Items {
		if len(s.Items) > 8 {
			break
		}
		for _, simpler := range simplerItems(it) {
			with(func(s *step) { s.Items = slices.Clone(s.Items); s.Items[i] = simpler })
		}
	}
	if s.Ask != nil {
		for _, q := range simplerQuestions(*s.Ask) {
			with(func(s *step) { s.Ask = &q })
		}
	}
	return list
}

// simplerItems returns items with fewer details.
func simplerItems(it item) []item {
	var list []item
	if it.Label != "" || it.Tags != nil || it.Attributes != nil {
		list = append(list, item{ID: it.ID, Code: it.Code})
	}
	if it.Label != "" {
		list = append(list, item{it.ID, it.Code, "", it.Tags, it.Attributes})
	}
	if it.Tags != nil {
		list = append(list, item{it.ID, it.Code, it.Label, nil, it.Attributes})
	}
	for name := range it.Attributes {
		fewer := maps.Clone(it.Attributes)
		if delete(fewer, name); len(fewer) == 0 {
			fewer = nil
		}
		list = append(list, item{it.ID, it.Code, it.Label, it.Tags, fewer})
	}
	if n, ok := it.ID.Integer(); !ok || n > 9 || n < 0 {
		for n := range int64(4) {
			list = append(list, item{index.Int(n), it.Code, it.Label, it.Tags, it.Attributes})
		}
	}
	for _, c := range simplerCodes(it.Code) {
		list = append(list, item{it.ID, c, it.Label, it.Tags, it.Attributes})
	}
	return list
}

// simplerCodes returns zeros, and the code with fewer words or ones.
func simplerCodes(c code) []code {
	last := len(c)
	for last > 0 && c[last-1] == 0 {
		last--
	}
	if last == 0 {
		return nil
	}
	list := []code{{}, c[:last-1]}
	for _, mask := range []uint64{0xffffffff << 32, 0xffff << 48, 0xff << 56} {
		fewer := slices.Clone(c[:last])
		if fewer[last-1] &= mask; !slices.Equal(fewer, c[:last]) {
			list = append(list, fewer)
		}
	}
	if fewer := slices.Clone(c[:last]); fewer[last-1]&(fewer[last-1]-1) != 0 || last > 1 {
		fewer[last-1] &= fewer[last-1] - 1
		list = append(list, fewer)
	}
	return list
}

// simplerFilters returns no filter, and the parts of this one.
func simplerFilters(where string) []string {
	f, err := index.Parse(where)
	c, filters := f.Condition()
	if err != nil || !filters {
		return nil
	}
	list := []string{""}
	for _, part := range c.Parts {
		list = append(list, written(part))
	}
	return list
}

// simplerQuestions returns questions that ask for less.
func simplerQuestions(q question) []question {
	var list []question
	with := func(change func(*question)) {
		simpler := q
		change(&simpler)
		list = append(list, simpler)
	}
	for i := range q.Queries {
		if len(q.Queries) > 1 {
			with(func(q *question) {
				q.Queries = q.Queries[i : i+1]
				if q.Margins != nil {
					q.Margins = q.Margins[i : i+1]
				}
			})
		}
	}
	for _, queries := range shorter(q.Queries) {
		if q.Margins == nil {
			with(func(q *question) { q.Queries = queries })
		}
	}
	for i, c := range q.Queries {
		for _, simpler := range simplerCodes(c) {
			with(func(q *question) { q.Queries = slices.Clone(q.Queries); q.Queries[i] = simpler })
		}
	}
	for _, where := range simplerFilters(q.Where) {
		with(func(q *question) { q.Where = where })
	}
	if q.Margins != nil {
		with(func(q *question) { q.Margins, q.Rank = nil, "" })
		with(func(q *question) { q.Rank = "" })
	}
	if q.Prefix+q.Shortlist > 0 {
		with(func(q *question) { q.Prefix, q.Shortlist = 0, 0 })
		with(func(q *question) { q.Shortlist = 0 })
	}
	if q.Radius != nil {
		with(func(q *question) { q.Radius = nil })
		for _, r := range []int{0, 1, 2} {
			if *q.Radius > r {
				with(func(q *question) { q.Radius = &r })
			}
		}
	}
	if q.Score || q.Keep {
		with(func(q *question) { q.Score, q.Keep = false, false })
		with(func(q *question) { q.Score = false })
		with(func(q *question) { q.Keep = false })
	}
	for _, k := range []int{1, 2, 3, 10} {
		if q.K > k {
			with(func(q *question) { q.K = k })
		}
	}
	return list
}

// written returns a condition in the filter language, so that part of a filter can stand alone.
func written(c index.Condition) string {
	switch c.Op {
	case "and", "or":
		return "(" + written(c.Parts[0]) + " " + c.Op + " " + written(c.Parts[1]) + ")"
	case "not":
		return "not (" + written(c.Parts[0]) + ")"
	case "has":
		return "has " + c.Name
	case "between":
		return c.Name + " between " + c.Values[0].String() + " and " + c.Values[1].String()
	case "in":
		var list []string
		for _, v := range c.Values {
			list = append(list, v.String())
		}
		return c.Name + " in (" + strings.Join(list, ", ") + ")"
	}
	return c.Name + " " + c.Op + " " + c.Values[0].String()
}
