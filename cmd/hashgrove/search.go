package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove/index"
	"hashgrove/internal/cli"
	"hashgrove/internal/items"
	"hashgrove/store"
)

type searchCommand struct {
	*app
	data       dataFlags // of the queries
	items      dataFlags // of the vectors of the items, for --rerank
	rows       []int
	ids, codes []string

	k, radius, prefix, shortlist  int
	where, strategy, rerankBy, to string
	rerank, fields                []string
	margins, explain              bool

	within bool // a radius was given
	limit  bool // so was k
}

func (a *app) search() *cobra.Command {
	c := &searchCommand{app: a}
	cmd := &cobra.Command{
		Use:   "search INDEX QUERY... | --id ID | --code HEX",
		Short: "Find the nearest items of an index, exactly",
		Long: `Find the items whose codes are nearest to those of the queries. A query is a row of vectors or a
picture, which the model in the index encodes; a row of a code file; an item of the index (--id); or a code in
hexadecimal digits (--code). The answer is exact and in a fixed order: by distance, then by id. An item of the
index also finds itself.

--where keeps only items that match a filter: comparisons of label, tag, id and attributes with =, !=, <, <=, >, >=
and in (...), "has NAME", and, or, not, and parentheses, for instance
  --where 'label = "boots" and price < 30 and not tag in ("sale", "old")'

--margins orders items at the same distance by how certain the query's bits are. --rerank orders the shortlist by
float vectors of the items, matched by id, or by row where they have no ids. --explain shows how each query was
searched and why the first hit was found: which bits agree and differ and, with --rerank, which features decided
them.

The index is opened for reading only: several searches may run at once, but not while a command writes.`,
		Example: `  hashgrove search items.hgi new.csv --row 0 -k 5
  hashgrove search items.hgi --id items-7 --radius 2 --where 'label = "boots" and f0 > 1'
  hashgrove search items.hgi --code ffff --json
  hashgrove search items.hgi items.hgc --row 3,4 --prefix 8 --to csv --fields query,id,distance,f0
  hashgrove search items.hgi new.csv --row 1 --margins --rerank items.csv --rerank-id-column sku --explain`,
		Args: cli.AtLeast(1, "an index and a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.within, c.limit = cmd.Flags().Changed("radius"), cmd.Flags().Changed("k")
			return c.run(cmd.Context(), args[0], args[1:])
		},
	}
	c.bind(cmd.Flags())
	return cmd
}

// bind adds the flags of search.
func (c *searchCommand) bind(f *pflag.FlagSet) {
	f.IntVarP(&c.k, "k", "k", 10, "`NUMBER` of items to find; with --radius the most to find, all by default")
	f.IntVar(&c.radius, "radius", 0, "find all items at this `DISTANCE` or less")
	f.StringVar(&c.where, "where", "", "find only items that match this `FILTER`")
	f.IntSliceVar(&c.rows, "row", nil, "search only for these `ROWS`, counted from 0; default all")
	f.StringArrayVar(&c.ids, "id", nil,
		"search for items like those with these `IDS`, separated by commas; may be repeated")
	f.StringArrayVar(&c.codes, "code", nil, "search for a `CODE` in hexadecimal digits; may be repeated")
	cli.Group(f, "Search")
	f.StringVar(&c.to, "to", "table", "`FORM` of the output: table or csv; --json is another")
	f.StringSliceVar(&c.fields, "fields", nil,
		"`FIELDS` of the hits to print: query, rank, id, distance, score, label, tags or names of attributes")
	f.BoolVar(&c.explain, "explain", false, "show how the search was done and why the first hit was found")
	cli.Group(f, "Output")
	f.BoolVar(&c.margins, "margins", false, "order items at the same distance by how certain the query's bits are")
	f.StringArrayVar(&c.rerank, "rerank", nil,
		"`DATA` with vectors of the items to order the shortlist by; may be repeated")
	f.StringVar(&c.rerankBy, "rerank-by", "euclidean",
		"`DISTANCE` for --rerank: euclidean or cosine, or none to use the vectors only for --explain")
	f.IntVar(&c.shortlist, "shortlist", 0,
		"`NUMBER` of items that --prefix and --rerank look at; default ten times k, and at least 100")
	f.IntVar(&c.prefix, "prefix", 0, "search by this `NUMBER` of first bits and order the result by all bits; 0 means all")
	c.items.bindRows(f, "rerank-", " of --rerank", false)
	cli.AddAlias(f, "rerank-id-column", "rerank-id")
	cli.Group(f, "Order of the hits")
	c.data.bindRows(f, "", " of the queries", true)
	c.data.bindPictures(f, "Queries")
	f.StringVar(&c.strategy, "strategy", "auto",
		"`WAY` to search: auto, scan, tables or list; it never changes the answer")
	cli.AddAlias(f, "strategy", "method")
	cli.Group(f, "Strategy")
}

