package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Verification is the outcome of Verify.
type Verification struct {
	Items   int     `json:"items"`   // found in the table as they were pushed
	Answers int     `json:"answers"` // compared with those of an exact index
	Same    int     `json:"same"`    // of these
	Recall  float64 `json:"recall"`  // of the nearest items; one at the same distance counts
}

// Verify compares a table with the items that were pushed, bit by bit, and its answers to a few hundred searches with
// those of an exact index of all that it holds: the nearest items and all within a radius, with and without filters.
// The error names the first difference; pgvector may miss items.
func (t *Table) Verify(ctx context.Context, s Source) (v Verification, err error) {
	info, err := t.Info(ctx)
	if err != nil {
		return v, err
	}
	all := index.NewBatch(info.Bits)
	all.Fingerprint = info.Fingerprint
	err = t.Read(ctx, index.Filter{}, func(b *index.Batch) error {
		for i := range b.IDs {
			all.Append(b.Item(i))
		}
		return nil
	})
	if err != nil {
		return v, err
	}
	x := index.New(info.Bits, info.Fingerprint, index.Config{})
	if err := x.Add(ctx, all); err != nil {
		return v, err
	}
	exact := x.Snapshot()
	err = s.Each(ctx, func(b *index.Batch) error {
		for i, id := range b.IDs {
			it, there := exact.Get(id)
			if !there {
				return fault.New("table-differs", "item %q was written but is not in the table: did someone remove it?",
					shortened(id))
			}
			if what := difference(b.Item(i), it); what != "" {
				return fault.New("table-differs", "item %q came back with a different %s than was written", shortened(id), what)
			}
			v.Items++
		}
		return nil
	})
	if err != nil || exact.Len() == 0 {
		return v, err
	}
	return v, t.verifyAnswers(ctx, exact, info.Exact, &v)
}

// difference names what two items differ in, or returns "". The order and repetition of tags do not matter.
func difference(a, b index.Item) string {
	tags := func(it index.Item) []string { return slices.Compact(slices.Sorted(slices.Values(it.Tags))) }
	switch {
	case !slices.Equal(a.Code, b.Code):
		return "code"
	case a.Label != b.Label:
		return "label"
	case !slices.Equal(tags(a), tags(b)):
		return "list of tags"
	case !maps.Equal(a.Attributes, b.Attributes):
		return "set of attributes"
	}
	return ""
}

// verifyAnswers compares answers with those of an exact index.
func (t *Table) verifyAnswers(ctx context.Context, exact *index.Snapshot, strict bool, v *Verification) error {
	const nearest, within = 10, 1000 // hits
	codes, err := queriesFrom(exact)
	if err != nil {
		return err
	}
	hits, found := 0, 0
	for _, f := range append([]index.Filter{{}}, usualFilters(exact)...) {
		for _, q := range []Query{
			{Codes: codes, K: nearest, Radius: -1, Filter: f}, {Codes: codes, K: within, Radius: exact.Bits() / 8, Filter: f},
		} {
			want, err := exactHits(ctx, exact, q)
			if err != nil {
				return err
			}
			got, err := t.Search(ctx, q)
			if err != nil {
				return err
			}
			for i := range want {
				v.Answers++
				if slices.Equal(got[i], want[i]) {
					v.Same++
				} else if strict || q.Radius >= 0 {
					return fault.New("table-differs", "%s answers otherwise than the exact index: %d hits instead of %d "+
						"for code %d where %q", t.items(), len(got[i]), len(want[i]), i, f.String())
				}
				if n := len(want[i]); n > 0 && q.Radius < 0 {
					hits += n
					for _, h := range got[i] {
						if ranked(h) <= ranked(want[i][n-1]) {
							found++
						}
					}
				}
			}
		}
	}
	v.Recall = float64(found) / float64(max(hits, 1))
	return nil
}

// ranked returns the distance by which a hit is ranked.
func ranked(h index.Hit) int { return max(h.Distance, h.MarginDistance) }

// exactHits answers a query from an exact index.
func exactHits(ctx context.Context, s *index.Snapshot, q Query) ([][]index.Hit, error) {
	var results []index.Result
	var err error
	if o := (index.Options{Filter: q.Filter, Limit: q.K}); q.Radius >= 0 {
		results, err = s.WithinBatch(ctx, q.Codes, q.Radius, o)
	} else {
		results, err = s.SearchBatch(ctx, q.Codes, q.K, o)
	}
	hits := make([][]index.Hit, len(results))
	for i, r := range results {
		for _, h := range r.Hits {
			hits[i] = append(hits[i], index.Hit{
				ID: h.ID, Distance: h.Distance, DetailDistance: h.DetailDistance, MarginDistance: h.MarginDistance,
			})
		}
	}
	return hits, err
}

// queriesFrom takes some codes of an index and flips a bit or two.
func queriesFrom(x *index.Snapshot) (hamming.Codes, error) {
	hits, err := x.Matches(index.Filter{})
	n := min(40, len(hits))
	codes := hamming.NewCodes(n, x.Bits())
	for i := range n {
		copy(codes.Row(i), x.Item(hits[i*len(hits)/n]).Code)
		for b := range i % 3 {
			bit := (i*31 + b*17) % x.Bits()
			codes.SetBit(i, bit, !codes.Bit(i, bit))
		}
	}
	return codes, err
}

// usualFilters builds filters that match some items: by the most frequent label and tag, by their absence, and by
// the first few attributes.
func usualFilters(s *index.Snapshot) []index.Filter {
	var list []index.Filter
	add := func(format string, args ...any) {
		if f, err := index.Parse(fmt.Sprintf(format, args...)); err == nil && s.CheckFilter(f) == nil {
			list = append(list, f)
		}
	}
	top := func(name string) (index.Value, bool) {
		if f := s.Facet(name, index.Filter{}, 1, 1); len(f.Texts) > 0 {
			return index.String(f.Texts[0].Text), true
		}
		return index.Value{}, false
	}
	for _, name := range []string{index.LabelName, index.TagName} {
		if v, ok := top(name); ok {
			add("%s = %v", name, v)
			add("not %s > %v", name, v)
		}
	}
	const few = 5
	attributes := s.Attributes()
	for _, a := range attributes[:min(few, len(attributes))] {
		name := "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`", "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(a.Name) + "`"
		if a.Kind&index.NumberKind != 0 {
			f := s.Facet(a.Name, index.Filter{}, 0, 1)
			add("%s <= %v", name, index.Number(f.Min+float64((f.Max-f.Min)/2)))
		}
		if v, ok := top(a.Name); ok {
			add("%s = %v", name, v)
		}
	}
	return list
}
