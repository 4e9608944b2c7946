package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"hashgrove/internal/hamming"
)

// Info records in a model file how the model was made. It holds no time and no machine, so the file depends only on
// data, options and seed. It does not enter the fingerprint.
type Info struct {
	Method  string    `json:"method"`            // "fasthash", "lsh", ...
	Version string    `json:"version,omitempty"` // of the software that trained it
	Runs    []Run     `json:"runs,omitempty"`    // in order; more than one when the model was grown
	Bits    []BitStat `json:"bits,omitempty"`    // one per bit, or none

	Features []string `json:"features,omitempty"` // names of the columns, or none
	Vector   string   `json:"vector,omitempty"`   // name of the column of lists that the vectors came from, or ""
	Label    string   `json:"label,omitempty"`    // name of the column of classes, or ""
	Tags     string   `json:"tags,omitempty"`     // name of the column of tags, or ""
	Classes  []string `json:"classes,omitempty"`  // classes seen in training
	HeldOut  []string `json:"held_out,omitempty"` // classes kept out of training

	Added  []string `json:"added,omitempty"`  // names of the columns that the model adds to the vectors, or none
	Scored []string `json:"scored,omitempty"` // classes or tags whose scores take the place of the vectors, or none
	Linear string   `json:"linear,omitempty"` // which columns were added and why, or why not, in words

	Scale string `json:"scale,omitempty"` // how columns were scaled before the method saw them, and why, in words

	Weights []hamming.BitWeight `json:"weights,omitempty"` // of a weighted ranking: one per bit, or none

	Sketch *Sketch `json:"sketch,omitempty"` // of the rows learned from; nil if not recorded

	// How well held-out rows find each other, and how well they find training rows; nil if no rows were held out.
	NewItems     *Figures `json:"new_items,omitempty"`
	LearnedItems *Figures `json:"learned_items,omitempty"`
}

// Figures measure how well held-out queries find some items. All but Rows and DistinctCodes are between 0 and 1.
type Figures struct {
	Rows          int     `json:"rows"` // of the items
	MAP           float64 `json:"map"`  // expected over the order of ties, and in the worst and the best order
	MAPLow        float64 `json:"map_low"`
	MAPHigh       float64 `json:"map_high"`
	Precision     float64 `json:"precision"` // of the first 100, or of as many as a query has relevant items
	PRArea        float64 `json:"pr_area"`
	DistinctCodes int     `json:"distinct_codes"`
	Chance        float64 `json:"chance,omitempty"` // the mean share of relevant items, about the MAP of random codes

	Margins  MarginFigures `json:"margins,omitzero"`  // the same codes, ranked by the margins of the query
	Expected MarginFigures `json:"expected,omitzero"` // and by its expected code
}

// MarginFigures are the Figures that depend on the ranking; zeros if there are no margins.
type MarginFigures struct {
	MAP       float64 `json:"map"`
	MAPLow    float64 `json:"map_low"`
	MAPHigh   float64 `json:"map_high"`
	Precision float64 `json:"precision"`
	PRArea    float64 `json:"pr_area"`
}

func (f *Figures) check() error {
	if f == nil {
		return nil
	}
	m, e := f.Margins, f.Expected
	for _, v := range []float64{
		f.MAP, f.MAPLow, f.MAPHigh, f.Precision, f.PRArea, m.MAP, m.MAPLow, m.MAPHigh, m.Precision, m.PRArea,
		e.MAP, e.MAPLow, e.MAPHigh, e.Precision, e.PRArea, f.Chance,
	} {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("a figure of new or learned items is %v, outside of 0 to 1", v)
		}
	}
	if f.Rows < 1 || f.DistinctCodes < 1 || f.DistinctCodes > f.Rows {
		return fmt.Errorf("figures of %d items with %d different codes", f.Rows, f.DistinctCodes)
	}
	return nil
}

// Run describes one training run.
type Run struct {
	Bits    int             `json:"bits"` // of the model after this run
	Seed    uint64          `json:"seed"`
	Data    string          `json:"data,omitempty"` // digest of the data
	Rows    int             `json:"rows,omitempty"`
	Options json.RawMessage `json:"options,omitempty"`
}

// BitStat holds the training statistics of one bit.
type BitStat struct {
	Objective  float64 `json:"objective"`   // of Step 1
	TrainError float64 `json:"train_error"` // of Step 2: share of rows whose bit the function misses
	Trees      int     `json:"trees,omitempty"`

	CutParts int `json:"cut_parts,omitempty"` // of Step 1: parts of blocks that were too large to be cut at once
}

