package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove/compare"
	"hashgrove/dataset"
	"hashgrove/internal/machine"
	"hashgrove/picture"
	"hashgrove/report"
	"hashgrove/vectors"
)

type compareCommand struct {
	*app
	data, queries  dataFlags
	queryPaths     []string
	options        compare.Options
	minShared      int
	share          float64
	features       string
	to, reportFile string
	command        string // the command line, as the report shows it

	baseSet, querySet *dataset.Set
}

func (a *app) compare() *cobra.Command {
	c := &compareCommand{app: a}
	var methods strings.Builder
	for _, name := range compare.Names() {
		fmt.Fprintf(&methods, "  %-13s %s\n", name, compare.About(name))
	}
	cmd := &cobra.Command{
		Use:   "compare DATA...",
		Short: "Train several methods side by side, judge them and say which to use",
		Long: `Train several methods on one data set at several code lengths, judge them side by side, and say in words
what follows: which method, how many bits, what it costs against float search, which classes lose, and
whether to hash at all.

A share of the rows is set aside as queries, or --queries names them; the other rows are learned from and
searched. Always in the table: random codes and the sign of the centred values as floors, a classifier's
output as a code and float search as ceilings. A second training without a quarter of the classes shows
what the codes are worth for classes that come later (--unseen -1 leaves it out and saves the time).

FastHash is trained once, at the longest length: its bits are learned one after the other, so that the
shorter codes are prefixes. Other methods are trained again for each length. Vectors are kept in memory.
Finished methods are kept in --work: an interrupted comparison resumes where it stopped.

The methods:
` + methods.String() + `
The forms of the result, for --to:
  text      a table and the advice
  json      everything, as --json
  csv       a line for each method and length
  markdown  table and advice
  bench     Go benchmark lines, for benchstat`,
		Example: `  hashgrove compare items.csv --label category --id sku --methods fasthash,lsh --bits 8,16` +
			` --rounds 20 --work lab --report items.html
  hashgrove compare items.csv --label category --id sku --queries new.csv --methods fasthash,lsh --bits 8,16` +
			` --rounds 20 --work lab --to markdown`,
		Args: atLeast(1, "data to compare on"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.command = commandLine(cmd, args)
			return c.run(cmd.Context(), args)
		},
	}
	home, err := os.UserCacheDir()
	if err != nil {
		home = os.TempDir()
	}
	f, o := cmd.Flags(), &c.options
	c.data.bind(f, "")
	f.StringArrayVar(&c.queryPaths, "queries", nil,
		"data to search with, instead of a share of the rows; may be given several times")
	c.queries.bind(f, "queries-")
	f.Float64Var(&c.share, "share", 0, "share of the rows that become queries; 0 means a tenth, at most 2000 rows")
	f.IntVar(&c.minShared, "min-shared", 2, "number of tags that similar rows have in common")
	f.StringVar(&c.features, "features", "",
		"make these features of pictures first: gist320, gist512, pixels, or a file that features --save wrote")
	f.StringSliceVar(&o.Methods, "methods", compare.Quick, "the methods, or all")
	f.IntSliceVar(&o.Bits, "bits", []int{16, 32, 64, 128}, "the code lengths")
	f.IntVar(&o.PCA, "pca", 0, "number of principal components to reduce the vectors to before every method; 0 "+
		"means no PCA")
	f.IntVar(&o.Unseen, "unseen", 0, "classes kept out of a second training; 0 means a quarter of them, negative none")
	f.IntVar(&o.FastHash.Trees.Rounds, "rounds", 200, "boosted trees per bit of FastHash")
	f.IntVar(&o.FastHash.Trees.Depth, "depth", 4, "depth of the trees of FastHash, 1 to 8")
	f.StringVar(&o.Work, "work", filepath.Join(home, "hashgrove", "compare"), "folder that keeps finished methods")
	f.BoolVar(&o.Restart, "restart", false, "measure again what that folder holds already")
	f.StringVar(&c.to, "to", "text", "form of the result: text, json, csv, markdown or bench")
	f.StringVar(&c.reportFile, "report", "", "HTML file to write: the same with plots, classes and searches")
	return cmd
}

