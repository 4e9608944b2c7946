package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
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
		Long: `Encode vectors or pictures with a model and make an index of the codes, or make one from codes: a code file, a FAISS file
(IndexBinaryFlat or IndexBinaryIDMap), or, with --codes, codes that you have from elsewhere, such as perceptual hashes. Codes need
no labels, and a model only to search by vector later. Ids, labels and tags come from the data. Rows without ids are
identified by their numbers, counted from 0, and pictures by their paths. Existing indexes are replaced only with
--force, once the new one is complete.

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

	Attributes  *dataset.Join `json:"attributes,omitempty"`   // how attributes were matched to items
	WouldDelete *int          `json:"would_delete,omitempty"` // by a deletion that is only tried
}

// reportIndex describes an index.
func reportIndex(s *store.Store, began time.Time) *indexReport {
	i := s.Info()
	return &indexReport{
		Index: i.Path, Items: i.Items, Bits: i.Bits, Fingerprint: i.Fingerprint.String(),
		FileBytes: i.FileBytes, Seconds: time.Since(began).Seconds(),
	}
}

// build makes the index. An existing one is replaced only once the new one is complete.
func (c *addCommand) build(ctx context.Context, args []string) error {
	path := c.output
	inputs := c.items.data.inputs(args, c.model, c.items.table)
	tried := cli.Output{Force: true, FileOnly: true} // an existing index gets a better message below
	if err := tried.Check([]string{path}, inputs); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil && !c.file.Force {
		return fmt.Errorf("%s: %w: name another with -o, replace it with --force, or use \"hashgrove index add\"",
			path, fs.ErrExist)
	}
	r, err := c.buildAt(ctx, path, args)
	if err != nil {
		return err
	}
	r.Index = path
	return c.printLine(r, "%s: %d items of %d bits, %d distinct codes, fingerprint %s, %s on disk, %s in memory, %.1f s",
		path, r.Items, r.Bits, r.Codes, r.Fingerprint, cli.Size(r.FileBytes), cli.Size(r.Memory.Total),
		r.Seconds)
}

// buildAt makes the index with all its items in one step.
func (c *addCommand) buildAt(ctx context.Context, path string, args []string) (r *indexReport, err error) {
	began := time.Now()
	m, in, err := c.items.openWith(c.model, args)
	if err != nil {
		return nil, err
	}
	n, err := c.count(ctx, in)
	if err != nil {
		return nil, err
	}
	b, bad, err := c.readItems(ctx, in, n)
	if err != nil {
		return nil, err
	}
	if m != nil {
		if err := fitModel(b, m, args[0], "--model"); err != nil {
			return nil, err
		}
	}
	s, err := store.Create(ctx, path, store.Options{
		Model: m, Bits: b.Codes.Bits, Fingerprint: b.Fingerprint, Index: index.Config{Threads: c.threads},
		Items: b, Replace: c.file.Force,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	defer func() { err = closeStore(s, err) }()
	x := s.Snapshot()
	return &indexReport{
		Items: x.Len(), Added: x.Len(), Bad: bad, Bits: x.Bits(), Codes: x.Codes(),
		Fingerprint: x.Fingerprint().String(), Memory: search.Memory(x.Memory()),
		FileBytes: s.Info().FileBytes, Seconds: time.Since(began).Seconds(), Attributes: in.joinReport(),
	}, nil
}

// fitModel gives codes without a fingerprint that of the given model, and removes the zero bits with which FAISS
// pads codes to whole bytes.
func fitModel(b *index.Batch, m *model.Model, path, name string) error {
	bits := m.Encoder.Bits()
	if b.Fingerprint != (hamming.Fingerprint{}) && b.Fingerprint != m.Fingerprint() {
		return message.New("model-mismatch", "%s: codes of model %v, but %s is %v: give the model that made them",
			path, b.Fingerprint, name, m.Fingerprint())
	}
	if b.Codes.Bits != bits {
		codes := hamming.NewCodes(b.Codes.Len(), bits)
		for i := range b.Codes.Len() {
			if !codes.SetBytes(i, b.Codes.AppendBytes(nil, i)) {
				return fmt.Errorf("%s: codes of %d bits, but %s makes %d: give the model that made them",
					path, b.Codes.Bits, name, bits)
			}
		}
		b.Codes = codes
	}
	b.Fingerprint = m.Fingerprint()
	return nil
}

// changeIndex opens an index for writing, changes it and reports its new state.
func (a *app) changeIndex(
	ctx context.Context, path string, change func(s *store.Store) error,
) (r *indexReport, err error) {
	began := time.Now()
	s, err := a.openToWrite(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = closeStore(s, err) }()
	if err := change(s); err != nil {
		return nil, err
	}
	return reportIndex(s, began), nil
}

func (c *addCommand) add(ctx context.Context, args []string) error {
	before, written, bad := 0, 0, 0
	var joined *dataset.Join
	r, err := c.changeIndex(ctx, c.output, func(s *store.Store) error {
		before = s.Info().Items
		b, in, n, err := c.read(ctx, s, args)
		if err != nil {
			return err
		}
		written, bad, joined = len(b.IDs), n, in.joinReport()
		write := s.Add
		if c.upsert {
			write = s.Upsert
		}
		if err := write(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Added, r.Bad, r.Attributes = r.Items-before, bad, joined
	r.Replaced = written - r.Added
	return c.printLine(r, "%s: %d items added, %d replaced, %d now, %.1f s",
		c.output, r.Added, r.Replaced, r.Items, r.Seconds)
}

// read reads items for an index and returns the number of bad rows as well.
func (c *addCommand) read(
	ctx context.Context, s *store.Store, args []string,
) (b *index.Batch, in itemInput, bad int, err error) {
	m, err := s.Model()
	if err != nil {
		return nil, in, 0, err
	}
	in, err = c.items.open(m, args, c.output+" has none: it was built from codes")
	if err != nil {
		return nil, in, 0, err
	}
	n, err := c.count(ctx, in)
	if err != nil {
		return nil, in, 0, err
	}
	b, bad, err = c.readItems(ctx, in, n)
	if err != nil {
		return nil, in, 0, err
	}
	if err := s.Info().Fingerprint.Accept(b.Fingerprint); err != nil {
		return nil, in, 0, fmt.Errorf("%s: %w", args[0], err)
	}
	if _, there, err := s.Get(ctx, index.Int(0)); err != nil || there && !in.Named && !c.upsert {
		return nil, in, 0, cmp.Or(err, message.New("numbers-taken", "%s: its rows have no ids, so they are identified by "+
			"their numbers, and %s has an item 0 already: give ids with --id-column or --ids", args[0], c.output))
	}
	return b, in, bad, nil
}
