package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/baseline"
	"hashgrove/dataset"
	"hashgrove/feature"
	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// fastHash is the method that train is about; the others are those of package baseline.
const fastHash = "fasthash"

// bindMethod adds the flags of the other methods.
func (c *trainCommand) bindMethod(f *pflag.FlagSet) {
	f.StringVar(&c.method, "method", fastHash, "fasthash, "+strings.Join(baseline.Names(), ", "))
	f.IntVar(&c.other.PCA, "pca", 0, "other methods: reduce the vectors to so many principal components first; 0 means not at all")
	f.IntVar(&c.other.Anchors, "anchors", 0, "other methods: points that kernel methods and anchor graphs compare with; 0 means the method's own number")
	f.IntVar(&c.other.Rows, "rows", 0, "other methods: rows to learn from, at most; 0 means the method's own number, negative all")
}

// Flags of train for other methods alone, and for all methods. The rest are FastHash's own.
var (
	othersFlags = []string{"pca", "anchors", "rows"}
	commonFlags = []string{"bits", "output", "features", "mirror", "method", "hold-out", "pairs", "min-shared",
		"format", "vector", "label", "labels", "tags", "id", "ids", "skip-bad", "size", "fit", "grey",
		"json", "quiet", "seed", "threads"}
)

// checkMethod refuses flags that mean nothing to the method.
func (c *trainCommand) checkMethod(flags *pflag.FlagSet) error {
	own := othersFlags
	if c.method == fastHash {
		own = nil
	} else if _, ok := baseline.Describe(c.method); !ok {
		return usagef("there is no method %q; the methods are %s, %s", c.method, fastHash, strings.Join(baseline.Names(), ", "))
	}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		known := slices.Contains(commonFlags, f.Name) || slices.Contains(own, f.Name)
		if c.method == fastHash {
			known = !slices.Contains(othersFlags, f.Name)
		}
		if !known && err == nil {
			err = usagef("--%s means nothing to the method %s", f.Name, c.method)
		}
	})
	if c.other.PCA < 0 || c.other.Anchors < 0 {
		return usagef("--pca %d and --anchors %d: give positive numbers", c.other.PCA, c.other.Anchors)
	}
	return err
}

// methodReport is what train --method --json prints.
type methodReport struct {
	Model        string  `json:"model"`
	Fingerprint  string  `json:"fingerprint"`
	Method       string  `json:"method"`
	Rows         int     `json:"rows"`
	Dims         int     `json:"dims"`
	Bits         int     `json:"bits"`
	Seed         uint64  `json:"seed"`
	TrainSeconds float64 `json:"train_seconds"`
	TotalSeconds float64 `json:"total_seconds"`
	PeakRSS      int64   `json:"peak_rss_bytes"`
}

// methodOptions is what the model keeps of the options; 0 is the method's own default.
type methodOptions struct {
	Bits      int    `json:"bits"`
	Seed      uint64 `json:"seed"`
	PCA       int    `json:"pca"`
	Anchors   int    `json:"anchors"`
	Rows      int    `json:"rows"`
	MinShared int    `json:"min_shared"`
}

// trainMethod is train with a method of package baseline.
func (c *trainCommand) trainMethod(ctx context.Context, set *dataset.Set, src vectors.Source, extractor feature.Extractor, sum *supervision.Data, began time.Time) error {
	o := c.other
	o.Bits, o.Seed, o.Threads, o.MinShared = c.trainer.Bits, c.seed, c.threads, c.similar.minShared
	d, _ := baseline.Describe(c.method) // it was checked
	if d.Supervised && sum.Pairs == nil {
		if err := sum.Trainable(); err != nil {
			return err
		}
	}
	info := model.Info{Method: c.method, Version: hashgrove.Version, HeldOut: c.holdOut}
	rows := sum.Rows
	if sum.Labels != nil {
		info.Classes = sum.Labels.Names
	}
	if len(c.holdOut) > 0 {
		if sum.Labels == nil {
			return usagef("--hold-out needs classes: use --labels or --label")
		}
		keep, err := sum.Labels.Without(c.holdOut)
		if err != nil {
			return err
		}
		src = vectors.Select(src, keep)
		rows = sum.Only(keep).Rows
	}
	if sum.Pairs != nil {
		src = baseline.WithPairs(src, sum.Pairs)
	}
	m, err := baseline.New(c.method, o)
	if err != nil {
		return err
	}
	c.note("learning with %s from %d rows of %d dimensions", d.Title, rows, src.Dim())
	start := time.Now()
	e, weights, err := baseline.Train(ctx, m, src)
	if err != nil {
		return err
	}
	took := time.Since(start)
	info.Weights = weights
	options, err := json.Marshal(methodOptions{o.Bits, o.Seed, o.PCA, o.Anchors, o.Rows, o.MinShared})
	if err != nil {
		return err
	}
	info.Runs = []model.Run{{Bits: e.Bits(), Seed: c.seed, Data: hex.EncodeToString(sum.Digest[:]), Rows: rows, Options: options}}
	if extractor == nil {
		info.Features = set.Names()
	}
	trained := &model.Model{Encoder: e, Features: extractor, Info: info}
	if err := model.WriteFile(c.output, trained); err != nil {
		return err
	}
	r := methodReport{
		Model: c.output, Fingerprint: trained.Fingerprint().String(), Method: c.method, Rows: rows, Dims: src.Dim(), Bits: e.Bits(),
		Seed: c.seed, TrainSeconds: took.Seconds(), TotalSeconds: time.Since(began).Seconds(), PeakRSS: peakRSS(),
	}
	if c.json {
		return c.printJSON(r)
	}
	fmt.Fprintf(c.out, "%s: %d bits of %s, fingerprint %s\n", r.Model, r.Bits, d.Title, r.Fingerprint)
	fmt.Fprintf(c.out, "%.1f s in all: learning %.1f s; %.0f MB at most\n", r.TotalSeconds, r.TrainSeconds, float64(r.PeakRSS)/1e6)
	return nil
}
