package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/hamming"
	"hashgrove/internal/section"
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
		Use:   "merge SHARD... -o FILE",
		Short: "Merge shards of codes, or indexes",
		Long: `Merge the code files that "hashgrove encode --shard" made, in any order. The result is what encoding all rows
at once gives, byte for byte. Missing or repeated shards, codes of another model, of another length or of changed
data, and duplicate ids are errors that name the files.

Indexes can be merged too, if they have codes of one model and no ids in common: the new one has all items with their
labels, tags and attributes, and the model.`,
		Example: `  hashgrove merge part-00001-of-00002.hgc part-00002-of-00002.hgc -o vectors.hgc
  hashgrove index build part-00001-of-00002.hgc -o part1.hgi
  hashgrove index build part-00002-of-00002.hgc -m items.hgm -o part2.hgi
  hashgrove merge part1.hgi part2.hgi -o vectors.hgi`,
		Args: cli.AtLeast(1, "the shards"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "`FILE` to write")
	c.file.Bind(f)
	cli.Group(f, "Output")
	return cmd
}

// mergeReport is the output of merge --json.
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
		return cli.Usage("missing-flag", "merge needs -o FILE, the file to write")
	}
	c.file.FileOnly = true
	if err := c.file.Check([]string{c.output}, args); err != nil {
		return err
	}
	began := time.Now()
	// Files that are neither codes nor an index get the error of the code reader.
	if _, sections, err := section.FileKind(args[0]); err == nil && !sections && isIndex(ctx, args[0]) {
		return c.mergeIndexes(ctx, args, began)
	}
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

// isIndex reports whether a file is an index.
func isIndex(ctx context.Context, path string) bool {
	s, err := store.Open(ctx, path, store.OpenOptions{ReadOnly: true, OnDisk: true})
	if err != nil {
		return !errors.Is(err, hamming.ErrKind)
	}
	_ = s.Close() // opened read-only
	return true
}

// mergeIndexes combines indexes into one. An existing output is replaced only once the new one is complete.
func (c *mergeCommand) mergeIndexes(ctx context.Context, args []string, began time.Time) error {
	tick, end := cli.Counting(c.progressWriter(), "merging")
	r, err := store.Merge(ctx, args, c.output, c.file.Force, tick)
	end()
	if err != nil {
		return err
	}
	return c.printCopy("index", c.output, r, began)
}
