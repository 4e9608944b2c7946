package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/cli"
)

type duplicatesCommand struct {
	*app
	options    hashgrove.DuplicateOptions
	radius     int
	limit      int
	output, to string
	file       cli.Output
}

func (a *app) duplicates() *cobra.Command {
	c := &duplicatesCommand{app: a}
	cmd := &cobra.Command{
		Use:   "duplicates INDEX --radius BITS",
		Short: "Find all pairs of items whose codes differ in a few bits",
		Long: `Find all pairs of items whose codes differ in at most --radius bits, exactly, or with --groups the groups that
such pairs connect: an item of a group is within the radius of another one, but perhaps not of all. The index may hold
codes of a model or codes from elsewhere, such as perceptual hashes; bits of detail do not count.

Pairs have columns a, b and distance, and are in order of their ids; groups have columns group, counted from 0, and id.
The first ones are shown, and -o writes all. The pairs are counted before any is made, and more than --most are refused:
groups need little memory, however many pairs there are.`,
		Example: `  hashgrove duplicates items.hgi --radius 2
  hashgrove duplicates items.hgi --radius 2 -o pairs.csv
  hashgrove duplicates items.hgi --radius 2 --groups -o groups.parquet`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.IntVar(&c.radius, "radius", -1, "number of `BITS` in which two codes may differ; required")
	showDefault(f, "radius", "0")
	f.BoolVar(&c.options.Groups, "groups", false, "find groups, not pairs")
	f.IntVar(&c.options.Most, "most", hashgrove.MostPairs, "`NUMBER` of pairs that are allowed")
	cli.Group(f, "Duplicates")
	f.IntVar(&c.limit, "limit", 20, "`NUMBER` of pairs or groups to show without -o; 0 means all")
	f.StringVarP(&c.output, "output", "o", "", "`FILE` for all of them; - means standard output")
	c.file.Bind(f)
	f.StringVar(&c.to, "to", "", "`FORM` of the output: jsonl, csv or parquet; default by the name of the output")
	cli.Group(f, "Output")
	return cmd
}

// duplicatesReport is the output of duplicates --json.
type duplicatesReport struct {
	Index  string `json:"index"`
	Output string `json:"output,omitempty"`
	Form   string `json:"form,omitempty"`
	hashgrove.Duplicates
	ListedPairs  []hashgrove.Duplicate `json:"listed_pairs,omitempty"`
	ListedGroups [][]api.ID            `json:"listed_groups,omitempty"`
}

// form returns the form of the output, "" without one.
func (c *duplicatesCommand) form() (string, error) {
	form := c.to
	if form == "" {
		form = formOf(c.output)
	}
	switch {
	case c.radius < 0:
		return "", cli.Usage("missing-flag", "duplicates needs --radius BITS, in how many bits two codes may differ")
	case c.options.Most < 1:
		return "", cli.Usage("bad-flag-value", "--most %d: give 1 or more", c.options.Most)
	case c.limit < 0:
		return "", cli.Usage("bad-flag-value", "--limit %d: give a number, or 0 for all", c.limit)
	case c.output == "" && c.to != "":
		return "", cli.Usage("missing-flag", "--to needs -o FILE, or - for standard output")
	case c.output == "":
		return "", nil
	case slices.Contains([]string{"jsonl", "csv", "parquet"}, form):
		return form, nil
	case c.to != "":
		return "", cli.Usage("bad-flag-value", "--to %s: choose jsonl, csv or parquet", c.to)
	}
	return "", cli.Usage("unknown-form",
		"%s: the name does not tell the form: end it with .jsonl, .csv or .parquet, or give --to", c.output)
}

func (c *duplicatesCommand) run(ctx context.Context, path string) error {
	form, err := c.form()
	if err != nil {
		return err
	}
	if err := c.file.Check([]string{c.output}, []string{path}); err != nil {
		return err
	}
	p := c.startProgress("comparing codes", 0)
	c.options.Radius, c.options.Threads = c.radius, c.threads
	c.options.Progress = p.Count
	d, err := hashgrove.FindDuplicates(ctx, path, c.options)
	p.End()
	if errors.Is(err, api.ErrTooLarge) {
		return fmt.Errorf("%w (--radius, --groups, --most)", err)
	}
	if err != nil {
		return err
	}
	r := duplicatesReport{Index: path, Output: c.output, Form: form, Duplicates: *d}
	switch {
	case form == "":
		return c.show(ctx, d, r)
	case c.output == "-":
		return d.Write(ctx, c.raw, form)
	}
	if err := d.WriteFile(ctx, c.output, form); err != nil {
		return err
	}
	return c.printLine(r, "%s: %s", c.output, c.counted(d))
}

// counted says how many there are.
func (c *duplicatesCommand) counted(d *hashgrove.Duplicates) string {
	if c.options.Groups {
		return strconv.Itoa(d.Groups) + " groups of " + strconv.Itoa(d.Items) + " items in all"
	}
	return strconv.Itoa(d.Pairs) + " pairs of items within " + strconv.Itoa(d.Radius) + " bits"
}

// show prints the first pairs or groups.
func (c *duplicatesCommand) show(ctx context.Context, d *hashgrove.Duplicates, r duplicatesReport) error {
	rows := [][]string{{"a", "b", "distance"}}
	full := func(n int) bool { return c.limit > 0 && n == c.limit }
	for p, err := range d.AllPairs(ctx) {
		if err != nil {
			return err
		}
		r.ListedPairs = append(r.ListedPairs, p)
		rows = append(rows, []string{string(p.A), string(p.B), strconv.Itoa(p.Distance)})
		if full(len(r.ListedPairs)) {
			break
		}
	}
	if c.options.Groups {
		rows = [][]string{{"group", "items", "ids"}}
	}
	for ids := range d.AllGroups() {
		var shown []string
		for _, id := range ids[:min(len(ids), 8)] {
			shown = append(shown, string(id))
		}
		if len(ids) > 8 {
			shown = append(shown, "...")
		}
		rows = append(rows, []string{strconv.Itoa(len(r.ListedGroups)), strconv.Itoa(len(ids)), strings.Join(shown, ", ")})
		if r.ListedGroups = append(r.ListedGroups, ids); full(len(r.ListedGroups)) {
			break
		}
	}
	return c.printResult(r, func() {
		if len(rows) > 1 {
			c.printTable(rows)
		}
		c.note("%s; -o FILE writes all", c.counted(d))
	})
}
