package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/section"
	"hashgrove/internal/store"
)

func (a *app) info() *cobra.Command {
	return &cobra.Command{
		Use:     "info FILE...",
		Short:   "Show what a model, a code file, an index or a backup contains",
		Example: "  hashgrove info items.hgm\n  hashgrove info items.hgc --json\n  hashgrove info items.hgi",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, path := range args {
				if err := a.printFile(cmd.Context(), path); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (a *app) verify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE...",
		Short: "Check every byte of a model, a code file, an index or a backup",
		Long: `Read the whole file, check every checksum, length and range, and print a line per intact file.
A damaged file is an error that names the damaged section.

Intact means undamaged, not genuine: whoever can write a file can write a valid one. To make sure that it is the file
its author made, compare its SHA-256 (sha256sum FILE) with one from a place you trust.`,
		Example: "  hashgrove verify items.hgm items.hgc items.hgi",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var first error
			for _, path := range args {
				f, err := a.readAny(cmd.Context(), path, a.checkIndex)
				switch {
				case err != nil && first == nil:
					first = err
				case err != nil:
					fmt.Fprintf(a.err, "hashgrove: %s\n", cli.Message(explain(err)))
				case a.json:
					if err := a.printJSON(f); err != nil {
						return err
					}
				default:
					fmt.Fprintf(a.out, "%s: intact %s, fingerprint %s\n", path, f.Type, f.Fingerprint)
				}
			}
			return first
		},
	}
}

// fileReport is the output of info --json and verify --json.
type fileReport struct {
	File        string `json:"file"`
	Type        string `json:"type"`                  // model, codes, features or index
	Bits        int    `json:"bits,omitempty"`        // all of a code
	DetailBits  int    `json:"detail_bits,omitempty"` // the last ones of them
	Fingerprint string `json:"fingerprint"`

	Kind     string      `json:"kind,omitempty"`
	Dims     int         `json:"dims,omitempty"`
	Features string      `json:"features,omitempty"` // kind of the model's extractor
	Pictures string      `json:"pictures,omitempty"` // how a model prepares them
	Averaged bool        `json:"averaged,omitempty"` // the model adds the scores of mirror images
	Info     *model.Info `json:"info,omitempty"`     // without the sketch
	Sketched int         `json:"sketched_rows,omitempty"`

	Ranking *rankingReport `json:"ranking,omitempty"` // how searches rank by default

	Codes int  `json:"codes,omitempty"`
	IDs   bool `json:"ids,omitempty"`

	// For an index; Kind, Dims, Features and Pictures describe its model.
	Items      *int              `json:"items,omitempty"`
	Labels     bool              `json:"labels,omitempty"` // whether any item has one
	Tags       bool              `json:"tags,omitempty"`
	Attributes []index.Attribute `json:"attributes,omitempty"`
	Distinct   int               `json:"distinct_codes,omitempty"`
	FileBytes  int64             `json:"file_bytes,omitempty"`
	FreeBytes  int64             `json:"free_bytes,omitempty"`
	Writes     uint64            `json:"writes,omitempty"`
	Note       string            `json:"note,omitempty"`

	encoder model.Encoder
}

// readAny reads a whole file of any kind, using readIndex for an index.
func (a *app) readAny(
	ctx context.Context, path string, readIndex func(ctx context.Context, path string) (*fileReport, error),
) (*fileReport, error) {
	kind, _, err := section.FileKind(path)
	if err != nil {
		return nil, err
	}
	if kind == section.Model {
		return readModel(path)
	}
	f, err := hamming.ReadFile(path) // also reads NumPy arrays
	if errors.Is(err, hamming.ErrKind) {
		r, err := readIndex(ctx, path)
		if errors.Is(err, hamming.ErrKind) {
			return nil, fmt.Errorf("%s: neither a model, nor codes, nor an index", path)
		}
		return r, err
	}
	if err != nil {
		return nil, err
	}
	return &fileReport{
		File: path, Type: "codes", Bits: f.Codes.Bits, DetailBits: f.Fingerprint.Detail(f.Codes.Bits),
		Fingerprint: f.Fingerprint.String(),
		Codes:       f.Codes.Len(), IDs: f.IDs != nil,
	}, nil
}

func readModel(path string) (*fileReport, error) {
	m, err := model.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &fileReport{
		File: path, Type: "model", Bits: m.Encoder.Bits(), DetailBits: m.DetailBits(), Fingerprint: m.Fingerprint().String(),
		Info: &m.Info, Sketched: m.Info.Sketch.Len(),
	}
	f.fillModel(m)
	m.Info.Sketch = nil // thousands of digits
	return f, nil
}

// checkIndex checks a whole index.
func (a *app) checkIndex(ctx context.Context, path string) (*fileReport, error) {
	p := a.startProgress("checking", 0)
	v, err := store.Verify(ctx, path, p.Count)
	p.End()
	if err != nil {
		return nil, err
	}
	if v.Recovered {
		a.warn([]string{path + ": the last write was not finished and is ignored"})
	}
	return &fileReport{
		File: path, Type: "index", Bits: v.Bits, DetailBits: v.Fingerprint.Detail(v.Bits),
		Fingerprint: v.Fingerprint.String(),
		Items:       &v.Items, FileBytes: v.FileBytes, FreeBytes: v.FreeBytes, Writes: v.Writes,
	}, nil
}

