package fasthash

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/supervision"
)

// Tags that no vector shows. Where most similar pairs are similar by such tags, Step 1 would spend its bits on them:
// nothing can predict these bits, all rows get the same one, and so the next bit is no different. So frequent tags that
// cannot be predicted are not learned from:
//
//	r(t)    correlation of "the row has tag t" with what cross-fitted ridge regression says of it, on a sample,
//	        linear in the columns and, if that leaves some, in Gaussians (package columns)
//	keep    the tags whose r(t) is more than noise, and rare ones: those make few pairs similar
//	shared  as many of the kept tags as tell similar pairs best, in the sample: the threshold of greatest φ, the
//	        correlation of both kinds of similarity
//
// So two of three tags that say nothing, beside one of ten that is seen, come down to "the one that is seen".

const (
	shownRows   = 4000
	shownPairs  = 200_000
	fewestShown = 500  // rows: fewer cannot tell
	leastShown  = 0.06 // in any case; and as many deviations of a correlation of 0
	deviations  = 3.5
	commonShare = 0.05 // of the rows, and of those without the tag
)

// keepShown returns the data without the tags that no vector shows, and names those.
func (t *training) keepShown(ctx context.Context, d *supervision.Data) (_ *supervision.Data, left []string, err error) {
	if code, _ := t.noScores(d); code != "" || d.Labels != nil || d.Rows < fewestShown || t.Effort == Paper {
		return d, nil, nil
	}
	some := make([]bool, d.Rows)
	originals := t.Similar.originals(d.Rows)
	step := (originals + shownRows - 1) / shownRows
	for i := 0; i < originals; i += step {
		for copied := i; copied < d.Rows; copied += originals {
			some[copied] = true
		}
	}
	part := d.Only(some)
	part.Supervision = part.Used()
	o := t.columns(columns.Linear)
	o.Microseconds = 0 // few anchors
	if o.Part, err = columns.Divide(ctx, part, columns.Parts, o); err != nil {
		return d, nil, nil // too few different rows to tell
	}
	var hidden []string
	for _, o.Kind = range []string{columns.Linear, columns.Kernel} { // of which the second fits both
		c, err := columns.Fit(ctx, part, o)
		if err != nil && ctx.Err() == nil {
			return d, nil, nil // rows drawn at random are all alike
		} else if err != nil {
			return nil, nil, err
		}
		if hidden = unseenTags(part.Tags, c); len(hidden) == 0 {
			return d, nil, nil
		}
	}
	return withoutTags(d, hidden)
}

// unseenTags names the frequent tags that no column tells.
func unseenTags(tags *supervision.Tags, c *columns.Columns) (names []string) {
	least := max(leastShown, deviations/math.Sqrt(float64(tags.Rows())))
	seen := map[string]bool{}
	for place, column := range c.Names {
		_, name, _ := strings.Cut(column, ":")
		tag := int32(slices.Index(tags.Names, name))
		var n, has, sum, square, both float64
		for i := range tags.Rows() {
			v := float64(c.Values.Row(i)[place])
			n, sum, square = n+1, sum+v, square+float64(v*v)
			if slices.Contains(tags.Row(i), tag) {
				has, both = has+1, both+v
			}
		}
		spread := math.Sqrt(max(float64(n*square)-float64(sum*sum), 0)) * math.Sqrt(float64(has*(n-has)))
		shown := float64(n*both)-float64(has*sum) >= float64(least*spread)
		seen[name] = seen[name] || shown || has < commonShare*n || has > (1-commonShare)*n
	}
	for _, name := range tags.Names {
		if shown, fitted := seen[name]; fitted && !shown {
			names = append(names, name)
		}
	}
	return names
}

// withoutTags leaves tags out and adapts the number of tags that similar rows share.
func withoutTags(d *supervision.Data, hidden []string) (*supervision.Data, []string, error) {
	tags := &supervision.Tags{Start: []int{0}, Names: d.Tags.Names}
	for i := range d.Rows {
		for _, tag := range d.Tags.Row(i) {
			if !slices.Contains(hidden, d.Tags.Names[tag]) {
				tags.Tag = append(tags.Tag, tag)
			}
		}
		tags.Start = append(tags.Start, len(tags.Tag))
	}
	out := *d
	out.Tags = tags
	if out.MinShared = sharedAs(tags, d); out.MinShared == 0 {
		return d, nil, nil // what is shown says nothing of similarity
	}
	out.Supervision = out.Used()
	return &out, hidden, nil
}

// sharedAs returns the number of shared tags that makes rows similar about as in d; 0 if none does.
func sharedAs(tags *supervision.Tags, d *supervision.Data) (best int) {
	rng := rand.New(rand.NewPCG(1, uint64(d.Rows)))
	least := cmp.Or(d.MinShared, affinity.DefaultShared)
	count := make([][2]float64, least+1) // of pairs by shared tags that are kept, dissimilar and similar
	for range shownPairs {
		i, j := rng.IntN(d.Rows), rng.IntN(d.Rows)
		if i == j {
			continue
		}
		similar := 0
		if affinity.Shared(d.Tags.Row(i), d.Tags.Row(j)) >= least {
			similar = 1
		}
		count[min(affinity.Shared(tags.Row(i), tags.Row(j)), least)][similar]++
	}
	var above, all [2]float64
	for _, c := range count {
		all[0], all[1] = all[0]+c[0], all[1]+c[1]
	}
	most := 0.0
	for shared := least; shared > 0; shared-- {
		above[0], above[1] = above[0]+count[shared][0], above[1]+count[shared][1]
		pairs, taken := all[0]+all[1], above[0]+above[1]
		phi := (float64(above[1]*all[0]) - float64(above[0]*all[1])) / math.Sqrt(max(float64(taken*(pairs-taken)), 1))
		if phi > most {
			best, most = shared, phi
		}
	}
	return best
}
