package main

import (
	"context"
	"fmt"
	"math"

	"hashgrove/internal/index"
	"hashgrove/internal/items"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/plain"
	"hashgrove/internal/vectors"
)

// findReranked finds the items on the shortlists by their codes and orders them by their vectors. The vectors may be
// too many for the memory, so one pass over their file serves all queries.
func (c *searchCommand) findReranked(ctx context.Context, o index.Options, a *answer) error {
	if err := c.addItemVectors(ctx, a); err != nil {
		return err
	}
	k, radius := c.k, math.MaxInt
	if c.within {
		radius = c.radius
	}
	if c.within && !c.limit {
		k = math.MaxInt
	}
	if o.Shortlist > 0 {
		o.Shortlist = max(o.Shortlist, k)
	}
	list, err := a.items.Shortlist(ctx, a.queries.Codes, radius, o)
	if err != nil {
		return err
	}
	src, rows, err := c.itemSource(ctx, a.model)
	if err != nil {
		return err
	}
	p := c.startProgress("comparing vectors", rows, 0)
	defer p.End()
	var missing *items.Missing
	a.results, missing, err = items.Rerank(ctx, src, list, a.queries, items.Reranking{
		K: k, Distance: c.rerankBy, Threads: c.threads, Progress: p.Tick,
	})
	if missing != nil {
		c.warn([]string{fmt.Sprintf("--rerank: %d of %s no vector in %s, for instance %q, and cannot be found",
			missing.Items, plain.Count(missing.Of, "item has", "items have"), c.rerank[0], missing.First.String())})
	}
	a.compared = make([]int, len(a.results))
	for q := range a.compared {
		a.compared[q], a.results[q].Plan = list.Len(q), list.Plan(q)
	}
	return err
}

// addItemVectors gives queries that are items of the index their vectors.
func (c *searchCommand) addItemVectors(ctx context.Context, a *answer) error {
	if len(c.ids) == 0 {
		return nil
	}
	needed := map[index.ID]bool{}
	for _, text := range c.ids {
		needed[index.Text(text)] = true
	}
	found, err := c.itemVectors(ctx, a.model, needed)
	if err != nil {
		return err
	}
	for _, text := range c.ids {
		v, ok := found[index.Text(text)]
		if !ok {
			return fmt.Errorf("%w %q", items.ErrNoVector, text)
		}
		a.queries.AddVector(v)
	}
	return nil
}

// readFirstHits reads the vectors of the first hits, which --explain looks at.
func (c *searchCommand) readFirstHits(ctx context.Context, a *answer) (err error) {
	if !c.isReranked() {
		if err := c.addItemVectors(ctx, a); err != nil {
			return err
		}
	}
	needed := map[index.ID]bool{}
	for _, r := range a.results {
		if len(r.Hits) > 0 {
			needed[r.Hits[0].ID] = true
		}
	}
	a.vectors, err = c.itemVectors(ctx, a.model, needed)
	return err
}

// itemSource opens the vectors of --rerank; rows is 0 where their number is not known.
func (c *searchCommand) itemSource(ctx context.Context, m *model.Model) (src vectors.Source, rows int, err error) {
	d := c.items
	if len(c.ids) == 0 && !c.explain { // else there is a second pass
		d.readOnce(ctx, c.in)
	}
	d.SkipBad, d.Size, d.Fit, d.Grey = c.data.SkipBad, c.data.Size, c.data.Fit, c.data.Grey
	var as *picture.Preparation
	if m != nil {
		d.asModel(m)
		d.Missing = false // distances need every value
		as = m.Pictures
	}
	set, err := d.open(c.rerank, as)
	if err != nil {
		return nil, 0, err
	}
	src = set
	_, pictured := set.AsPictures()
	c.numbered = d.ID == "" && len(d.IDsFile) == 0 && !pictured
	if m != nil {
		src, err = m.Source(set, c.threads)
	}
	return src, max(set.Rows(), 0), err
}

// itemVectors reads the vectors of some items from --rerank.
func (c *searchCommand) itemVectors(
	ctx context.Context, m *model.Model, ids map[index.ID]bool,
) (map[index.ID][]float32, error) {
	src, rows, err := c.itemSource(ctx, m)
	if err != nil {
		return nil, err
	}
	p := c.startProgress("reading vectors", rows, 0)
	defer p.End()
	return items.VectorsByID(ctx, src, ids, p.Tick)
}
