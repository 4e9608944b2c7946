package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/section"
	"hashgrove/internal/vectors"
)

type encodeCommand struct {
	*app
	data                  dataFlags
	model, output, format string
	prefix                int
	file                  cli.Output
}

func (a *app) encode() *cobra.Command {
	c := &encodeCommand{app: a}
	cmd := &cobra.Command{
		Use:   "encode DATA... -m MODEL -o CODES",
		Short: "Turn vectors into codes",
		Long: `Turn vectors into codes, row by row in bounded memory. The output's name, or --to, decides its form:
  hgc   code file with ids, checksums and the model's fingerprint
  npy   uint8 matrix of packed bits, the first bit highest, as in numpy.packbits
  raw   just the packed bytes (.bin)
  hex   one line of hexadecimal digits per row (.hex, .txt)
  csv   lines id,code with hexadecimal codes
  jsonl lines {"row": 0, "id": "a", "code": "0f"}, with an id if the data have ids
  parquet id, label, tags and unsigned 64-bit integers code, or code_0, code_1, ... above 64 bits, the first bit highest

Input can be a pipe, or - for standard input, except for Parquet, npz and pictures, which are not read in order.
-o - writes codes to standard output. JSON lines are answered one by one.`,
		Example: `  hashgrove encode items.csv --label category -m items.hgm -o items.hgc
  hashgrove encode vectors.npy -m items.hgm -o codes.npy
  hashgrove encode vectors.npy -m items.hgm --prefix 8 --to hex -o -
  cat new.csv | hashgrove encode - --label category -m items.hgm --to jsonl -o -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.model, "model", "m", "", "`MODEL` that encodes")
	f.StringVarP(&c.output, "output", "o", "", "`FILE` for the codes; - means standard output")
	c.file.Bind(f)
	f.StringVar(&c.format, "to", "",
		"`FORM` of the output: hgc, npy, raw, hex, csv, jsonl or parquet; default by the name of the output")
	f.IntVar(&c.prefix, "prefix", 0, "keep only this `NUMBER` of leading bits of each code; 0 means all")
	cli.Group(f, "Output")
	c.data.bindFiles(f, "Data")
	return cmd
}

func (c *encodeCommand) run(ctx context.Context, args []string) error {
	if c.model == "" || c.output == "" {
		return cli.Usagef("encode needs -m MODEL and -o CODES")
	}
	format, err := c.outputFormat()
	if err != nil {
		return err
	}
	if err := c.file.Check([]string{c.output}, c.data.inputs(args, c.model)); err != nil {
		return err
	}
	m, err := c.readPrefix(c.model, c.prefix)
	if err != nil {
		return err
	}
	c.data.readOnce(c.in)
	set, src, err := c.data.openFor(m, args)
	if err != nil {
		return err
	}
	header := hamming.Header{Bits: m.Encoder.Bits(), Rows: max(set.Rows(), 0), Fingerprint: m.Fingerprint()}
	began := time.Now()
	out, err := c.create(format, header)
	if err != nil {
		return err
	}
	rows, named, err := c.encode(ctx, m, set, src, out)
	if err != nil {
		return err
	}
	bad := c.noteBad(set)
	c.noteNumbers(bad, named)
	took := time.Since(began)
	r := encodeReport{
		Codes: c.output, Rows: rows, Bits: m.Encoder.Bits(), Fingerprint: m.Fingerprint().String(),
		Seconds: took.Seconds(), Bad: bad,
	}
	if rows > 0 {
		r.Microseconds = took.Seconds() * 1e6 / float64(rows)
	}
	if c.output == "-" {
		return nil
	}
	return c.printLine(r, "%s: %d codes of %d bits, fingerprint %s, %.1f microseconds per row",
		r.Codes, r.Rows, r.Bits, r.Fingerprint, r.Microseconds)
}

// encodeReport is the output of encode --json.
type encodeReport struct {
	Codes        string  `json:"codes"`
	Rows         int     `json:"rows"`
	Bits         int     `json:"bits"`
	Fingerprint  string  `json:"fingerprint"`
	Seconds      float64 `json:"seconds"`
	Microseconds float64 `json:"microseconds_per_row"`
	Bad          int     `json:"bad_rows"`
}

func (c *encodeCommand) outputFormat() (hamming.Format, error) {
	if c.format != "" {
		f := hamming.Format(c.format)
		if !slices.Contains([]hamming.Format{
			hamming.HGC, hamming.NPY, hamming.Raw, hamming.Hex, hamming.CSV, hamming.JSONLines, parquetFormat,
		}, f) {
			return "", cli.Usagef("--to %s: choose hgc, npy, raw, hex, csv, jsonl or parquet", c.format)
		}
		return f, nil
	}
	if c.output == "-" {
		return "", cli.Usagef("codes on standard output need --to jsonl, hex, csv, raw, npy, hgc or parquet")
	}
	if ending := strings.ToLower(filepath.Ext(c.output)); ending == ".parquet" || ending == ".pq" {
		return parquetFormat, nil
	}
	f, err := hamming.FormatOf(c.output)
	if err != nil {
		return "", cli.UsageError(err)
	}
	return f, nil
}

// parquetFormat is what the formats of package hamming lack.
const parquetFormat hamming.Format = "parquet"

// codeWriter writes codes with the rows that they are of.
type codeWriter interface {
	write(first int, codes hamming.Codes, chunk vectors.Chunk) error
	Flush() error
	Abort()
	Close() error
}

// codeLines is a codeWriter of the formats that have codes and ids.
type codeLines struct{ *hamming.Writer }

func (w codeLines) write(_ int, codes hamming.Codes, chunk vectors.Chunk) error {
	return w.Write(codes, chunk.IDs)
}

// parquetCodes is a codeWriter of a Parquet file, whose columns the first rows decide.
type parquetCodes struct {
	dataset.CodeTable
	to    io.Writer
	file  *section.File // nil on standard output
	begun bool
}

func (w *parquetCodes) write(first int, codes hamming.Codes, chunk vectors.Chunk) error {
	if !w.begun {
		w.begun, w.Integers, w.Label, w.Tags = true, chunk.IDs == nil, chunk.Labels != nil, chunk.Tags != nil
		if err := w.Begin(w.to); err != nil {
			return err
		}
	}
	return w.WriteChunk(first, codes, chunk)
}

func (w *parquetCodes) Flush() error { return nil }

func (w *parquetCodes) Abort() {
	if w.file != nil {
		w.file.Abort()
	}
}

func (w *parquetCodes) Close() error {
	err := w.write(0, hamming.NewCodes(0, w.Bits), vectors.Chunk{}) // begins a file without rows
	if err == nil {
		err = w.CodeTable.Close()
	}
	if w.file == nil {
		return err
	}
	if err != nil {
		w.file.Abort()
		return err
	}
	return w.file.Commit()
}

// create starts the output file, which appears under its name only once complete.
func (c *encodeCommand) create(format hamming.Format, h hamming.Header) (codeWriter, error) {
	var err error
	switch {
	case format == parquetFormat:
		w := &parquetCodes{CodeTable: dataset.CodeTable{Bits: h.Bits, Fingerprint: h.Fingerprint}, to: c.raw}
		if c.output != "-" {
			w.file, err = section.Create(c.output)
			w.to = w.file
		}
		return w, err
	case c.output == "-":
		var w *hamming.Writer
		w, err = hamming.NewWriter(c.raw, format, h)
		return codeLines{w}, err
	}
	w, err := hamming.Create(c.output, format, h)
	return codeLines{w}, err
}

// encode streams the codes to the output.
func (c *encodeCommand) encode(
	ctx context.Context, m *model.Model, set *dataset.Set, src vectors.Source, out codeWriter,
) (rows int, named bool, err error) {
	p := c.startProgress("encoding", max(set.Rows(), 0))
	defer p.End()
	encode := m.EncodeSource
	if set.Once() {
		encode = m.EncodeLive
	}
	err = encode(ctx, src, c.threads, func(first int, codes hamming.Codes, chunk vectors.Chunk) error {
		rows, named = first+codes.Len(), named || chunk.IDs != nil
		p.Tick(rows)
		if err := out.write(first, codes, chunk); err != nil || !set.Once() || c.output != "-" {
			return err
		}
		return out.Flush()
	})
	if err != nil {
		out.Abort()
		return 0, false, err
	}
	return rows, named, out.Close()
}
