package compare

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"hashgrove/eval"
	"hashgrove/internal/trial"
	"hashgrove/method"
	"hashgrove/model"
	"hashgrove/report"
)

// stage is where the tasks of one run work: the data as the methods see them, and how far the run is.
type stage struct {
	data          *Data
	o             Options
	base, queries *Part // after PCA, if there is one
	bench         *trial.Bench
	pca           projection

	// The protocol of unseen classes; nil where there is none.
	held                []int32
	others              *Part        // base rows of the other classes, to learn from
	unseen              *trial.Bench // rows of the held-out classes
	rawBase, rawQueries *Part        // the same before PCA, for float search

	notes    []string // doubts about the data
	progress Progress
}

// projection is the principal components in front of every method, and what they add to its times.
type projection struct {
	maps   []model.Map
	train  float64 // seconds
	encode float64 // microseconds for a vector
}

func newStage(ctx context.Context, data *Data, o Options) (*stage, error) {
	s := &stage{data: data, o: o, base: data.Base, queries: data.Queries}
	var err error
	if s.held, err = data.chooseUnseen(o.Unseen, o.Seed); err != nil {
		return nil, err
	}
	if n := data.Base.X.Rows; n < 100 {
		s.notes = append(s.notes, fmt.Sprintf("the base has only %d items: precision@100 is precision@%d here", n, n))
	}
	if o.PCA > 0 {
		if err := s.applyPCA(ctx); err != nil {
			return nil, err
		}
	}
	judging := eval.Options{K: []int{min(100, s.base.X.Rows)}, Threads: o.Threads}
	if l := s.queries.Labels; l != nil {
		judging.Classes, judging.ClassNames = l.Class, l.Names
	}
	if s.bench, err = trial.NewBench(s.base.Data, s.queries.Data, judging); err != nil {
		return nil, err
	}
	s.bench.OneCore = true
	if s.held != nil {
		return s, s.holdOut()
	}
	if o.Unseen == 0 && data.Base.Labels != nil {
		s.notes = append(s.notes, "there are too few classes to keep some out of training: nothing is said about "+
			"classes that come later")
	}
	return s, nil
}

// applyPCA puts principal components in front of every method (the paper's Table 4, tab:pca): all methods see base and
// queries as their projections, and the cost of it counts in their times.
func (s *stage) applyPCA(ctx context.Context) error {
	if d := s.data.Base.X.Cols; s.o.PCA >= d {
		s.notes = append(s.notes,
			fmt.Sprintf("the vectors have only %d dimensions: PCA to %d turns them and leaves out nothing", d, s.o.PCA))
	}
	var pca *model.Affine
	var err error
	s.pca.train = trial.Seconds(func() {
		pca, _, err = method.Reduce(ctx, s.data.Base.X, s.o.PCA, s.o.Seed, s.o.Threads)
	})
	if err != nil {
		return fmt.Errorf("principal components: %w", err)
	}
	s.pca.maps = []model.Map{pca}
	project := func(p *Part) (*Part, error) {
		x, err := model.Transform(ctx, s.o.Threads, p.X, pca)
		if err != nil {
			return nil, err
		}
		return p.withVectors(x, fmt.Sprint("pca ", s.o.PCA)), nil
	}
	if s.base, err = project(s.data.Base); err != nil {
		return err
	}
	took := trial.Fastest(func() { _, err = model.Transform(ctx, 1, s.data.Queries.X, pca) })
	if err != nil {
		return err
	}
	s.pca.encode = took * 1e6 / float64(s.data.Queries.X.Rows)
	s.queries, err = project(s.data.Queries)
	return err
}

