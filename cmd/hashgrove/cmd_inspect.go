package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
)

type inspectCommand struct {
	*app
	data    dataFlags
	similar similarity
}

func (a *app) inspect() *cobra.Command {
	c := &inspectCommand{app: a}
	cmd := &cobra.Command{
		Use:   "inspect DATA...",
		Short: "Summarise a data set: contents and problems",
		Long: `Read the data once and print rows, dimensions, the columns that form the vector, classes or tags, bad values
and the share of similar pairs.`,
		Example: `  hashgrove inspect items.csv --label category
  hashgrove inspect vectors.npy --labels classes.txt --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.data.bind(cmd.Flags(), "Data")
	c.data.bindPictures(cmd.Flags())
	c.similar.bind(cmd.Flags())
	return cmd
}

func (c *inspectCommand) run(ctx context.Context, args []string) error {
	data, err := c.data.similarRows(args)
	if err != nil {
		return err
	}
	show, end := c.steps()
	i, err := data.WithPairsFile(c.similar.pairs).Inspect(ctx, hashgrove.InspectOptions{
		Pictures: hashgrove.PictureOptions{Size: c.data.size}, MinShared: c.similar.minShared, Threads: c.threads,
		Progress: show,
	})
	end()
	if err != nil {
		return err
	}
	return c.printResult(i, func() { c.print(i) })
}

func (c *inspectCommand) print(r *hashgrove.Inspection) {
	fmt.Fprintf(c.out, "files        %d\n", len(r.Files))
	fmt.Fprintf(c.out, "rows         %d\n", r.Rows)
	fmt.Fprintf(c.out, "dimensions   %d", r.Dim)
	if r.Constant > 0 {
		fmt.Fprintf(c.out, ", %d of them constant", r.Constant)
	}
	if r.Bytes {
		fmt.Fprint(c.out, ", all values are bytes")
	}
	fmt.Fprintln(c.out)
	if len(r.Vector) > 0 {
		fmt.Fprintf(c.out, "vector       %s\n", cli.Printable(vectorText(r.UsedColumns, r.Dim)))
	}
	if len(r.Unused) > 0 {
		fmt.Fprintf(c.out, "not used     %s\n", cli.Printable(cli.Runs(r.Unused)))
	}
	if r.Pictures != "" {
		fmt.Fprintf(c.out, "pictures     %s\n", cli.Printable(r.Pictures))
	}
	fmt.Fprintf(c.out, "bad rows     %d\n", r.Bad)
	for _, b := range r.BadExamples {
		fmt.Fprintf(c.out, "             %s\n", cli.Printable(b))
	}
	histogram := func(name string, counts []hashgrove.NameCount) {
		if counts == nil {
			return
		}
		fmt.Fprintf(c.out, "%-12s %d\n", name, len(counts))
		for i, k := range counts {
			if i == 20 {
				fmt.Fprintf(c.out, "             and %d more\n", len(counts)-i)
				break
			}
			fmt.Fprintf(c.out, "  %8d   %s\n", k.Rows, cli.Printable(k.Name))
		}
	}
	histogram("classes", r.Labels)
	histogram("tags", r.Tags)
	if r.SimilarShare != nil {
		fmt.Fprintf(c.out, "similar      %.2f %% of the pairs\n", 100**r.SimilarShare)
	}
	c.warn(r.Warnings)
}
