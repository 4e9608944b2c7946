package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
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

// inspectReport is the output of inspect --json.
type inspectReport struct {
	Files          []string            `json:"files"`
	Rows           int                 `json:"rows"`
	Dims           int                 `json:"dims"`
	Pictures       string              `json:"pictures,omitempty"` // their size and channels
	Bad            int                 `json:"bad_rows"`
	BadExamples    []string            `json:"bad_examples,omitempty"`
	Constant       int                 `json:"constant_columns"`
	Bytes          bool                `json:"byte_values"`
	IDs            bool                `json:"ids"`
	Labels         []supervision.Count `json:"labels,omitempty"`
	Tags           []supervision.Count `json:"tags,omitempty"`
	SimilarShare   *float64            `json:"similar_share,omitempty"`
	ShareEstimated bool                `json:"similar_share_is_an_estimate,omitempty"`
	Warnings       []string            `json:"warnings"`
	columnReport
}

func (c *inspectCommand) run(ctx context.Context, args []string) error {
	c.data.SkipBad = true // inspect all rows, not only those up to the first bad one
	data, err := c.data.forSimilarity()
	if err != nil {
		return err
	}
	set, err := data.open(args, nil)
	if err != nil {
		return err
	}
	sum, err := c.scan(ctx, set, supervision.ScanOptions{})
	if err != nil {
		return err
	}
	r := inspectReport{
		Files: set.Files(), Rows: sum.Rows, Dims: sum.Dim(), Bad: sum.Bad,
		Constant: len(sum.Constant), Bytes: sum.Ranges.Bytes, IDs: sum.IDs != nil, Warnings: []string{},
		columnReport: columnsOf(set),
	}
	if pictures, ok := set.AsPictures(); ok {
		r.Pictures = pictures.Preparation().Shape.String()
	}
	for i := range sum.BadExamples {
		r.BadExamples = append(r.BadExamples, sum.BadExamples[i].Error())
	}
	if err := c.fillSupervision(sum, &r); err != nil {
		return err
	}
	return c.printResult(r, func() { c.print(r) })
}

// fillSupervision fills in the statistics of labels, tags or pairs.
func (c *inspectCommand) fillSupervision(sum *supervision.Data, r *inspectReport) error {
	switch {
	case c.similar.pairs != "":
		if err := dataset.ReadPairs(c.similar.pairs, sum); err != nil {
			return err
		}
	case sum.Labels != nil:
		r.Labels = sum.Labels.Histogram()
	case sum.Tags != nil:
		r.Tags = sum.Tags.Histogram()
		sum.MinShared = c.similar.minShared
	}
	if sum.Kind() != "" {
		share, exact, err := sum.SimilarShare()
		if err != nil {
			return err
		}
		r.SimilarShare, r.ShareEstimated = &share, !exact
	}
	r.Warnings = append(r.Warnings, sum.Warnings...)
	if err := sum.Trainable(); err != nil {
		r.Warnings = append(r.Warnings, "training is not possible with these data: "+err.Error())
	}
	return nil
}

func (c *inspectCommand) print(r inspectReport) {
	fmt.Fprintf(c.out, "files        %d\n", len(r.Files))
	fmt.Fprintf(c.out, "rows         %d\n", r.Rows)
	fmt.Fprintf(c.out, "dimensions   %d", r.Dims)
	if r.Constant > 0 {
		fmt.Fprintf(c.out, ", %d of them constant", r.Constant)
	}
	if r.Bytes {
		fmt.Fprint(c.out, ", all values are bytes")
	}
	fmt.Fprintln(c.out)
	if len(r.Vector) > 0 {
		fmt.Fprintf(c.out, "vector       %s\n", cli.Printable(r.vectorText(r.Dims)))
	}
	if len(r.Unused) > 0 {
		fmt.Fprintf(c.out, "not used     %s\n", cli.Printable(message.Runs(r.Unused)))
	}
	if r.Pictures != "" {
		fmt.Fprintf(c.out, "pictures     %s\n", cli.Printable(r.Pictures))
	}
	fmt.Fprintf(c.out, "bad rows     %d\n", r.Bad)
	for _, b := range r.BadExamples {
		fmt.Fprintf(c.out, "             %s\n", cli.Printable(b))
	}
	histogram := func(name string, counts []supervision.Count) {
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
		about := ""
		if r.ShareEstimated {
			about = "about "
		}
		fmt.Fprintf(c.out, "similar      %s%.2f %% of the pairs\n", about, 100**r.SimilarShare)
	}
	c.warn(r.Warnings)
}
