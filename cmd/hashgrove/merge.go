package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/hamming"
	"hashgrove/internal/cli"
)

type mergeCommand struct {
	*app
	output string
	file   cli.Output
}

func (a *app) merge() *cobra.Command {
	c := &mergeCommand{app: a}
	cmd := &cobra.Command{
		Use:   "merge SHARD... -o FILE",
		Short: "Put the shards of codes together",
		Long: `Put the code files that "hashgrove encode --shard" made together, in any order and in bounded memory. The
result is what encoding all rows at once gives, byte for byte. A shard that is missing or named twice, codes of
another model, of another length or of data that have changed, and ids that are there twice are errors that name
the files.`,
		Example: `  hashgrove merge part-00001-of-00002.hgc part-00002-of-00002.hgc -o vectors.hgc`,
		Args:    cli.AtLeast(1, "the shards"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "`FILE` to write")
	c.file.Bind(f)
	cli.Group(f, "Output")
	return cmd
}

// mergeReport is what merge --json prints.
type mergeReport struct {
	Codes       string  `json:"codes"`
	Shards      int     `json:"shards"`
	Rows        int     `json:"rows"`
	Bits        int     `json:"bits"`
	IDs         bool    `json:"ids"`
	Fingerprint string  `json:"fingerprint"`
	Seconds     float64 `json:"seconds"`
}

func (c *mergeCommand) run(ctx context.Context, args []string) error {
	if c.output == "" {
		return cli.Usagef("merge needs -o FILE, the file to write")
	}
	c.file.FileOnly = true
	if err := c.file.Check([]string{c.output}, args); err != nil {
		return err
	}
	began := time.Now()
	tick, end := cli.Counting(c.progressWriter(), "merging")
	m, err := hamming.Merge(ctx, args, c.output, tick)
	end()
	if err != nil {
		return err
	}
	r := mergeReport{
		Codes: c.output, Shards: m.Shards, Rows: m.Codes, Bits: m.Bits, IDs: m.IDs, Fingerprint: m.Fingerprint.String(),
		Seconds: time.Since(began).Seconds(),
	}
	return c.printLine(r, "%s: %d codes of %d bits from %d shards, fingerprint %s",
		r.Codes, r.Rows, r.Bits, r.Shards, r.Fingerprint)
}
