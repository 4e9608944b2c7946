package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/plain"
	"hashgrove/internal/store"
)

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