// commandLine is the command as a person would type it again.
func commandLine(cmd *cobra.Command, args []string) string {
	words := append([]string{cmd.CommandPath()}, args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, ok := f.Value.(pflag.SliceValue)
		switch {
		case ok && f.Value.Type() == "stringArray": // given once for each value
			for _, value := range list.GetSlice() {
				words = append(words, "--"+f.Name, value)
			}
		case ok:
			words = append(words, "--"+f.Name, strings.Join(list.GetSlice(), ","))
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name+"="+f.Value.String())
		default:
			words = append(words, "--"+f.Name, f.Value.String())
		}
	})
	for i, w := range words[1:] {
		if w == "" || strings.ContainsAny(w, " \t\"'$\\*?;&|<>()") {
			words[i+1] = fmt.Sprintf("%q", w)
		}
	}
	return strings.Join(words, " ")
}

func (c *compareCommand) run(ctx context.Context, args []string) error {
	if c.json {
		c.to = "json"
	}
	if forms := []string{"text", "json", "csv", "markdown", "bench"}; !slices.Contains(forms, c.to) {
		return usagef("--to %s is not a form of the result; the forms are %s", c.to, strings.Join(forms, ", "))
	}
	if c.minShared < 1 || c.minShared > 255 {
		return usagef("--min-shared %d: give a number from 1 to 255", c.minShared)
	}
	if len(c.queryPaths) > 0 && c.share != 0 {
		return usagef("--queries and --share exclude each other: queries are named, or set aside")
	}
	if c.share != 0 && !(c.share > 0 && c.share < 1) {
		return usagef("--share %v is not a share between 0 and 1", c.share)
	}
	c.options.Seed, c.options.Threads = c.seed, c.threads
	if err := c.options.Check(); err != nil {
		return usageError{err}
	}
	data, err := c.read(ctx, args)
	if err != nil {
		return err
	}
	result, err := c.comparison(ctx, data, c.options)
	if err != nil {
		return err
	}
	if c.reportFile != "" {
		page := compare.Page{
			Title: "Comparison on " + data.Name, Date: time.Now(), Machine: machine.Description(), Command: c.command,
			Pictures: c.pictures(ctx, data),
		}
		if err := c.writeReport(result, data, page, c.reportFile); err != nil {
			return err
		}
	}
	return c.print(result)
}

// read opens the data and splits them, or reads the queries too.
func (c *compareCommand) read(ctx context.Context, args []string) (*compare.Data, error) {
	var as *picture.Preparation // of the base, for the queries too
	open := func(flags dataFlags, paths []string) (*dataset.Set, *compare.Part, error) {
		set, err := flags.open(paths, as)
		if err != nil {
			return nil, nil, err
		}
		src := vectors.Source(set)
		if c.features != "" {
			pictures, ok := set.AsPictures()
			if !ok {
				return nil, nil, usagef("--features needs pictures: folders, tars, CIFAR or IDX files")
			}
			kept, _, err := learnable(pictures, c.features, false, c.threads)
			if err != nil {
				return nil, nil, err
			}
			defer kept.Close()
			src = kept
		}
		as = picture.PreparationOf(src)
		p := c.start("reading", 0, 0)
		defer p.end()
		part, err := compare.Read(ctx, src, p.tick)
		return set, part, err
	}
	var err error
	data := &compare.Data{Name: strings.Join(args, ", ")}
	var all *compare.Part
	if c.baseSet, all, err = open(c.data, args); err != nil {
		return nil, err
	}
	all.MinShared = c.minShared
	if len(c.queryPaths) == 0 {
		c.querySet = c.baseSet
		if data.Base, data.Queries, err = all.Split(c.share, c.seed); err != nil {
			return nil, err
		}
		return data, nil
	}
	data.Base = all
	if c.querySet, data.Queries, err = open(c.queries.or(c.data), c.queryPaths); err != nil {
		return nil, fmt.Errorf("queries: %w", err)
	}
	return data, nil
}

