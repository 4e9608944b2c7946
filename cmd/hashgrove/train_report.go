package main

import (
	"cmp"
	"fmt"

	"hashgrove"
	"hashgrove/internal/cli"
)

// trainReport is the output of train --json.
type trainReport struct {
	Model        string  `json:"model"`
	Fingerprint  string  `json:"fingerprint"`
	Method       string  `json:"method"`
	Rows         int     `json:"rows"`
	Dims         int     `json:"dims"`
	ClassBits    int     `json:"class_bits"`
	DetailBits   int     `json:"detail_bits,omitempty"`
	Seed         uint64  `json:"seed"`
	Scale        string  `json:"scale,omitempty"` // how columns were scaled and why; not by FastHash
	TrainSeconds float64 `json:"train_seconds"`
	TotalSeconds float64 `json:"total_seconds"`
	PeakRSS      int64   `json:"peak_rss_bytes"`
	Device       string  `json:"device"` // that grew trees: the name of a GPU, or cpu
	hashgrove.UsedColumns

	NewItems     *hashgrove.Figures   `json:"new_items,omitempty"` // for rows held out of training
	LearnedItems *hashgrove.Figures   `json:"learned_items,omitempty"`
	Ranking      *hashgrove.Ranking   `json:"ranking,omitempty"` // how searches rank by default
	Memory       *hashgrove.MemoryUse `json:"memory,omitempty"`

	// Of FastHash alone.
	Bits             []bitReport            `json:"bits,omitempty"` // of the class
	InferenceSeconds float64                `json:"inference_seconds,omitempty"`
	BoostSeconds     float64                `json:"boost_seconds,omitempty"`
	Effort           string                 `json:"effort,omitempty"`
	Trees            *hashgrove.TreeOptions `json:"trees,omitempty"`          // as chosen by effort and flags
	Linear           string                 `json:"linear_columns,omitempty"` // which were added, or why none were
	Added            []string               `json:"added_columns,omitempty"`
}

// bitReport describes one bit in trainReport. Resumed bits and bits of a model that grew have no times.
type bitReport struct {
	Bit              int     `json:"bit"`
	Objective        float64 `json:"objective"`
	TrainError       float64 `json:"train_error"`
	Trees            int     `json:"trees,omitempty"`
	CutParts         int     `json:"cut_parts,omitempty"`
	InferenceSeconds float64 `json:"inference_seconds"`
	BoostSeconds     float64 `json:"boost_seconds"`
}

// print reports how training went.
func (c *trainCommand) print(t *hashgrove.Training) error {
	made := &t.Report
	r := trainReport{
		Model: c.output, Fingerprint: t.Fingerprint()[:16], Method: made.Method, Rows: made.LearnedRows, Dims: t.Dim(),
		ClassBits: t.Bits() - t.DetailBits(), DetailBits: t.DetailBits(), Seed: made.Seed, Scale: made.Scale,
		TrainSeconds: made.Learning.Seconds(), TotalSeconds: made.Total.Seconds(), PeakRSS: cli.PeakMemory(),
		UsedColumns: made.Columns, Device: cmp.Or(made.Device, "cpu"), NewItems: made.NewItems,
		LearnedItems: made.LearnedItems, Ranking: t.Ranking(), Memory: made.Memory,
	}
	how := made.Title + "\n"
	if f := made.FastHash; f != nil {
		r.addFastHash(f)
		last := r.Bits[len(r.Bits)-1]
		how = fmt.Sprintf("%s\nobjective %.4f, error of the last bit %.4f\n", f.Summary, last.Objective, last.TrainError)
	}
	for _, text := range []string{r.Scale, r.Linear} {
		if text != "" {
			how += cli.Printable(text) + "\n"
		}
	}
	return c.printLine(r, "%s: %s, fingerprint %s\n%s%s%s%s%.1f s in all: learning %.1f s; %.0f MB at most",
		r.Model, cli.Bits(r.ClassBits, r.DetailBits), r.Fingerprint, how, hashgrove.FiguresText(r.NewItems, r.LearnedItems),
		r.Ranking, r.Memory, r.TotalSeconds, r.TrainSeconds, float64(r.PeakRSS)/1e6)
}

// addFastHash adds what FastHash chose, bit by bit.
func (r *trainReport) addFastHash(made *hashgrove.FastHashReport) {
	r.Effort, r.Linear, r.Added = made.Effort, made.Columns, made.Added
	if made.Learner == "trees" {
		r.Trees = &made.Trees
	}
	for _, b := range made.Bits {
		inference, boost := b.Inference.Seconds(), b.Boost.Seconds()
		r.InferenceSeconds += inference
		r.BoostSeconds += boost
		r.Bits = append(r.Bits, bitReport{b.Bit, b.Objective, b.TrainError, b.Trees, b.CutParts, inference, boost})
	}
}
