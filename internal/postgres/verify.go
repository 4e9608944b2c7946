package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/search"
)

// Verification is the outcome of Verify.
type Verification = hashgrove.Verification

// Verify compares a table with the items that were pushed, bit by bit, and its answers to a few hundred searches with
// those of an exact index of all that it holds: the nearest items and all within a radius, with and without filters.
// The error names the first difference; pgvector may miss items.
func (t *Table) Verify(ctx context.Context, s index.Source) (v Verification, err error) {
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
				return message.New("table-differs", "item %q was written but is not in the table: did someone remove it?",
					id.Short())
			}
			if what := difference(b.Item(i), it); what != "" {
				return message.New("table-differs", "item %q came back with a different %s than was written", id.Short(), what)
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
	theirs, err := NewSearcher(ctx, t, nil)
	if err != nil {
		return err
	}
	queries, err := queriesFrom(exact)
	if err != nil {
		return err
	}
	ours := &search.Items{Snapshot: exact}
	hits, found := 0, 0
	for _, f := range append([]index.Filter{{}}, usualFilters(exact)...) {
		for _, o := range []api.Options{{K: new(10)}, {K: new(1000), Radius: new(exact.Bits() / 8)}} {
			o.Where, o.Rank, o.Fields = f.String(), api.Hamming, []string{}
			r := &api.Request{Queries: queries, Options: o}
			want, err := ours.Search(ctx, r)
			if err != nil {
				return err
			}
			got, err := theirs.Search(ctx, r)
			if err != nil {
				return err
			}
			for i := range queries {
				a, b := got.Results[i].Hits, want.Results[i].Hits
				v.Answers++
				if slices.EqualFunc(a, b, sameHit) {
					v.Same++
				} else if strict || o.Radius != nil {
					return message.New("table-differs", "%s answers otherwise than the exact index: %d hits instead of %d "+
						"for query %d where %q", t.items(), len(a), len(b), i, o.Where)
				}
				if n := len(b); n > 0 && o.Radius == nil {
					hits += n
					for _, h := range a {
						if h.Ranked() <= b[n-1].Ranked() {
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

func sameHit(a, b api.Hit) bool { return a.ID == b.ID && a.Ranked() == b.Ranked() }

// queriesFrom takes some codes of an index and flips a bit or two.
func queriesFrom(x *index.Snapshot) ([]api.Query, error) {
	hits, err := x.Matches(index.Filter{})
	codes := hamming.NewCodes(1, x.Bits())
	queries := make([]api.Query, min(40, len(hits)))
	for i := range queries {
		copy(codes.Row(0), x.Item(hits[i*len(hits)/len(queries)]).Code)
		for b := range i % 3 {
			bit := (i*31 + b*17) % x.Bits()
			codes.SetBit(0, bit, !codes.Bit(0, bit))
		}
		queries[i].PackedCode = codes.AppendBytes(nil, 0)
	}
	return queries, err
}

// usualFilters builds filters that match some items: by the most frequent label and tag, by their absence, and by the
// first few attributes.
func usualFilters(s *index.Snapshot) []index.Filter {
	var list []index.Filter
	add := func(format, name string, value any) {
		name = "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`", "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(name) + "`"
		if f, err := index.Parse(fmt.Sprintf(format, name, value)); err == nil && s.CheckFilter(f) == nil {
			list = append(list, f)
		}
	}
	attributes := s.Attributes()
	names := []string{index.LabelName, index.TagName}
	for _, a := range attributes[:min(5, len(attributes))] {
		names = append(names, a.Name)
	}
	for _, name := range names {
		f := s.Facet(name, index.Filter{}, 1, 1)
		if len(f.Texts) > 0 {
			add("%s = %v", name, index.String(f.Texts[0].Text))
			add("not %s > %v", name, index.String(f.Texts[0].Text))
		} else if name != index.LabelName && name != index.TagName {
			add("%s <= %v", name, index.Number(f.Min+float64((f.Max-f.Min)/2)))
		}
	}
	return list
}
