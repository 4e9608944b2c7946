package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/engine"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
)

type checkCommand struct {
	*app
	target         engineFlags
	data           dataFlags
	k, radius, few int
	where          []string

	report, command string
	file            cli.Output
}

func (a *app) checkEngine() *cobra.Command {
	c := &checkCommand{app: a}
	cmd := &cobra.Command{
		Use:   "check-engine INDEX [QUERIES...] --engine URL",
		Short: "Compare a database with the exact index",
		Long: `Compare a database with the exact index that was pushed into it, and report every difference with its cause.
First all items are compared: codes bit by bit, labels, tags and attributes. Then both run the same searches, for the k
nearest items and for all within a radius, without a filter and with several: those of --where, or else filters made
from the labels, tags and attributes of the index.

Queries are a code file, or vectors or pictures for the model in the index to encode; by default, codes of the index
with a bit or two flipped. Recall is the share of the index's hits that the database also finds; an item at the same
distance counts. Causes are: tie order, approximation, bit order, filter, radius, wrong distance, order, and items
that are missing, unknown or different.

--report FILE writes a page with the verdict, all searches, the first differences of every cause, and the answers of
index and database side by side.

The exit status is 1 if items differ, or if a database that should be exact differs in more than ties. A database that
does not support a filter passes, unless the filter comes from --where.

` + enginesHelp,
		Example: `  hashgrove check-engine items.hgi --engine postgres://shop@localhost/shop --table boots
  hashgrove check-engine items.hgi new.csv --engine postgres://shop@localhost/shop --table boots --where 'f0 < 1' -k 5
  hashgrove check-engine items.hgi --engine postgres://shop@localhost/shop --table boots --report boots.html`,
		Args: cli.AtLeast(1, "an index"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.command = cli.CommandLine(cmd, args)
			return c.run(cmd.Context(), args[0], args[1:])
		},
	}
	f := cmd.Flags()
	c.target.bind(f)
	f.IntVarP(&c.k, "k", "k", 10, "`NUMBER` of items to find")
	f.IntVar(&c.radius, "radius", -1, "find all items at this `DISTANCE` or less; by default chosen to suit the queries")
	f.StringArrayVar(&c.where, "where", nil, "search with this `FILTER`; may be repeated")
	f.IntVar(&c.few, "queries", 100, "maximum `NUMBER` of queries")
	cli.Group(f, "Searches")
	f.StringVar(&c.report, "report", "", "HTML `FILE` for a report with answers side by side")
	c.file.Bind(f)
	cli.Group(f, "Output")
	c.data.bind(f, "Data")
	return cmd
}

func (c *checkCommand) run(ctx context.Context, path string, args []string) error {
	if c.few < 1 || c.k < 1 {
		return cli.Usagef("--queries and -k must be at least 1")
	}
	o := engine.CheckOptions{K: c.k, Radius: c.radius}
	for _, text := range c.where {
		f, err := index.Parse(text)
		if err != nil {
			return cli.Usagef("--where: %w", err)
		}
		o.Filters = append(o.Filters, f)
	}
	c.file.FileOnly = true
	if err := c.file.Check([]string{c.report}, c.data.inputs(args, path, c.target.passwordFile)); err != nil {
		return err
	}
	if c.report != "" {
		o.Answers = reportAnswers
	}
	e, err := c.target.open(ctx, engine.DefaultInFlight)
	if err != nil {
		return err
	}
	defer e.Close()
	s, err := c.openAll(ctx, path, index.Config{})
	if err != nil {
		return err
	}
	if s.Snapshot().Len() == 0 {
		return fmt.Errorf("%s: the index is empty, so there is nothing to compare", path)
	}
	if o.Queries, err = c.queries(ctx, s, args); err != nil {
		return err
	}
	for _, f := range o.Filters { // a misspelled name would compare nothing with nothing
		if _, err := s.Snapshot().Matches(f); err != nil {
			return cli.Usagef("--where: %w", err)
		}
	}
	if len(o.Filters) == 0 {
		o.Filters = usualFilters(s.Snapshot())
	}
	tick, endSearches := cli.Counting(c.progressWriter(), "comparing searches")
	read, endItems := cli.Counting(c.progressWriter(), "comparing items")
	o.Progress = func(done, total int) {
		endItems()
		tick(done, total)
	}
	o.Read = read
	end := func() { endItems(); endSearches() }
	r, err := engine.Check(ctx, e, s.Snapshot(), &search.Items{Snapshot: s.Snapshot(), Threads: c.threads}, o)
	end()
	if err != nil {
		return err
	}
	if c.report != "" {
		x := s.Snapshot()
		if err := c.writeReport(e, r, engine.Space{Bits: x.Bits(), Fingerprint: x.Fingerprint()}); err != nil {
			return err
		}
	}
	if err := c.printResult(r, func() { c.print(r) }); err != nil {
		return err
	}
	return verdict(r, len(c.where) > 0)
}

