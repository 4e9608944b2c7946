package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/engine"
	"hashgrove/internal/plain"
	"hashgrove/internal/section"
)

// bulkFlags name a file for the engine's own tools to load.
type bulkFlags struct {
	path, form string
	file       cli.Output
}

func (b *bulkFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&b.path, "bulk", "", "write this `FILE` for the engine's own tools to load, and do not connect; "+
		"- means standard output")
	f.StringVar(&b.form, "bulk-form", "", "`FORM` of that file; default by its extension")
	b.file.Bind(f)
	cli.Group(f, "Bulk file")
}

// check rejects flags that contradict each other and a file that cannot be written.
func (b *bulkFlags) check(inputs []string) error {
	if b.path == "" && (b.form != "" || b.file.Force) {
		return cli.Usage("missing-flag", "--bulk-form and --force need --bulk FILE")
	}
	if b.path == "-" && b.form == "" {
		return cli.Usage("missing-flag", "a bulk file on standard output needs --bulk-form")
	}
	return b.file.Check([]string{b.path}, inputs)
}

// layout returns the form of the file.
func (b *bulkFlags) layout(e engine.Engine, s engine.Space) (engine.Layout, error) {
	loader, ok := e.(engine.Loader)
	if !ok {
		return engine.Layout{}, cli.Usagef("--bulk: this engine has no bulk files: push without it")
	}
	form := b.form
	if form == "" {
		form = strings.TrimPrefix(strings.ToLower(filepath.Ext(b.path)), ".")
	}
	layouts := loader.Layouts(s)
	i := slices.IndexFunc(layouts, func(l engine.Layout) bool { return l.Name == form })
	if i < 0 {
		var names []string
		for _, l := range layouts {
			names = append(names, l.Name)
		}
		return engine.Layout{}, cli.Usage("unknown-form",
			"--bulk %s: use an extension that names the form, or --bulk-form: %s", b.path, plain.List(names))
	}
	return layouts[i], nil
}

// bulkReport is the output of push --bulk --json.
type bulkReport struct {
	Output      string       `json:"output"`
	Form        string       `json:"form"`
	Table       string       `json:"table"`
	Bits        int          `json:"bits"`
	Fingerprint string       `json:"fingerprint"`
	Items       int          `json:"items"`
	Seconds     float64      `json:"seconds"`
	Load        string       `json:"load"`
	Shard       *shardReport `json:"shard,omitempty"`
}

// writeBulk writes the file, which appears under its name only once complete.
func (c *pushCommand) writeBulk(ctx context.Context, e engine.Engine, src *pushSource, r pushReport) error {
	layout, err := c.bulk.layout(e, src.Space)
	if err != nil {
		return err
	}
	p := c.startProgress("writing", r.Items, 0)
	defer p.End()
	began, n := time.Now(), 0
	write := func(w io.Writer) (err error) {
		if !layout.IsTable() {
			n, err = layout.WriteText(ctx, w, src.Source, p.Tick)
			return err
		}
		table, err := dataset.NewParquetWriter(w, layout.Columns, layout.Samples)
		if err != nil {
			return err
		}
		if n, err = layout.WriteRows(ctx, src.Source, p.Tick, table.Write); err != nil {
			return err
		}
		return table.Close()
	}
	if c.bulk.path == "-" {
		return write(c.out)
	}
	if err := section.WriteFile(c.bulk.path, write); err != nil {
		return err
	}
	p.End()
	src.note(n)
	b := bulkReport{
		Output: c.bulk.path, Form: layout.Name, Table: r.Table, Bits: r.Bits, Fingerprint: r.Fingerprint, Items: n,
		Seconds: time.Since(began).Seconds(), Load: strings.ReplaceAll(layout.Load, "FILE", c.bulk.path), Shard: r.Shard,
	}
	return c.printResult(b, func() {
		fmt.Fprintf(c.out, "%s: %s of %d bits, fingerprint %s, for the table %s, %.1f s\nto load it: %s\n",
			b.Output, plain.Count(n, "item", "items"), b.Bits, b.Fingerprint, cli.Printable(b.Table), b.Seconds, b.Load)
	})
}
