package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/compare"
)

type compareCommand struct {
	*app
	data       dataFlags
	queries    besideFlags
	queryPaths []string
	newPaths   []string
	flags      *pflag.FlagSet
	options    compare.Options
	minShared  int
	features   string
	rank       string
	reportFile string
	file       cli.Output
}

func (a *app) compare() *cobra.Command {
	c := &compareCommand{app: a}
	var methods strings.Builder
	for _, name := range compare.Names() {
		fmt.Fprintf(&methods, "  %-13s %s\n", name, compare.About(name))
	}
	cmd := &cobra.Command{
		Use:   "compare DATA...",
		Short: "Train several methods, measure them side by side and recommend one",
		Long: `Train several methods on one data set at several code lengths, measure them side by side, and recommend:
which method, how many bits, what is lost compared with float search, which classes suffer, and whether to hash at
all.

Some rows are set aside as queries, unless --queries names them. A fifth of the others is set aside as new items,
unless --new names them: the queries search these, and no method learns from them. Codes of training rows mostly show
how well a method memorised them; an index receives items later, so the figures for new items decide, and those for
learned items are shown for comparison. The table always includes random codes and the signs of the centred values
as floors, and a classifier's output and float search as references. A second training without a quarter of the
classes shows how the codes cope with classes that appear later: queries of those classes search all items
(--unseen -1 skips this to save time).

Codes are ranked by Hamming distance, by margins and by the expected code (see "hashgrove help search"). One of them
leads: the usual one of the model unless another is clearly better, or that of --rank. "Nearest" is the share of the
ten items of the query's class that are nearest by cosine which are among the first ten hits. FastHash is also measured
with bits of detail behind its own, which raise that share (--detail-bits).

FastHash is trained once, at the longest length: it learns bit by bit, so shorter codes are prefixes. Other methods
are trained again for each length. Vectors are kept in memory.

The methods:
` + strings.TrimSuffix(methods.String(), "\n"),
		Example: `  hashgrove compare items.csv --label category --id-column sku --methods fasthash,lsh --bits 8,16` +
			` --rounds 20 --report items.html
  hashgrove compare items.csv --label category --id-column sku --queries new.csv --methods fasthash,lsh --bits 8,16` +
			` --rounds 20`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.bind(cmd.Flags())
	return cmd
}

// bind adds the flags of compare.
func (c *compareCommand) bind(f *pflag.FlagSet) {
	o := &c.options
	c.flags = f
	f.StringSliceVar(&o.Methods, "methods", compare.Quick, "`METHODS` to compare, or all")
	f.IntSliceVar(&o.Bits, "bits", []int{16, 32, 64, 128}, "code lengths in `BITS`")
	f.StringArrayVar(&c.queryPaths, "queries", nil,
		"`DATA` to search with, instead of rows set aside; may be repeated")
	f.StringArrayVar(&c.newPaths, "new", nil,
		"`DATA` to search that no method learns from, instead of rows set aside; may be repeated")
	f.StringVar(&c.rank, "rank", api.Auto, "`DISTANCE` that decides: hamming, margins, expected, or auto, the usual one "+
		"of a model unless another is clearly better")
	f.IntVar(&o.DetailBits, "detail-bits", compare.UsualDetail,
		"also measure FastHash with this `NUMBER` of bits of detail, at most one for each dimension; 0 means not")
	f.StringVar(&c.features, "features", "",
		"turn pictures into these `FEATURES` first: gist320, gist512 or pixels")
	cli.Group(f, "Comparison")
	f.StringVar(&c.reportFile, "report", "", "HTML `FILE` to write, with the table and plots")
	c.file.FileOnly = true
	c.file.Bind(f)
	cli.Group(f, "Output")
	c.data.bind(f, "Data")
	c.data.bindPictures(f)
	f.IntVar(&c.minShared, "min-shared", hashgrove.Defaults().MinShared, "least `NUMBER` of tags that similar rows share")
	cli.Group(f, "Similarity")
	c.queries.bind(f, "queries")
	cli.Group(f, "Files beside the queries")
	t := &o.Train
	f.StringVar(&t.Effort, "effort", hashgrove.Defaults().Effort,
		"`EFFORT` to spend on FastHash: quick, normal, best, or paper for the paper's settings")
	f.IntVar(&t.Trees.Rounds, "rounds", 0, "`NUMBER` of boosted trees per bit of FastHash (default: by --effort)")
	f.IntVar(&t.Trees.Depth, "depth", 0, "`DEPTH` of the trees of FastHash, 1 to 8 (default: by --effort)")
	f.StringVar(&t.FastHash.Balance, "balance", "",
		"weights `S:D` of similar and dissimilar pairs for FastHash, auto for equal "+
			"shares, or classes to give all classes equal weight (default: as train)")
	bindDevice(f, &t.Device)
	bindSettings(f, t, "hold_out", "restart")
	f.IntVar(&o.Unseen, "unseen", 0,
		"`NUMBER` of classes to exclude from a second training; 0 means a quarter of them, negative none")
	cli.Group(f, "Training")
}

func (c *compareCommand) run(ctx context.Context, args []string) error {
	if err := (&similarity{minShared: c.minShared}).check(); err != nil {
		return err
	}
	if !slices.Contains(api.Rankings(), c.rank) {
		return cli.Usage("bad-flag-value", "--rank %s: choose one of %s", c.rank, strings.Join(api.Rankings(), ", "))
	}
	if c.rank != api.Auto {
		c.options.Rank = compare.Ranking(c.rank)
	}
	c.options.Seed, c.options.Threads = c.seed, c.threads
	if err := usage(c.options.Check()); err != nil {
		return err
	}
	inputs := slices.Concat(c.data.inputs(args), c.queryPaths, c.newPaths, c.queries.inputs())
	if err := c.file.Check([]string{c.reportFile}, inputs); err != nil {
		return err
	}
	data, err := c.read(ctx, args)
	if err != nil {
		return err
	}
	result, err := c.runComparison(ctx, data, c.options)
	if err != nil {
		return err
	}
	if c.reportFile != "" {
		if err := result.WriteFile(c.reportFile, "Comparison on "+data.Name, "hashgrove "+c.line); err != nil {
			return err
		}
	}
	if c.json {
		return c.printJSON(result)
	}
	c.printComparison(result, c.reportFile)
	return nil
}

// read opens the data and sets queries aside, or reads the queries and new items that flags name.
func (c *compareCommand) read(ctx context.Context, args []string) (*compare.Data, error) {
	p := c.startProgress("reading", 0)
	defer p.End()
	f := compare.Files{
		Name: strings.Join(args, ", "), MinShared: c.minShared, Seed: c.seed, Threads: c.threads, Progress: p.Tick,
		Pictures: hashgrove.PictureOptions{Size: c.data.size, Features: c.features},
	}
	for _, side := range []struct {
		to    **hashgrove.Data
		flags dataFlags
		paths []string
		name  string
	}{
		{&f.Base, c.data, args, ""}, {&f.New, c.data.with(besideFlags{}), c.newPaths, "new items: "},
		{&f.Queries, c.data.with(c.queries), c.queryPaths, "queries: "},
	} {
		if len(side.paths) == 0 {
			continue
		}
		var err error
		if *side.to, err = side.flags.similarRows(side.paths); err != nil {
			return nil, fmt.Errorf("%s%w", side.name, err)
		}
	}
	data, columns, err := f.Open(ctx)
	if hashgrove.HasCode(err, "needs-pictures") {
		return nil, cli.UsageError(err)
	}
	if err == nil && len(columns.Vector) > 0 {
		c.noteColumns(columns, data.Base.X.Cols)
	}
	return data, err
}

// runComparison runs a comparison and shows its progress.
func (a *app) runComparison(ctx context.Context, data *compare.Data, o compare.Options) (*compare.Result, error) {
	var p *cli.Progress
	o.Progress = func(now compare.Progress) {
		if p == nil {
			p = a.startProgress("comparing", now.Total)
		}
		if now.Note != "" {
			p.Step(now.Done, now.Note)
		} else {
			p.Tick(now.Done)
		}
	}
	result, err := compare.Run(ctx, data, o)
	if p != nil {
		p.End()
	}
	return result, err
}

// printComparison prints the table, the notes and the advice.
func (a *app) printComparison(r *compare.Result, reportFile string) {
	a.warn(append(r.Failures(), r.Warnings...))
	fmt.Fprintln(a.out, r.Title())
	head, rows := r.Table()
	a.printTable(append([][]string{head}, rows...))
	for _, note := range r.Notes() {
		fmt.Fprintln(a.out, note)
	}
	fmt.Fprintln(a.out, "\nAdvice")
	for _, advice := range r.Advice {
		fmt.Fprintf(a.out, "- %s%s\n", advice.Text, flagsFor(advice))
	}
	if reportFile != "" {
		fmt.Fprintf(a.out, "\nReport with plots: %s\n", reportFile)
	}
}

// flagsFor names the flags that put advice into practice.
func flagsFor(advice compare.Advice) string {
	if advice.Rule == "ranking" {
		return fmt.Sprintf(" \"search --rank %s\" does that.", advice.Rank)
	}
	return ""
}
