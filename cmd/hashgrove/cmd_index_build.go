package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/cli"
)

// addCommand is index build and index add.
type addCommand struct {
	*app
	items         itemFlags
	model, output string
	upsert        bool
	file          cli.Output
}

func (a *app) indexBuild() *cobra.Command {
	c := &addCommand{app: a}
	cmd := &cobra.Command{
		Use:   "build DATA... -m MODEL -o INDEX",
		Short: "Make an index from vectors, pictures or codes",
		Long: `Encode vectors or pictures with a model and make an index of the codes, or make one from codes: a code file,
a FAISS file (IndexBinaryFlat or IndexBinaryIDMap), or, with --codes, codes that you have from elsewhere, such as
perceptual hashes. Codes need no labels, and a model only to search by vector later. Ids, labels and tags come from
the data. Rows without ids are identified by their numbers, counted from 0, and pictures by their paths. Existing
indexes are replaced only with --force, once the new one is complete.

` + attributesHelp,
		Example: `  hashgrove index build items.csv --label category --id-column sku -m items.hgm -o items.hgi
  hashgrove index build items.csv --id-column sku -m items.hgm -o more.hgi --attributes items.csv
  hashgrove index build items.hgc -o codes.hgi
  hashgrove index build hashes.csv --codes --vector phash -o hashes.hgi`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.output == "" || len(args) == 0 {
				return cli.Usage("missing-flag",
					"index build needs data, and -o INDEX, the index to make; see \"hashgrove help index build\"")
			}
			return c.build(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "the `INDEX` to make")
	c.file.Bind(f)
	f.StringVarP(&c.model, "model", "m", "", "`MODEL` that encodes the data; it is copied into the index")
	cli.Group(f, "Output")
	c.items.bind(f)
	return cmd
}

func (a *app) indexAdd() *cobra.Command {
	c := &addCommand{app: a}
	cmd := &cobra.Command{
		Use:   "add INDEX DATA...",
		Short: "Add items to an index",
		Long: `Encode vectors or pictures with the model in the index, or read a code file of that model, and add the
items: all of them, or none if an id is already in the index. --upsert replaces the code of such items, and their label,
tags and attributes where the data have them.

` + attributesHelp,
		Example: `  hashgrove index add items.hgi new.csv --label category --id-column sku
  hashgrove index add items.hgi new.csv --label category --id-column sku --upsert`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.output = args[0]
			return c.add(cmd.Context(), args[1:])
		},
	}
	cmd.Flags().BoolVar(&c.upsert, "upsert", false, "replace items whose ids are already in the index")
	cli.Group(cmd.Flags(), "Output")
	c.items.bind(cmd.Flags())
	return cmd
}

// indexReport is the output of the index verbs with --json.
type indexReport struct {
	Index       string      `json:"index"`
	Items       int         `json:"items"` // now
	Added       int         `json:"added"`
	Replaced    int         `json:"replaced"`
	Updated     int         `json:"updated,omitempty"`
	Deleted     int         `json:"deleted"`
	Missing     int         `json:"missing_ids"` // ids to delete or update that do not exist
	Bad         int         `json:"bad_rows"`
	Bits        int         `json:"bits"`
	Codes       int         `json:"distinct_codes,omitempty"` // of a new index
	Fingerprint string      `json:"fingerprint"`
	Memory      *api.Memory `json:"memory,omitempty"` // of a new index
	FileBytes   int64       `json:"file_bytes"`
	Seconds     float64     `json:"seconds"`

	Attributes  *hashgrove.Join `json:"attributes,omitempty"`   // how attributes were matched to items
	WouldDelete *int            `json:"would_delete,omitempty"` // by a deletion that is only tried
}

// reportIndex describes an index.
func reportIndex(path string, ix *hashgrove.Index, began time.Time) *indexReport {
	i := ix.Info()
	return &indexReport{
		Index: path, Items: i.Items, Bits: i.Bits, Fingerprint: i.Fingerprint[:16],
		FileBytes: i.FileBytes, Seconds: time.Since(began).Seconds(),
	}
}

// build makes the index. An existing one is replaced only once the new one is complete.
func (c *addCommand) build(ctx context.Context, args []string) (err error) {
	path, began := c.output, time.Now()
	tried := cli.Output{Force: true, FileOnly: true} // an existing index gets a better message below
	if err := tried.Check([]string{path}, c.items.inputs(args, c.model)); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil && !c.file.Force {
		return fmt.Errorf("%s: %w: name another with -o, replace it with --force, or use \"hashgrove index add\"",
			path, fs.ErrExist)
	}
	var m *hashgrove.Model
	if c.model != "" {
		if m, err = hashgrove.LoadModel(c.model); err != nil {
			return err
		}
	}
	data, err := c.items.open(args)
	if err != nil {
		return err
	}
	show, end := c.steps()
	ix, err := hashgrove.IndexOptions{Replace: c.file.Force, Threads: c.threads, Progress: show}.Create(ctx, path, m, data)
	end()
	if err != nil {
		return noModel(err, "name it with --model")
	}
	r, info := reportIndex(path, ix, began), ix.Info()
	r.Added, r.Codes, r.Memory = r.Items, info.DistinctCodes, info.Memory
	r.Bad, r.Attributes = c.read.Bad, c.read.Attributes
	if err := ix.Close(); err != nil {
		return err
	}
	return c.printLine(r, "%s: %d items of %d bits, %d distinct codes, fingerprint %s, %s on disk, %s in memory, %.1f s",
		path, r.Items, r.Bits, r.Codes, r.Fingerprint, cli.Size(r.FileBytes), cli.Size(r.Memory.Total),
		r.Seconds)
}

// noModel says what to do about a model that is missing.
func noModel(err error, advice string) error {
	if errors.Is(err, api.ErrNoModel) {
		return cli.Usage("needs-model", "%w: %s; if the rows are codes, say so with --codes", err, advice)
	}
	return err
}

// changeIndex opens an index for writing, changes it and reports its new state.
func (a *app) changeIndex(
	ctx context.Context, path string, change func(ix *hashgrove.Index) error,
) (r *indexReport, err error) {
	began := time.Now()
	ix, end, err := a.openIndex(ctx, path, toWrite)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := change(ix); err != nil {
		return nil, err
	}
	end()
	return reportIndex(path, ix, began), nil
}

func (c *addCommand) add(ctx context.Context, args []string) error {
	data, err := c.items.open(args)
	if err != nil {
		return err
	}
	before := 0
	r, err := c.changeIndex(ctx, c.output, func(ix *hashgrove.Index) error {
		before = ix.Len()
		write := ix.Add
		if c.upsert {
			write = ix.Upsert
		}
		err := noModel(write(ctx, data), c.output+" has none: it was built from codes")
		if hashgrove.HasCode(err, "numbers-taken") {
			err = fmt.Errorf("%s: %w", c.output, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	r.Bad, r.Attributes, r.Added = c.read.Bad, c.read.Attributes, r.Items-before
	r.Replaced = c.read.Rows - r.Added
	return c.printLine(r, "%s: %d items added, %d replaced, %d now, %.1f s",
		c.output, r.Added, r.Replaced, r.Items, r.Seconds)
}
