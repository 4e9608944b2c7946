package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/cli"
)

type searchCommand struct {
	*app
	data       dataFlags // of the queries
	rows       []int
	ids, codes []string

	k, radius, prefix   int
	where, rerankBy, to string
	rank                string
	server, tokenFile   string
	rerank, fields      []string
	explain             bool

	within bool // a radius was given
	limit  bool // k was given

	path    string          // of the index as given, or the name of a collection
	args    []string        // the data to search with
	queries *hashgrove.Data // nil for ids and codes
	answer  api.Answer      // to all queries so far
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

--rank says what "near" means. All rankings are exact, and all use the same codes:
  hamming    the number of bits that differ
  margins    each differing bit counts by how certain the query is of it, 16 for a bit of average certainty and less
             for a doubtful one; for new items usually better. Queries must be vectors or pictures, because codes do
             not say how certain they are
  expected   as margins, but for the code that the query most likely has, given the codes that training saw; a query
             with a few wrong bits still finds its class. A query that is a code or an id counts all its bits alike
  auto       what training found to be best for the model ("hashgrove info" says what), the default; with --radius,
             hamming
The sum is shown as margin_distance, in sixteenths of a bit. --radius stays a number of bits: within 2 means a margin
distance of 32 or less.

A model of train --detail-bits has codes of two parts. The distance counts the bits of the class, detail_distance those
of detail, which weigh an eighth of a bit: the class decides, and within it the items most like the query come first.

Without them learned codes tie: many items have the same code. If there are more items at the last distance than are
shown, a line says how many; those shown are the first by id.

--rerank orders items by their float vectors, matched by id, or by row if they have no ids. It reads the
vectors once for all queries and keeps only the hits in memory. It compares what the codes found: ten times as many
items as are wanted, at least 100, and those tied with the last. Beside the data, --rerank cosine takes that distance
instead of the Euclidean one, and --rerank ties keeps the order of the codes and lets the vectors decide only between
items at the same distance.

--explain shows why the first hit of each query was found: which bits agree and differ and,
with --rerank, which features decided them.

Queries can come through a pipe, or from standard input as -. They are answered as they arrive, unless --json,
--to csv without --fields, --rerank or --explain needs all of them first.

The index is opened for reading only: several searches may run at once, but not while a command writes.

--server URL searches a collection of a running service instead ("hashgrove serve"): INDEX is then its name, and
queries are ids, codes, vectors or picture files. The answer is the same. The token comes from --token-file, or from
HASHGROVE_TOKEN in the environment.`,
		Example: `  hashgrove search items.hgi new.csv --row 0 -k 5
  hashgrove search items.hgi --id items-7 --radius 2 --where 'label = "boots" and f0 > 1'
  hashgrove search items.hgi --code ffff --json
  hashgrove search items.hgi items.hgc --row 3,4 --prefix 8 --to csv --fields query,id,distance,f0
  hashgrove search items.hgi new.csv --row 0 --rank expected -k 5
  hashgrove search items.hgi new.csv --row 1 --id-column sku --rerank items.csv --explain
  cat new.csv | hashgrove search items.hgi - -k 3 --to jsonl
  hashgrove search items --id items-7 --server http://127.0.0.1:8080`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.within, c.limit = cmd.Flags().Changed("radius"), cmd.Flags().Changed("k")
			return c.run(cmd.Context(), args[0], args[1:])
		},
	}
	c.bind(cmd.Flags())
	a.bindWait(cmd.Flags())
	cli.Group(cmd.Flags(), "Index")
	return cmd
}

