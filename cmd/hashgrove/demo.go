package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/compare"
	"hashgrove/internal/eval"
	"hashgrove/internal/fashion"
	"hashgrove/internal/hamming"
	"hashgrove/internal/machine"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/gallery"
	"hashgrove/internal/vectors"
)

type demoCommand struct {
	*app
	bits int
	save string
	file cli.Output

	train, query fashion.Part
	learned      int          // training pictures that were learned from
	model        *model.Model // FastHash with all bits, and bits of detail behind them
	report       demoReport
}

// demoReport is the output of demo --json.
type demoReport struct {
	Methods []demoMethod     `json:"methods"`
	Advice  []compare.Advice `json:"advice"`
	Look    demoLook         `json:"look"`
	Report  string           `json:"report"` // the HTML file
	Seconds float64          `json:"seconds"`
}

// demoMethod is one row of the comparison. Figures are for new pictures unless named otherwise.
type demoMethod struct {
	Name         string      `json:"name"`
	Bits         int         `json:"bits"`
	MAP          float64     `json:"map"`
	Precision100 float64     `json:"precision_100"`
	NewItems     *eval.Items `json:"new_items"`
	LearnedItems *eval.Items `json:"learned_items"`
	Train        float64     `json:"train_seconds"`
	Encode       float64     `json:"encode_microseconds"` // per picture on one core
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
		Args:    cli.NoArguments,
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
	began := time.Now()
	if err := c.prepareFiles(); err != nil {
		return err
	}
	c.train, c.query = fashion.Train(), fashion.Query()
	c.note("%d pictures of clothes to find, %d to search with; 28 x 28 pixels, %d classes",
		c.train.X.Rows, c.query.X.Rows, len(fashion.Names))

	data, err := c.data(ctx)
	if err != nil {
		return err
	}
	o := compare.Options{
		Methods: compare.Quick, Bits: demoBits(c.bits), Unseen: -1, Seed: c.seed, Threads: c.threads,
		Each: func(name string, bits int, m *model.Model) {
			if name == method.FastHash && bits == c.bits {
				c.model = m
			}
		},
	}
	if err := o.Check(); err != nil {
		return cli.UsageError(err)
	}
	result, err := c.runComparison(ctx, data, o)
	if err != nil {
		return err
	}
	for _, text := range result.Failures() {
		return errors.New(text)
	}
	if err := c.addDetail(ctx, data, o); err != nil {
		return err
	}
	if err := c.saveFiles(); err != nil {
		return err
	}
	page := compare.Page{
		Title: "Pictures of clothes", Date: began, Machine: machine.Description(), Command: "hashgrove demo",
		Pictures: c.pictures(ctx, data),
	}
	if err := c.writeReport(result, data, page, c.report.Report); err != nil {
		return err
	}
	c.addMethods(result)
	c.report.Seconds = time.Since(began).Seconds()
	if c.json {
		return c.printJSON(c.report)
	}
	return c.print(ctx)
}

// demoBits returns the code lengths that the report compares. Shorter codes cost FastHash nothing.
func demoBits(bits int) []int {
	list := []int{bits}
	for shorter := bits / 2; shorter >= 16; shorter /= 2 {
		list = append(list, shorter)
	}
	return list
}

// data returns the pictures ready for a comparison.
func (c *demoCommand) data(ctx context.Context) (*compare.Data, error) {
	base, err := compare.Read(ctx, vectors.WithLabels(c.train.X, c.train.Labels()), nil)
	if err != nil {
		return nil, err
	}
	queries, err := compare.Read(ctx, vectors.WithLabels(c.query.X, c.query.Labels()), nil)
	return &compare.Data{Name: "6,000 pictures of Fashion-MNIST", Base: base, Queries: queries}, err
}

// pictures returns the query pictures, or those that the other parts were split from.
func (c *demoCommand) pictures(ctx context.Context, data *compare.Data) compare.Pictures {
	return func(part *compare.Part, rows []int) (map[int][]byte, error) {
		x := c.train.X
		if part == data.Queries {
			x = c.query.X
		}
		return gallery.EncodePNG(ctx, picture.FromVectors(x, picture.Shape{Width: 28, Height: 28, Channels: 1}), rows)
	}
}

// demoMarks maps the baselines that the demo shows to their names in its table.
var demoMarks = map[string]string{
	"random": "random codes", "classifier-float": "classifier", "float-euclidean": "plain pixels",
}

