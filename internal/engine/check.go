package engine

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// A check puts the same queries to an engine and to an exact index of the same items, each as an api.Searcher.
//
//	contents   read every item from the engine, compare it with the index
//	searches   k nearest; all within a radius; both with every filter
//	           equal in full, or: what differs, and why (check_cause.go)

// CheckOptions choose the searches of a check.
type CheckOptions struct {
	Queries  hamming.Codes
	K        int // hits per search; 0 means 10
	Radius   int // of searches within a radius; negative means the median distance of the k-th hits
	Filters  []index.Filter
	Answers  int                   // to keep in the report per search, differing ones first
	Read     func(done, total int) // items compared; may be nil
	Progress func(done, total int) // searches; may be nil; first with none done
}

// Causes of differences.
const (
	CauseMissing  = "missing item"    // only in the index
	CauseExtra    = "unknown item"    // only in the engine
	CauseCode     = "other code"      // the codes differ
	CauseBitOrder = "bit order"       // the codes have the same bits in another order
	CauseDetails  = "other details"   // label, tags or attributes of the item differ
	CauseTies     = "tie order"       // tied items come in another order, or different ones are cut off
	CauseApprox   = "approximation"   // a nearer item was not found
	CauseFilter   = "filter"          // the engine filters differently, or cannot
	CauseDistance = "wrong distance"  // although the code is right
	CauseOrder    = "order"           // hits are not ordered by distance
	CauseRadius   = "radius"          // an item at or beyond the edge of the radius is treated differently
	CauseRefusal  = "refused by ours" // our index refuses the filter, because no item can match it
)

// Difference is a disagreement between the engine and the index.
type Difference struct {
	Cause  string `json:"cause"`
	Search string `json:"search,omitempty"` // "" means the contents
	Query  int    `json:"query"`
	ID     string `json:"id,omitempty"`
	Text   string `json:"text"`
}

// SearchReport is the outcome of one kind of search.
type SearchReport struct {
	Search  string  `json:"search"`
	Queries int     `json:"queries"`
	Hits    int     `json:"hits"`    // of the exact index
	Recall  float64 `json:"recall"`  // share of hits the engine also has; an item at the same distance counts
	Same    int     `json:"same"`    // queries with the same hits in the same order
	Ties    int     `json:"ties"`    // queries that differ only in the order or choice of ties
	Differ  int     `json:"differ"`  // the others
	Tied    int     `json:"tied"`    // queries with a tie cut off at k, so that the order of ids decides
	Refused string  `json:"refused"` // why there is no outcome, if so
}

// Answer holds both answers to one query, for display.
type Answer struct {
	Search  string
	Query   int
	Outcome string // "same", "ties" or "differ", as SearchReport counts it
	Ours    []api.Hit
	Theirs  []api.Hit
}

// answerHits limits the hits kept per answer.
const answerHits = 20

// CheckReport is the outcome of a check.
type CheckReport struct {
	Engine      string         `json:"engine"`
	Table       string         `json:"table"`
	Exact       bool           `json:"exact"` // as the engine claims
	Bits        int            `json:"bits"`
	Fingerprint string         `json:"fingerprint"` // of the model
	Ours        int            `json:"items_in_index"`
	Theirs      int            `json:"items_in_engine"`
	Equal       int            `json:"equal_items"`
	K           int            `json:"k"`
	Radius      int            `json:"radius"`
	Searches    []SearchReport `json:"searches"`
	Causes      map[string]int `json:"causes"`      // number of differences per cause
	Differences []Difference   `json:"differences"` // the first of each cause
	Answers     []Answer       `json:"-"`           // up to CheckOptions.Answers per search
}

// RefusedSearches returns the number of searches whose filters the engine refused.
func (r *CheckReport) RefusedSearches() (n int) {
	for _, s := range r.Searches {
		if s.Refused != "" {
			n++
		}
	}
	return n - r.Causes[CauseRefusal]
}

// Conforms reports whether everything agrees.
func (r *CheckReport) Conforms() bool { return len(r.Causes) == 0 }

// shownPerCause limits the differences listed per cause.
const shownPerCause = 10

// check is a check in progress.
type check struct {
	engine       Engine
	exact        *index.Snapshot
	ours, theirs api.Searcher
	o            CheckOptions
	r            *CheckReport
	bad          map[index.ID]string // causes of items that differ
}

