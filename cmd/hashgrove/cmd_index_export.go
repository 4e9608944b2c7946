package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
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
Elsewhere codes are hexadecimal. In CSV, a text that a spreadsheet would take for a formula has an apostrophe before
it, which reading takes off again. To rebuild an index from an export, give the Parquet file both as data with --codes
and as --attributes; --model adds the model, so that you can search by vector.`,
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

// formOf returns the form that the ending of a name tells.
func formOf(path string) string {
	ending := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
	if ending == "ndjson" {
		return "jsonl"
	}
	return ending
}

// form returns the form of the output.
func (c *exportCommand) form() (string, error) {
	switch forms := hashgrove.ItemForms(); {
	case c.output == "":
		return "", cli.Usage("missing-flag", "index export needs -o FILE, or - for standard output")
	case c.to != "" && !slices.Contains(forms, c.to):
		return "", cli.Usage("bad-flag-value", "--to %s: choose jsonl, csv, parquet or hgc", c.to)
	case c.to != "":
		return c.to, nil
	case c.output == "-":
		return "", cli.Usage("missing-flag", "items on standard output need --to jsonl, csv, parquet or hgc")
	case slices.Contains(forms, formOf(c.output)):
		return formOf(c.output), nil
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
	if err := c.file.Check([]string{c.output}, []string{path}); err != nil {
		return err
	}
	ix, end, err := c.openIndex(ctx, path, hashgrove.IndexOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer end()
	if c.output == "-" {
		_, err = ix.WriteItems(ctx, c.raw, c.where, form)
		return err
	}
	n, err := ix.WriteItemsFile(ctx, c.output, c.where, form)
	if err != nil {
		return err
	}
	return c.printLine(exportReport{path, c.output, form, n}, "%s: %d items of %s", c.output, n, path)
}
