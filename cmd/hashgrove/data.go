package main

import (
	"context"

	"github.com/spf13/pflag"

	"hashgrove/dataset"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// dataFlags is the one way to say which vectors and what is known about them, on every verb.
type dataFlags struct {
	format, vector, label, tags, id string
	labels, ids                     []string
	skipBad                         bool

	// Pictures.
	size int
	fit  string
	grey bool

	flags *pflag.FlagSet // where --threads is found, which belongs to all verbs
}

// bind adds the flags; prefix is "" or, where a verb takes two data sets, "base-" or "queries-".
func (d *dataFlags) bind(flags *pflag.FlagSet, prefix string) {
	d.flags = flags
	of := ""
	if prefix != "" {
		of = " of the " + prefix[:len(prefix)-1]
	}
	flags.StringVar(&d.format, prefix+"format", "", "file format"+of+": "+dataset.FormatNames()+"; default by content and name")
	flags.StringVar(&d.vector, prefix+"vector", "", "column or key with the vectors"+of)
	flags.StringVar(&d.label, prefix+"label", "", "column or key with the class"+of)
	flags.StringArrayVar(&d.labels, prefix+"labels", nil, "file with the classes"+of+", one per row, or for pictures lines file,label; may be given several times")
	flags.StringVar(&d.tags, prefix+"tags", "", "column, key or file with the tags"+of+"; for pictures also lines file,tag;tag")
	flags.StringVar(&d.id, prefix+"id", "", "column or key with the ids"+of)
	flags.StringArrayVar(&d.ids, prefix+"ids", nil, "file with the ids"+of+", one per row; names of pictures say which picture the lines of the other files are of")
	if prefix == "" {
		flags.BoolVar(&d.skipBad, "skip-bad", false, "drop rows and pictures that cannot be used, and say how many")
		flags.IntVar(&d.size, "size", 0, "make pictures squares of so many pixels; default 32, and for CIFAR and IDX their own size")
		flags.StringVar(&d.fit, "fit", "crop", "how pictures become squares: crop takes the middle and keeps shapes as they are, squash takes all")
		flags.BoolVar(&d.grey, "grey", false, "make pictures grey")
	}
}

// or fills in what d leaves open from both, the flags without a prefix.
func (d dataFlags) or(both dataFlags) dataFlags {
	pick := func(own *string, common string) {
		if *own == "" {
			*own = common
		}
	}
	pick(&d.format, both.format)
	pick(&d.vector, both.vector)
	pick(&d.label, both.label)
	pick(&d.tags, both.tags)
	pick(&d.id, both.id)
	d.skipBad = both.skipBad
	d.size, d.fit, d.grey = both.size, both.fit, both.grey
	return d
}

// open opens the named files as one data set.
func (d dataFlags) open(paths []string) (*dataset.Set, error) {
	threads, err := d.flags.GetInt("threads")
	if err != nil {
		return nil, err
	}
	fit := d.fit
	if !d.flags.Changed("fit") {
		fit = "" // vectors are refused where something is asked of pictures
	}
	return dataset.Open(dataset.Spec{
		Paths: paths, Format: d.format, Vector: d.vector, Label: d.label, Tags: d.tags, ID: d.id,
		LabelsFile: d.labels, IDsFile: d.ids, SkipBad: d.skipBad,
		Size: d.size, Fit: fit, Grey: d.grey, Threads: threads,
	})
}

// scan reads the data once.
func (a *app) scan(ctx context.Context, src vectors.Source, digest bool) (*supervision.Data, error) {
	p := a.start("reading", 0, 0)
	defer p.end()
	s, err := supervision.Scan(ctx, src, supervision.ScanOptions{Digest: digest, Progress: p.tick})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// similarity is what the supervision says about pairs of rows.
type similarity struct {
	minShared int
	pairs     string
}

func (s *similarity) bind(flags *pflag.FlagSet) {
	flags.IntVar(&s.minShared, "min-shared", 2, "rows with at least so many common tags are similar")
	flags.StringVar(&s.pairs, "pairs", "", "file of lines a,b,similar|dissimilar|unknown, by id or by row number from 0")
}