// verdict returns an error if the check failed. An engine may refuse filters that the user did not ask for.
func verdict(r *engine.CheckReport, asked bool) error {
	causes := maps.Clone(r.Causes)
	if refused := r.RefusedSearches(); !asked && refused > 0 && causes[engine.CauseFilter] == refused {
		delete(causes, engine.CauseFilter)
	}
	delete(causes, engine.CauseTies)
	delete(causes, engine.CauseRefusal)
	if !r.Exact {
		delete(causes, engine.CauseApprox)
	}
	if len(causes) == 0 {
		return nil
	}
	return fault.New("engine-differs", "%s, table %s: the engine differs from the index: %s",
		r.Engine, r.Table, strings.Join(slices.Sorted(maps.Keys(causes)), ", "))
}

// queries reads the queries, or generates some from the index.
func (c *checkCommand) queries(ctx context.Context, s *store.Store, args []string) (hamming.Codes, error) {
	if len(args) > 0 {
		x := &fileIndex{c: &searchCommand{app: c.app, data: c.data, path: s.Info().Path}, store: s}
		var list []api.Query
		enough := errors.New("enough")
		err := x.reader(args).each(ctx, c.few, func(batch []api.Query) error {
			if list = append(list, batch...); len(list) >= c.few {
				return enough
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			return hamming.Codes{}, err
		}
		m, err := x.model()
		if err != nil {
			return hamming.Codes{}, err
		}
		return (&search.Items{Snapshot: s.Snapshot(), Model: m, Threads: c.threads}).Codes(ctx, list[:min(len(list), c.few)])
	}
	x := s.Snapshot()
	hits, err := x.Matches(index.Filter{})
	if err != nil {
		return hamming.Codes{}, err
	}
	n := min(c.few, len(hits))
	codes := hamming.NewCodes(n, x.Bits())
	for i := range n {
		copy(codes.Row(i), x.Item(hits[i*len(hits)/n]).Code)
		for b := range i % 3 {
			bit := (i*31 + b*17) % x.Bits()
			codes.SetBit(i, bit, !codes.Bit(i, bit))
		}
	}
	return codes, nil
}

// usualFilters builds filters that match some items: by the most frequent label and tag, by their absence, and by
// the first few attributes.
func usualFilters(s *index.Snapshot) []index.Filter {
	var list []index.Filter
	add := func(format string, args ...any) {
		if f, err := index.Parse(fmt.Sprintf(format, args...)); err == nil && s.CheckFilter(f) == nil {
			list = append(list, f)
		}
	}
	top := func(name string) (index.Value, bool) {
		if f := s.Facet(name, index.Filter{}, 1, 1); len(f.Texts) > 0 {
			return index.String(f.Texts[0].Text), true
		}
		return index.Value{}, false
	}
	for _, name := range []string{index.LabelName, index.TagName} {
		if v, ok := top(name); ok {
			add("%s = %v", name, v)
			add("not %s > %v", name, v)
		}
	}
	const few = 5
	attributes := s.Attributes()
	for _, a := range attributes[:min(few, len(attributes))] {
		name := "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`", "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(a.Name) + "`"
		if a.Kind&index.NumberKind != 0 {
			f := s.Facet(a.Name, index.Filter{}, 0, 1)
			add("%s <= %v", name, index.Number(f.Min+float64((f.Max-f.Min)/2)))
		}
		if v, ok := top(a.Name); ok {
			add("%s = %v", name, v)
		}
	}
	return list
}

func (c *checkCommand) print(r *engine.CheckReport) {
	c.printSummary(r)
	if c.report != "" {
		fmt.Fprintf(c.out, "\nReport: %s\n", c.report)
	}
}

// printSummary prints the searches and the causes of differences.
func (c *checkCommand) printSummary(r *engine.CheckReport) {
	claim := "exact"
	if !r.Exact {
		claim = "approximate"
	}
	fmt.Fprintf(c.out, "%s, table %s, %s: %d items of %d bits, %d in the index, %d of them equal\n",
		r.Engine, cli.Printable(r.Table), claim, r.Theirs, r.Bits, r.Ours, r.Equal)
	t := c.table()
	t.AppendHeader(table.Row{"search", "queries", "hits", "recall", "same", "only ties", "differ", "ties at the cut"})
	for _, s := range r.Searches {
		if s.Refused != "" {
			t.AppendRow(table.Row{cli.Printable(s.Search), s.Queries, "-", "-", "-", "-", "-", "-"})
			continue
		}
		t.AppendRow(table.Row{
			cli.Printable(s.Search), s.Queries, s.Hits, fmt.Sprintf("%.4f", s.Recall), s.Same, s.Ties, s.Differ, s.Tied,
		})
	}
	t.Render()
	if r.Conforms() {
		fmt.Fprintln(c.out, "no differences")
		return
	}
	for _, cause := range slices.Sorted(maps.Keys(r.Causes)) {
		fmt.Fprintf(c.out, "%s: %d\n", cause, r.Causes[cause])
		for _, d := range r.Differences {
			if d.Cause == cause {
				fmt.Fprintf(c.out, "  %s\n", cli.Printable(describe(d)))
			}
		}
	}
}

// describe puts a difference into words.
func describe(d engine.Difference) string {
	var b strings.Builder
	if d.Search != "" {
		fmt.Fprintf(&b, "%s, ", d.Search)
	}
	if d.Query >= 0 {
		fmt.Fprintf(&b, "query %d, ", d.Query)
	}
	if d.ID != "" {
		fmt.Fprintf(&b, "item %s: ", d.ID)
	}
	return b.String() + d.Text
}