// addMethods picks the rows that the demo shows and gives them readable names.
func (c *demoCommand) addMethods(r *compare.Result) {
	for _, row := range r.Rows {
		name := demoMarks[row.Method]
		if row.Kind == eval.KindMethod {
			about, _ := method.Describe(row.Method)
			name = about.Title
		}
		if name == "" || row.Kind != eval.KindReference && row.Bits != c.bits {
			continue
		}
		m := demoMethod{name, row.Bits, row.MAP, row.Precision100, row.NewItems, row.LearnedItems, row.TrainSeconds,
			row.EncodeMicroseconds}
		if row.Method == "float-euclidean" {
			m.Bits = 8 * fashion.Dim // a byte each, although they are ranked as floats
		}
		c.report.Methods = append(c.report.Methods, m)
	}
	c.report.Advice, c.learned = r.Advice, r.Data.Learned
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
	c.report.Report = filepath.Join(folder, "report.html")
	if c.save == "" {
		return (&cli.Output{Force: true}).Check([]string{c.report.Report}, nil) // in the cache
	}
	outputs := []string{c.report.Report, filepath.Join(folder, "demo.hgm")}
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

func (c *demoCommand) print(ctx context.Context) error {
	base, err := c.model.Encode(ctx, c.train.X, c.threads)
	if err != nil {
		return err
	}
	t := c.table()
	t.AppendHeader(table.Row{"method", "bits", "MAP, new", "precision, new", "MAP, learned", "train s", "encode us"})
	number := func(format string, v float64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf(format, v)
	}
	var fast demoMethod
	for _, m := range c.report.Methods {
		t.AppendRow(table.Row{m.Name, m.Bits, fmt.Sprintf("%.3f", m.NewItems.MAP), fmt.Sprintf("%.3f", m.NewItems.Precision),
			fmt.Sprintf("%.3f", m.LearnedItems.MAP), number("%.1f", m.Train), number("%.1f", m.Encode)})
		if m.Name == "FastHash" {
			fast = m
		}
	}
	t.Render()
	fmt.Fprintf(c.out, `
What happened: for each bit, a graph cut chose values that best bring pictures of one class
together and keep others apart, given the bits so far; 200 small trees learned to predict them
from the pixels; their actual predictions guided the next bit. Of the 100 nearest among %d new
pictures, which no tree has seen, %.0f %% show the same kind of clothes; among the %d training
pictures, which the trees have memorised, %.0f %% do.

Behind these %d bits of the class come %d bits of detail, which keep what a picture looks like and
weigh an eighth of a bit: the class first, then the look. Of the ten nearest items of a query's class,
%.0f %% are in the first ten hits; %.0f %% without detail. A picture now takes %d bytes instead of %d.

`, c.train.X.Rows-c.learned, 100*fast.NewItems.Precision, c.learned, 100*fast.LearnedItems.Precision,
		c.model.ClassBits(), c.report.Look.DetailBits, 100*c.report.Look.NearestOfClass, 100*c.report.Look.WithoutDetail,
		base.Bytes(), fashion.Dim)
	if err := c.printSearch(ctx, base); err != nil {
		return err
	}
	c.printAdvice(c.report.Advice)
	fmt.Fprintf(c.out, "\nReport with plots, classes and more searches: %s\n", c.report.Report)
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
Done in %.1f s.
`, keep, "hashgrove info "+filepath.Join(files, "demo.hgm"), filepath.Join(files, "train-images-idx3-ubyte.gz"),
		c.report.Seconds)
	return nil
}

// printSearch shows one query and the pictures nearest to it.
func (c *demoCommand) printSearch(ctx context.Context, base hamming.Codes) error {
	const show, list = 3, 10
	query := slices.Index(c.query.Labels(), "shirt") // the class that most resembles others
	hits, err := c.nearest(ctx, base, c.query.X.Slice(query, query+1), list)
	if err != nil {
		return err
	}
	names := make([]string, list)
	pictures := [][]string{fashion.Sketch(c.query.X.Row(query))}
	for i, h := range hits {
		row, _ := h.ID.Integer()
		names[i] = fmt.Sprintf("%s (%d, %d)", fashion.Names[c.train.Class[row]], h.Distance, h.DetailDistance)
		if i < show {
			pictures = append(pictures, fashion.Sketch(c.train.X.Row(int(row))))
		}
	}
	fmt.Fprintf(c.out, "A query, %s, and its nearest codes (bits of the class, and of detail, that differ):\n  %s\n\n",
		fashion.Names[c.query.Class[query]], strings.Join(names, ", "))
	for line := range pictures[0] {
		for _, p := range pictures {
			fmt.Fprintf(c.out, "  %s", p[line])
		}
		fmt.Fprintln(c.out)
	}
	return nil
}
