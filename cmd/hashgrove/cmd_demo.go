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
	"hashgrove/internal/dataset/fashion"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/vectors"
)

type demoCommand struct {
	*app
	bits   int
	save   string
	report string // the HTML file
	file   cli.Output

	train, query fashion.Part
	model        *model.Model // FastHash with all bits, and bits of detail behind them
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
	f.IntVar(&c.bits, "bits", 64, "code length in `BITS`")
	cli.Group(f, "Demo")
	return cmd
}

func (c *demoCommand) run(ctx context.Context) error {
	if err := c.prepareFiles(); err != nil {
		return err
	}
	c.train, c.query = fashion.Train(), fashion.Query()
	c.note("%d pictures of clothes to find, %d to search with; 28 x 28 pixels, %d classes",
		c.train.X.Rows, c.query.X.Rows, len(fashion.Names))
	base, err := compare.Read(ctx, vectors.WithLabels(c.train.X, c.train.Labels()), nil)
	if err != nil {
		return err
	}
	queries, err := compare.Read(ctx, vectors.WithLabels(c.query.X, c.query.Labels()), nil)
	if err != nil {
		return err
	}
	o := compare.Options{
		Methods: compare.Quick, Bits: []int{c.bits}, Unseen: -1, Seed: c.seed, Threads: c.threads,
		DetailBits: method.UsualDetail,
		Each: func(name string, _ int, m *model.Model) {
			if name == compare.Detailed {
				c.model = m
			}
		},
	}
	if err := o.Check(); err != nil {
		return cli.UsageError(err)
	}
	data := &compare.Data{Name: "6,000 pictures of Fashion-MNIST", Base: base, Queries: queries}
	result, err := c.runComparison(ctx, data, o)
	if err != nil {
		return err
	}
	for _, text := range result.Failures() {
		return errors.New(text)
	}
	if err := c.saveFiles(); err != nil {
		return err
	}
	if err := writeReport(result, "Pictures of clothes", "hashgrove demo", c.report); err != nil {
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
	for _, name := range fashion.Files {
		outputs = append(outputs, filepath.Join(folder, name))
	}
	return c.file.Check(outputs, nil)
}

// saveFiles writes the pictures and the model for -o.
func (c *demoCommand) saveFiles() error {
	if c.save == "" {
		return nil
	}
	for _, name := range fashion.Files {
		if err := os.WriteFile(filepath.Join(c.save, name), fashion.File(name), 0o666); err != nil {
			return err
		}
	}
	return model.WriteFile(filepath.Join(c.save, "demo.hgm"), c.model)
}

// print shows a search and what to try next.
func (c *demoCommand) print(ctx context.Context) error {
	query := slices.Index(c.query.Labels(), "shirt") // the class that most resembles others
	hits, err := c.nearest(ctx, c.query.X.Row(query))
	if err != nil {
		return err
	}
	names, pictures := []string{}, [][]string{fashion.Sketch(c.query.X.Row(query))}
	for _, h := range hits {
		row, _ := h.ID.Integer()
		names = append(names, fmt.Sprintf("%s (%d, %d)", fashion.Names[c.train.Class[row]], h.Distance, *h.DetailDistance))
		pictures = append(pictures, fashion.Sketch(c.train.X.Row(int(row))))
	}
	fmt.Fprintf(c.out, "\nA query, %s, and its nearest codes (bits of the class, and of detail, that differ):\n  %s\n\n",
		fashion.Names[c.query.Class[query]], strings.Join(names, ", "))
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
	m := inside.NewModel(c.model).(*hashgrove.Model)
	items, err := hashgrove.NewIndex(ctx, m, inside.NewData(vectors.WithLabels(c.train.X, c.train.Labels())).(*hashgrove.Data))
	if err != nil {
		return nil, err
	}
	found, err := items.Search(ctx, &api.Request{Queries: []api.Query{{Vector: query}}})
	if err != nil {
		return nil, err
	}
	return found.Results[0].Hits, nil
}
