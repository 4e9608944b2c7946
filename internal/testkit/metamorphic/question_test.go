package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"hashgrove"
	"hashgrove/internal/index"
	"hashgrove/internal/vectors"
)

// keptAnswer is an answer that a reader must give again, whatever happened since.
type keptAnswer struct {
	name string
	reader
	search
	want []answer
}

// searchOf is a question as a search, for codes of some bits.
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

// query is one of the queries of a search as the oracle takes it.
func (s search) query(i int) query {
	one := s.part(i, i+1)
	o := one.options
	return query{
		code: one.queries.Row(0), k: s.k, radius: s.radius, margins: o.Margins, rank: o.Rank,
		prefix: o.Prefix, shortlist: o.Shortlist, score: s.score,
	}
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
		if r.questions%len(r.layouts) == i {
			if err := r.relate(ctx, from, s); err != nil {
				return named(x, i, err)
			}
		}
		if q.Keep {
			r.kept = append(r.kept, keptAnswer{fmt.Sprintf("%d (%T)", i, x), from, s, want})
		}
	}
	if most := 2 * len(r.layouts); len(r.kept) > most {
		r.kept = r.kept[len(r.kept)-most:]
	}
	if f, ok := r.facade(); ok && q.Facade && fine {
		return r.askFacade(ctx, f, q, list)
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

// same demands equal answers.
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

// sameItems demands that the items of the first answer are those of the oracle.
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

// sameMatches demands that a filter lets just these items through.
func sameMatches(from reader, f index.Filter, list []index.Item) error {
	ids, err := from.matches(f)
	if err == nil && !slices.EqualFunc(ids, list, func(id index.ID, it index.Item) bool { return id == it.ID }) {
		err = fmt.Errorf("%q lets %d items through, want %d", f, len(ids), len(list))
	}
	return err
}

// askAgain asks readers that were kept.
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

// relate compares answers of a reader with one another, without the oracle: those to more neighbours begin with those to
// fewer, a smaller radius takes the nearer ones of a larger one, and a filter those of all that it lets through.
func (r *runner) relate(ctx context.Context, from reader, s search) error {
	if s.score || s.options.Prefix > 0 || s.queries.Len() == 0 {
		return nil // which items are on a shortlist depends on all of this
	}
	s = s.part(0, 1)
	find := func(k, radius int, f index.Filter) ([]hit, error) {
		t := s
		t.k, t.radius, t.options.Filter = k, radius, f
		answers, _, err := from.find(ctx, t)
		r.questions++
		if err != nil {
			return nil, err
		}
		return answers[0].hits, nil
	}
	radius, k := s.radius, s.k
	if radius == math.MaxInt {
		radius = r.oracle.bits / 3
	}
	if k == math.MaxInt {
		k = 5
	}
	filter := s.options.Filter
	fewer, err1 := find(k, math.MaxInt, filter)
	more, err2 := find(k+1, math.MaxInt, filter)
	near, err3 := find(math.MaxInt, radius, filter)
	nearer, err4 := find(math.MaxInt, radius-1, filter)
	unfiltered, err5 := find(math.MaxInt, radius, index.Filter{})
	ids, err6 := from.matches(filter)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	if len(more) > k+1 || !slices.Equal(fewer, more[:min(k, len(more))]) {
		return fmt.Errorf("%s: the %d nearest do not begin with the %d nearest", s, k+1, k)
	}
	unit, of := 1, func(h hit) int { return h.distance }
	if s.options.Rank == index.ByMargins {
		unit, of = 16, func(h hit) int { return h.margins }
	}
	kept := slices.DeleteFunc(slices.Clone(near), func(h hit) bool { return of(h) > unit*(radius-1) })
	if !slices.Equal(kept, nearer) {
		return fmt.Errorf("%s: within %d there are others than within %d", s, radius-1, radius)
	}
	through := map[index.ID]bool{}
	for _, id := range ids {
		through[id] = true
	}
	unfiltered = slices.DeleteFunc(unfiltered, func(h hit) bool { return !through[h.id] })
	if !slices.Equal(near, unfiltered) {
		return fmt.Errorf("%s: filtering %d hits gives others than searching with the filter", s, len(unfiltered))
	}
	return nil
}

// facade is the file that package hashgrove can open.
func (r *runner) facade() (*file, bool) {
	for _, x := range r.layouts {
		if f, ok := x.(*file); ok && !f.onDisk {
			return f, true
		}
	}
	return nil, false
}

// askFacade asks through package hashgrove: by code and, when the file has a model, by a vector and its margins.
func (r *runner) askFacade(ctx context.Context, f *file, q *question, list []index.Item) error {
	if q.Radius != nil && *q.Radius < 0 || len(q.Queries) == 0 {
		return nil
	}
	s, err := searchOf(q, r.oracle.bits)
	if err != nil {
		return err
	}
	if q.Radius == nil && q.K == 0 {
		s.k = 10
	}
	plain := s.query(0)
	plain.margins, plain.prefix, plain.rank = nil, 0, ""
	asked := hashgrove.Query{K: q.K, Radius: q.Radius, Where: q.Where}
	if plain.score {
		asked.Shortlist = q.Shortlist
		asked.Score = func(id string) (float64, error) { return scoreOf(index.Text(id)), nil }
	}
	byCode := asked
	byCode.Code = sized(r.oracle.bits, plain.code).AppendBytes(nil, 0)
	return f.askFacade(ctx, func(ix *hashgrove.Index) error {
		if err := r.find(ctx, ix, byCode, plain, list); err != nil || r.model == nil {
			return err
		}
		vector := vectorOf(index.Int(int64(q.K)))
		margins, err := r.model.Margins(ctx, imaginedRow(vector), 1)
		if err != nil {
			return err
		}
		weighed := plain
		if weighed.code, err = r.model.EncodeRow(vector); err != nil {
			return err
		}
		weighed.margins, weighed.rank = margins.Data, index.ByMargins
		asked.Vector, asked.Margins = vector, true
		return r.find(ctx, ix, asked, weighed, list)
	})
}

// find compares an answer of package hashgrove.
func (r *runner) find(
	ctx context.Context, ix *hashgrove.Index, asked hashgrove.Query, q query, list []index.Item,
) error {
	found, err := ix.Find(ctx, asked)
	if err != nil {
		return fmt.Errorf("package hashgrove: %w", err)
	}
	r.questions++
	got, want := answer{tied: -1}, r.oracle.answer(q, list)
	for _, h := range found {
		got.hits = append(got.hits, hit{index.Text(h.ID), h.Distance, h.MarginDistance, h.Score})
		if it := r.oracle.items[index.Text(h.ID)]; h.Label != it.Label || !slices.Equal(h.Tags, it.Tags) {
			return fmt.Errorf("package hashgrove has %+v, want %+v", h, it)
		}
	}
	if !got.equals(want) {
		return fmt.Errorf("package hashgrove, margins %t: got %v\nwant %v", asked.Margins, got.hits, want.hits)
	}
	return nil
}

// imaginedRow is a matrix of one vector.
func imaginedRow(x []float32) vectors.Matrix { return vectors.Matrix{Rows: 1, Cols: len(x), Data: x} }
