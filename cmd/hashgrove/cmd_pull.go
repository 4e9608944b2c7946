package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/plain"
	"hashgrove/internal/store"
)

type pullCommand struct {
	*app
	target               databaseFlags
	model, output, where string
	file                 cli.Output
}

func (a *app) pull() *cobra.Command {
	c := &pullCommand{app: a}
	cmd := &cobra.Command{
		Use:   "pull --engine URL | FAISS -o FILE",
		Short: "Read codes back from a database or an index of FAISS",
		Long: `Read the items of a table that "hashgrove push" made, or those that match a filter, into an index (.hgi) with
labels, tags and attributes, or into a code file (.hgc) with ids. --model adds the model to the index, so that you
can search by vector; it must be the one that made the codes.

Instead of a database, pull can read a FAISS file, an IndexBinaryFlat or an IndexBinaryIDMap, with its ids. FAISS does
not record which model made its codes: --model supplies that, for code files too, and removes the zeros that pad codes
to whole bytes.

` + databaseHelp,
		Example: `  hashgrove pull --engine postgres://shop@localhost/shop --table boots -m items.hgm -o pulled.hgi
  hashgrove pull --engine postgres://shop@localhost/shop --table boots --where 'label = "boots"' -o pulled.hgc
  hashgrove pull items.faiss -m items.hgm -o from-faiss.hgi`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage("wrong-arguments", "pull takes one file, but has %q as well; see \"hashgrove help pull\"", args[1])
			}
			return c.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	c.target.bind(f)
	f.StringVar(&c.where, "where", "", "read only items that match this `FILTER`")
	cli.Group(f, "Items")
	f.StringVarP(&c.output, "output", "o", "", "`FILE` for the items, an index (.hgi) or a code file (.hgc)")
	c.file.Bind(f)
	f.StringVarP(&c.model, "model", "m", "", "`MODEL` that made the codes, for the index")
	cli.Group(f, "Output")
	return cmd
}

// pullReport is the output of pull --json.
type pullReport struct {
	Engine      string `json:"engine"`
	Table       string `json:"table"`
	Output      string `json:"output"`
	Items       int    `json:"items"`
	Bits        int    `json:"bits"`
	Fingerprint string `json:"fingerprint"`
}

func (c *pullCommand) run(ctx context.Context, args []string) error {
	form := strings.ToLower(filepath.Ext(c.output))
	if form != ".hgi" && form != ".hgc" {
		return cli.Usage("missing-flag", "pull needs -o FILE, an index (.hgi) or a code file (.hgc)")
	}
	if c.model != "" && form == ".hgc" && len(args) == 0 {
		return cli.Usagef("--model is for an index: a code file cannot hold a model")
	}
	filter, err := index.Parse(c.where)
	if err != nil {
		return cli.Usagef("--where: %w", err)
	}
	c.file.FileOnly = true
	if err := c.file.Check([]string{c.output}, append([]string{c.model, c.target.passwordFile}, args...)); err != nil {
		return err
	}
	r := pullReport{Output: c.output}
	var b *index.Batch
	if len(args) == 1 {
		b, err = c.readFile(ctx, args[0], &r)
	} else {
		b, err = c.readTable(ctx, filter, &r)
	}
	if err != nil {
		return err
	}
	var m *model.Model
	if c.model != "" {
		if m, err = model.ReadFile(c.model); err != nil {
			return err
		}
		if err := fitModel(b, m, r.Table, c.model); err != nil {
			return err
		}
	}
	r.Items, r.Bits, r.Fingerprint = len(b.IDs), b.Codes.Bits, b.Fingerprint.String()
	if form == ".hgc" {
		err = writeBatch(c.output, b)
	} else {
		o := store.Options{Model: m, Bits: r.Bits, Fingerprint: b.Fingerprint, Index: index.Config{Threads: c.threads}}
		err = replaceIndex(ctx, c.output, o, b)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Table, err)
	}
	return c.printLine(r, "%s: %s of %d bits, fingerprint %s, from %s in %s",
		r.Output, plain.Count(r.Items, "item", "items"), r.Bits, r.Fingerprint, r.Table, r.Engine)
}

