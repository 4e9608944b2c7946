package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/affinity"
	"hashgrove/baseline"
	"hashgrove/dataset"
	"hashgrove/eval"
	"hashgrove/hamming"
	"hashgrove/internal/fashion"
	"hashgrove/model"
	"hashgrove/training"
)

type demoCommand struct {
	*app
	bits int
	save string

	train, query fashion.Part
	truth        eval.Truth
	report       demoReport
}

// demoReport is what demo --json prints.
type demoReport struct {
	Methods []demoMethod `json:"methods"`
	Seconds float64      `json:"seconds"`
}

// demoMethod is one row of the comparison.
type demoMethod struct {
	Name         string  `json:"name"`
	Bits         int     `json:"bits"`
	MAP          float64 `json:"map"`
	Precision100 float64 `json:"precision_100"`
	Train        float64 `json:"train_seconds"`
	Encode       float64 `json:"encode_microseconds"` // per picture and core
}

func (a *app) demo() *cobra.Command {
	c := &demoCommand{app: a}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Learn codes for pictures of clothes and compare them, in under a minute",
		Long: `Learn codes for 6,000 pictures of clothes that are inside this program (Fashion-MNIST), compare them with
simple codes and with the plain pixels, and search with one picture. --save keeps pictures and model, to try the
other verbs on.`,
		Example: `  hashgrove demo --bits 4 --save shop`,
		Args:    none,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&c.bits, "bits", 64, "code length")
	cmd.Flags().StringVar(&c.save, "save", "", "folder to write the pictures and the model to")
	return cmd
}

func (c *demoCommand) run(ctx context.Context) error {
	began := time.Now()
	c.train, c.query = fashion.Train(), fashion.Query()
	c.truth = eval.ByClass(c.query.Class, c.train.Class)
	c.note("%d pictures of clothes to learn from, %d to search with; 28 x 28 pixels, %d classes", c.train.X.Rows, c.query.X.Rows, len(fashion.Names))

	m, took, err := c.learn(ctx)
	if err != nil {
		return err
	}
	base, queries, err := c.judge(ctx, "FastHash", m, took)
	if err != nil {
		return err
	}
	began2 := time.Now()
	lsh, err := baseline.LSH{Bits: c.bits, Seed: c.seed, Centre: true}.Train(ctx, c.train.X)
	if err != nil {
		return err
	}
	if _, _, err := c.judge(ctx, "LSH", &model.Model{Encoder: lsh}, time.Since(began2)); err != nil {
		return err
	}
	if err := c.simple(ctx); err != nil {
		return err
	}
	c.report.Seconds = time.Since(began).Seconds()
	if c.save != "" {
		if err := c.keep(m); err != nil {
			return err
		}
	}
	if c.json {
		return c.printJSON(c.report)
	}
	c.print(base, queries)
	return nil
}

// learn trains FastHash with the default options.
func (c *demoCommand) learn(ctx context.Context) (*model.Model, time.Duration, error) {
	began := time.Now()
	sum, err := dataset.Scan(ctx, c.train.X, dataset.ScanOptions{Digest: true})
	if err != nil {
		return nil, 0, err
	}
	quantizer, err := sum.Ranges.Quantizer()
	if err != nil {
		return nil, 0, err
	}
	x, err := dataset.Quantize(ctx, c.train.X, c.train.X.Rows, quantizer, c.threads)
	if err != nil {
		return nil, 0, err
	}
	y, err := affinity.ByClass(c.train.Class)
	if err != nil {
		return nil, 0, err
	}
	p := c.start("bit", c.bits, 0)
	defer p.end()
	job := training.Job{
		Trainer: hashgrove.Trainer{Bits: c.bits, Seed: c.seed, Threads: c.threads},
		X:       x, Y: y,
		Similar:  training.Similarity{From: "classes"},
		Data:     hex.EncodeToString(sum.Digest[:]),
		Info:     model.Info{Classes: fashion.Names},
		Progress: func(b hashgrove.Bit) { p.step(b.Bit, fmt.Sprintf("objective %.4f", b.Stat.Objective)) },
	}
	result, err := job.Run(ctx)
	if err != nil {
		return nil, 0, err
	}
	return result.Model, time.Since(began), nil
}

// judge encodes both sides and adds a row to the comparison.
func (c *demoCommand) judge(ctx context.Context, name string, m *model.Model, train time.Duration) (base, queries hamming.Codes, err error) {
	if base, err = m.Encode(ctx, c.train.X, c.threads); err != nil {
		return base, queries, err
	}
	began := time.Now()
	if queries, err = m.Encode(ctx, c.query.X, 1); err != nil {
		return base, queries, err
	}
	encode := time.Since(began)
	r, err := eval.Retrieval(ctx, queries, base, c.truth, eval.Options{Threads: c.threads})
	if err != nil {
		return base, queries, err
	}
	c.add(name, r, train, encode.Seconds()*1e6/float64(c.query.X.Rows))
	return base, queries, nil
}

