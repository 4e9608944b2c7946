package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
)

// copyReport is the output of backup, restore and migrate with --json.
type copyReport struct {
	File        string  `json:"file"`
	Items       int     `json:"items"`
	Bits        int     `json:"bits"`
	Fingerprint string  `json:"fingerprint"`
	FileBytes   int64   `json:"file_bytes"`
	Seconds     float64 `json:"seconds"`
}

func (a *app) backup() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "backup INDEX -o FILE",
		Short: "Copy an index to a file and check the copy",
		Long: `Copy an index, check the copy, and only then give it its name. A backup is itself an index: it can be
searched, verified and restored. Existing files are never overwritten.`,
		Example: `  hashgrove index backup items.hgi -o items.backup`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return cli.Usage("missing-flag", "%s needs -o FILE, the file to write", cli.Verb(cmd))
			}
			began := time.Now()
			ix, end, err := a.openIndex(cmd.Context(), args[0], toRead)
			if err != nil {
				return err
			}
			defer end()
			if err := ix.Save(cmd.Context(), output); err != nil {
				return err
			}
			return a.printCopy(cmd.Context(), "backup", output, began)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write")
	cli.Group(cmd.Flags(), "Output")
	return cmd
}

func (a *app) restore() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "restore FILE -o INDEX",
		Short: "Make an index from a backup",
		Long: `Check a backup and copy it to a new index, all or nothing. Existing files are never overwritten: remove the
old one, or restore under another name.`,
		Example: `  hashgrove index restore items.backup -o again.hgi`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return cli.Usage("missing-flag", "%s needs -o INDEX, the index to make", cli.Verb(cmd))
			}
			began := time.Now()
			if err := hashgrove.RestoreIndex(cmd.Context(), args[0], output); err != nil {
				return err
			}
			return a.printCopy(cmd.Context(), "index", output, began)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the `INDEX` to make")
	cli.Group(cmd.Flags(), "Output")
	return cmd
}

// printCopy summarises an index that was just written.
func (a *app) printCopy(ctx context.Context, what, path string, began time.Time) error {
	ix, end, err := a.openIndex(ctx, path, toRead)
	if err != nil {
		return err
	}
	defer end()
	i := ix.Info()
	r := copyReport{path, i.Items, i.Bits, i.Fingerprint[:16], i.FileBytes, time.Since(began).Seconds()}
	return a.printLine(r, "%s: %s of %d items, %d bits, fingerprint %s, %s, %.1f s",
		path, what, r.Items, r.Bits, r.Fingerprint, cli.Size(r.FileBytes), r.Seconds)
}

type migrateCommand struct {
	*app
	data    dataFlags
	model   string
	vectors []string
}

func (a *app) migrate() *cobra.Command {
	c := &migrateCommand{app: a}
	cmd := &cobra.Command{
		Use:   "migrate INDEX -m MODEL --vectors DATA",
		Short: "Re-encode an index with another model",
		Long: `Encode the items of an index again with another model, from their vectors or pictures, matched by id, or by
row if the data have no ids. Every item needs its vector; vectors of other ids are ignored. Labels, tags and attributes
stay. The new index replaces the old one in one step: after an error or a kill the old one is unchanged.`,
		Example: "  hashgrove index migrate again.hgi -m longer.hgm --vectors items.csv --vectors new.csv " +
			"--label category --id-column sku",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.model, "model", "m", "", "the new `MODEL`")
	f.StringArrayVar(&c.vectors, "vectors", nil, "`DATA` with the vectors or pictures of the items; may be repeated")
	cli.Group(f, "Migration")
	c.data.bindFiles(f, "Data")
	return cmd
}

func (c *migrateCommand) run(ctx context.Context, path string) error {
	if c.model == "" || len(c.vectors) == 0 {
		return cli.Usage("missing-flag",
			"index migrate needs --model MODEL, the new model, and --vectors DATA, the vectors of the items")
	}
	began := time.Now()
	m, err := hashgrove.LoadModel(c.model)
	if err != nil {
		return err
	}
	data, err := c.data.rows(c.vectors)
	if err != nil {
		return err
	}
	show, end := c.steps()
	err = hashgrove.IndexOptions{Threads: c.threads, Progress: show}.Migrate(ctx, path, m, data)
	end()
	if err != nil {
		return err
	}
	return c.printCopy(ctx, "index", path, began)
}

func (a *app) indexCompact() *cobra.Command {
	return &cobra.Command{
		Use:     "compact INDEX",
		Short:   "Shrink an index after many changes",
		Long:    `Write the items to a new, compact file that replaces the old one in one step. Deleted items are then gone.`,
		Example: `  hashgrove index compact items.hgi`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			before := int64(0)
			r, err := a.changeIndex(cmd.Context(), args[0], func(ix *hashgrove.Index) error {
				before = ix.Info().FileBytes
				return ix.Compact(cmd.Context())
			})
			if err != nil {
				return err
			}
			return a.printLine(r, "%s: %d items, %s on disk before, %s now",
				args[0], r.Items, cli.Size(before), cli.Size(r.FileBytes))
		},
	}
}
