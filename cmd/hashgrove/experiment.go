package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/section"
	"hashgrove/x/paper"
)

type experimentCommand struct {
	*app
	data, cache, output string
	methods             []string
	rows                []int
	short               bool
	file                cli.Output
}

func (a *app) experiment() *cobra.Command {
	c := &experimentCommand{app: a}
	cmd := &cobra.Command{
		Use:   "experiment [NAME]",
		Short: "Reproduce a table or figure of the paper",
		Long: `Reproduce a table or figure of the paper from the original files. Without a name, list the experiments.

--data names a folder with the data sets as they are published:
  cifar10    data_batch_1.bin to 5, test_batch.bin (the binary version of CIFAR-10, from its home page)
  iaprtc12   pictures in any folder below, with the lists of TagProp (iaprtc12_train_list.txt and so on) or
             ids.txt, labels.txt, tags.txt and split.txt
  espgame    the same, with the lists of TagProp
  mirflickr  mirflickr/im1.jpg and so on, with annotations/ of version 0.8 or the lists of TagProp
  sun397     SUN397/a/abbey/ and so on

Every stage is kept in --cache under the digest of its inputs, so an interrupted experiment resumes where it stopped,
and a failing method does not affect the others. --methods runs only some methods; the table also shows what is cached
for the others, and --methods none shows only that. --rows selects by position in the table. --short runs a
small version on built-in pictures. Figures are written as SVG files beside the --output file.`,
		Example: `  hashgrove experiment cifar10-features --short --cache runner`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef("experiment takes one name, but has %q; see \"hashgrove help experiment\"", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.printList()
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "Markdown `FILE` for the table, in addition to standard output")
	c.file.Bind(f)
	f.StringVar(&c.data, "data", cacheFolder(), "`FOLDER` with the data sets")
	f.StringVar(&c.cache, "cache", cacheFolder("experiments"), "`FOLDER` for finished stages")
	f.StringSliceVar(&c.methods, "methods", nil, "run only these `METHODS`, or none")
	f.IntSliceVar(&c.rows, "rows", nil, "run only these `ROWS` of the table, counted from 1")
	f.BoolVar(&c.short, "short", false, "run a small version in seconds")
	cli.Group(f, "Experiment")
	return cmd
}

func (c *experimentCommand) printList() error {
	type line struct {
		Name  string `json:"name"`
		About string `json:"about"`
	}
	var lines []line
	for _, e := range paper.All {
		lines = append(lines, line{e.Name, e.About})
	}
	return c.printResult(lines, func() {
		for _, l := range lines {
			fmt.Fprintf(c.out, "%-24s %s\n", l.Name, l.About)
		}
	})
}

func (c *experimentCommand) run(ctx context.Context, name string) error {
	e, err := paper.Find(name)
	if err != nil {
		return cli.UsageError(err)
	}
	for _, m := range c.methods {
		if names := append(paper.Methods(), "none"); !slices.Contains(names, m) {
			return cli.Usagef("there is no method %q; the methods are %s", m, strings.Join(names, ", "))
		}
	}
	for _, row := range c.rows {
		if row < 1 {
			return cli.Usagef("--rows %d: rows are counted from 1", row)
		}
	}
	if err := c.file.Check([]string{c.output}, nil); err != nil {
		return err
	}
	runner := &paper.Runner{
		Data: c.data, Cache: c.cache, Short: c.short, Methods: c.methods, Rows: c.rows,
		Threads: c.threads, Seed: c.seed, Say: c.note,
	}
	table, err := e.Run(ctx, runner)
	if errors.Is(err, paper.ErrMissing) {
		return fmt.Errorf("%w; put it where --data says (see \"hashgrove help experiment\")", err)
	}
	if err != nil {
		return err
	}
	command := "hashgrove experiment " + name
	if c.short {
		command += " --short"
	}
	if c.output != "" {
		err := section.WriteFile(c.output, func(w io.Writer) error { return table.Markdown(w, command, time.Now()) })
		if err == nil {
			err = table.WriteFigures(filepath.Dir(c.output))
		}
		if err != nil {
			return err
		}
	}
	if c.json {
		err = c.printJSON(table)
	} else {
		err = table.Markdown(c.out, command, time.Now())
	}
	if err == nil && len(table.Failures) > 0 {
		err = fmt.Errorf("%d rows of %s failed; the table says why, and the next run will retry them",
			len(table.Failures), name)
	}
	return err
}
