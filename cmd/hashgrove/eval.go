package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"hashgrove/dataset"
	"hashgrove/eval"
	"hashgrove/hamming"
	"hashgrove/internal/cli"
	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

type evalCommand struct {
	*app
	both, base, queries   dataFlags
	similar               similarity
	model                 string
	basePaths, queryPaths []string
	prefix                int
	precisionAt           []int
	cut                   int
	curve                 bool
	ranking               string
}

func (a *app) eval() *cobra.Command {
	c := &evalCommand{app: a}
	cmd := &cobra.Command{
		Use:   "eval -m MODEL --base DATA --queries DATA",
		Short: "Measure a model: MAP, precision and recall, with ties handled fairly",
		Long: `Encode a base and queries, rank the base by Hamming distance for every query, and measure the rankings.

Many base items have the same distance. All measures are averaged over all orders of tied items, and MAP is
shown with the bounds of the worst and the best order. The paper's convention (ties in base order, lists cut at
10,000, divided by the hits in the list) is printed as well. Classes held out of training are measured separately.

Some methods weight the bits (MDSH): --ranking weighted ranks as their authors do, except for classes held out of
training.`,
		Example: `  hashgrove eval -m items.hgm --base items.csv --queries new.csv --label category
  hashgrove eval -m items.hgm --base vectors.npy --base-labels classes.txt --queries new.csv --queries-label category`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.model, "model", "m", "", "the `MODEL` to measure")
	f.StringArrayVar(&c.basePaths, "base", nil, "`DATA` to search in; may be repeated")
	f.StringArrayVar(&c.queryPaths, "queries", nil, "`DATA` to search with; may be repeated")
	f.IntVar(&c.prefix, "prefix", 0, "use only this `NUMBER` of first bits of each code; 0 means all")
	f.StringVar(&c.ranking, "ranking", "hamming",
		"`DISTANCE` that ranks the base: hamming, or weighted where the model has weights for its bits")
	cli.Group(f, "Evaluation")
	f.IntSliceVar(&c.precisionAt, "precision-at", nil, "ranks `K` of precision@K; default 1,10,100,1000")
	f.IntVar(&c.cut, "cut", 10000, "`LENGTH` of the lists in the paper's convention")
	f.BoolVar(&c.curve, "curves", false, "print the precision-recall curve and the precision of the first 2000")
	cli.Group(f, "Output")
	c.both.bind(f, "")
	c.similar.bind(f)
	c.base.bind(f, "base-")
	c.queries.bind(f, "queries-")
	f.Lookup("pairs").Usage = "`FILE` of lines query,base,similar|dissimilar|unknown, by id or by row number from 0"
	return cmd
}

func (c *evalCommand) run(ctx context.Context) error {
	if c.model == "" || len(c.basePaths) == 0 || len(c.queryPaths) == 0 {
		return cli.Usagef("eval needs -m MODEL, --base DATA and --queries DATA")
	}
	if len(c.both.LabelsFile) > 0 {
		return cli.Usagef("--labels is ambiguous here: use --base-labels and --queries-labels")
	}
	if err := c.similar.check(); err != nil {
		return err
	}
	m, err := readPrefix(c.model, c.prefix)
	if err != nil {
		return err
	}
	if c.ranking != "hamming" && c.ranking != "weighted" {
		return cli.Usagef("--ranking %s: choose hamming or weighted", c.ranking)
	}
	if c.ranking == "weighted" && m.Info.Weights == nil {
		return cli.Usagef("--ranking weighted: the bits of %s have no weights; models of the method mdsh do", c.model)
	}
	base, err := c.read(ctx, m, c.base.withCommon(c.both), c.basePaths)
	if err != nil {
		return fmt.Errorf("base: %w", err)
	}
	queries, err := c.read(ctx, m, c.queries.withCommon(c.both), c.queryPaths)
	if err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	truth, err := c.truth(queries, base)
	if err != nil {
		return err
	}
	p := c.startProgress("measuring", queries.Rows, 0)
	o := eval.Options{K: c.precisionAt, Cut: c.cut, Threads: c.threads, Progress: func(done, _ int) { p.Tick(done) }}
	if queries.Labels != nil {
		o.Classes, o.ClassNames = queries.Labels.Class, queries.Labels.Names
	}
	var report *eval.Report
	if c.ranking == "weighted" {
		report, err = eval.RetrievalWeighted(ctx, queries.codes, base.codes, m.Info.Weights, truth, o)
	} else {
		report, err = eval.Retrieval(ctx, queries.codes, base.codes, truth, o)
	}
	p.End()
	if err != nil {
		return err
	}
	if err := c.measureUnseen(ctx, m, queries, base, report); err != nil {
		return err
	}
	return c.printResult(report, func() {
		c.warn(report.Warnings)
		c.print(report)
	})
}

// encoded is one side: what is known about its rows, and their codes.
type encoded struct {
	*supervision.Data
	codes hamming.Codes
}

func (c *evalCommand) read(ctx context.Context, m *model.Model, d dataFlags, paths []string) (*encoded, error) {
	_, src, err := d.openFor(m, paths)
	if err != nil {
		return nil, err
	}
	if m.Features != nil {
		kept := keepFeatures(src)
		defer kept.Close()
		src = kept
	}
	sum, err := c.scan(ctx, src, false)
	if err != nil {
		return nil, err
	}
	if sum.Bad > 0 {
		c.note("dropped %d bad rows, the first: %v", sum.Bad, sum.BadExamples[0])
	}
	e := &encoded{sum, hamming.NewCodes(sum.Rows, m.Encoder.Bits())}
	p := c.startProgress("encoding", sum.Rows, 0)
	defer p.End()
	return e, m.EncodeSource(ctx, src, c.threads, func(first int, codes hamming.Codes, _ vectors.Chunk) error {
		copy(e.codes.Data[first*e.codes.Words:], codes.Data)
		p.Tick(first + codes.Len())
		return nil
	})
}

