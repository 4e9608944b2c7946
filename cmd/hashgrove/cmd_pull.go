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
	"hashgrove/internal/postgres"
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
	if len(args) == 1 {
		return c.pullFile(ctx, args[0], form)
	}
	e, err := c.target.open(ctx, 1)
	if err != nil {
		return err
	}
	defer e.Close()
	info, err := e.Info(ctx)
	if err != nil {
		return err
	}
	write := c.writeIndex
	if form == ".hgc" {
		write = c.writeCodes
	}
	n, err := write(ctx, e, info, filter)
	if err != nil {
		return err
	}
	r := pullReport{info.Server, info.Table, c.output, n, info.Bits, info.Fingerprint.String()}
	return c.printLine(r, "%s: %s of %d bits, fingerprint %s, from the table %s of %s",
		r.Output, plain.Count(n, "item", "items"), r.Bits, r.Fingerprint, r.Table, r.Engine)
}

// each reads items and counts them.
func (c *pullCommand) each(
	ctx context.Context, e *postgres.Table, f index.Filter, take func(*index.Batch) error,
) (n int, err error) {
	if err := e.CheckNames(ctx, f); err != nil {
		return 0, cli.Usagef("--where: %w", err)
	}
	all, err := e.Count(ctx)
	if err != nil {
		return 0, err
	}
	p := c.startProgress("reading", all, 0)
	defer p.End()
	err = e.Read(ctx, f, func(b *index.Batch) error {
		n += len(b.IDs)
		p.Tick(n)
		return take(b)
	})
	return n, err
}

// writeCodes writes a code file, one part at a time.
func (c *pullCommand) writeCodes(
	ctx context.Context, e *postgres.Table, info postgres.Info, f index.Filter,
) (int, error) {
	w, err := hamming.Create(c.output, hamming.HGC, hamming.Header{Bits: info.Bits, Fingerprint: info.Fingerprint})
	if err != nil {
		return 0, err
	}
	n, err := c.each(ctx, e, f, func(b *index.Batch) error {
		return w.Write(b.Codes, idTexts(b.IDs))
	})
	if err != nil {
		w.Abort()
		return 0, err
	}
	return n, w.Close()
}

// writeIndex builds an index, which appears under its name only once complete.
func (c *pullCommand) writeIndex(
	ctx context.Context, e *postgres.Table, info postgres.Info, f index.Filter,
) (n int, err error) {
	o := store.Options{Bits: info.Bits, Fingerprint: info.Fingerprint, Index: index.Config{Threads: c.threads}}
	if c.model != "" {
		if o.Model, err = model.ReadFile(c.model); err != nil {
			return 0, err
		}
		if o.Model.Encoder.Bits() != info.Bits {
			return 0, fmt.Errorf("%s makes codes of %d bits, but the table %s holds codes of %d",
				c.model, o.Model.Encoder.Bits(), info.Table, info.Bits)
		}
		made := postgres.Space{Bits: info.Bits, Fingerprint: o.Model.Fingerprint()}
		if err := made.Accept(info.Space); err != nil {
			return 0, fault.New("model-mismatch", "%s did not make the codes of the table %s: its model has the fingerprint %v",
				c.model, info.Table, info.Fingerprint)
		}
	}
	all := index.NewBatch(info.Bits)
	all.Fingerprint = info.Fingerprint
	n, err = c.each(ctx, e, f, func(b *index.Batch) error {
		for i := range b.IDs {
			all.Append(b.Item(i))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, replaceIndex(ctx, c.output, o, all)
}

// pullFile reads codes from a binary FAISS index or a code file, as pull does from an engine.
func (c *pullCommand) pullFile(ctx context.Context, path, form string) error {
	switch coded, err := dataset.AreCodes([]string{path}); {
	case c.target.url != "":
		return cli.Usage("conflicting-flags", "pull reads either a file or an engine (--engine)")
	case c.where != "":
		return cli.Usage("conflicting-flags", "--where is for engines: the codes of a file have ids only")
	case err != nil:
		return err
	case !coded:
		if err := dataset.CheckExist([]string{path}); err != nil {
			return err
		}
		return fault.New("wrong-kind", "%s: neither a binary FAISS index nor a code file", path)
	}
	var m *model.Model
	b, err := c.readCodeFile(ctx, path)
	if err == nil && c.model != "" {
		m, err = model.ReadFile(c.model)
	}
	if err == nil && m != nil {
		err = fitModel(b, m, path, c.model)
	}
	if err != nil {
		return err
	}
	if form == ".hgc" {
		err = writeBatch(c.output, b)
	} else {
		o := store.Options{Model: m, Bits: b.Codes.Bits, Fingerprint: b.Fingerprint, Index: index.Config{Threads: c.threads}}
		err = replaceIndex(ctx, c.output, o, b)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r := pullReport{
		Engine: "file", Table: path, Output: c.output, Items: len(b.IDs), Bits: b.Codes.Bits,
		Fingerprint: b.Fingerprint.String(),
	}
	return c.printLine(r, "%s: %s of %d bits, fingerprint %s, from %s",
		r.Output, plain.Count(r.Items, "item", "items"), r.Bits, r.Fingerprint, path)
}

// readCodeFile reads all items of a code file.
func (a *app) readCodeFile(ctx context.Context, path string) (*index.Batch, error) {
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
		return fmt.Errorf("%s: codes of model %v, but --model is %v: give the model that made them",
			path, b.Fingerprint, m.Fingerprint())
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
	if err := w.Write(b.Codes, idTexts(b.IDs)); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}

func idTexts(ids []index.ID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return texts
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
	b, err := a.readCodeFile(ctx, path)
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
