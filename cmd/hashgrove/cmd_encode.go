package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
)

type encodeCommand struct {
	*app
	data              dataFlags
	model, output, to string
	prefix            int
	file              cli.Output
}

func (a *app) encode() *cobra.Command {
	c := &encodeCommand{app: a}
	cmd := &cobra.Command{
		Use:   "encode DATA... -m MODEL -o CODES",
		Short: "Turn vectors into codes",
		Long: `Turn vectors into codes, row by row in bounded memory. The output's name, or --to, decides its form:
  hgc   code file with ids, checksums and the model's fingerprint
  npy   uint8 matrix of packed bits, most significant bit first, as in numpy.packbits
  raw   just the packed bytes (.bin)
  hex   one line of hexadecimal digits per row (.hex, .txt)
  csv   lines id,code with hexadecimal codes
  jsonl lines {"row": 0, "id": "a", "code": "0f"}, with an id if the data have ids
  parquet id, label, tags and unsigned 64-bit integers code, or above 64 bits code_0, code_1, ..., highest bit first

Input can be a pipe, or - for standard input, except for Parquet, npz and pictures, which are not read in order.
-o - writes codes to standard output. A pipe of JSON lines is answered line by line.`,
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
	f.StringVar(&c.to, "to", "",
		"`FORM` of the output: "+strings.Join(hashgrove.CodeForms(), ", ")+"; default by the name of the output")
	f.IntVar(&c.prefix, "prefix", 0, "keep only this `NUMBER` of leading bits of each code; 0 means all")
	cli.Group(f, "Output")
	c.data.bindFiles(f, "Data")
	return cmd
}

func (c *encodeCommand) run(ctx context.Context, args []string) error {
	if c.model == "" || c.output == "" {
		return cli.Usagef("encode needs -m MODEL and -o CODES")
	}
	form, err := c.form()
	if err != nil {
		return err
	}
	if err := c.file.Check([]string{c.output}, c.data.inputs(args, c.model)); err != nil {
		return err
	}
	m, err := c.loadModel(c.model, c.prefix)
	if err != nil {
		return err
	}
	c.data.Stdin = c.in
	data, err := c.data.rows(args)
	if err != nil {
		return err
	}
	began := time.Now()
	show, end := c.steps()
	o := hashgrove.EncodeOptions{Form: form, Threads: c.threads, Progress: show}
	var read *hashgrove.DataRead
	if c.output == "-" {
		read, err = m.WriteCodes(ctx, c.raw, data, o)
	} else {
		read, err = m.WriteCodesFile(ctx, c.output, data, o)
	}
	end()
	if err != nil {
		return err
	}
	c.noteRead(read)
	took := time.Since(began)
	r := encodeReport{
		Codes: c.output, Rows: read.Rows, Bits: m.Bits(), Fingerprint: m.Fingerprint()[:16],
		Seconds: took.Seconds(), Bad: read.Bad,
	}
	if read.Rows > 0 {
		r.Microseconds = took.Seconds() * 1e6 / float64(read.Rows)
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

// form returns the form of the output.
func (c *encodeCommand) form() (string, error) {
	switch forms := hashgrove.CodeForms(); {
	case c.to != "" && !slices.Contains(forms, c.to):
		return "", cli.Usagef("--to %s: choose %s", c.to, strings.Join(forms, ", "))
	case c.to != "":
		return c.to, nil
	case c.output == "-":
		return "", cli.Usagef("codes on standard output need --to %s", strings.Join(forms, ", "))
	}
	form, err := hashgrove.CodeForm(c.output)
	if err != nil {
		return "", cli.UsageError(err)
	}
	return form, nil
}
