package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/compare"
)

type demoCommand struct {
	*app
	bits   int
	save   string
	report string // the HTML file
	file   cli.Output

	data  *compare.Data
	model *hashgrove.Model // FastHash with all bits, and bits of detail behind them
}

func (a *app) demo() *cobra.Command {
	c := &demoCommand{app: a}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Learn codes for pictures of clothes and compare methods, in under a minute",
		Long: `Learn codes from 4,800 of the 6,000 pictures of clothes built into this program (Fashion-MNIST), compare them
with other codes, a classifier and the plain pixels on the 1,200 pictures not used for training, add bits of detail
that put the pictures of a class in the order of their likeness, search with one picture, and write a report.
-o keeps pictures, model and report, so you can try the other verbs on them.`,
		Example: `  hashgrove demo --bits 4 -o shop`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.save, "output", "o", "", "`FOLDER` to write the pictures, the model and the report to")
	c.file.Bind(f)
	f.IntVar(&c.bits, "bits", hashgrove.Defaults().Bits, "code length in `BITS`")
	cli.Group(f, "Demo")
	return cmd
}

func (c *demoCommand) run(ctx context.Context) error {
	if err := c.prepareFiles(); err != nil {
		return err
	}
	var err error
	if c.data, err = compare.Clothes(ctx); err != nil {
		return err
	}
	c.note("%d pictures of clothes to find, %d to search with; 28 x 28 pixels, %d classes",
		c.data.Base.Rows, c.data.Queries.Rows, len(c.data.Base.Labels.Names))
	o := compare.DemoOptions(c.bits, func(m *hashgrove.Model) { c.model = m })
	o.Seed, o.Threads = c.seed, c.threads
	if err := o.Check(); err != nil {
		return cli.UsageError(err)
	}
	result, err := c.runComparison(ctx, c.data, o)
	if err != nil {
		return err
	}
	for _, text := range result.Failures() {
		return errors.New(text)
	}
	if err := c.saveFiles(); err != nil {
		return err
	}
	if err := result.WriteFile(c.report, "Pictures of clothes", "hashgrove demo"); err != nil {
		return err
	}
	if c.json {
		return c.printJSON(result)
	}
	c.printComparison(result, c.report)
	return c.print(ctx)
}

// prepareFiles chooses where the report goes, makes the folder, and checks that the files of -o can be written.
func (c *demoCommand) prepareFiles() error {
	folder, err := c.save, error(nil)
	if folder == "" {
		folder, err = c.makeCacheFolder("demo")
	} else {
		err = os.MkdirAll(folder, 0o777)
	}
	if err != nil {
		return err
	}
	c.report = filepath.Join(folder, "report.html")
	if c.save == "" {
		return (&cli.Output{Force: true}).Check([]string{c.report}, nil) // in the cache
	}
	outputs := []string{c.report, filepath.Join(folder, "demo.hgm")}
	return c.file.Check(append(outputs, compare.ClothesFiles(folder)...), nil)
}

// saveFiles writes the pictures and the model for -o.
func (c *demoCommand) saveFiles() error {
	if c.save == "" {
		return nil
	}
	if err := compare.WriteClothes(c.save); err != nil {
		return err
	}
	return c.model.Save(filepath.Join(c.save, "demo.hgm"))
}

// print shows a search and what to try next.
func (c *demoCommand) print(ctx context.Context) error {
	base, queries := c.data.Base, c.data.Queries
	query := slices.Index(queries.Classes(), "shirt") // the class that most resembles others
	hits, err := c.nearest(ctx, queries.X.Row(query))
	if err != nil {
		return err
	}
	names, pictures := []string{}, [][]string{compare.Sketch(queries.X.Row(query))}
	for _, h := range hits {
		row, _ := h.ID.Integer()
		names = append(names, fmt.Sprintf("%s (%d, %d)", base.Class(int(row)), h.Distance, *h.DetailDistance))
		pictures = append(pictures, compare.Sketch(base.X.Row(int(row))))
	}
	fmt.Fprintf(c.out, "\nA query, %s, and its nearest codes (bits of the class, and of detail, that differ):\n  %s\n\n",
		queries.Class(query), strings.Join(names, ", "))
	for line := range pictures[0] {
		for _, p := range pictures[:4] {
			fmt.Fprintf(c.out, "  %s", p[line])
		}
		fmt.Fprintln(c.out)
	}
	keep, files := "  hashgrove demo -o shop                                        keep pictures and model\n", "shop"
	if c.save != "" {
		keep, files = "", c.save
	}
	fmt.Fprintf(c.out, `
Try next:
  hashgrove serve                                               search the pictures in a browser
%s  %-60s  what is in the model
  hashgrove inspect %s
  hashgrove compare YOURS.npy --labels CLASSES.txt              which codes suit your own vectors
  hashgrove train YOURS.npy --labels CLASSES.txt -o yours.hgm   learn them
  hashgrove help train
`, keep, "hashgrove info "+filepath.Join(files, "demo.hgm"), filepath.Join(files, "train-images-idx3-ubyte.gz"))
	return nil
}

// nearest finds the ten pictures nearest to one query, ranked as the model chose.
func (c *demoCommand) nearest(ctx context.Context, query []float32) ([]api.Hit, error) {
	base := c.data.Base
	items, err := hashgrove.NewIndex(ctx, c.model, hashgrove.Rows(base.Vectors(), base.Classes()))
	if err != nil {
		return nil, err
	}
	found, err := items.Search(ctx, &api.Request{Queries: []api.Query{{Vector: query}}})
	if err != nil {
		return nil, err
	}
	return found.Results[0].Hits, nil
}