// parseInfo reads the JSON of an Info. It rejects lists of runs and statistics at the first entry that is wrong or too
// many: a text like [0,0,0...] would otherwise take a hundred times its length in memory.
func parseInfo(b []byte) (Info, error) {
	var f struct {
		Info
		Runs    list[Run]               `json:"runs"` // these three come before the fields of Info with the same names
		Bits    list[BitStat]           `json:"bits"`
		Weights list[hamming.BitWeight] `json:"weights"`
	}
	err := json.Unmarshal(b, &f)
	f.Info.Runs, f.Info.Bits, f.Info.Weights = f.Runs, f.Bits, f.Weights
	return f.Info, err
}

// list is a list with at most as many entries as a model has bits.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errors.New("runs, statistics and weights must be lists")
	}
	for *l = nil; d.More(); {
		if len(*l) == hamming.MaxBits {
			return fmt.Errorf("more than %d runs, statistics or weights", hamming.MaxBits)
		}
		var v T
		if err := d.Decode(&v); err != nil {
			return err
		}
		*l = append(*l, v)
	}
	return nil
}

// check reports contents that do not belong to the encoder or cannot be written as JSON.
func (f *Info) check(e Encoder) error {
	bits := ClassPart(e).Bits() // bits of detail have no statistics
	if n := len(f.Bits); n != 0 && n != bits {
		return fmt.Errorf("statistics of %d bits in a model of %d", n, bits)
	}
	for k, s := range f.Bits {
		for _, v := range []float64{s.Objective, s.TrainError} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("statistics of bit %d hold the value %v", k, v)
			}
		}
	}
	if n := len(f.Weights); n != 0 && n != bits {
		return fmt.Errorf("weights of %d bits in a model of %d", n, bits)
	}
	for k, w := range f.Weights {
		if !(w.Weight >= 0 && w.Weight <= 1) || w.Group < 0 {
			return fmt.Errorf("bit %d has the weight %v in group %d; weights are from 0 to 1", k, w.Weight, w.Group)
		}
	}
	if err := cmp.Or(f.NewItems.check(), f.LearnedItems.check()); err != nil {
		return err
	}
	last := 0
	for i, r := range f.Runs {
		if r.Bits <= last || r.Bits > bits || i == len(f.Runs)-1 && r.Bits != bits {
			return fmt.Errorf("run %d of training ends with bit %d, after bit %d and in a model of %d",
				i, r.Bits, last, bits)
		}
		if r.Options != nil && !json.Valid(r.Options) {
			return fmt.Errorf("options of run %d are not JSON", i)
		}
		last = r.Bits
	}
	if n := len(f.Features); n != 0 && n != e.Dim() {
		return fmt.Errorf("%d names for %d columns", n, e.Dim())
	}
	if n := len(f.Added); n != 0 && n != extensions(e) {
		return fmt.Errorf("%d names for %d added columns", n, extensions(e))
	}
	if n := len(f.Scored); n != 0 {
		if b, _, ok := BehindScores(e); !ok || b.Dim() != n {
			return fmt.Errorf("names of %d classes with scores in a model that has none, or others", n)
		}
	}
	texts := [][]string{{f.Method, f.Version, f.Scale, f.Linear, f.Vector, f.Label, f.Tags},
		f.Features, f.Added, f.Scored, f.Classes, f.HeldOut}
	for _, r := range f.Runs {
		texts = append(texts, []string{r.Data, string(r.Options)})
	}
	for _, group := range texts {
		for _, s := range group {
			if !utf8.ValidString(s) {
				return fmt.Errorf("the text %q is not valid UTF-8", s)
			}
		}
	}
	return nil
}

// prefix returns the Info of the first bits. Figures remain those of all bits.
func (f Info) prefix(bits int) Info {
	if len(f.Runs) > 0 && f.Runs[len(f.Runs)-1].Bits != bits {
		f.NewItems, f.LearnedItems = nil, nil
	}
	if len(f.Bits) > 0 {
		f.Bits = f.Bits[:bits:bits]
	}
	if len(f.Weights) > 0 {
		f.Weights = f.Weights[:bits:bits]
	}
	for i, r := range f.Runs {
		if r.Bits >= bits {
			f.Runs = slices.Clone(f.Runs[:i+1])
			f.Runs[i].Bits = bits
			break
		}
	}
	return f
}