// Check compares an engine with an exact index of the same items, which ours searches.
func Check(
	ctx context.Context, e Engine, exact *index.Snapshot, ours api.Searcher, o CheckOptions,
) (*CheckReport, error) {
	theirs, err := NewSearcher(ctx, e, nil)
	if err != nil {
		return nil, err
	}
	info, space := theirs.info, Space{exact.Bits(), exact.Fingerprint()}
	if err := info.Accept(space); err != nil {
		return nil, err
	}
	if o.K <= 0 {
		o.K = 10
	}
	c := &check{engine: e, exact: exact, ours: ours, theirs: theirs, o: o, bad: map[index.ID]string{}, r: &CheckReport{
		Engine: info.Engine, Table: info.Table, Exact: info.Exact, Bits: info.Bits, Ours: exact.Len(), K: o.K,
		Fingerprint: space.Fingerprint.Full(), Causes: map[string]int{}, Differences: []Difference{},
	}}
	if err := c.contents(ctx); err != nil {
		return nil, err
	}
	return c.r, c.searches(ctx)
}

// add records a difference.
func (c *check) add(d Difference) {
	c.r.Causes[d.Cause]++
	if c.r.Causes[d.Cause] <= shownPerCause {
		c.r.Differences = append(c.r.Differences, d)
	}
}

// contents compares the items.
func (c *check) contents(ctx context.Context) error {
	seen := make(map[index.ID]bool, c.exact.Len())
	err := c.engine.Read(ctx, index.Filter{}, func(b *index.Batch) error {
		if c.o.Read != nil {
			c.o.Read(c.r.Theirs, max(c.r.Theirs, c.exact.Len()))
		}
		for i, id := range b.IDs {
			c.r.Theirs++
			ours, there := c.exact.Get(id)
			if !there {
				c.addItem(id, CauseExtra, "the engine has this item and the index has not")
				continue
			}
			seen[id] = true
			switch what := difference(ours, b.Item(i)); {
			case what == "":
				c.r.Equal++
			case what == "code" && reordered(ours.Code, b.Item(i).Code, c.r.Bits):
				c.addItem(id, CauseBitOrder, "its code has the same bits in another order")
			case what == "code":
				c.addItem(id, CauseCode, fmt.Sprintf("its code differs in %d bits",
					hamming.Distance(ours.Code, b.Item(i).Code)))
			default:
				c.addItem(id, CauseDetails, "it has another "+what)
			}
		}
		return nil
	})
	if err != nil || len(seen) == c.exact.Len() {
		return err
	}
	all, err := c.exact.Matches(index.Filter{})
	for _, h := range all {
		if !seen[h.ID] {
			c.addItem(h.ID, CauseMissing, "the index has this item and the engine has not")
		}
	}
	return err
}

func (c *check) addItem(id index.ID, cause, text string) {
	c.bad[id] = cause
	c.add(Difference{Cause: cause, Query: -1, ID: id.String(), Text: text})
}

// reordered reports whether a is b with the bits of every byte, or all bits, reversed.
func reordered(a, b []uint64, width int) bool {
	n := (width + 7) / 8
	inBytes, whole := true, true
	bit := func(code []uint64, i int) bool { return i < width && code[i>>6]>>(63-i&63)&1 != 0 }
	for i := range 8 * n {
		inBytes = inBytes && bit(a, i) == bit(b, i&^7+7-i&7)
		whole = whole && (i >= width || bit(a, i) == bit(b, width-1-i))
	}
	return (inBytes || whole) && ones(a) == ones(b)
}

func ones(code []uint64) (n int) {
	for _, w := range code {
		n += bits.OnesCount64(w)
	}
	return n
}

// mostWithin limits the hits compared in a search within a radius.
const mostWithin = 1000

