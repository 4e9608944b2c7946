package hashgrove

import (
	"context"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/vectors"
)

// noNeighbours leaves float neighbours out of an evaluation.
const noNeighbours = "none"

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
func (e *evaluation) newFloatSearch() *floatSearch {
	queries, base := e.queries, e.base
	f := &floatSearch{threads: e.Threads}
	if e.Neighbours == noNeighbours {
		return f
	}
	f.metric = eval.Metric(e.Neighbours)
	all := make([]int, queries.Rows)
	for i := range all {
		all[i] = i
	}
	f.sample.rows = spread(all, mostNeighbourQueries)
	if f.truth = e.truth; f.truth.Mark != nil {
		f.looked.rows = spread(all, min(mostNeighbourQueries, int(max(1, mostPairs/int64(base.Rows)))))
	}
	if held := e.heldOut(); held != nil && int64(base.Rows)*int64(base.Dim()) <= mostFloatValues {
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

func (f *floatSearch) addQueries(first int, x vectors.Matrix) {
	f.sample.add(first, x)
	f.looked.add(first, x)
	f.unseen.add(first, x)
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
func (e *evaluation) heldOut() (held []int32) {
	queries, base := e.queries, e.base
	if queries.Labels == nil || base.Labels == nil {
		return nil
	}
	for _, name := range e.m.Info.HeldOut {
		if i := slices.Index(queries.Labels.Names, name); i >= 0 {
			held = append(held, int32(i))
		}
	}
	return held
}

// measureUnseen evaluates queries of classes held out of training, by codes and by vectors.
func (e *evaluation) measureUnseen(ctx context.Context, report *eval.Report) error {
	queries, base, f := e.queries, e.base, e.floats
	if len(e.m.Info.HeldOut) == 0 || queries.Labels == nil || base.Labels == nil {
		return nil
	}
	o := eval.Options{
		K: e.PrecisionAt, Classes: queries.Labels.Class, ClassNames: queries.Labels.Names,
		Threads: e.Threads, Detail: e.m.DetailBits(),
	}
	r, err := eval.Unseen(ctx, queries.codes, base.codes, base.Labels.Class, e.heldOut(), o)
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
	truth := eval.ByClass(class, base.Labels.Class)
	float, err := eval.RetrievalFloat(ctx, f.unseen.x, f.base, f.metric, truth, eval.Options{Threads: e.Threads})
	if err != nil {
		return err
	}
	r.FloatMAP, r.FloatQueries = float.MAP, float.Queries
	return nil
}
