package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/search"
	"hashgrove/internal/section"
)

type exportCommand struct {
	*app
	where, output, to string
	file              cli.Output
}

func (a *app) indexExport() *cobra.Command {
	c := &exportCommand{app: a}
	cmd := &cobra.Command{
		Use:   "export INDEX -o FILE",
		Short: "Write the items of an index to a file",
		Long: `Write all items of an index, or those that match a filter, in the order of their ids. The output's name, or
--to, decides its form:
  jsonl    an object per line with id, code, label, tags and an object of attributes (.jsonl, .ndjson)
  csv      columns id, code, label, tags and those of the attributes, with tags separated by semicolons
  parquet  the same columns, with types: tags are lists, and codes unsigned 64-bit integers in the column code, or for
           codes of more than 64 bits in code_0, code_1, ...; the first bit is the highest one
  hgc      a code file with ids and the model's fingerprint
Elsewhere codes are hexadecimal. In CSV, a text that a spreadsheet would take for a formula has an apostrophe before it, which
reading takes off again. To rebuild an index from an export, give the Parquet file both as data with --codes and as
--attributes; --model adds the model, so that you can search by vector.`,
		Example: `  hashgrove index export items.hgi -o all.jsonl
  hashgrove index export items.hgi -o all.parquet
  hashgrove index build all.parquet --codes --attributes all.parquet -m items.hgm -o rebuilt.hgi
  hashgrove index export items.hgi --where 'label = "boots"' --to csv -o -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.where, "where", "", "export only items that match this `FILTER`")
	cli.Group(f, "Items")
	f.StringVarP(&c.output, "output", "o", "", "`FILE` for the items; - means standard output")
	c.file.Bind(f)
	f.StringVar(&c.to, "to", "", "`FORM` of the output: jsonl, csv, parquet or hgc; default by the name of the output")
	cli.Group(f, "Output")
	return cmd
}

// exportForms maps file extensions to output forms.
var exportForms = map[string]string{
	".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".hgc": "hgc",
}

// form returns the form of the output.
func (c *exportCommand) form() (string, error) {
	forms := []string{"jsonl", "csv", "parquet", "hgc"}
	switch {
	case c.output == "":
		return "", cli.Usage("missing-flag", "index export needs -o FILE, or - for standard output")
	case c.to != "" && !slices.Contains(forms, c.to):
		return "", cli.Usage("bad-flag-value", "--to %s: choose jsonl, csv, parquet or hgc", c.to)
	case c.to != "":
		return c.to, nil
	case c.output == "-":
		return "", cli.Usage("missing-flag", "items on standard output need --to jsonl, csv, parquet or hgc")
	}
	if form := exportForms[strings.ToLower(filepath.Ext(c.output))]; form != "" {
		return form, nil
	}
	return "", cli.Usage("unknown-form",
		"%s: the name does not tell the form: end it with .jsonl, .csv, .parquet or .hgc, or give --to",
		c.output)
}

// exportReport is the output of index export --json.
type exportReport struct {
	Index  string `json:"index"`
	Output string `json:"output"`
	Form   string `json:"form"`
	Items  int    `json:"items"`
}

func (c *exportCommand) run(ctx context.Context, path string) (err error) {
	form, err := c.form()
	if err != nil {
		return err
	}
	filter, err := index.Parse(c.where)
	if err != nil {
		return cli.Usage("bad-filter", "--where: %w", err)
	}
	if err := c.file.Check([]string{c.output}, []string{path}); err != nil {
		return err
	}
	s, err := c.openAll(ctx, path, index.Config{Tables: -1})
	if err != nil {
		return err
	}
	e := export{Snapshot: s.Snapshot()}
	if e.hits, err = e.Matches(filter); err != nil {
		return err
	}
	write := map[string]func(io.Writer) error{
		"jsonl": e.writeLines, "csv": e.writeCSV, "parquet": e.writeParquet, "hgc": e.writeCodes,
	}[form]
	if c.output == "-" {
		return write(c.raw)
	}
	if err := section.WriteFile(c.output, write); err != nil {
		return err
	}
	return c.printLine(exportReport{path, c.output, form, len(e.hits)}, "%s: %d items of %s", c.output, len(e.hits), path)
}

// export holds the items to write.
type export struct {
	*index.Snapshot
	hits []index.Hit
}

// reports yields the items.
func (e *export) reports(yield func(api.Item) bool) {
	for _, h := range e.hits {
		if !yield(search.Item(e.Item(h), e.Bits())) {
			return
		}
	}
}

// writeLines writes JSON lines. Attributes are always present, so that reading recognises the format.
func (e *export) writeLines(to io.Writer) error {
	w := json.NewEncoder(to)
	w.SetEscapeHTML(false)
	for it := range e.reports {
		if it.Attributes == nil {
			it.Attributes = map[string]any{}
		}
		err := w.Encode(struct {
			ID         api.ID         `json:"id"`
			Code       string         `json:"code"`
			Label      string         `json:"label,omitempty"`
			Tags       []string       `json:"tags,omitempty"`
			Attributes map[string]any `json:"attributes"`
		}{it.ID, it.Code, it.Label, it.Tags, it.Attributes})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *export) writeCSV(to io.Writer) error {
	fields := []string{"id", "code", "label", "tags"}
	for _, a := range e.Attributes() {
		if slices.Contains(fields[:4], a.Name) {
			return fmt.Errorf("an attribute is called %s, like a column of the table: export JSON lines", a.Name)
		}
		fields = append(fields, a.Name)
	}
	w := csv.NewWriter(to)
	if err := w.Write(message.Cells(fields)); err != nil {
		return err
	}
	for it := range e.reports {
		if err := w.Write(message.Cells(itemTexts(&it, fields))); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// writeParquet writes a typed table: integer ids, numeric attributes and codes are not written as text.
func (e *export) writeParquet(to io.Writer) error {
	t := dataset.CodeTable{
		Bits: e.Bits(), Fingerprint: e.Fingerprint(), Label: true, Tags: true, Attributes: e.Attributes(),
		Integers: !slices.ContainsFunc(e.hits, func(h index.Hit) bool { _, ok := h.ID.Integer(); return !ok }),
	}
	if err := t.Begin(to); err != nil {
		return err
	}
	for _, h := range e.hits {
		if err := t.Write(e.Item(h)); err != nil {
			return err
		}
	}
	return t.Close()
}

func (e *export) writeCodes(to io.Writer) error {
	w, err := hamming.NewWriter(to, hamming.HGC,
		hamming.Header{Bits: e.Bits(), Rows: len(e.hits), Fingerprint: e.Fingerprint()})
	if err != nil {
		return err
	}
	for part := range slices.Chunk(e.hits, 1<<12) {
		codes, ids := hamming.NewCodes(len(part), e.Bits()), make([]string, len(part))
		for i, h := range part {
			copy(codes.Row(i), e.Item(h).Code)
			ids[i] = h.ID.String()
		}
		if err := w.Write(codes, ids); err != nil {
			return err
		}
	}
	return w.Close()
}