// summarizeIndex opens an index and describes it.
func (a *app) summarizeIndex(ctx context.Context, path string) (*fileReport, error) {
	s, err := a.openToRead(ctx, path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	i := s.Info()
	f := &fileReport{
		File: path, Type: "index", Bits: i.Bits, DetailBits: i.Fingerprint.Detail(i.Bits),
		Fingerprint: i.Fingerprint.String(),
		Items:       &i.Items, FileBytes: i.FileBytes, FreeBytes: i.FreeBytes, Writes: i.Writes, Note: i.Note,
	}
	x, err := a.selectItems(ctx, s, looked)
	if err != nil {
		return nil, err
	}
	f.Distinct = x.Codes()
	f.Attributes = x.Attributes()
	if x.Len() > 0 {
		f.Labels, f.Tags = x.CheckFilter(index.Label()) == nil, x.CheckFilter(index.Tag()) == nil
	}
	m, err := s.Model()
	if err != nil {
		return nil, err
	}
	if m != nil {
		f.fillModel(m)
	}
	return f, nil
}

// fillModel fills in what a model takes as input.
func (f *fileReport) fillModel(m *model.Model) {
	f.Kind, f.Dims, f.encoder = model.ClassPart(m.Encoder).Kind(), m.Encoder.Dim(), m.Encoder
	f.Ranking = rankingOf(m)
	if m.Features != nil {
		f.Features = m.Features.Kind()
	}
	if m.Pictures != nil {
		f.Pictures, f.Averaged = m.Pictures.String(), m.Pictures.Averaged
	}
}

// functions names the hash functions of a model and the columns it adds to a vector for them.
func (f *fileReport) functions() (kind, more string) {
	if b, _, ok := model.Behind(f.encoder); ok && b.Dim() > f.Dims {
		return b.Kind(), fmt.Sprintf(" and %s that it adds", message.Count(b.Dim()-f.Dims, "column", "columns"))
	}
	return f.Kind, ""
}

// input says how a model takes pictures.
func (f *fileReport) input() (text string) {
	if f.Features != "" {
		text = fmt.Sprintf("takes pictures and makes its own %s features\n", f.Features)
	}
	if f.Pictures != "" {
		text += fmt.Sprintf("pictures become %s\n", f.Pictures)
	}
	if f.Averaged {
		text += "a code adds the scores of a picture and of its mirror image\n"
	}
	return text
}

// printFile prints what is in a file.
func (a *app) printFile(ctx context.Context, path string) error {
	f, err := a.readAny(ctx, path, a.summarizeIndex)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(f)
	}
	fmt.Fprintf(a.out, "%s: %s of %s, fingerprint %s\n",
		path, f.Type, message.Bits(f.Bits-f.DetailBits, f.DetailBits), f.Fingerprint)
	if f.Type == "codes" {
		ids := "no ids"
		if f.IDs {
			ids = "ids"
		}
		fmt.Fprintf(a.out, "%d codes, with %s\n", f.Codes, ids)
		return nil
	}
	if f.Type == "index" {
		a.printIndex(f)
		return nil
	}
	kind, more := f.functions()
	fmt.Fprintf(a.out, "method %s, %s over %d dimensions%s, written by version %s\n",
		f.Info.Method, kind, f.Dims, more, f.Info.Version)
	if text := learnedColumns(f.Info); text != "" {
		fmt.Fprintf(a.out, "vector: %s\n", cli.Printable(text))
	}
	fmt.Fprint(a.out, f.input())
	for _, text := range []string{f.Info.Scale, f.Info.Linear} {
		if text != "" {
			fmt.Fprintln(a.out, cli.Printable(text))
		}
	}
	from := 1
	for _, r := range f.Info.Runs {
		fmt.Fprintf(a.out, "bits %d to %d: %d rows, seed %d, data %.16s\n", from, r.Bits, r.Rows, r.Seed, r.Data)
		options, err := json.Marshal(r.Options)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%soptions %s\n", chosenOptions(r), options)
		from = r.Bits + 1
	}
	if len(f.Info.HeldOut) > 0 {
		fmt.Fprintf(a.out, "classes held out of training: %q\n", f.Info.HeldOut)
	}
	fmt.Fprint(a.out, figuresText(f.Info), f.Ranking)
	if f.Sketched > 0 {
		fmt.Fprintf(a.out, "a sketch of %d rows recognises its training rows\n", f.Sketched)
	}
	return nil
}

// printIndex prints the contents of an index after its first line.
func (a *app) printIndex(f *fileReport) {
	fmt.Fprintf(a.out, "%d items with %d distinct codes\n", *f.Items, f.Distinct)
	kind, more := f.functions()
	if kind == "" {
		fmt.Fprintln(a.out, "it has no model, so it can only be searched by code")
	} else {
		fmt.Fprintf(a.out, "its model takes vectors of %d dimensions (%s%s)\n%s", f.Dims, kind, more, f.input())
	}
	fmt.Fprint(a.out, f.Ranking)
	fields := []string{"id"}
	if f.Labels {
		fields = append(fields, "label")
	}
	if f.Tags {
		fields = append(fields, "tag")
	}
	for _, known := range f.Attributes {
		fields = append(fields, known.String())
	}
	fmt.Fprintf(a.out, "filters can use %s\n", cli.Printable(message.List(fields)))
	fmt.Fprintf(a.out, "file %s, of which %s are free, after %s\n",
		cli.Size(f.FileBytes), cli.Size(f.FreeBytes), message.Count(int(f.Writes), "write", "writes"))
	if f.Note != "" {
		fmt.Fprintf(a.out, "note: %s\n", cli.Printable(f.Note))
	}
}
