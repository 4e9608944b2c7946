package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	foreign "hashgrove/internal/export"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/section"
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
	report := convertReport{File: path, Output: c.output, Form: form}
	var write func(io.Writer) error
	var err error
	switch form {
	case "onnx":
		write, err = c.convertModel(path, &report)
	case "faiss":
		write, err = c.convertCodes(ctx, path, &report)
	default:
		return cli.Usage("bad-flag-value", "--to %s: choose onnx or faiss", form)
	}
	if err != nil {
		return err
	}
	if c.output == "-" {
		return write(c.raw)
	}
	if err := section.WriteFile(c.output, write); err != nil {
		return err
	}
	if info, err := os.Stat(c.output); err == nil {
		report.Bytes = info.Size()
	}
	return c.printLine(report, "%s: %s of %d bits, fingerprint %s, %s",
		c.output, form, report.Bits, report.Fingerprint, cli.Size(report.Bytes))
}

// convertModel returns a function that writes a model as a graph.
func (c *convertCommand) convertModel(path string, report *convertReport) (func(io.Writer) error, error) {
	m, err := c.readPrefix(path, c.prefix)
	if err != nil {
		return nil, err
	}
	report.Bits, report.Detail, report.Fingerprint = m.Encoder.Bits(), m.DetailBits(), m.Fingerprint().String()
	return func(w io.Writer) error {
		err := foreign.WriteONNX(w, m)
		if errors.Is(err, foreign.ErrEncoder) {
			return fmt.Errorf("%s: %w", path, err)
		}
		return err
	}, nil
}

// convertCodes writes the codes of a code file or an index.
func (c *convertCommand) convertCodes(
	ctx context.Context, path string, report *convertReport,
) (func(io.Writer) error, error) {
	var codes hamming.Codes
	var names []string
	var print hamming.Fingerprint
	if f, err := hamming.ReadFile(path); err == nil {
		codes, names, print = f.Codes, f.IDs, f.Fingerprint
	} else if !errors.Is(err, hamming.ErrKind) {
		return nil, err
	} else if codes, names, print, err = c.indexCodes(ctx, path); err != nil {
		return nil, err
	}
	codes, err := c.comparable(path, codes, print.Detail(codes.Bits))
	if err != nil {
		return nil, err
	}
	report.Bits, report.Codes, report.Fingerprint = codes.Bits, codes.Len(), print.String()
	if c.noIDs {
		names = nil
	}
	ids, err := integerIDs(names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: use --no-ids, and keep the ids elsewhere in the same order", path, err)
	}
	return func(w io.Writer) error { return foreign.WriteFAISS(w, codes, ids) }, nil
}

// comparable returns codes whose bits all count the same.
func (c *convertCommand) comparable(path string, codes hamming.Codes, detail int) (hamming.Codes, error) {
	class := codes.Bits - detail
	switch {
	case c.prefix < 0 || c.prefix > codes.Bits:
		return codes, cli.Usage("bad-flag-value", "--prefix %d: the codes have %d bits", c.prefix, codes.Bits)
	case c.prefix > 0 && c.prefix <= class:
		return codes.Prefix(c.prefix), nil
	case detail > 0:
		return codes, cli.Usage("detail", "%s: the last %d of %d bits are detail, and FAISS would count them like the "+
			"others: --prefix %d exports those of the class alone", path, detail, codes.Bits, class)
	}
	return codes, nil
}

// indexCodes reads the codes of an index, ordered by id.
func (c *convertCommand) indexCodes(
	ctx context.Context, path string,
) (hamming.Codes, []string, hamming.Fingerprint, error) {
	s, err := c.openAll(ctx, path, index.Config{Tables: -1})
	if err != nil {
		return hamming.Codes{}, nil, hamming.Fingerprint{}, err
	}
	x := s.Snapshot()
	hits, err := x.Matches(index.Filter{})
	if err != nil {
		return hamming.Codes{}, nil, hamming.Fingerprint{}, err
	}
	codes, names := hamming.NewCodes(len(hits), x.Bits()), make([]string, len(hits))
	for i, h := range hits {
		copy(codes.Row(i), x.Item(h).Code)
		names[i] = h.ID.String()
	}
	return codes, names, x.Fingerprint(), nil
}

// integerIDs parses ids as integers.
func integerIDs(names []string) ([]int64, error) {
	if names == nil {
		return nil, nil
	}
	ids := make([]int64, len(names))
	for i, name := range names {
		id, err := index.ParseID(name)
		if err != nil {
			return nil, err
		}
		n, ok := id.Integer()
		if !ok {
			return nil, fmt.Errorf("the id %.80q is not a whole number", name)
		}
		ids[i] = n
	}
	return ids, nil
}