// holdOut parts the rows of the held-out classes from the others.
func (s *stage) holdOut() error {
	split := func(p *Part, held bool) []bool {
		keep := make([]bool, p.X.Rows)
		for i, c := range p.Labels.Class {
			keep[i] = slices.Contains(s.held, c) == held
		}
		return keep
	}
	s.others = s.base.subset(split(s.base, false), fmt.Sprintf("without %v", s.held))
	ofBase, ofQueries := split(s.base, true), split(s.queries, true)
	base, queries := s.base.subset(ofBase, "unseen"), s.queries.subset(ofQueries, "unseen")
	s.rawBase, s.rawQueries = base, queries
	if s.o.PCA > 0 {
		s.rawBase, s.rawQueries = s.data.Base.subset(ofBase, "unseen"), s.data.Queries.subset(ofQueries, "unseen")
	}
	var err error
	s.unseen, err = trial.NewBench(base.Data, queries.Data, eval.Options{Threads: s.o.Threads})
	return err
}

// dataset says what the comparison is made on.
func (s *stage) dataset() report.Dataset {
	d := s.data
	out := report.Dataset{
		Name: d.Name, Base: d.Base.X.Rows, Queries: d.Queries.X.Rows, Dim: d.Base.X.Cols,
		Classes: len(d.classes()), Similar: d.similarity(), HeldOut: []string{},
		Digest: trial.Key(d.Base.HexDigest(), d.Queries.HexDigest()),
	}
	for _, c := range s.held {
		out.HeldOut = append(out.HeldOut, d.Base.Labels.Names[c])
	}
	return out
}

// trainings is the number of times that a method is trained.
func (s *stage) trainings() int {
	if s.held != nil {
		return 2
	}
	return 1
}

// The work folder holds one file for each finished task, under the digest of everything that decides its rows, and the
// checkpoint of an unfinished FastHash.

// entry is the contents of such a file.
type entry struct {
	Rows  []eval.Row
	Usage []eval.Usage // of each row
}

// cacheVersion changes when the meaning of rows changes.
const cacheVersion = 1

// program names the program that computes the rows: its version and, where the build knows it, its revision.
func program() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return model.Version + " " + s.Value
			}
		}
	}
	return model.Version
}

// path is the file of a task, without its suffix. The name is for people; the digest tells tasks apart.
func (s *stage) path(t *task) string {
	base, queries := s.data.Base, s.data.Queries
	key := trial.Key(cacheVersion, program(), base.HexDigest(), queries.HexDigest(), base.MinShared,
		s.o.PCA, s.held, s.o.Seed, t.method, t.bits, t.options)
	name := t.method
	if len(t.bits) > 0 {
		name += "-" + strings.ReplaceAll(strings.Trim(fmt.Sprint(t.bits), "[]"), " ", "-")
	}
	return filepath.Join(s.o.Work, name+"-"+key)
}

// checkpoint is the folder of an unfinished training of a task, "" without a work folder.
func (s *stage) checkpoint(t *task, part string) string {
	if s.o.Work == "" {
		return ""
	}
	return s.path(t) + "." + part + ".ckpt"
}

// The parts of the base that methods are trained on.
const (
	allRows  = "base"
	seenRows = "unseen" // without the held-out classes
)

// loadRows returns the rows that an earlier run has kept.
func (s *stage) loadRows(t *task) ([]eval.Row, bool) {
	if s.o.Work == "" || s.o.Restart {
		return nil, false
	}
	e, ok := trial.Load[entry](s.path(t) + ".json")
	if !ok || len(e.Rows) == 0 || len(e.Usage) != len(e.Rows) {
		return nil, false
	}
	for i := range e.Rows {
		e.Rows[i].Usage = e.Usage[i]
	}
	return e.Rows, true
}

// saveRows keeps the rows of a finished task, whose checkpoints are not needed any more.
func (s *stage) saveRows(t *task, rows []eval.Row) error {
	if s.o.Work == "" {
		return nil
	}
	e := entry{Rows: rows}
	for _, r := range rows {
		e.Usage = append(e.Usage, r.Usage)
	}
	if err := trial.Save(s.path(t)+".json", e); err != nil {
		return err
	}
	if err := trial.Discard(s.checkpoint(t, allRows)); err != nil {
		return err
	}
	return trial.Discard(s.checkpoint(t, seenRows))
}