// searches runs all searches.
func (c *check) searches(ctx context.Context) error {
	if c.o.Queries.Len() == 0 {
		return errors.New("a check needs queries")
	}
	if c.r.Radius = c.o.Radius; c.r.Radius < 0 {
		if err := c.chooseRadius(ctx); err != nil {
			return err
		}
	}
	filters := append([]index.Filter{{}}, c.o.Filters...)
	if c.o.Progress != nil {
		c.o.Progress(0, 2*len(filters))
	}
	for i, f := range filters {
		for j, o := range []api.Options{{K: &c.o.K}, {K: new(mostWithin), Radius: &c.r.Radius}} {
			o.Where = f.String()
			s, err := c.search(ctx, c.request(o), f)
			if err != nil {
				return err
			}
			c.r.Searches = append(c.r.Searches, s)
			if c.o.Progress != nil {
				c.o.Progress(2*i+j+1, 2*len(filters))
			}
		}
	}
	return nil
}

// request builds a request for all queries of the check, ranked as engines rank. Hits carry no fields, because contents
// compares those.
func (c *check) request(o api.Options) *api.Request {
	r := &api.Request{Options: o}
	r.Rank, r.Fields = api.Hamming, []string{}
	for i := range c.o.Queries.Len() {
		r.Queries = append(r.Queries, api.Query{PackedCode: c.o.Queries.AppendBytes(nil, i)})
	}
	return r
}

// units returns the number of units of distances, as hits are ranked, in a bit.
func (c *check) units() int {
	if c.exact.Detail() > 0 {
		return hamming.BitUnits
	}
	return 1
}

// spelled formats a distance in bits.
func (c *check) spelled(distance int) string {
	return strconv.FormatFloat(float64(distance)/float64(c.units()), 'f', -1, 64)
}

// chooseRadius takes the median distance of the k-th hits.
func (c *check) chooseRadius(ctx context.Context) error {
	a, err := c.ours.Search(ctx, c.request(api.Options{K: &c.o.K}))
	if err != nil {
		return err
	}
	var distances []int
	for _, r := range a.Results {
		if n := len(r.Hits); n > 0 {
			distances = append(distances, (r.Hits[n-1].Ranked()+c.units()-1)/c.units())
		}
	}
	if c.r.Radius = 0; len(distances) > 0 {
		slices.Sort(distances)
		c.r.Radius = distances[len(distances)/2]
	}
	return nil
}

// search compares the answers to all queries.
func (c *check) search(ctx context.Context, r *api.Request, f index.Filter) (SearchReport, error) {
	s := SearchReport{Search: fmt.Sprintf("%d nearest", *r.K), Queries: len(r.Queries)}
	if r.Radius != nil {
		s.Search = fmt.Sprintf("within %d bits", *r.Radius)
	}
	if r.Where != "" {
		s.Search += " where " + r.Where
	}
	ours, err := c.ours.Search(ctx, r)
	if errors.Is(err, api.ErrFilter) {
		s.Refused = err.Error()
		c.add(Difference{Cause: CauseRefusal, Search: s.Search, Query: -1, Text: s.Refused})
		return s, nil
	}
	if err != nil {
		return s, err
	}
	theirs, err := c.theirs.Search(ctx, r)
	if errors.Is(err, api.ErrUnsupported) {
		s.Refused = err.Error()
		c.add(Difference{Cause: CauseFilter, Search: s.Search, Query: -1, Text: s.Refused})
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if len(theirs.Results) != len(ours.Results) {
		return s, fmt.Errorf("the engine returned %d answers to %d queries", len(theirs.Results), len(ours.Results))
	}
	found := 0
	var answers []Answer
	for i := range ours.Results {
		p := &pair{
			check: c, search: &s, query: i, radius: r.Radius, filter: f, ours: ours.Results[i], theirs: theirs.Results[i].Hits,
		}
		n, err := p.compare(ctx)
		if err != nil {
			return s, err
		}
		found += n
		s.Hits += len(p.ours.Hits)
		answers = append(answers, p.answer())
	}
	c.keep(answers)
	if s.Recall = 1; s.Hits > 0 {
		s.Recall = float64(found) / float64(s.Hits)
	}
	return s, nil
}

// keep selects answers for the report.
func (c *check) keep(answers []Answer) {
	kept := 0
	for _, outcome := range []string{outcomeDiffer, outcomeTies, outcomeSame} {
		for _, a := range answers {
			if a.Outcome == outcome && kept < c.o.Answers {
				c.r.Answers = append(c.r.Answers, a)
				if kept++; outcome == outcomeSame {
					break // one equal answer is enough
				}
			}
		}
	}
}
