package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/experiments"
)

type experimentCommand struct {
	*app
	data, cache, output string
	short               bool
}

func (a *app) experiment() *cobra.Command {
	c := &experimentCommand{app: a}
	var names strings.Builder
	for _, e := range experiments.All {
		fmt.Fprintf(&names, "  %-18s %s\n", e.Name, e.About)
	}
	cmd := &cobra.Command{
		Use:   "experiment NAME",
		Short: "Run a table or figure of the paper again",
		Long: `Run a table or figure of the paper from the original files to the table. The experiments:
` + names.String() + `
Data sets lie in the folder that --data names: cifar10/data_batch_1.bin to 5, cifar10/test_batch.bin (the
binary version of CIFAR-10, from its home page). Every stage is kept in --cache under the digest of its
inputs; an interrupted experiment goes on where it was. --short runs a small version on built-in pictures.`,
		Example: `  hashgrove experiment cifar10-features --short --cache lab`,
		Args:    atLeast(1, "the name of an experiment"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	home, err := os.UserCacheDir()
	if err != nil {
		home = os.TempDir()
	}
	f := cmd.Flags()
	f.StringVar(&c.data, "data", filepath.Join(home, "hashgrove"), "folder with the data sets")
	f.StringVar(&c.cache, "cache", filepath.Join(home, "hashgrove", "experiments"), "folder for the stages")
	f.StringVarP(&c.output, "output", "o", "", "Markdown file for the table, besides standard output")
	f.BoolVar(&c.short, "short", false, "a small version in seconds")
	return cmd
}

func (c *experimentCommand) run(ctx context.Context, name string) error {
	e, err := experiments.Find(name)
	if err != nil {
		return usageError{err}
	}
	lab := &experiments.Lab{Data: c.data, Cache: c.cache, Short: c.short, Threads: c.threads, Seed: c.seed, Say: c.note}
	table, err := e.Run(ctx, lab)
	if err != nil {
		return err
	}
	command := "hashgrove experiment " + name
	if c.short {
		command += " --short"
	}
	if c.output != "" {
		f, err := os.Create(c.output)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := table.Markdown(f, command, time.Now()); err != nil {
			return err
		}
	}
	if c.json {
		return c.printJSON(table)
	}
	return table.Markdown(c.out, command, time.Now())
}