// comparison runs with progress.
func (a *app) comparison(ctx context.Context, data *compare.Data, o compare.Options) (*compare.Result, error) {
	var p *progress
	o.Progress = func(now compare.Progress) {
		if p == nil {
			p = a.start("comparing", now.Total, now.Kept)
		}
		if now.Note != "" {
			p.step(now.Done, now.Note)
		} else {
			p.tick(now.Done)
		}
	}
	result, err := compare.Run(ctx, data, o)
	if p != nil {
		p.end()
	}
	if errors.Is(err, context.Canceled) && o.Work != "" {
		text := fmt.Sprintf("the finished methods are safe in %s; the same command continues from there", o.Work)
		return nil, adviceError{err, text}
	}
	if err != nil {
		return nil, err
	}
	if result.Kept > 0 {
		a.note("%d rows are those of an earlier run, times included; --restart measures them again", result.Kept)
	}
	return result, nil
}

func (c *compareCommand) print(r *compare.Result) error {
	switch c.to {
	case "json":
		return c.printJSON(r)
	case "csv":
		return r.CSV(c.out)
	case "markdown":
		return r.Markdown(c.out)
	case "bench":
		return r.Benchmark(c.out)
	}
	c.warn(append(r.Failures(), r.Warnings...))
	fmt.Fprintln(c.out, r.Title())
	head, rows := r.Table()
	t := c.table()
	cells := func(list []string) table.Row {
		row := make(table.Row, len(list))
		for i, text := range list {
			row[i] = text
		}
		return row
	}
	t.AppendHeader(cells(head))
	for _, row := range rows {
		t.AppendRow(cells(row))
	}
	t.Render()
	for _, note := range r.Notes() {
		fmt.Fprintln(c.out, note)
	}
	c.advise(r.Advice)
	if c.reportFile != "" {
		fmt.Fprintf(c.out, "\nThe report with plots: %s\n", c.reportFile)
	}
	return nil
}

// advise prints what follows from the numbers, the verdict first.
func (a *app) advise(list []compare.Advice) {
	fmt.Fprintln(a.out, "\nAdvice")
	for _, advice := range list {
		fmt.Fprintf(a.out, "- %s\n", advice.Text)
	}
}

// writeReport writes the page.
func (a *app) writeReport(r *compare.Result, data *compare.Data, page compare.Page, path string) error {
	d, err := r.Report(data, page)
	if err != nil {
		return err
	}
	return report.WriteFile(path, d)
}

// pictures reads the pictures that the report shows once more; nil when the data are none.
func (c *compareCommand) pictures(ctx context.Context, data *compare.Data) compare.Pictures {
	if _, ok := c.baseSet.AsPictures(); !ok {
		return nil
	}
	return func(part *compare.Part, rows []int) (map[int][]byte, error) {
		set := c.baseSet
		if part == data.Queries {
			set = c.querySet
		}
		src, _ := set.AsPictures()
		return picturesOf(ctx, src, rows)
	}
}

// picturesOf makes a PNG of each of the rows of a source of pictures.
func picturesOf(ctx context.Context, src picture.Source, rows []int) (map[int][]byte, error) {
	found := map[int][]byte{}
	left := slices.Clone(rows)
	slices.Sort(left)
	left = slices.Compact(left)
	shape := src.Preparation().Shape
	for chunk, err := range src.Pictures(ctx) {
		if err != nil {
			return nil, err
		}
		for len(left) > 0 && left[0] < chunk.First+chunk.X.Rows {
			at := left[0] - chunk.First
			b, err := encodePNG(shape.Picture(chunk.Slice(at, at+1).Pix, nil))
			if err != nil {
				return nil, err
			}
			found[left[0]] = b
			left = left[1:]
		}
		if len(left) == 0 {
			break
		}
	}
	return found, nil
}

func encodePNG(p picture.Picture) ([]byte, error) {
	var img image.Image = &image.Gray{Pix: p.Pix, Stride: p.Width, Rect: image.Rect(0, 0, p.Width, p.Height)}
	if p.Channels == 3 {
		colour := image.NewNRGBA(image.Rect(0, 0, p.Width, p.Height))
		for i := range p.Width * p.Height {
			colour.Set(i%p.Width, i/p.Width, color.NRGBA{p.Pix[3*i], p.Pix[3*i+1], p.Pix[3*i+2], 255})
		}
		img = colour
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
}
