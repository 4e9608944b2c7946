package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
)

type featuresCommand struct {
	*app
	data         dataFlags
	kind, output string
	file         cli.Output
}

func (a *app) features() *cobra.Command {
	c := &featuresCommand{app: a}
	cmd := &cobra.Command{
		Use:   "features DATA... --kind gist320|gist512|pixels -o OUT.npy",
		Short: "Turn pictures into vectors",
		Long: `Turn pictures (a folder, a tar, CIFAR or IDX files) into vectors:
  gist320   energies of 20 oriented filters in a grid of 4 x 4 blocks
  gist512   energies of 32 oriented filters in the same grid
  pixels    the pixels themselves
Classes, tags and ids go to text files beside the output. "hashgrove train --features" computes the same on the way,
and its model takes pictures.`,
		Example: `  hashgrove features shop/train-images-idx3-ubyte.gz --size 32 --kind gist320 -o gist.npy
  hashgrove train gist.npy --labels gist.labels.txt --bits 4 --rounds 5 -o gist.hgm`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "the NumPy `FILE` to write")
	c.file.Bind(f)
	f.StringVar(&c.kind, "kind", "", "`KIND` of features: gist320, gist512 or pixels")
	cli.Group(f, "Output")
	c.data.bindFiles(f, "Data")
	c.data.bindPictures(f)
	return cmd
}

// featuresReport is the output of features --json.
type featuresReport struct {
	Output  string   `json:"output"`
	Kind    string   `json:"kind"`
	Rows    int      `json:"rows"`
	Dims    int      `json:"dims"`
	Seconds float64  `json:"seconds"`
	Beside  []string `json:"beside,omitempty"`
}

func (c *featuresCommand) run(ctx context.Context, args []string) error {
	if c.output == "" || c.kind == "" {
		return cli.Usagef("features needs --kind gist320, gist512 or pixels, and -o OUT.npy, the file to write")
	}
	c.file.FileOnly = true
	if err := c.file.Check(hashgrove.FeatureFiles(c.output), c.data.inputs(args)); err != nil {
		return err
	}
	data, err := c.data.similarRows(args)
	if err != nil {
		return err
	}
	began := time.Now()
	show, end := c.steps()
	wrote, err := data.WriteFeatures(ctx, c.output, hashgrove.FeatureOptions{
		Kind: c.kind, Pictures: hashgrove.PictureOptions{Size: c.data.size}, Threads: c.threads, Progress: show,
	})
	end()
	if err != nil {
		return optionUsage(err)
	}
	r := featuresReport{
		Output: c.output, Kind: c.kind, Rows: wrote.Rows, Dims: wrote.Dim, Seconds: time.Since(began).Seconds(),
		Beside: wrote.Beside,
	}
	return c.printResult(r, func() {
		fmt.Fprintf(c.out, "%s: %d vectors of %d dimensions (%s) in %.1f s\n", r.Output, r.Rows, r.Dims, r.Kind, r.Seconds)
		for _, path := range r.Beside {
			fmt.Fprintf(c.out, "%s\n", path)
		}
	})
}
