package searchtest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"hashgrove/api"
)

// faults are searchers that do one thing wrong.
var faults = map[string]func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error){
	"items at the same distance come with the last id first": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		return changed(ctx, o, r, func(result *api.Result) {
			slices.Reverse(result.Hits)
			slices.SortStableFunc(result.Hits, func(a, b api.Hit) int { return a.Ranked() - b.Ranked() })
		})
	},
	"a filter is applied to the k nearest, and not before": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		asked := *r
		asked.K, asked.Radius, asked.Rerank = new(1000), nil, ""
		through, err := o.Search(ctx, &asked)
		if err != nil {
			return nil, err
		}
		asked = *r
		asked.Where = ""
		at := 0
		return changed(ctx, o, &asked, func(result *api.Result) {
			result.Hits = slices.DeleteFunc(result.Hits, func(h api.Hit) bool {
				return !slices.ContainsFunc(through.Results[at].Hits, func(x api.Hit) bool { return x.ID == h.ID })
			})
			at++
		})
	},
	"one of several queries gets the answer to another": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		a, err := o.Search(ctx, r)
		if err == nil && len(a.Results) > 1 {
			a.Results[1].Hits = a.Results[0].Hits
		}
		return a, err
	},
	"a radius is not inclusive": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		return changed(ctx, o, r, func(result *api.Result) {
			result.Hits = slices.DeleteFunc(result.Hits, func(h api.Hit) bool {
				return r.Radius != nil && h.Distance == *r.Radius
			})
		})
	},
	"the last of many hits is lost": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		return changed(ctx, o, r, func(result *api.Result) { result.Hits = result.Hits[:min(len(result.Hits), 90)] })
	},
	"no hits are an empty answer": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		if r.K != nil && *r.K == 0 {
			return &api.Answer{}, nil
		}
		return o.Search(ctx, r)
	},
	"ties are not counted": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		return changed(ctx, o, r, func(result *api.Result) { result.Tied = result.TiedHits })
	},
	"bits of detail count as much as the others": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		return changed(ctx, o, r, func(result *api.Result) {
			slices.SortStableFunc(result.Hits, func(a, b api.Hit) int {
				return a.Distance + *a.DetailDistance - b.Distance - *b.DetailDistance
			})
		})
	},
	"bits of detail do not count": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		return changed(ctx, o, r, func(result *api.Result) {
			slices.SortStableFunc(result.Hits, func(a, b api.Hit) int { return a.Distance - b.Distance })
		})
	},
	"the model's choice is not asked for": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		asked := *r
		if r.Rank == "" || r.Rank == api.Auto {
			asked.Rank = api.Hamming
		}
		return o.Search(ctx, &asked)
	},
	"fields are ignored": func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error) {
		asked := *r
		asked.Fields = nil
		return o.Search(ctx, &asked)
	},
}

// changed is an answer of the oracle with every result changed.
func changed(ctx context.Context, o Oracle, r *api.Request, change func(*api.Result)) (*api.Answer, error) {
	a, err := o.Search(ctx, r)
	if err == nil {
		for i := range a.Results {
			change(&a.Results[i])
		}
	}
	return a, err
}

// faulty is a searcher with a fault.
type faulty struct {
	oracle Oracle
	search func(ctx context.Context, o Oracle, r *api.Request) (*api.Answer, error)
}

func (f faulty) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	return f.search(ctx, f.oracle, r)
}

// found stops a suite that found a fault.
type found struct{ text string }

// catcher takes the failures of a suite.
type catcher struct{ testing.TB }

func (c catcher) Errorf(format string, args ...any) { panic(found{fmt.Sprintf(format, args...)}) }
func (c catcher) Fatalf(format string, args ...any) { panic(found{fmt.Sprintf(format, args...)}) }

// TestFaultsAreFound: the suite fails searchers that do one thing wrong.
func TestFaultsAreFound(t *testing.T) {
	for name, search := range faults {
		t.Run(name, func(t *testing.T) {
			s := newSuite(catcher{t}, NewWorld(Size{Items: 300, Bits: 96, Detail: 32, Rank: api.Expected}, 1), Everything, 1)
			s.searcher = faulty{s.oracle, search}
			defer func() {
				f, ok := recover().(found)
				if !ok {
					t.Error("the suite found nothing")
				}
				t.Log(f.text)
			}()
			s.run()
		})
	}
}