// readTable reads the items of a table that match a filter.
func (c *pullCommand) readTable(ctx context.Context, f index.Filter, r *pullReport) (*index.Batch, error) {
	e, err := c.target.open(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	info, err := e.Info(ctx)
	if err != nil {
		return nil, err
	}
	r.Engine, r.Table = info.Server, info.Table
	if err := e.CheckNames(ctx, f); err != nil {
		return nil, cli.Usagef("--where: %w", err)
	}
	n, err := e.Count(ctx)
	if err != nil {
		return nil, err
	}
	p := c.startProgress("reading", n, 0)
	defer p.End()
	all := index.NewBatch(info.Bits)
	all.Fingerprint = info.Fingerprint
	err = e.Read(ctx, f, func(b *index.Batch) error {
		for i := range b.IDs {
			all.Append(b.Item(i))
		}
		p.Tick(len(all.IDs))
		return nil
	})
	return all, err
}

// readFile reads the items of a binary FAISS index or a code file.
func (c *pullCommand) readFile(ctx context.Context, path string, r *pullReport) (*index.Batch, error) {
	r.Engine, r.Table = "file", path
	switch coded, err := dataset.AreCodes([]string{path}); {
	case c.target.url != "":
		return nil, cli.Usage("conflicting-flags", "pull reads either a file or an engine (--engine)")
	case c.where != "":
		return nil, cli.Usage("conflicting-flags", "--where is for engines: the codes of a file have ids only")
	case err != nil:
		return nil, err
	case !coded:
		if err := dataset.CheckExist([]string{path}); err != nil {
			return nil, err
		}
		return nil, fault.New("wrong-kind", "%s: neither a binary FAISS index nor a code file", path)
	}
	return c.readCodes(ctx, path)
}

// readCodes reads all items of a code file.
func (a *app) readCodes(ctx context.Context, path string) (*index.Batch, error) {
	in, err := dataset.FromCodes([]string{path})
	if err != nil {
		return nil, err
	}
	p := a.startProgress("reading", 0, 0)
	defer p.End()
	return in.Read(ctx, 0, a.threads, p.Tick)
}

// fitModel gives codes without a fingerprint that of the given model, and removes the zero bits with which FAISS
// pads codes to whole bytes.
func fitModel(b *index.Batch, m *model.Model, path, name string) error {
	bits := m.Encoder.Bits()
	if b.Fingerprint != (hamming.Fingerprint{}) && b.Fingerprint != m.Fingerprint() {
		return fault.New("model-mismatch", "%s: codes of model %v, but %s is %v: give the model that made them",
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

// writeBatch writes codes and ids to a code file.
func writeBatch(path string, b *index.Batch) error {
	w, err := hamming.Create(path, hamming.HGC, hamming.Header{Bits: b.Codes.Bits, Fingerprint: b.Fingerprint})
	if err != nil {
		return err
	}
	ids := make([]string, len(b.IDs))
	for i, id := range b.IDs {
		ids[i] = id.String()
	}
	if err := w.Write(b.Codes, ids); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}

// replaceIndex builds an index from a batch; it appears under its name only once complete.
func replaceIndex(ctx context.Context, path string, o store.Options, b *index.Batch) error {
	o.Items, o.Replace = b, true // without --force, an existing output was refused earlier
	s, err := store.Create(ctx, path, o)
	if err != nil {
		return err
	}
	return s.Close()
}

// indexOfFAISS returns the path of an index: path itself, or a temporary index built from the codes of a FAISS file,
// which done removes.
func (a *app) indexOfFAISS(ctx context.Context, path string) (opened string, done func(), err error) {
	done = func() {}
	if faiss, err := hamming.IsFAISS(path); err != nil || !faiss {
		return path, done, nil // opening it will report the error
	}
	b, err := a.readCodes(ctx, path)
	if err != nil {
		return "", done, err
	}
	folder, err := os.MkdirTemp("", "hashgrove-faiss-")
	if err != nil {
		return "", done, err
	}
	done = func() { _ = os.RemoveAll(folder) }
	opened = filepath.Join(folder, "codes.hgi")
	if err := replaceIndex(ctx, opened, store.Options{Bits: b.Codes.Bits}, b); err != nil {
		done()
		return "", func() {}, fmt.Errorf("%s: %w", path, err)
	}
	return opened, done, nil
}
