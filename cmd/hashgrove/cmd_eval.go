package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

type evalCommand struct {
	*app
	data                  dataFlags
	base, queries         besideFlags
	similar               similarity
	model                 string
	basePaths, queryPaths []string
	prefix                int
	precisionAt           []int
	rank                  string
	detail                int // bits of a code that are detail
	neighbours            string
}

func (a *app) eval() *cobra.Command {
	c := &evalCommand{app: a}
	cmd := &cobra.Command{
		Use:   "eval -m MODEL --base DATA --queries DATA",
		Short: "Measure a model: MAP, precision and recall, with ties handled fairly",
		Long: `Encode a base and queries, rank the base for every query, and measure the rankings side by side: by Hamming
distance; by margins, which weigh each differing bit by how certain the query is of it; and by the expected code, the
code that the query most likely has. All use the same codes, and "search --rank" takes the same names. The first column
is what searches use by default, the choice of the model; --rank puts another one there.

Many base items are tied. All measures are averaged over every order of tied items, and MAP is shown with its worst
and best case. The paper's convention (ties in base order, lists cut at 10,000, divided by the hits in the list) is
printed as well.

"Nearest of its class" is the share of the ten items of the query's class that are nearest by cosine (with tags: of the
relevant items) which are among the first ten: codes that only know the class leave that to chance, and bits of detail
(train --detail-bits) find more of them.

Recall of neighbours is the share of a query's ten nearest vectors that is among the first 10 and the first 100 codes.
It needs no labels: without labels, tags or pairs it is all that is measured. Of more than 1,000 queries, 1,000 are
used for both, evenly spread.

A model recognises its training rows. Their codes flatter it, so eval says what share of the base they are. To measure
items added later, use a base and queries that training has not seen.

Queries of classes held out of training are measured separately, against the whole base, by Hamming distance.

Some methods weight the bits (MDSH): --rank weighted ranks as their authors do.`,
		Example: `  hashgrove eval -m items.hgm --base items.csv --queries new.csv --label category
  hashgrove eval -m items.hgm --base vectors.npy --base-labels classes.txt --queries new.csv --label category`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.model, "model", "m", "", "the `MODEL` to measure")
	f.StringArrayVar(&c.basePaths, "base", nil, "`DATA` to search in; may be repeated")
	f.StringArrayVar(&c.queryPaths, "queries", nil, "`DATA` to search with; may be repeated")
	f.IntVar(&c.prefix, "prefix", 0, "use only this `NUMBER` of leading bits of each code; 0 means all")
	f.StringVar(&c.rank, "rank", api.Auto, "`DISTANCE` of the first column: hamming, margins, expected, auto, the choice "+
		"of the model, or weighted if the model has weights for its bits")
	f.StringVar(&c.neighbours, "neighbours", string(eval.Euclidean),
		"`DISTANCE` for the nearest vectors that codes should find: euclidean, cosine, or none to measure no nearness")
	cli.Group(f, "Evaluation")
	f.IntSliceVar(&c.precisionAt, "precision-at", nil,
		"ranks `K` of precision@K; default 1,10,100,1000; --json also has the precision-recall curve")
	cli.Group(f, "Output")
	c.data.bind(f, "Data")
	f.Lookup("labels").Hidden, f.Lookup("ids").Hidden = true, true
	c.base.bind(f, "base")
	c.queries.bind(f, "queries")
	cli.Group(f, "Files beside the data")
	c.similar.bind(f)
	f.Lookup("pairs").Usage = "`FILE` of lines query,base,similar|dissimilar|unknown, by id or by row number from 0"
	return cmd
}

func (c *evalCommand) run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	m, err := readPrefix(c.model, c.prefix)
	if err != nil {
		return err
	}
	c.detail = m.DetailBits()
	if err := c.checkRanking(m); err != nil {
		return err
	}
	if m.TakesMissing() && c.neighbours != "none" { // vectors with missing values have no distances
		if c.data.flags.Changed("neighbours") {
			return cli.Usage("missing-values",
				"--neighbours %s: the model takes missing values, and distances need every value: give none",
				c.neighbours)
		}
		c.neighbours = "none"
	}
	base, err := c.open(ctx, m, c.data.with(c.base), c.basePaths)
	if err != nil {
		return fmt.Errorf("base: %w", err)
	}
	defer base.close()
	queries, err := c.open(ctx, m, c.data.with(c.queries), c.queryPaths)
	if err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	defer queries.close()
	s := &sides{m: m, queries: queries, base: base}
	if s.truth, err = c.truth(queries, base); err != nil {
		return err
	}
	s.floats = c.newFloatSearch(s)
	look := func(ctx context.Context, first int, x vectors.Matrix) error {
		return errors.Join(s.floats.addQueries(ctx, first, x), queries.addMargins(ctx, m, first, x, c.threads))
	}
	if err := c.encode(ctx, m, queries, look); err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	if queries.expected, err = m.Expected(ctx, queries.margins); err != nil {
		return err
	}
	if err := c.encode(ctx, m, base, s.floats.addBase); err != nil {
		return fmt.Errorf("base: %w", err)
	}
	report, err := c.measure(ctx, s)
	if err != nil {
		return err
	}
	c.addLearned(report, m.Info.Sketch, queries, base)
	if s.truth.Mark == nil {
		return c.printResult(unlabelled(report), func() {
			c.warn(report.Warnings)
			c.printNeighboursAlone(report)
		})
	}
	return c.printResult(report, func() {
		c.warn(report.Warnings)
		c.print(report)
	})
}

