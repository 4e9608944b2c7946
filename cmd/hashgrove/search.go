package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/index"
	"hashgrove/internal/items"
	"hashgrove/internal/store"
)

type searchCommand struct {
	*app
	data       dataFlags // of the queries
	items      dataFlags // of the vectors of the items, for --rerank
	rows       []int
	ids, codes []string

	k, radius, prefix, shortlist  int
	where, strategy, rerankBy, to string
	rank                          string
	report, command               string
	file                          cli.Output
	rerank, fields, pictures      []string
	margins, explain              bool

	within bool // a radius was given
	limit  bool // so was k

	path     string // of the index, as it was given
	index    string // the file that is opened
	numbered bool   // the vectors of --rerank have no ids, only row numbers
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

--where keeps only items that match a filter: comparisons of label, tag, id and attributes with =, !=, <, <=, >, >=,
in (...), between A and B, and starts with "TEXT"; "has NAME"; and, or, not, and parentheses, for instance
  --where 'label = "boots" and price < 30 and not tag in ("sale", "old")'
  --where 'in_stock = true and added between 2024-01-01 and 2024-03-31 and name starts with "rain"'
Texts are quoted; numbers, true, false and dates (ISO 8601) need no quotes. A name that no item has, or a value of
another kind than the attribute has, is an error that lists the attributes.

Learned codes tie: many items have the same code. When there are more items at the last distance than are shown,
a line says how many; those shown are the first by id. --margins orders items at the same distance by how
certain the query's bits are, which cannot separate equal codes.

--rank margins goes further: the distance is no longer the number of bits that differ, but how certain the query is
of them. A bit of average certainty counts 16, a doubtful one little, and the sum is shown as margin_distance. The
answer is as exact, and for new items it is mostly better. It needs vectors or pictures to search for, because codes
do not say how certain they are. --radius stays a number of bits: within 2 means a margin distance of 32 or less.

--rerank orders items by their float vectors, matched by id, or by row where they have no ids. It reads the
vectors once for all queries and keeps only the hits in memory. By default it compares all items, and of more
than 65,536 the nearer two thirds by code, to find nine in ten of the nearest vectors or more. --shortlist 1000
compares only the 1,000 nearest by code and those tied with the last: more hits are of the query's class, fewer
are the nearest vectors.

--report FILE writes a page with the queries and their hits: pictures where the data are pictures, those of the
items from --pictures or --rerank, and ids, labels and attributes.

--explain shows how each query was searched and why the first hit was found: which bits agree and differ and,
with --rerank, which features decided them.

Queries can come through a pipe, or from standard input as -. They are answered as they come, unless --json,
--to csv without --fields, --rerank or --explain needs all of them first.

The index may be a file of FAISS, an IndexBinaryFlat or an IndexBinaryIDMap: its codes are then searched with codes, or
by --id. It is made an index anew for every search; "hashgrove pull" does so once.

The index is opened for reading only: several searches may run at once, but not while a command writes.`,
		Example: `  hashgrove search items.hgi new.csv --row 0 -k 5
  hashgrove search items.hgi --id items-7 --radius 2 --where 'label = "boots" and f0 > 1'
  hashgrove search items.hgi --code ffff --json
  hashgrove search items.hgi items.hgc --row 3,4 --prefix 8 --to csv --fields query,id,distance,f0
  hashgrove search items.hgi new.csv --row 0 --rank margins -k 5
  hashgrove search items.hgi new.csv --row 1 --margins --rerank items.csv --rerank-id-column sku --explain
  hashgrove search items.hgi new.csv --row 0,1,2 -k 5 --report found.html
  hashgrove search items.faiss items.hgc --row 3 -k 5
  cat new.csv | hashgrove search items.hgi - -k 3 --to jsonl`,
		Args: cli.AtLeast(1, "an index and a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.command = cli.CommandLine(cmd, args)
			c.within, c.limit = cmd.Flags().Changed("radius"), cmd.Flags().Changed("k")
			return c.run(cmd.Context(), args[0], args[1:])
		},
	}
	c.bind(cmd.Flags())
	a.bindWait(cmd.Flags())
	cli.Group(cmd.Flags(), "Index")
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
	f.StringVar(&c.to, "to", "table",
		"`FORM` of the output: table, csv, json (as --json) or jsonl, a line of JSON per query")
	f.StringSliceVar(&c.fields, "fields", nil,
		"`FIELDS` of the hits to print: query, rank, id, distance, margin_distance, score, label, tags or names of "+
			"attributes")
	f.BoolVar(&c.explain, "explain", false, "show how the search was done and why the first hit was found")
	f.StringVar(&c.report, "report", "",
		"also write a page to this HTML `FILE` with the queries and their hits, as pictures where there are any")
	f.StringArrayVar(&c.pictures, "pictures", nil,
		"`DATA` with the pictures of the items for --report, by id or by row; default those of --rerank; may be repeated")
	c.file.Bind(f)
	cli.Group(f, "Output")
	f.StringVar(&c.rank, "rank", "hamming",
		"`DISTANCE` to order by: hamming, the number of bits that differ, or margins, how certain the query is of them")
	f.BoolVar(&c.margins, "margins", false, "order items at the same distance by how certain the query's bits are")
	f.StringArrayVar(&c.rerank, "rerank", nil,
		"`DATA` with vectors of the items to order them by; may be repeated")
	f.StringVar(&c.rerankBy, "rerank-by", "euclidean",
		"`DISTANCE` for --rerank: euclidean or cosine, or none to use the vectors only for --explain")
	f.IntVar(&c.shortlist, "shortlist", 0,
		"least `NUMBER` of items that --rerank and --prefix look at, whole distances in any case; default for --rerank "+
			"all items up to 65,536, of more the nearer two thirds; for --prefix ten times k, at least 100")
	f.IntVar(&c.prefix, "prefix", 0, "search by this `NUMBER` of first bits and order the result by all bits; 0 means all")
	c.items.bindRows(f, "rerank-", " of --rerank", false)
	cli.Group(f, "Order of the hits")
	c.data.bindRows(f, "", " of the queries", true)
	c.data.bindPictures(f, "Queries")
	f.StringVar(&c.strategy, "strategy", "auto",
		"`WAY` to search: auto, scan, tables or list; it never changes the answer")
	cli.Group(f, "Strategy")
}

// check finds what is wrong with the command line before anything is opened.
func (c *searchCommand) check(args []string) error {
	kinds := cli.CountTrue(len(args) > 0, len(c.ids) > 0, len(c.codes) > 0)
	vectors := len(args) > 0
	switch {
	case kinds == 0:
		return cli.Usage("missing-query", "search needs something to search for: files, --id or --code")
	case kinds > 1:
		return cli.Usage("conflicting-flags", "search takes files, --id or --code, one of them at a time")
	case c.k < 1:
		return cli.Usage("bad-flag-value", "-k %d: ask for 1 item or more", c.k)
	case c.within && c.radius < 0:
		return cli.Usage("bad-flag-value", "--radius %d: a distance is 0 or more", c.radius)
	case c.prefix < 0:
		return cli.Usagef("--prefix %d: give the number of bits to search by", c.prefix)
	case c.shortlist < 0:
		return cli.Usagef("--shortlist %d: give a number of items, or 0 for the default", c.shortlist)
	case len(c.rows) > 0 && (!vectors || slices.Min(c.rows) < 0):
		return cli.Usage("bad-flag-value", "--row is the number of a row in the files to search for, counted from 0")
	case !slices.Contains([]string{"auto", "scan", "tables", "list"}, c.strategy):
		return cli.Usage("bad-flag-value", "--strategy %s: choose auto, scan, tables or list", c.strategy)
	case !slices.Contains([]string{"euclidean", "cosine", "none"}, c.rerankBy):
		return cli.Usage("bad-flag-value", "--rerank-by %s: choose euclidean, cosine or none", c.rerankBy)
	case !slices.Contains([]string{"hamming", "margins"}, c.rank):
		return cli.Usage("bad-flag-value", "--rank %s: choose hamming or margins", c.rank)
	case !slices.Contains([]string{"table", "csv", "json", "jsonl"}, c.to):
		return cli.Usage("bad-flag-value", "--to %s: choose table, csv, json or jsonl", c.to)
	case c.explain && c.to == "csv" && !c.json:
		return cli.Usage("conflicting-flags", "--explain works with a table or --json, not with --to csv")
	case slices.Contains(args, dataset.Standard) && slices.Contains(c.rerank, dataset.Standard):
		return cli.Usage("input-taken", "--rerank -: standard input has the queries already; give the vectors as a file")
	case len(c.pictures) > 0 && c.report == "":
		return cli.Usage("missing-flag", "--pictures is for --report FILE, the page that shows them")
	case c.margins && !vectors:
		return cli.Usage("needs-vectors", "--margins needs vectors to search for: codes do not say how certain they are")
	case c.byMargins() && !vectors:
		return errNoMargins
	case len(c.rerank) > 0 && len(c.codes) > 0:
		return cli.Usage("needs-vectors", "--rerank needs a vector to search for, and --code has none")
	}
	return nil
}

func (c *searchCommand) run(ctx context.Context, path string, args []string) error {
	if err := c.check(args); err != nil {
		return err
	}
	if c.to == "json" {
		c.json = true
	}
	filter, err := index.Parse(c.where)
	if err != nil {
		return cli.Usage("bad-filter", "--where: %w", err)
	}
	inputs := slices.Concat([]string{path}, c.data.inputs(args), c.items.inputs(c.rerank), c.pictures)
	c.file.FileOnly = true
	if err := c.file.Check([]string{c.report}, inputs); err != nil {
		return err
	}
	c.data.readOnce(ctx, c.in)
	var done func()
	c.path = path
	if c.index, done, err = c.indexOfFAISS(ctx, path); err != nil {
		return err
	}
	defer done()
	if c.isLive(args) {
		return c.runLive(ctx, path, args, filter)
	}
	st, q, err := c.open(ctx, path, args)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := st.Info().Fingerprint.Accept(q.Fingerprint); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	a, err := c.newAnswer(ctx, path, st, filter)
	if err != nil {
		return err
	}
	if err := c.answer(ctx, filter, a, q); err != nil {
		return err
	}
	results, err := c.queryReports(a)
	if err == nil && c.report != "" {
		err = c.writeReport(ctx, a, args, results)
	}
	if err != nil {
		return err
	}
	return c.print(a, results)
}

// isLive reports whether the queries come through a pipe and can be answered as they come: the form of the output does
// not need all answers, and no file is read for each of them.
func (c *searchCommand) isLive(args []string) bool {
	whole := c.json && c.to != "jsonl" || c.to == "csv" && len(c.fields) == 0 || len(c.rerank) > 0 || c.explain ||
		c.report != ""
	return !whole && c.strategy == "auto" && slices.ContainsFunc(args, dataset.IsStream)
}

// runLive answers queries from a pipe as they come, in bounded memory.
func (c *searchCommand) runLive(ctx context.Context, path string, args []string, filter index.Filter) error {
	st, err := c.openAll(ctx, c.index, index.Config{Tables: -1})
	if err != nil {
		return err
	}
	if c.prefix > st.Info().Bits {
		return cli.Usage("too-many-bits", "--prefix %d: the codes of %s have %d bits", c.prefix, path, st.Info().Bits)
	}
	m, err := c.queryModel(st, args)
	if err != nil {
		return err
	}
	set, src, err := c.data.openFor(m, args)
	if err != nil {
		return err
	}
	a, err := c.newAnswer(ctx, path, st, filter)
	if err != nil {
		return err
	}
	head, named := true, false
	o := items.Reading{Name: args[0], Rows: c.rows, KeepMargins: c.needsMargins(), Threads: c.threads}
	err = items.EachChunk(ctx, m, src, o, func(q *items.Queries) error {
		named = q.Named
		if err := c.answer(ctx, filter, a, q); err != nil {
			return err
		}
		results, err := c.queryReports(a)
		if err != nil {
			return err
		}
		switch c.to {
		case "jsonl":
			return c.printLines(results)
		case "csv":
			err, head = c.printCSV(results, head), false
			return err
		}
		for _, r := range results {
			c.printQuery(a, r)
		}
		return nil
	})
	if err == nil {
		c.noteNumbers(c.noteBad(set), named)
	}
	return err
}

// newAnswer reads what all answers need.
func (c *searchCommand) newAnswer(ctx context.Context, path string, st *store.Store, f index.Filter) (*answer, error) {
	a := &answer{path: path}
	var err error
	if c.explain || len(c.rerank) > 0 {
		if a.model, err = st.Model(); err != nil {
			return nil, err
		}
	}
	a.items, err = c.selectFields(ctx, st, f, c.fields,
		[]string{"query", "rank", "id", "distance", "margin_distance", "score", "label", "tags"})
	return a, err
}

// answer searches for queries.
func (c *searchCommand) answer(ctx context.Context, filter index.Filter, a *answer, q *items.Queries) (err error) {
	a.queries = q
	o := index.Options{
		Filter: filter, Prefix: c.prefix, Shortlist: c.shortlist, Threads: c.threads, Explain: c.explain, Ties: true,
		Fingerprint: q.Fingerprint, Rank: index.Rank(c.rank),
	}
	if c.strategy != "auto" {
		o.Method = index.Method(c.strategy)
	}
	if c.needsMargins() {
		switch o.Margins = q.Margins; {
		case len(q.Margins) > 0:
		case c.byMargins():
			return errNoMargins
		default:
			return cli.Usage("needs-vectors", "--margins needs vectors to search for: codes do not say how certain they are")
		}
	}
	began := time.Now()
	err = c.find(ctx, o, a)
	a.took = time.Since(began)
	return err
}

// errNoMargins refuses a ranking that codes alone cannot give.
var errNoMargins = cli.Usage("needs-vectors",
	"--rank margins needs vectors or pictures to search for: codes, those of --id, --code "+
		"and code files, do not say how certain they are")

// byMargins tells whether margins are the distance.
func (c *searchCommand) byMargins() bool { return c.rank == string(index.ByMargins) }

// needsMargins tells whether margins decide about the order in any way.
func (c *searchCommand) needsMargins() bool { return c.margins || c.byMargins() }

// manyQueries is the number of queries from which building an index in memory costs less than it saves.
const manyQueries = 1 << 10

// open opens the index and reads the queries. The items stay on disk unless there are many queries, or the methods of
// an index in memory are asked for.
func (c *searchCommand) open(ctx context.Context, path string, args []string) (*store.Store, *items.Queries, error) {
	st, err := c.openToRead(ctx, c.index)
	if err != nil {
		return nil, nil, err
	}
	info := st.Info()
	if c.prefix > info.Bits {
		return nil, nil, closeStore(st, cli.Usage("too-many-bits",
			"--prefix %d: the codes of %s have %d bits", c.prefix, path, info.Bits))
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
	st, err = c.openAll(ctx, c.index, index.Config{})
	return st, q, err
}

// find searches, orders what is found by float vectors when it should, and gets the items that are left.
func (c *searchCommand) find(ctx context.Context, o index.Options, a *answer) (err error) {
	if len(c.rerank) > 0 && a.queries.Vectors.Rows == 0 && len(c.ids) == 0 {
		return cli.Usage("needs-vectors", "--rerank needs vectors to search for, and a code file has none")
	}
	switch {
	case c.isReranked():
		err := c.findReranked(ctx, o, a)
		if errors.Is(err, items.ErrNoVector) && c.numbered {
			return fmt.Errorf("--rerank: %w: its rows were matched by number, because they have no ids: "+
				"name their column with --rerank-id-column, or a file with --rerank-ids", err)
		}
		if err != nil {
			return fmt.Errorf("--rerank: %w", err)
		}
	case c.within:
		if c.limit {
			o.Limit = c.k
		}
		a.results, err = a.items.WithinBatch(ctx, a.queries.Codes, c.radius, o)
	default:
		a.results, err = a.items.SearchBatch(ctx, a.queries.Codes, c.k, o)
	}
	if err != nil {
		return err
	}
	if len(c.rerank) > 0 && c.explain {
		if err := c.readFirstHits(ctx, a); err != nil {
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
	a.found = a.found[:0]
	for _, r := range a.results {
		n := len(r.Hits)
		a.found, found = append(a.found, found[:n]), found[n:]
	}
	return nil
}
