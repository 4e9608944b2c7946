package main

import (
	"cmp"
	"encoding/json"
	"fmt"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/gpu"
	"hashgrove/internal/message"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/par"
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
	columnReport

	NewItems     *hashgrove.Figures   `json:"new_items,omitempty"` // for rows held out of training
	LearnedItems *hashgrove.Figures   `json:"learned_items,omitempty"`
	Ranking      *rankingReport       `json:"ranking,omitempty"` // how searches rank by default
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
	Bit int `json:"bit"`
	model.BitStat
	InferenceSeconds float64 `json:"inference_seconds"`
	BoostSeconds     float64 `json:"boost_seconds"`
}

// print reports how training went.
func (c *trainCommand) print(t *hashgrove.Training, columns columnReport) error {
	m := inside.Model(t.Model)
	r := trainReport{
		Model: c.output, Fingerprint: m.Fingerprint().String(), Method: t.Report.Method,
		Rows: t.Report.LearnedRows, Dims: m.Encoder.Dim(), ClassBits: m.ClassBits(), DetailBits: m.DetailBits(),
		Seed: t.Report.Seed, Scale: m.Info.Scale, TrainSeconds: t.Report.Learning.Seconds(),
		TotalSeconds: t.Report.Total.Seconds(), PeakRSS: par.PeakMemory(), columnReport: columns,
		Device: cmp.Or(t.Report.Device, gpu.CPU), NewItems: t.Report.NewItems, LearnedItems: t.Report.LearnedItems,
		Ranking: rankingOf(m), Memory: t.Report.Memory,
	}
	about, _ := method.Describe(t.Report.Method) // the name is valid by now
	how := about.Title + "\n"
	if made := t.Report.FastHash; made != nil {
		r.addFastHash(m, made)
		last := r.Bits[len(r.Bits)-1]
		how = fmt.Sprintf("%s\nobjective %.4f, error of the last bit %.4f\n", made.Summary, last.Objective,
			last.TrainError)
	}
	for _, text := range []string{r.Scale, r.Linear} {
		if text != "" {
			how += cli.Printable(text) + "\n"
		}
	}
	return c.printLine(r, "%s: %s, fingerprint %s\n%s%s%s%s%.1f s in all: learning %.1f s; %.0f MB at most",
		r.Model, message.Bits(r.ClassBits, r.DetailBits), r.Fingerprint, how, figuresText(&m.Info),
		r.Ranking, r.Memory, r.TotalSeconds, r.TrainSeconds, float64(r.PeakRSS)/1e6)
}

// addFastHash adds what FastHash chose, bit by bit.
func (r *trainReport) addFastHash(m *model.Model, made *hashgrove.FastHashReport) {
	r.Effort, r.Linear, r.Added = made.Effort, made.Columns, m.Info.Added
	if made.Learner == string(fasthash.Trees) {
		r.Trees = &made.Trees
	}
	for k, s := range m.Info.Bits {
		r.Bits = append(r.Bits, bitReport{Bit: k + 1, BitStat: s})
	}
	for _, b := range made.Bits {
		r.InferenceSeconds += b.Inference.Seconds()
		r.BoostSeconds += b.Boost.Seconds()
		if b.Bit <= len(r.Bits) {
			r.Bits[b.Bit-1].InferenceSeconds, r.Bits[b.Bit-1].BoostSeconds = b.Inference.Seconds(), b.Boost.Seconds()
		}
	}
}

// figuresText returns the lines of train and info about held-out rows, or "" if there were none.
func figuresText(i *model.Info) string {
	if i.NewItems == nil || i.LearnedItems == nil {
		return ""
	}
	line := func(name string, f *model.Figures) string {
		others := ""
		if m := f.Margins; m.MAP > 0 {
			others = fmt.Sprintf("; by margins %.4f, %.4f", m.MAP, m.Precision)
		}
		if e := f.Expected; e.MAP > 0 {
			others += fmt.Sprintf("; by the expected code %.4f, %.4f", e.MAP, e.Precision)
		}
		return fmt.Sprintf("%s MAP %.4f, precision %.4f by Hamming%s; %s in %d rows\n", name, f.MAP, f.Precision, others,
			message.Count(f.DistinctCodes, "different code", "different codes"), f.Rows)
	}
	return line("new items:    ", i.NewItems) + line("learned items:", i.LearnedItems)
}

// chosenOptions describes what effort and defaults chose for a FastHash run. It returns "" for models that do not
// record it.
func chosenOptions(r model.Run) string {
	var o fasthash.Options
	if json.Unmarshal(r.Options, &o) != nil || o.Effort == "" {
		return ""
	}
	return o.Summary() + "\n"
}

// rankingReport describes how a model ranks items unless a search says otherwise.
type rankingReport struct {
	Rank  string  `json:"rank"` // hamming, margins or expected
	Tau   float64 `json:"tau"`  // these three are of the expected code
	Mix   float64 `json:"mix"`
	Codes int     `json:"codes"`
}

// rankingOf returns the ranking that a model chose, or nil if it knows only Hamming distance.
func rankingOf(m *model.Model) *rankingReport {
	r := m.Ranking
	if r == nil {
		return nil
	}
	return &rankingReport{r.Rank, r.Tau, r.Mix, r.Codes.Len()}
}

// String describes the ranking in a line; "" without one.
func (r *rankingReport) String() string {
	switch {
	case r == nil:
		return ""
	case r.Rank == model.ByExpected && r.Mix > 0:
		return fmt.Sprintf("searches rank by the expected code: tau %g, %.0f %% of the weight from margins, %s known\n",
			r.Tau, 100*r.Mix, message.Count(r.Codes, "code", "codes"))
	case r.Rank == model.ByExpected:
		return fmt.Sprintf("searches rank by the expected code: tau %g, %s known\n",
			r.Tau, message.Count(r.Codes, "code", "codes"))
	case r.Rank == api.Margins:
		return "searches rank by margins\n"
	}
	return "searches rank by Hamming distance\n"
}
