// Package compare trains several methods on one data set, measures them side by side with floors and references, and
// gives advice in words.
//
//	Read, Split   files -> Data: a base to train on and search, new items to search, and queries
//	Run           Data, Options -> Result: a row for each method and code length, and advice in sentences
//	Result.Table, Write: the same numbers for a terminal and for a page
//
// One run is a list of tasks, each a training and its rows:
//
//	for each task
//		train        on the base                                       FastHash once, at the longest length: its
//		                                                               bits are stage-wise, so prefixes are the rest
//		encode       base and new items, and the queries on one core, timed
//		measure      package eval, averaged over ties: new items first, then learned ones
//		again        without some classes, whose queries then search all items
//
// If a task fails, its row holds the error and the others continue. Everything but seconds and microseconds depends
// only on data, options and seed.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"hashgrove/internal/eval"
	"hashgrove/internal/model"
)

// Progress reports how far a run is, in steps of roughly equal length.
type Progress struct {
	Done, Total int
	Note        string // what was just finished; "" while a task runs
}

// Result is a finished comparison.
type Result struct {
	Version  string  `json:"version"`
	Data     Dataset `json:"data"`
	Bits     []int   `json:"bits"`
	Seed     uint64  `json:"seed"`
	NewShare float64 `json:"new_share"` // share of items that no method learned from
	// Standardized says whether float search and all methods but FastHash saw standardised columns; Scale says why or
	// why not, or "" if there was nothing to decide.
	Standardized bool   `json:"standardized"`
	Scale        string `json:"scale,omitempty"`
	// Rank is the ranking that was asked for; "" if the better one leads in every row.
	Rank     eval.Ranking `json:"rank,omitempty"`
	Rows     []eval.Row   `json:"rows"`
	Advice   []Advice     `json:"advice"`
	Warnings []string     `json:"warnings"`
	Seconds  float64      `json:"seconds"`

	notes   []error // the warnings that the comparison itself adds, with their codes
	classes []int32 // of the queries; nil without
}

// Dataset describes the data that were searched.
type Dataset struct {
	Name    string   `json:"name"`     // usually the file
	Base    int      `json:"base"`     // items to find
	Learned int      `json:"learned"`  // of these, items that methods learned from
	New     int      `json:"new"`      // the others
	Queries int      `json:"queries"`  // items to search with
	Dim     int      `json:"dim"`      // numbers in a vector
	Classes int      `json:"classes"`  // 0 when similarity is not by class
	Similar string   `json:"similar"`  // what makes two items similar: "same class", "2 or more shared tags"
	HeldOut []string `json:"held_out"` // classes that no training saw, for UnseenMAP
}

// Run compares the methods.
func Run(ctx context.Context, data *Data, o Options) (*Result, error) {
	began := time.Now()
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if data, err = data.parts(o.NewShare, o.Seed); err != nil {
		return nil, err
	}
	if err := data.check(); err != nil {
		return nil, err
	}
	s, err := newStage(ctx, data, o)
	if err != nil {
		return nil, err
	}
	result := &Result{Rank: o.Rank, Version: model.Version, Data: s.dataset(), Bits: o.Bits, Seed: o.Seed}
	result.NewShare = float64(result.Data.New) / float64(result.Data.Base)
	result.Standardized, result.Scale = s.scale.Map != nil, s.scale.Reason
	if err := s.runTasks(ctx, result); err != nil {
		return nil, err
	}
	result.sortMethods()
	result.Warnings, result.notes = s.warnings(result.Rows), s.notes
	if l := data.Queries.Labels; l != nil {
		result.classes = l.Class
	}
	result.Advice = advise(result)
	result.Seconds = time.Since(began).Seconds()
	return result, nil
}

// runTasks runs the tasks one by one and fills in their rows.
func (s *comparison) runTasks(ctx context.Context, result *Result) error {
	tasks := s.tasks()
	for _, t := range tasks {
		s.progress.Total += t.steps
	}
	s.reportProgress("")
	for _, t := range tasks {
		until := s.progress.Done + t.steps
		var rows []eval.Row
		err := protect(t.method, func() (err error) {
			rows, err = t.work(ctx, t)
			return err
		})
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", t.title(), context.Cause(ctx))
		}
		if err != nil {
			rows = t.failed(err)
		}
		s.progress.Done = until
		s.reportProgress(t.outcome(rows))
		result.Rows = append(result.Rows, rows...)
	}
	return nil
}

// sortMethods orders the methods, which come first, by their best result at any length. The rows of a method stay
// together, and in order.
func (r *Result) sortMethods() {
	best, n := map[string]float64{}, 0
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Kind == eval.KindMethod {
			best[row.Method], n = max(best[row.Method], lead(row)), i+1
		}
	}
	slices.SortStableFunc(r.Rows[:n], func(a, b eval.Row) int {
		return cmp.Or(cmp.Compare(best[b.Method], best[a.Method]), cmp.Compare(a.Method, b.Method))
	})
}

// reportProgress calls Options.Progress.
func (s *comparison) reportProgress(note string) {
	if s.o.Progress != nil {
		p := s.progress
		p.Note = note
		s.o.Progress(p)
	}
}

// finishStep counts one step within a task.
func (s *comparison) finishStep() {
	s.progress.Done++
	s.reportProgress("")
}

// warnings collects the doubts about the data: those that came with them, and those shared by most rows.
func (s *comparison) warnings(rows []eval.Row) []string {
	list := append([]string{}, s.data.Base.Warnings...)
	for _, note := range s.notes {
		list = append(list, note.Error())
	}
	add := func(name string, p *Part) {
		for _, w := range p.Warnings {
			learning := slices.Contains(p.TrainingWarnings, w) // nothing is learned from these rows
			if !learning && !slices.Contains(list, w) {
				list = append(list, name+": "+w)
			}
		}
	}
	if s.data.New != nil {
		add("new items", s.data.New)
	}
	add("queries", s.data.Queries)
	count := map[string]int{}
	for _, r := range rows {
		for _, w := range r.Warnings {
			if count[w]++; count[w] == len(rows)/2+1 {
				list = append(list, w)
			}
		}
	}
	return list
}

// Find returns the row of a method at a code length, or nil. Bits 0 finds the method's first row.
func (r *Result) Find(method string, bits int) *eval.Row {
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Method == method && (bits == 0 || row.Bits == bits) {
			return row
		}
	}
	return nil
}