// simple adds the floor and the ceiling without codes of their own making.
func (c *demoCommand) simple(ctx context.Context) error {
	random, err := eval.Retrieval(ctx, baseline.RandomCodes(c.query.X.Rows, c.bits, c.seed+1), baseline.RandomCodes(c.train.X.Rows, c.bits, c.seed),
		c.truth, eval.Options{Threads: c.threads})
	if err != nil {
		return err
	}
	c.add("random codes", random, 0, 0)
	pixels, err := eval.RetrievalFloat(ctx, c.query.X, c.train.X, c.truth, eval.Options{Threads: c.threads})
	if err != nil {
		return err
	}
	c.add("plain pixels", pixels, 0, 0)
	c.report.Methods[len(c.report.Methods)-1].Bits = 8 * fashion.Dim // a byte each, although they are ranked as floats
	return nil
}

func (c *demoCommand) add(name string, r *eval.Report, train time.Duration, encode float64) {
	c.report.Methods = append(c.report.Methods, demoMethod{name, r.Bits, r.MAP, r.Precision[100], train.Seconds(), encode})
}

// keep writes pictures and model into the folder.
func (c *demoCommand) keep(m *model.Model) error {
	if err := os.MkdirAll(c.save, 0o777); err != nil {
		return err
	}
	for _, name := range fashion.Files {
		if err := os.WriteFile(filepath.Join(c.save, name), fashion.File(name), 0o666); err != nil {
			return err
		}
	}
	return model.WriteFile(filepath.Join(c.save, "demo.hgm"), m)
}

func (c *demoCommand) print(base, queries hamming.Codes) {
	t := c.table()
	t.AppendHeader(table.Row{"method", "bits", "MAP", "precision@100", "train s", "encode us"})
	number := func(format string, v float64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf(format, v)
	}
	for _, m := range c.report.Methods {
		t.AppendRow(table.Row{m.Name, m.Bits, fmt.Sprintf("%.3f", m.MAP), fmt.Sprintf("%.3f", m.Precision100), number("%.1f", m.Train), number("%.1f", m.Encode)})
	}
	t.Render()
	fast := c.report.Methods[0]
	fmt.Fprintf(c.out, `
What happened: for each bit, a graph cut chose the value that best puts pictures of one class
together and others apart, given the bits so far; 200 small trees learned to predict it from
the pixels; what they really predict went into the next bit. A picture is now %d bytes instead
of %d, and of the 100 nearest codes %.0f %% show the same kind of clothes.

`, base.Bytes(), fashion.Dim, 100*fast.Precision100)
	c.printSearch(base, queries)
	files := "DATA"
	if c.save != "" {
		files = filepath.Join(c.save, "train-images-idx3-ubyte.gz")
	}
	fmt.Fprintf(c.out, `
Try next:
  hashgrove demo --save shop                                    keep pictures and model
  hashgrove info shop/demo.hgm                                  what is in the model
  hashgrove inspect %s
  hashgrove train YOURS.npy --labels CLASSES.txt -o yours.hgm   your own vectors
  hashgrove help train
Done in %.1f s.
`, files, c.report.Seconds)
}

// printSearch shows one query and the pictures nearest to it.
func (c *demoCommand) printSearch(base, queries hamming.Codes) {
	const query, show, list = 3, 3, 10
	distance := make([]uint16, base.Len())
	base.Distances(distance, queries.Row(query))
	// The nearest few of a few thousand: pick the least, by number where distances are equal.
	var found []int
	taken := make([]bool, len(distance))
	for range list {
		best := -1
		for i, d := range distance {
			if !taken[i] && (best < 0 || d < distance[best]) {
				best = i
			}
		}
		taken[best] = true
		found = append(found, best)
	}
	names := make([]string, list)
	for i, f := range found {
		names[i] = fmt.Sprintf("%s (%d)", fashion.Names[c.train.Class[f]], distance[f])
	}
	fmt.Fprintf(c.out, "A query, %s, and its nearest codes (distance in bits):\n  %s\n\n", fashion.Names[c.query.Class[query]], strings.Join(names, ", "))
	pictures := [][]string{sketch(c.query.X.Row(query))}
	for _, f := range found[:show] {
		pictures = append(pictures, sketch(c.train.X.Row(f)))
	}
	for line := range pictures[0] {
		for _, p := range pictures {
			fmt.Fprintf(c.out, "  %s", p[line])
		}
		fmt.Fprintln(c.out)
	}
}

// sketch draws a 28 x 28 picture with characters.
func sketch(pixels []float32) []string {
	const wide, high, shades = 18, 9, " .:-=+*#%@"
	lines := make([]string, high)
	for y := range high {
		var b strings.Builder
		for x := range wide {
			sum, n := float32(0), float32(0)
			for py := y * 28 / high; py < (y+1)*28/high; py++ {
				for px := x * 28 / wide; px < (x+1)*28/wide; px++ {
					sum += pixels[py*28+px]
					n++
				}
			}
			b.WriteByte(shades[min(int(sum/n/256*float32(len(shades))), len(shades)-1)])
		}
		lines[y] = b.String()
	}
	return lines
}
