package main

import (
	"context"
	"fmt"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Limits on the work done with vectors in addition to codes.
const (
	mostNeighbourQueries = 1000    // with a search for neighbours
	mostFloatQueries     = 500     // of unseen classes, ranked by vectors
	mostFloatValues      = 1 << 28 // of base vectors kept for that: a gigabyte
	mostPairs            = 1 << 31 // of queries and items that may be of one class
)

// floatSearch searches the vectors themselves while they are read for encoding.
type floatSearch struct {
	metric  eval.Metric // "" measures nothing
	threads int
	sample  sample // queries for the recall of neighbours
	near    *eval.Neighbours
	looked  sample // queries for the nearest of their class
	truth   eval.Truth
	ofClass *eval.OfClass
	unseen  sample // queries of held-out classes
	base    vectors.Matrix
}

// sample holds some rows of one side, in order, with their vectors.
type sample struct {
	rows []int
	x    vectors.Matrix
}

// add keeps the vectors of the sampled rows in a run.
func (s *sample) add(first int, x vectors.Matrix) {
	for s.x.Rows < len(s.rows) && s.rows[s.x.Rows] < first+x.Rows {
		s.x.Data = append(s.x.Data, x.Row(s.rows[s.x.Rows]-first)...)
		s.x.Rows++
	}
	s.x.Cols = x.Cols
}

// spread picks up to most rows, evenly spaced.
func spread(rows []int, most int) []int {
	if len(rows) <= most {
		return rows
	}
	taken := make([]int, most)
	for i := range taken {
		taken[i] = rows[i*len(rows)/most]
	}
	return taken
}

// newFloatSearch chooses the queries.
func (c *evalCommand) newFloatSearch(s *sides) *floatSearch {
	m, queries, base := s.m, s.queries, s.base
	f := &floatSearch{threads: c.threads}
	if c.neighbours == "none" {
		return f
	}
	f.metric = eval.Metric(c.neighbours)
	all := make([]int, queries.Rows)
	for i := range all {
		all[i] = i
	}
	f.sample.rows = spread(all, mostNeighbourQueries)
	if f.truth = s.truth; f.truth.Mark != nil {
		f.looked.rows = spread(all, min(mostNeighbourQueries, int(max(1, mostPairs/int64(base.Rows)))))
	}
	if held := heldOut(m, queries, base); held != nil && int64(base.Rows)*int64(base.Dim()) <= mostFloatValues {
		var unseen []int
		for i, class := range queries.Labels.Class {
			if slices.Contains(held, class) {
				unseen = append(unseen, i)
			}
		}
		f.unseen.rows = spread(unseen, mostFloatQueries)
	}
	return f
}

func (f *floatSearch) addQueries(_ context.Context, first int, x vectors.Matrix) error {
	f.sample.add(first, x)
	f.looked.add(first, x)
	f.unseen.add(first, x)
	return nil
}

func (f *floatSearch) addBase(ctx context.Context, _ int, x vectors.Matrix) error {
	if f.metric == "" {
		return nil
	}
	if f.near == nil {
		var err error
		if f.near, err = eval.NewNeighbours(f.sample.x, f.metric); err != nil {
			return err
		}
		if len(f.looked.rows) > 0 {
			if f.ofClass, err = eval.NewOfClass(ctx, f.looked.x, f.looked.rows, f.truth, f.threads); err != nil {
				return err
			}
		}
	}
	if f.ofClass != nil {
		if err := f.ofClass.Add(ctx, x, f.threads); err != nil {
			return err
		}
	}
	if len(f.unseen.rows) > 0 {
		f.base.Data = append(f.base.Data, x.Data...)
		f.base.Rows, f.base.Cols = f.base.Rows+x.Rows, x.Cols
	}
	return f.near.Add(ctx, x, f.threads)
}

// heldOut returns the numbers of the classes that training did not see, if both sides have labels.
func heldOut(m *model.Model, queries, base *encoded) (held []int32) {
	if queries.Labels == nil || base.Labels == nil {
		return nil
	}
	for _, name := range m.Info.HeldOut {
		if i := slices.Index(queries.Labels.Names, name); i >= 0 {
			held = append(held, int32(i))
		}
	}
	return held
}

// measureUnseen evaluates queries of classes held out of training, by codes and by vectors.
func (c *evalCommand) measureUnseen(ctx context.Context, s *sides, report *eval.Report) error {
	m, queries, base, f := s.m, s.queries, s.base, s.floats
	if len(m.Info.HeldOut) == 0 || queries.Labels == nil || base.Labels == nil {
		return nil
	}
	held := heldOut(m, queries, base)
	o := eval.Options{
		K: c.precisionAt, Classes: queries.Labels.Class, ClassNames: queries.Labels.Names,
		Threads: c.threads, Detail: m.DetailBits(),
	}
	r, err := eval.Unseen(ctx, queries.codes, base.codes, base.Labels.Class, held, o)
	if err != nil {
		report.Warnings = append(report.Warnings,
			"the classes held out of training cannot be measured separately: "+err.Error())
		return nil
	}
	report.Unseen = r
	if len(f.unseen.rows) == 0 {
		return nil
	}
	class := make([]int32, len(f.unseen.rows))
	for i, row := range f.unseen.rows {
		class[i] = queries.Labels.Class[row]
	}
	rank := eval.RetrievalFloat
	if f.metric == eval.Cosine {
		rank = eval.RetrievalCosine
	}
	float, err := rank(ctx, f.unseen.x, f.base, eval.ByClass(class, base.Labels.Class), eval.Options{Threads: c.threads})
	if err != nil {
		return err
	}
	r.FloatMAP, r.FloatQueries = float.MAP, float.Queries
	return nil
}

// notable is the share of training rows from which the figures are in doubt.
const notable = 0.05

// addLearned adds the share of training rows on both sides, and a warning if it is high.
func (c *evalCommand) addLearned(r *eval.Report, learned *model.Sketch, queries, base *encoded) {
	share := func(d *supervision.Data) *float64 {
		part, looked := learned.Share(d.Hashes)
		if looked == 0 || looked < min(10, d.Rows) {
			return nil
		}
		return &part
	}
	r.LearnedShare, r.LearnedQueriesShare = share(base.Data), share(queries.Data)
	if s := r.LearnedShare; s != nil && *s >= notable {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s of the base was learned from: items that are added later are "+
			"usually found less well than these figures say; to judge them, give a --base and --queries that training did "+
			"not see, or let compare hold rows out", percent(*s)))
	}
	if s := r.LearnedQueriesShare; s != nil && *s >= notable {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s of the queries were learned from: new queries usually find less "+
			"than these figures say; give --queries that training did not see", percent(*s)))
	}
}

// percent formats a share; only exactly 1 becomes 100 %.
func percent(share float64) string {
	if share >= 0.995 && share < 1 {
		return "more than 99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