// check finds what is wrong with the command line before anything is opened.
func (c *searchCommand) check(args []string) error {
	kinds := cli.CountTrue(len(args) > 0, len(c.ids) > 0, len(c.codes) > 0)
	vectors := len(args) > 0
	switch {
	case kinds == 0:
		return cli.Usagef("search needs something to search for: files, --id or --code")
	case kinds > 1:
		return cli.Usagef("search takes files, --id or --code, one of them at a time")
	case c.k < 1:
		return cli.Usagef("-k %d: ask for 1 item or more", c.k)
	case c.within && c.radius < 0:
		return cli.Usagef("--radius %d: a distance is 0 or more", c.radius)
	case c.prefix < 0:
		return cli.Usagef("--prefix %d: give the number of bits to search by", c.prefix)
	case c.shortlist < 0:
		return cli.Usagef("--shortlist %d: give a number of items, or 0 for ten times k", c.shortlist)
	case len(c.rows) > 0 && (!vectors || slices.Min(c.rows) < 0):
		return cli.Usagef("--row is the number of a row in the files to search for, counted from 0")
	case !slices.Contains([]string{"auto", "scan", "tables", "list"}, c.strategy):
		return cli.Usagef("--strategy %s: choose auto, scan, tables or list", c.strategy)
	case !slices.Contains([]string{"euclidean", "cosine", "none"}, c.rerankBy):
		return cli.Usagef("--rerank-by %s: choose euclidean, cosine or none", c.rerankBy)
	case c.to != "table" && c.to != "csv":
		return cli.Usagef("--to %s: choose table or csv", c.to)
	case c.explain && c.to == "csv" && !c.json:
		return cli.Usagef("--explain works with a table or --json, not with --to csv")
	case c.margins && !vectors:
		return cli.Usagef("--margins needs vectors to search for: codes do not say how certain they are")
	case len(c.rerank) > 0 && len(c.codes) > 0:
		return cli.Usagef("--rerank needs a vector to search for, and --code has none")
	}
	return nil
}

func (c *searchCommand) run(ctx context.Context, path string, args []string) error {
	if err := c.check(args); err != nil {
		return err
	}
	filter, err := index.Parse(c.where)
	if err != nil {
		return cli.Usagef("--where: %w", err)
	}
	st, q, err := c.open(ctx, path, args)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := st.Info().Fingerprint.Accept(q.Fingerprint); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	o := index.Options{
		Filter: filter, Prefix: c.prefix, Shortlist: c.shortlist, Threads: c.threads, Explain: c.explain,
		Fingerprint: q.Fingerprint,
	}
	if c.strategy != "auto" {
		o.Method = index.Method(c.strategy)
	}
	a := &answer{path: path, queries: q}
	if c.margins || c.explain || len(c.rerank) > 0 {
		if a.model, err = st.Model(); err != nil {
			return err
		}
	}
	if c.margins {
		if q.Vectors.Rows == 0 {
			return cli.Usagef("--margins needs vectors to search for: codes do not say how certain they are")
		}
		if o.Margins, err = q.Margins(a.model); err != nil {
			return fmt.Errorf("--margins: %w", err)
		}
	}
	if a.items, err = c.selectItems(ctx, st, filter); err != nil {
		return err
	}
	began := time.Now()
	if err := c.find(ctx, o, a); err != nil {
		return err
	}
	a.took = time.Since(began)
	return c.print(a)
}

