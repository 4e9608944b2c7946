package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/model"
	"hashgrove/store"
)

// one is the check of a verb that takes one argument.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s needs %s and nothing else; see \"hashgrove help %s\"", verb(cmd), what, verb(cmd))
		}
		return nil
	}
}

// copyReport is what backup, restore and migrate print with --json.
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
		Short: "Copy an index to a file that was checked",
		Long: `Write a copy of an index as it is now, check it, and only then give it its name. A backup is itself an
index: it can be searched, verified and restored. An existing file is left alone.`,
		Example: `  hashgrove backup items.hgi -o items.backup`,
		Args:    one("an index"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return usagef("backup needs -o FILE, the file to write")
			}
			began := time.Now()
			s, err := a.openToRead(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			r, err := s.BackupFile(cmd.Context(), output)
			if err != nil {
				return err
			}
			return a.printCopy("backup", output, r, began)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write")
	return cmd
}

func (a *app) restore() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "restore FILE -o INDEX",
		Short: "Make an index of a backup",
		Long: `Check a backup and copy it to a new index, all or nothing. An existing file is left alone: remove it, or
restore under another name. Nothing but the new file is written.`,
		Example: `  hashgrove restore items.backup -o again.hgi`,
		Args:    one("a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return usagef("restore needs -o INDEX, the index to make")
			}
			began := time.Now()
			r, err := store.Restore(cmd.Context(), args[0], output)
			if err != nil {
				return err
			}
			return a.printCopy("index", output, r, began)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the index to make")
	return cmd
}

// printCopy tells what is in a file that was just written.
func (a *app) printCopy(what, path string, v store.Report, began time.Time) error {
	r := copyReport{path, v.Items, v.Bits, v.Fingerprint.String(), v.FileBytes, time.Since(began).Seconds()}
	if a.json {
		return a.printJSON(r)
	}
	fmt.Fprintf(a.out, "%s: %s of %d items, %d bits, fingerprint %s, %s, %.1f s\n",
		path, what, r.Items, r.Bits, r.Fingerprint, size(int(r.FileBytes)), r.Seconds)
	return nil
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
		Use:   "migrate INDEX --model MODEL --vectors DATA",
		Short: "Encode the items of an index anew, with another model",
		Long: `Encode the items of an index with another model from their vectors or pictures, by id, or by row where
the data have no ids. Every item needs its vector; vectors of other ids are ignored. Labels, tags and attributes stay.
The new index takes the place of the old one in one step: after an error or a kill the old one is as it was.`,
		Example: `  hashgrove migrate again.hgi --model longer.hgm --vectors items.csv --vectors new.csv --label category --id sku`,
		Args:    one("an index"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	c.data.bind(f, "")
	f.StringVarP(&c.model, "model", "m", "", "the new model")
	f.StringArrayVar(&c.vectors, "vectors", nil, "vectors or pictures of the items; may be repeated")
	return cmd
}

func (c *migrateCommand) run(ctx context.Context, path string) error {
	if c.model == "" || len(c.vectors) == 0 {
		return usagef("migrate needs --model MODEL, the new model, and --vectors DATA, the vectors of the items")
	}
	began := time.Now()
	m, err := model.ReadFile(c.model)
	if err != nil {
		return err
	}
	set, src, err := openFor(m, c.data, c.vectors, c.threads)
	if err != nil {
		return err
	}
	tick, end := c.counted("encoding")
	r, err := store.Migrate(ctx, path, m, src, tick)
	end()
	if err != nil {
		return err
	}
	if bad, first := set.Bad(); bad > 0 {
		c.note("dropped %d bad rows, the first: %v", bad, first[0])
	}
	return c.printCopy("index", path, r, began)
}
