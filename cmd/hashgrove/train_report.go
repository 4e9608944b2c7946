package main

import (
	"fmt"
	"time"

	"hashgrove/training"
)

// trainReport is what train --json prints.
type trainReport struct {
	Model            string      `json:"model"`
	Fingerprint      string      `json:"fingerprint"`
	Rows             int         `json:"rows"`
	Dims             int         `json:"dims"`
	Seed             uint64      `json:"seed"`
	Bits             []bitReport `json:"bits"`
	InferenceSeconds float64     `json:"inference_seconds"`
	BoostSeconds     float64     `json:"boost_seconds"`
	TotalSeconds     float64     `json:"total_seconds"`
	PeakRSS          int64       `json:"peak_rss_bytes"`
	Stopped          string      `json:"stopped,omitempty"`
}

// bitReport is one bit in trainReport. Bits that were resumed or grown from have no times.
type bitReport struct {
	Bit              int     `json:"bit"`
	Objective        float64 `json:"objective"`
	InferenceSeconds float64 `json:"inference_seconds"`
	BoostSeconds     float64 `json:"boost_seconds"`
	TrainError       float64 `json:"train_error"`
	Validation       float64 `json:"validation_map,omitempty"`
}

func (c *trainCommand) report(job training.Job, result *training.Result, took time.Duration) error {
	m := result.Model
	r := trainReport{
		Model: c.output, Fingerprint: m.Fingerprint().String(),
		Rows: job.X.Rows, Dims: job.X.Dim(), Seed: c.seed, TotalSeconds: took.Seconds(), PeakRSS: peakRSS(), Stopped: result.Stopped,
	}
	for k, s := range m.Info.Bits {
		r.Bits = append(r.Bits, bitReport{Bit: k + 1, Objective: s.Objective, TrainError: s.TrainError, Validation: s.Validation})
	}
	for _, b := range result.Bits {
		r.InferenceSeconds += b.Inference.Seconds()
		r.BoostSeconds += b.Boost.Seconds()
		if b.Bit <= len(r.Bits) {
			r.Bits[b.Bit-1].InferenceSeconds, r.Bits[b.Bit-1].BoostSeconds = b.Inference.Seconds(), b.Boost.Seconds()
		}
	}
	if c.json {
		return c.printJSON(r)
	}
	last := r.Bits[len(r.Bits)-1]
	fmt.Fprintf(c.out, "%s: %d bits, fingerprint %s\n", r.Model, len(r.Bits), r.Fingerprint)
	fmt.Fprintf(c.out, "objective %.4f, error of the last bit %.4f\n", last.Objective, last.TrainError)
	fmt.Fprintf(c.out, "%.1f s in all: inference %.1f s, boosting %.1f s; %.0f MB at most\n", r.TotalSeconds, r.InferenceSeconds, r.BoostSeconds, float64(r.PeakRSS)/1e6)
	return nil
}