func (c *searchCommand) bind(f *pflag.FlagSet) {
	f.IntVarP(&c.k, "k", "k", api.DefaultK, "`NUMBER` of items to find; with --radius the maximum, by default unlimited")
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
		"`FIELDS` of the hits to print: query, rank, id, distance, detail_distance, margin_distance, score, label, tags "+
			"or names of attributes")
	f.BoolVar(&c.explain, "explain", false, "show why the first hit was found")
	cli.Group(f, "Output")
	f.StringVar(&c.rank, "rank", api.Auto, "`DISTANCE` to order by: "+api.RankingsText())
	f.StringArrayVar(&c.rerank, "rerank", nil,
		"`DATA` with vectors of the items to order them by, euclidean (the default) or cosine, or ties to order only items "+
			"at the same distance; may be repeated")
	f.IntVar(&c.prefix, "prefix", 0, "search by this `NUMBER` of leading bits, order the hits by all bits; 0 means all")
	cli.Group(f, "Order of the hits")
	c.data.bindFiles(f, "Queries")
	c.data.bindCodes(f, "Queries")
	f.StringVar(&c.server, "server", "", "search a collection of the service at this `URL`, such as http://127.0.0.1:8080")
	f.StringVar(&c.tokenFile, "token-file", "", "`FILE` with the token of the service")
	cli.Group(f, "Service")
}

// options builds the search options from the flags.
func (c *searchCommand) options() api.Options {
	o := api.Options{
		Where: c.where, Rank: c.rank, Prefix: c.prefix, Explain: c.explain,
	}
	if c.limit || !c.within {
		o.K = &c.k
	}
	if c.within {
		o.Radius = &c.radius
	}
	if c.isReranked() {
		o.Rerank = c.rerankBy
	}
	if o.Rerank == byTies {
		o.Rerank, o.Ties = "", api.Vectors
	}
	return o
}

// byTies reranks only items at the same distance.
const byTies = "ties"

func (c *searchCommand) isReranked() bool {
	return len(c.rerank) > 0 || c.server != "" && c.rerankBy != ""
}

// splitRerank takes the distance from what --rerank names; the rest are data.
func (c *searchCommand) splitRerank() error {
	c.rerank = slices.DeleteFunc(c.rerank, func(value string) bool {
		way := slices.Contains([]string{api.Euclidean, api.Cosine, byTies}, value)
		if way {
			c.rerankBy = value
		}
		return way
	})
	switch {
	case c.server != "" && len(c.rerank) > 0:
		return cli.Usage("conflicting-flags",
			"--rerank %s names data, but a service has its own vectors: say only euclidean, cosine or ties", c.rerank[0])
	case c.server == "" && c.rerankBy != "" && len(c.rerank) == 0:
		return cli.Usage("missing-flag", "--rerank %s needs --rerank DATA, the vectors of the items, too", c.rerankBy)
	case c.server == "":
		c.rerankBy = cmp.Or(c.rerankBy, api.Euclidean)
	}
	return nil
}

// check validates the command line before any file is opened.
func (c *searchCommand) check(args []string) error {
	if err := c.splitRerank(); err != nil {
		return err
	}
	o := c.options()
	if err := o.Check(); err != nil {
		return flagError(err)
	}
	kinds := cli.CountTrue(len(args) > 0, len(c.ids) > 0, len(c.codes) > 0)
	switch {
	case kinds == 0:
		return cli.Usage("missing-query", "search needs a query: files, --id or --code")
	case kinds > 1:
		return cli.Usage("conflicting-flags", "search takes only one of files, --id and --code")
	case len(c.rows) > 0 && (len(args) == 0 || slices.Min(c.rows) < 0):
		return cli.Usage("bad-flag-value", "--row is a row number in the query files, counted from 0")
	case !slices.Contains([]string{"table", "csv", "json", "jsonl"}, c.to):
		return cli.Usage("bad-flag-value", "--to %s: choose table, csv, json or jsonl", c.to)
	case c.explain && c.to == "csv" && !c.json:
		return cli.Usage("conflicting-flags", "--explain works with a table or --json, not with --to csv")
	case slices.Contains(args, "-") && slices.Contains(c.rerank, "-"):
		return cli.Usage("input-taken", "--rerank -: standard input already supplies the queries; give the vectors as a file")
	case c.server == "" && c.tokenFile != "":
		return cli.Usage("missing-flag", "--token-file needs --server URL")
	}
	return nil
}

