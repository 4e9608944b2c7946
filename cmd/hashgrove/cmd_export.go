package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
)

// convertCommand is the verb export, which writes files for other programs.
type convertCommand struct {
	*app
	output, to string
	prefix     int
	noIDs      bool
	file       cli.Output
}

func (a *app) export() *cobra.Command {
	c := &convertCommand{app: a}
	cmd := &cobra.Command{
		Use:   "export MODEL|CODES|INDEX -o FILE",
		Short: "Export a model or codes for another program",
		Long: `Write a model, or the codes of a code file or an index, for another program. The output's name, or --to,
decides its form:
  onnx   a model as a graph from float vectors to packed codes and margins; it needs onnxruntime 1.22 or newer
  faiss  codes as an IndexBinaryFlat or, with ids, an IndexBinaryIDMap; FAISS allows only integer ids

In a runtime for ONNX trees give the bits of the model. Added columns (linear_columns), and methods other than trees,
are sums of real numbers, and adding them in another order may flip a bit whose score is within rounding of a threshold.

A model that computes features of pictures, or adds the scores of their mirror images, cannot be exported, because what
it does begins with pictures, not with vectors.

Bits of detail weigh an eighth of a bit, and FAISS counts all bits alike. So codes with detail need --prefix, which
leaves it out.`,
		Example: `  hashgrove export items.hgm -o items.onnx
  hashgrove export items.hgc --no-ids -o items.faiss
  hashgrove export items.hgi --no-ids --to faiss -o items.index
  hashgrove export items.hgm --prefix 8 -o short.onnx`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "`FILE` to write; - means standard output")
	c.file.Bind(f)
	f.StringVar(&c.to, "to", "", "`FORM` of the output: onnx or faiss; default by the name of the output")
	f.IntVar(&c.prefix, "prefix", 0, "export only this `NUMBER` of leading bits; 0 means all")
	f.BoolVar(&c.noIDs, "no-ids", false, "leave ids out; FAISS then numbers codes from 0, in the order of the file")
	cli.Group(f, "Output")
	return cmd
}

// convertReport is the output of export --json.
type convertReport struct {
	File        string `json:"file"`
	Output      string `json:"output"`
	Form        string `json:"form"`
	Bits        int    `json:"bits"`
	Detail      int    `json:"detail_bits,omitempty"` // of the bits, the last ones
	Codes       int    `json:"codes,omitempty"`
	Fingerprint string `json:"fingerprint"`
	Bytes       int64  `json:"bytes,omitempty"`
}

func (c *convertCommand) run(ctx context.Context, path string) error {
	form := c.to
	if c.output == "" {
		return cli.Usage("missing-flag", "export needs -o FILE, or - for standard output")
	}
	if form == "" {
		form = strings.TrimPrefix(strings.ToLower(filepath.Ext(c.output)), ".")
	}
	if err := c.file.Check([]string{c.output}, []string{path}); err != nil {
		return err
	}
	e, err := hashgrove.NewExport(ctx, path, hashgrove.ExportOptions{Form: form, Prefix: c.prefix, NoIDs: c.noIDs})
	if hashgrove.HasCode(err, "not-integer-ids") {
		return fmt.Errorf("%w: use --no-ids, and keep the ids elsewhere in the same order", err)
	}
	if err != nil {
		return optionUsage(err)
	}
	c.warn(e.Warnings)
	if c.output == "-" {
		return e.Write(c.raw)
	}
	if err := e.WriteFile(c.output); err != nil {
		return err
	}
	report := convertReport{path, c.output, form, e.Bits, e.DetailBits, e.Codes, e.Fingerprint, 0}
	if info, err := os.Stat(c.output); err == nil {
		report.Bytes = info.Size()
	}
	return c.printLine(report, "%s: %s of %d bits, fingerprint %s, %s",
		c.output, form, report.Bits, report.Fingerprint, cli.Size(report.Bytes))
}
