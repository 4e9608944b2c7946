package metamorphic

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

// keptAnswer is an answer that a reader must give again, whatever happened since.
type keptAnswer struct {
	name string
	reader
	search
	want []answer
}

// searchOf returns a question as a search for codes of some bits.
func searchOf(q *question, bits int) (search, error) {
	f, err := index.Parse(q.Where)
	s := search{queries: codesOf(q.Queries, bits), k: q.K, radius: math.MaxInt, score: q.Score}
	s.options = index.Options{
		Filter: f, Prefix: min(q.Prefix, bits), Shortlist: q.Shortlist, Rank: q.Rank,
		Margins: marginsOf(q.Margins, s.queries.Len(), bits),
	}
	if q.Radius != nil {
		if s.radius = *q.Radius; s.k == 0 {
			s.k = math.MaxInt
		}
	}
	return s, err
}

// query returns one query of a search in the oracle's form.
func (s search) query(i int) searchtest.Question {
	one := s.part(i, i+1)
	o := one.options
	q := searchtest.Question{
		Code: one.queries.Row(0), K: s.k, Radius: s.radius, Margins: o.Margins, ByMargins: o.Rank == index.ByMargins,
		Prefix: o.Prefix, Shortlist: o.Shortlist,
	}
	if s.score {
		q.Score = scoreOf
	}
	return q
}

// ask asks all layouts in every way.
func (r *runner) ask(ctx context.Context, q *question) error {
	s, err := searchOf(q, r.oracle.bits)
	if err != nil {
		return err
	}
	list, fine := r.oracle.matching(s.options.Filter)
	var want []answer
	for i := range s.queries.Len() {
		want = append(want, r.oracle.answer(s.query(i), list))
	}
	for i, x := range r.layouts {
		from, err := x.read(ctx, s.options.Filter)
		if err != nil {
			return named(x, i, err)
		}
		if !fine {
			r.questions++
			if _, _, err := from.find(ctx, s); !refused(err) {
				return named(x, i, fmt.Errorf("the filter %s should be refused: %v", q.Where, err))
			}
			continue
		}
		if err := r.askInEveryWay(ctx, from, s, want); err != nil {
			return named(x, i, err)
		}
		if err := sameMatches(from, s.options.Filter, list); err != nil {
			return named(x, i, err)
		}
		if q.Keep {
			r.kept = append(r.kept, keptAnswer{fmt.Sprintf("%d (%T)", i, x), from, s, want})
		}
	}
	if most := 2 * len(r.layouts); len(r.kept) > most {
		r.kept = r.kept[len(r.kept)-most:]
	}
	return nil
}

// askInEveryWay asks a reader with every method and number of threads, all queries at once and one by one.
func (r *runner) askInEveryWay(ctx context.Context, from reader, s search, want []answer) error {
	for _, method := range []index.Method{"", index.Scan, index.Tables, index.List} {
		for _, threads := range []int{1, 2, 7} {
			s.options.Method, s.options.Threads, s.options.Ties = method, threads, threads != 2
			s.items = method == "" && threads == 1
			got, items, err := from.find(ctx, s)
			if err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
			r.questions += len(want)
			if err := same(s, got, want); err != nil {
				return err
			}
			if s.items {
				if err := r.sameItems(items, want); err != nil {
					return fmt.Errorf("%s: %w", s, err)
				}
			}
		}
		for i := range want {
			if len(want) == 1 || i >= 3 {
				break
			}
			one, _, err := from.find(ctx, s.part(i, i+1))
			if err != nil {
				return err
			}
			r.questions++
			if err := same(s.part(i, i+1), one, want[i:i+1]); err != nil {
				return fmt.Errorf("query %d alone: %w", i, err)
			}
		}
	}
	return nil
}

// String says how something was searched for.
func (s search) String() string {
	o := s.options
	text := fmt.Sprintf("method %q, %d threads, k %d, prefix %d, shortlist %d, rank %q, margins %t, score %t, where %q",
		o.Method, o.Threads, s.k, o.Prefix, o.Shortlist, o.Rank, o.Margins != nil, s.score, o.Filter)
	if s.radius != math.MaxInt {
		text += fmt.Sprintf(", radius %d", s.radius)
	}
	return text
}

// same returns an error if answers differ.
func same(how search, got, want []answer) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d answers to %d queries", how, len(got), len(want))
	}
	for i := range want {
		if got[i].equals(want[i]) {
			continue
		}
		n := 0
		for n < min(len(got[i].hits), len(want[i].hits)) && got[i].hits[n] == want[i].hits[n] {
			n++
		}
		return fmt.Errorf("%s, query %d: %d hits and %d tied, want %d and %d; they differ from hit %d on:\n got %v\nwant %v",
			how, i, len(got[i].hits), got[i].tied, len(want[i].hits), want[i].tied, n, some(got[i].hits, n), some(want[i].hits, n))
	}
	return nil
}

// some is a few hits from one on.
func some(hits []hit, from int) []hit { return hits[from:min(from+5, len(hits))] }

// sameItems checks that the items of the first answer are those of the oracle.
func (r *runner) sameItems(items []index.Item, want []answer) error {
	if len(want) == 0 {
		return nil
	}
	if len(items) != len(want[0].hits) {
		return fmt.Errorf("%d items for %d hits", len(items), len(want[0].hits))
	}
	for i, h := range want[0].hits {
		if have, should := items[i], r.oracle.items[h.id]; !sameItem(have, should) {
			return fmt.Errorf("the item is %+v, want %+v", have, should)
		}
	}
	return nil
}

func sameItem(a, b index.Item) bool {
	return a.ID == b.ID && slices.Equal(a.Code, b.Code) && a.Label == b.Label && slices.Equal(a.Tags, b.Tags) &&
		len(a.Attributes) == len(b.Attributes) &&
		(len(a.Attributes) == 0 || reflect.DeepEqual(a.Attributes, b.Attributes))
}

// sameMatches checks that a filter lets through exactly these items.
func sameMatches(from reader, f index.Filter, list []index.Item) error {
	ids, err := from.matches(f)
	if err == nil && !slices.EqualFunc(ids, list, func(id index.ID, it index.Item) bool { return id == it.ID }) {
		err = fmt.Errorf("%q lets %d items through, want %d", f, len(ids), len(list))
	}
	return err
}

// askAgain asks kept readers again.
func (r *runner) askAgain(ctx context.Context) error {
	for _, k := range r.kept {
		got, _, err := k.find(ctx, k.search)
		r.questions += len(k.want)
		if err == nil {
			for i := range got {
				got[i].tied = -1 // was not counted
			}
			err = same(k.search, got, k.want)
		}
		if err != nil {
			return fmt.Errorf("layout %s as it was before: %w", k.name, err)
		}
	}
	return nil
}