// manyQueries is the number of queries from which building an index in memory costs less than it saves.
const manyQueries = 1 << 10

// open opens the index and reads the queries. The items stay on disk unless there are many queries, or the methods of
// an index in memory are asked for.
func (c *searchCommand) open(ctx context.Context, path string, args []string) (*store.Store, *items.Queries, error) {
	st, err := c.openToRead(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	info := st.Info()
	if c.prefix > info.Bits {
		return nil, nil, closeStore(st, cli.Usagef("--prefix %d: the codes of %s have %d bits", c.prefix, path, info.Bits))
	}
	q, err := c.queries(ctx, st, args)
	if err != nil {
		return nil, nil, closeStore(st, err)
	}
	if len(q.Names) < manyQueries && !c.explain && c.strategy == "auto" {
		return st, q, nil
	}
	if err := st.Close(); err != nil {
		return nil, nil, err
	}
	st, err = c.openIndex(ctx, path, store.OpenOptions{ReadOnly: true})
	return st, q, err
}

// find searches, orders what is found by float vectors when it should, and gets the items that are left. The vectors of
// all items may be too many for the memory, so one pass over their file picks those of the shortlist.
func (c *searchCommand) find(ctx context.Context, o index.Options, a *answer) (err error) {
	k := c.k
	if len(c.rerank) > 0 {
		if a.queries.Vectors.Rows == 0 && len(c.ids) == 0 {
			return cli.Usagef("--rerank needs vectors to search for, and a code file has none")
		}
		if o.Shortlist == 0 {
			o.Shortlist = max(100, 10*min(c.k, index.MaxItems))
		}
		k = max(k, o.Shortlist)
	}
	if c.within {
		if c.limit {
			o.Limit = k
		}
		a.results, err = a.items.WithinBatch(ctx, a.queries.Codes, c.radius, o)
	} else {
		a.results, err = a.items.SearchBatch(ctx, a.queries.Codes, k, o)
	}
	if err != nil {
		return err
	}
	if len(c.rerank) > 0 {
		if err := c.reorder(ctx, a); err != nil {
			return fmt.Errorf("--rerank: %w", err)
		}
	}
	var hits []index.Hit
	for _, r := range a.results {
		hits = append(hits, r.Hits...)
	}
	found, err := a.items.Items(ctx, hits)
	if err != nil {
		return err
	}
	for _, r := range a.results {
		n := len(r.Hits)
		a.found, found = append(a.found, found[:n]), found[n:]
	}
	return nil
}

// reorder orders the shortlists by the vectors of --rerank and keeps the first k of each.
func (c *searchCommand) reorder(ctx context.Context, a *answer) (err error) {
	needed := map[index.ID]bool{}
	for _, r := range a.results {
		for _, h := range r.Hits {
			needed[h.ID] = true
		}
	}
	for _, text := range c.ids {
		needed[index.Text(text)] = true
	}
	if a.vectors, err = c.itemVectors(ctx, a.model, needed); err != nil {
		return err
	}
	for _, text := range c.ids { // items of the index as queries
		v, ok := a.vectors[index.Text(text)]
		if !ok {
			return fmt.Errorf("there is no vector of the item %q", text)
		}
		a.queries.AddVector(v)
	}
	most := c.k
	if c.within && !c.limit {
		most = math.MaxInt
	}
	if distance := items.Distances[c.rerankBy]; distance != nil {
		return items.Rerank(a.results, a.queries, a.vectors, most, distance)
	}
	for q := range a.results {
		r := &a.results[q]
		r.Hits = r.Hits[:min(most, len(r.Hits))]
	}
	return nil
}