// flagError rewords an error about a field of a request to name the flag.
func flagError(err error) error {
	refused, ok := errors.AsType[*api.Error](err)
	if !ok || refused.Field == "" || refused.Field == "queries" { // the data are at fault
		return err
	}
	name := map[string]string{"ties": "--rerank ties", "rerank": "--rerank", "k": "-k"}[refused.Field]
	if name == "" {
		name = "--" + refused.Field
	}
	code := "bad-flag-value"
	switch refused.Code {
	case api.ErrNoVector:
		code = "needs-vectors"
	case api.ErrInvalid:
	default:
		return err
	}
	return cli.Usage(code, "%s: %w", name, err)
}

func (c *searchCommand) run(ctx context.Context, path string, args []string) (err error) {
	if err := c.check(args); err != nil {
		return err
	}
	if c.to == "json" {
		c.json = true
	}
	c.data.Stdin, c.path, c.args = c.in, path, args
	if len(args) > 0 {
		if c.queries, err = c.data.rows(args); err != nil {
			return err
		}
	}
	open := c.openFile
	if c.server != "" {
		open = func(context.Context) (*target, error) { return c.openService() }
	}
	t, err := open(ctx)
	if err != nil {
		return err
	}
	defer t.end()
	if err := c.searchAll(ctx, t); err != nil || c.isLive() {
		return err
	}
	return c.print()
}

// batchRows is the number of queries searched together, unless a rerank pass must see all of them.
const batchRows = 4096

// searchAll runs all queries and collects the answers, or prints them as they arrive.
func (c *searchCommand) searchAll(ctx context.Context, t *target) error {
	live, first, atLeast := c.isLive(), true, batchRows
	switch {
	case live:
		atLeast = 0
	case len(c.rerank) > 0:
		atLeast = math.MaxInt
	}
	return c.eachBatch(ctx, t, atLeast, func(r *api.Request) error {
		made := r.Fingerprint
		r.Options = c.options()
		r.Fingerprint = made
		found, err := t.Search(ctx, r)
		switch {
		case errors.Is(err, api.ErrNoModel):
			return cli.Errorf("needs-model",
				"%s: %w; search it with codes, --codes, --id or --code and not with %s, or build it "+
					"with --model", c.path, err, strings.Join(c.args, " "))
		case errors.Is(err, api.ErrOtherModel) && len(c.args) > 0:
			return fmt.Errorf("%s: %w", strings.Join(c.args, " "), err)
		case err != nil:
			if named := flagError(err); named != err || len(c.rerank) == 0 {
				return named
			}
			return fmt.Errorf("--rerank: %w", err)
		}
		for _, doubt := range found.Doubts {
			c.warn([]string{"--rerank " + strings.Join(c.rerank, " ") + ": " + doubt})
		}
		head := first
		first = false
		if live {
			return c.printLive(found.Results, head)
		}
		found.Results, found.Seconds = append(c.answer.Results, found.Results...), c.answer.Seconds+found.Seconds
		c.answer = *found
		return nil
	})
}

// isLive reports whether queries come through a pipe and can be answered one by one: the output format does not need
// all answers, and no file is read per query.
func (c *searchCommand) isLive() bool {
	whole := c.json && c.to != "jsonl" || c.to == "csv" && len(c.fields) == 0 || len(c.rerank) > 0 || c.explain
	return !whole && c.queries.Once()
}

// printLive prints some of the answers; head is set for the first ones.
func (c *searchCommand) printLive(results []api.Result, head bool) error {
	switch c.to {
	case "jsonl":
		return c.printLines(results)
	case "csv":
		return c.printCSV(results, head)
	}
	for i := range results {
		c.printQuery(&results[i])
	}
	return nil
}
