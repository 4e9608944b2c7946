package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/cli"
)

type evalCommand struct {
	*app
	data                  dataFlags
	base, queries         besideFlags
	similar               similarity
	options               hashgrove.EvalOptions
	model                 string
	basePaths, queryPaths []string
	prefix                int
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

A model does better on its training rows than on new ones, so eval says what share of the base they are. To measure
items added later, use a base and queries that training has not seen.

Queries of classes held out of training are measured separately, against the whole base, by Hamming distance.

Some methods weight the bits (MDSH): --rank weighted ranks as their authors do.

With --codes in place of a model, base and queries are codes from elsewhere with labels or tags.`,
		Example: `  hashgrove eval -m items.hgm --base items.csv --queries new.csv --label category
  hashgrove eval -m items.hgm --base vectors.npy --base-labels classes.txt --queries new.csv --label category
  hashgrove eval --codes --vector phash --label kind --base hashes.csv --queries new-hashes.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.model, "model", "m", "", "the `MODEL` to measure")
	f.StringArrayVar(&c.basePaths, "base", nil, "`DATA` to search in; may be repeated")
	f.StringArrayVar(&c.queryPaths, "queries", nil, "`DATA` to search with; may be repeated")
	f.IntVar(&c.prefix, "prefix", 0, "use only this `NUMBER` of leading bits of each code; 0 means all")
	f.StringVar(&c.options.Rank, "rank", api.Auto,
		"`DISTANCE` of the first column: hamming, margins, expected, auto, the choice "+
			"of the model, or weighted if the model has weights for its bits")
	f.StringVar(&c.options.Neighbours, "neighbours", "",
		"`DISTANCE` for the nearest vectors that codes should find: euclidean, cosine, or none to measure no nearness")
	showDefault(f, "neighbours", "euclidean")
	cli.Group(f, "Evaluation")
	f.IntSliceVar(&c.options.PrecisionAt, "precision-at", nil,
		"ranks `K` of precision@K; default 1,10,100,1000; --json also has the precision-recall curve")
	cli.Group(f, "Output")
	c.data.bind(f, "Data")
	c.data.bindCodes(f, "Data")
	f.Lookup("labels").Hidden = true
	c.base.bind(f, "base")
	c.queries.bind(f, "queries")
	cli.Group(f, "Files beside the data")
	c.similar.bind(f)
	f.Lookup("pairs").Usage = "`FILE` of lines query,base,similar|dissimilar|unknown, by id or by row number from 0"
	return cmd
}

func (c *evalCommand) run(ctx context.Context) error {
	switch {
	case (c.model == "") != c.data.Codes || len(c.basePaths) == 0 || len(c.queryPaths) == 0:
		return cli.Usage("missing-flag", "eval needs -m MODEL or --codes, --base DATA and --queries DATA")
	case c.data.Codes && c.prefix > 0:
		return cli.Usage("excluding-flags", "--prefix shortens the codes of a model, and --codes has none")
	case len(c.data.Labels) > 0:
		return cli.Usage("ambiguous-flag", "--labels is ambiguous here: use --base-labels and --queries-labels")
	}
	if err := c.similar.check(); err != nil {
		return err
	}
	measure := hashgrove.EvaluateCodes
	if !c.data.Codes {
		m, err := c.loadModel(c.model, c.prefix)
		if err != nil {
			return err
		}
		measure = m.Evaluate
	}
	base, err := c.data.with(c.base).similarRows(c.basePaths)
	if err != nil {
		return fmt.Errorf("base: %w", err)
	}
	queries, err := c.data.with(c.queries).similarRows(c.queryPaths)
	if err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	c.options.MinShared, c.options.Threads = c.similar.minShared, c.threads
	show, end := c.steps()
	c.options.Progress = show
	e, err := measure(ctx, base, queries.WithPairsFile(c.similar.pairs), c.options)
	end()
	if err != nil {
		return optionUsage(err)
	}
	if c.json {
		return c.printJSON(e)
	}
	c.warn(e.Warnings)
	return e.WriteText(c.out)
}
