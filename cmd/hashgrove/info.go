package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"hashgrove/feature"
	"hashgrove/hamming"
	"hashgrove/model"
)

func (a *app) info() *cobra.Command {
	return &cobra.Command{
		Use:     "info FILE...",
		Short:   "Tell what is in a model or code file",
		Example: "  hashgrove info items.hgm\n  hashgrove info items.hgc --json",
		Args:    atLeast(1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, path := range args {
				if err := a.describe(path); err != nil {
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
		Short: "Check every byte of a model or code file",
		Long: `Read the whole file, check every checksum, length and range, and print a line per intact file.
A damaged file is an error that names the damaged section.`,
		Example: "  hashgrove verify items.hgm items.hgc",
		Args:    atLeast(1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			var first error
			for _, path := range args {
				f, err := readAny(path)
				switch {
				case err != nil && first == nil:
					first = err
				case err != nil:
					fmt.Fprintf(a.err, "hashgrove: %v\n", err)
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

// fileReport is what info --json and verify --json print.
type fileReport struct {
	File        string `json:"file"`
	Type        string `json:"type"` // model, codes or features
	Bits        int    `json:"bits,omitempty"`
	Fingerprint string `json:"fingerprint"`

	Kind     string      `json:"kind,omitempty"`
	Dims     int         `json:"dims,omitempty"`
	Features string      `json:"features,omitempty"` // kind of the extractor that a model carries
	Info     *model.Info `json:"info,omitempty"`

	Codes int  `json:"codes,omitempty"`
	IDs   bool `json:"ids,omitempty"`

	encoder model.Encoder
}

// readAny reads a model or a code file whole.
func readAny(path string) (*fileReport, error) {
	m, err := model.ReadFile(path)
	if err == nil {
		f := &fileReport{
			File: path, Type: "model", Bits: m.Encoder.Bits(), Fingerprint: m.Fingerprint().String(),
			Kind: m.Encoder.Kind(), Dims: m.Encoder.Dim(), Info: &m.Info, encoder: m.Encoder,
		}
		if m.Features != nil {
			f.Features = m.Features.Kind()
		}
		return f, nil
	}
	if !errors.Is(err, model.ErrKind) {
		return nil, err
	}
	if e, err := feature.ReadFile(path); err == nil {
		return &fileReport{File: path, Type: "features", Fingerprint: model.Fingerprint(feature.Fingerprint(e)).String(), Kind: e.Kind(), Dims: e.Dim()}, nil
	} else if !errors.Is(err, model.ErrKind) {
		return nil, err
	}
	f, err := hamming.ReadFile(path)
	if errors.Is(err, hamming.ErrKind) {
		return nil, fmt.Errorf("%s: neither a model, nor codes, nor features", path)
	}
	if err != nil {
		return nil, err
	}
	return &fileReport{
		File: path, Type: "codes", Bits: f.Codes.Bits, Fingerprint: model.Fingerprint(f.Fingerprint).String(),
		Codes: f.Codes.Len(), IDs: f.IDs != nil,
	}, nil
}

func (a *app) describe(path string) error {
	f, err := readAny(path)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(f)
	}
	if f.Type == "features" {
		fmt.Fprintf(a.out, "%s: features of kind %s, %d dimensions, fingerprint %s\n", path, f.Kind, f.Dims, f.Fingerprint)
		return nil
	}
	fmt.Fprintf(a.out, "%s: %s of %d bits, fingerprint %s\n", path, f.Type, f.Bits, f.Fingerprint)
	if f.Type == "codes" {
		ids := "no ids"
		if f.IDs {
			ids = "ids"
		}
		fmt.Fprintf(a.out, "%d codes, with %s\n", f.Codes, ids)
		return nil
	}
	fmt.Fprintf(a.out, "method %s, %s over %d dimensions, written by version %s\n", f.Info.Method, f.Kind, f.Dims, f.Info.Version)
	if f.Features != "" {
		fmt.Fprintf(a.out, "takes pictures: it carries its own %s features\n", f.Features)
	}
	from := 1
	for _, r := range f.Info.Runs {
		fmt.Fprintf(a.out, "bits %d to %d: %d rows, seed %d, data %.16s\n", from, r.Bits, r.Rows, r.Seed, r.Data)
		options, err := json.Marshal(r.Options)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "options %s\n", options)
		from = r.Bits + 1
	}
	if len(f.Info.HeldOut) > 0 {
		fmt.Fprintf(a.out, "classes held out of training: %q\n", f.Info.HeldOut)
	}
	a.printBits(f)
	a.printFeatures(f)
	return nil
}

// printBits shows the statistics of the first, the last and some bits between.
func (a *app) printBits(f *fileReport) {
	stats := f.Info.Bits
	if len(stats) == 0 {
		return
	}
	t := a.table()
	t.AppendHeader(table.Row{"bit", "objective", "train error", "trees"})
	step := (len(stats) + 15) / 16
	for k := 0; k < len(stats); k++ {
		if k%step == 0 || k == len(stats)-1 {
			t.AppendRow(table.Row{k + 1, fmt.Sprintf("%.4f", stats[k].Objective), fmt.Sprintf("%.4f", stats[k].TrainError), stats[k].Trees})
		}
	}
	t.Render()
}

// printFeatures names the columns that the trees test most.
func (a *app) printFeatures(f *fileReport) {
	b, ok := f.encoder.(*model.Binned)
	if !ok {
		return
	}
	tests := make([]int, b.Dim())
	for _, fn := range b.Functions {
		if e, ok := fn.(*model.Ensemble); ok {
			for i, j := range e.Feature {
				if e.Bin[i] < 255 { // 255 sends every row left: no test
					tests[j]++
				}
			}
		}
	}
	order := make([]int, len(tests))
	used := 0
	for j := range order {
		order[j] = j
		if tests[j] > 0 {
			used++
		}
	}
	if used == 0 {
		return
	}
	slices.SortStableFunc(order, func(x, y int) int { return tests[y] - tests[x] })
	fmt.Fprintf(a.out, "%d of %d columns are used, most often:", used, len(tests))
	for _, j := range order[:min(8, used)] {
		name := fmt.Sprintf("column %d", j)
		if len(f.Info.Features) == len(tests) {
			name = f.Info.Features[j]
		}
		fmt.Fprintf(a.out, " %s (%d)", name, tests[j])
	}
	fmt.Fprintln(a.out)
}