// check validates the command line before any file is opened.
func (c *evalCommand) check() error {
	if c.model == "" || len(c.basePaths) == 0 || len(c.queryPaths) == 0 {
		return cli.Usage("missing-flag", "eval needs -m MODEL, --base DATA and --queries DATA")
	}
	if len(c.data.LabelsFile) > 0 {
		return cli.Usage("ambiguous-flag", "--labels is ambiguous here: use --base-labels and --queries-labels")
	}
	if len(c.data.IDsFile) > 0 {
		return cli.Usage("ambiguous-flag", "--ids is ambiguous here: pairs of rows without a column of ids go by number")
	}
	if !slices.Contains([]string{api.Auto, api.Hamming, api.Margins, api.Expected, string(eval.ByWeights)}, c.rank) {
		return cli.Usage("bad-flag-value", "--rank %s: choose auto, hamming, margins, expected or weighted", c.rank)
	}
	if !slices.Contains([]string{string(eval.Euclidean), string(eval.Cosine), "none"}, c.neighbours) {
		return cli.Usage("bad-flag-value", "--neighbours %s: choose euclidean, cosine or none", c.neighbours)
	}
	return c.similar.check()
}

// encoded is one side of an evaluation: its rows and their codes.
type encoded struct {
	*supervision.Data
	codes    hamming.Codes
	margins  vectors.Matrix // of the queries, if codes are short enough
	expected vectors.Matrix // their expected codes, if the model knows codes
	close    func() error   // frees cached features
}

// open makes the first pass over one side; encode adds the codes.
func (c *evalCommand) open(ctx context.Context, m *model.Model, d dataFlags, paths []string) (*encoded, error) {
	d, err := d.forSimilarity()
	if err != nil {
		return nil, err
	}
	_, src, err := d.openFor(m, paths)
	if err != nil {
		return nil, err
	}
	done := func() error { return nil }
	if m.Features != nil {
		kept := vectors.Cache(src, vectors.CacheBytes, "") // computed once for all passes
		src, done = kept, kept.Close
	}
	p := c.startProgress("reading", 0, 0)
	o := supervision.ScanOptions{Hashes: m.Info.Sketch != nil, Hashed: m.Encoder.Dim(), Progress: p.Tick}
	sum, err := supervision.Scan(ctx, src, o)
	p.End()
	if err != nil {
		return nil, errors.Join(err, done())
	}
	if sum.Bad > 0 {
		c.note("dropped %s, the first: %v", message.Count(sum.Bad, "bad row", "bad rows"), sum.BadExamples[0])
	}
	return &encoded{Data: sum, codes: hamming.NewCodes(sum.Rows, m.Encoder.Bits()), close: done}, nil
}

// encode computes the codes of one side and passes every run of vectors to look.
func (c *evalCommand) encode(
	ctx context.Context, m *model.Model, e *encoded, look func(ctx context.Context, first int, x vectors.Matrix) error,
) error {
	p := c.startProgress("encoding", e.Rows, 0)
	defer p.End()
	return m.EncodeSource(ctx, e.Source, c.threads, func(first int, codes hamming.Codes, chunk vectors.Chunk) error {
		copy(e.codes.Data[first*e.codes.Words:], codes.Data)
		p.Tick(first + codes.Len())
		return look(ctx, first, chunk.X)
	})
}

// truth says which base items are relevant, numbering classes and tags the same for both sides. Without labels, tags
// or pairs the truth has no marks, and only neighbours are measured.
func (c *evalCommand) truth(queries, base *encoded) (eval.Truth, error) {
	base.MinShared = c.similar.minShared
	queries.Supervision = queries.In(&base.Supervision)
	if c.similar.pairs != "" {
		var err error
		queries.Pairs, err = dataset.ReadPairsBetween(c.similar.pairs, queries.Data, base.Data)
		if err != nil {
			return eval.Truth{}, err
		}
	}
	truth, err := eval.TruthOf(queries.Data, base.Data)
	if err == nil {
		return truth, nil
	}
	if c.neighbours == "none" || c.saysRelevance() {
		return eval.Truth{}, cli.Usage("no-truth", "nothing says which answers are right: give labels or tags for base and "+
			"queries, or --pairs")
	}
	return eval.Truth{}, nil
}

// saysRelevance reports whether the command line gives labels or tags for either side.
func (c *evalCommand) saysRelevance() bool {
	return c.data.Label != "" || c.data.Tags != "" || c.base.labels != nil || c.base.tags != "" ||
		c.queries.labels != nil || c.queries.tags != ""
}

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
