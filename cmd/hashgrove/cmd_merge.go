package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/store"
)

type mergeCommand struct {
	*app
	output string
	file   cli.Output
}

func (a *app) merge() *cobra.Command {
	c := &mergeCommand{app: a}
	cmd := &cobra.Command{
		Use:   "merge INDEX... -o FILE",
		Short: "Merge indexes",
		Long: `Merge indexes of codes of one model that have no ids in common. The new one has all items with their labels,
tags and attributes, and the model. (Code files need no merging: "hashgrove index build" takes several.)`,
		Example: `  hashgrove index build items.csv --label category --id-column sku -m items.hgm -o part1.hgi
  hashgrove index build new.csv --label category --id-column sku -m items.hgm -o part2.hgi
  hashgrove merge part1.hgi part2.hgi -o all.hgi`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "`FILE` to write")
	c.file.Bind(f)
	cli.Group(f, "Output")
	return cmd
}

func (c *mergeCommand) run(ctx context.Context, args []string) error {
	if c.output == "" {
		return cli.Usage("missing-flag", "merge needs -o FILE, the file to write")
	}
	c.file.FileOnly = true
	if err := c.file.Check([]string{c.output}, args); err != nil {
		return err
	}
	began := time.Now()
	// An existing output is replaced only once the new one is complete.
	p := c.startProgress("merging", 0)
	r, err := store.Merge(ctx, args, c.output, c.file.Force, p.Count)
	p.End()
	if err != nil {
		return err
	}
	return c.printCopy("index", c.output, r, began)
}