// truth says which base items are right answers; classes and tags get one numbering for both sides.
func (c *evalCommand) truth(queries, base *encoded) (eval.Truth, error) {
	base.MinShared = c.similar.minShared
	if c.similar.pairs != "" {
		var err error
		queries.Pairs, err = dataset.ReadPairsBetween(c.similar.pairs, queries.Data, base.Data)
		if err != nil {
			return eval.Truth{}, err
		}
	} else {
		queries.Supervision = queries.In(&base.Supervision)
	}
	truth, err := eval.TruthOf(queries.Data, base.Data)
	if err != nil {
		return eval.Truth{}, cli.Usagef("nothing says which answers are right: give labels or tags for base and " +
			"queries, or --pairs")
	}
	return truth, nil
}

// measureUnseen measures the classes that were held out of training separately.
func (c *evalCommand) measureUnseen(
	ctx context.Context, m *model.Model, queries, base *encoded, report *eval.Report,
) error {
	if len(m.Info.HeldOut) == 0 || queries.Labels == nil || base.Labels == nil {
		return nil
	}
	var held []int32
	for _, name := range m.Info.HeldOut {
		if i := slices.Index(queries.Labels.Names, name); i >= 0 {
			held = append(held, int32(i))
		}
	}
	o := eval.Options{K: c.precisionAt, Cut: c.cut, Classes: queries.Labels.Class, Threads: c.threads}
	r, err := eval.Unseen(ctx, queries.codes, base.codes, base.Labels.Class, held, o)
	if err != nil {
		report.Warnings = append(report.Warnings,
			"the classes held out of training cannot be measured separately: "+err.Error())
		return nil
	}
	report.Unseen = r
	return nil
}

func (c *evalCommand) print(r *eval.Report) {
	t := c.table()
	row := func(name, value, note string) { t.AppendRow(table.Row{name, value, note}) }
	t.AppendHeader(table.Row{"measure", "value", ""})
	row("MAP", fmt.Sprintf("%.4f", r.MAP),
		fmt.Sprintf("%.4f to %.4f depending on how ties are broken", r.MAPLow, r.MAPHigh))
	row(fmt.Sprintf("MAP, first %d", c.cut), fmt.Sprintf("%.4f", r.MAP10000), "the paper's convention")
	for _, k := range slices.Sorted(maps.Keys(r.Precision)) {
		row("precision@"+strconv.Itoa(k), fmt.Sprintf("%.4f", r.Precision[k]), "")
	}
	row("PR area", fmt.Sprintf("%.4f", r.PRArea), "pooled over Hamming radii")
	row(fmt.Sprintf("PR area, first %d", c.cut), fmt.Sprintf("%.4f", r.PRArea10000), "the paper's convention")
	for _, l := range r.Lookup {
		row("lookup, radius "+strconv.Itoa(l.Radius), fmt.Sprintf("%.4f", l.Precision),
			fmt.Sprintf("precision; recall %.4f, %.1f %% of queries find nothing", l.Recall, 100*l.Empty))
	}
	row("distinct codes", strconv.Itoa(r.DistinctCodes),
		fmt.Sprintf("of %d; the largest bucket holds %d", r.Base, r.LargestBucket))
	if u := r.Unseen; u != nil {
		row("MAP, unseen classes", fmt.Sprintf("%.4f", u.MAP),
			fmt.Sprintf("%d queries, %d base rows of classes held out of training", u.Queries, u.Base))
	}
	fmt.Fprintf(c.out, "%d queries against %d codes of %d bits\n", r.Queries, r.Base, r.Bits)
	t.Render()
	c.printClasses(r)
	if c.curve {
		c.printCurves(r)
	}
}

// printClasses prints the table by class: all of up to 20 classes, else the ten worst.
func (c *evalCommand) printClasses(r *eval.Report) {
	rows := r.PerClass
	if len(rows) == 0 {
		return
	}
	title := "by class, worst first"
	if len(rows) > 20 {
		title = fmt.Sprintf("the ten worst of %d classes", len(rows))
		rows = rows[:10]
	}
	t := c.table()
	t.AppendHeader(table.Row{"class", "queries", "relevant", "MAP", "precision@100"})
	for _, k := range rows {
		t.AppendRow(table.Row{k.Name, k.Queries, k.Base, fmt.Sprintf("%.4f", k.MAP), fmt.Sprintf("%.4f", k.Precision100)})
	}
	fmt.Fprintln(c.out, title)
	t.Render()
}

func (c *evalCommand) printCurves(r *eval.Report) {
	fmt.Fprintln(c.out, "radius,recall,precision")
	for _, p := range r.PRCurve {
		fmt.Fprintf(c.out, "%d,%.6f,%.6f\n", p.Radius, p.Recall, p.Precision)
	}
	fmt.Fprintln(c.out, "rank,precision")
	for i, p := range r.PrecisionCurve {
		fmt.Fprintf(c.out, "%d,%.6f\n", i+1, p)
	}
}
