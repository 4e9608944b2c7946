package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"hashgrove/dataset"
	"hashgrove/picture"
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
		flags.IntVar(&d.size, "size", 0, "side in pixels that pictures are resized to; default as the model says, else 32, and for CIFAR and IDX their own size")
		flags.StringVar(&d.fit, "fit", "crop", "how pictures become squares. crop: the central square; squash: the whole picture, distorted; default as the model says")
		flags.BoolVar(&d.grey, "grey", false, "make pictures grey; default as the model says")
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

// open opens the named files as one data set. Pictures are prepared as those that a model was learned from, where as is
// given, else as the flags say.
func (d dataFlags) open(paths []string, as *picture.Preparation) (*dataset.Set, error) {
	threads, err := d.flags.GetInt("threads")
	if err != nil {
		return nil, err
	}
	spec := dataset.Spec{
		Paths: paths, Format: d.format, Vector: d.vector, Label: d.label, Tags: d.tags, ID: d.id,
		LabelsFile: d.labels, IDsFile: d.ids, SkipBad: d.skipBad,
		Size: d.size, Fit: d.fit, Grey: d.grey, Threads: threads,
	}
	if !d.flags.Changed("fit") {
		spec.Fit = "" // vectors are refused where something is asked of pictures
	}
	if d.size < 0 || d.size > picture.MaxSize {
		return nil, usagef("--size %d: give the side of the pictures in pixels, 1 to %d", d.size, picture.MaxSize)
	}
	if spec.Fit != "" && spec.Fit != "crop" && spec.Fit != "squash" {
		return nil, usagef("--fit %q: give crop or squash", d.fit)
	}
	if as == nil {
		return dataset.Open(spec)
	}
	if err := d.agrees(*as); err != nil {
		return nil, err
	}
	asked := spec.Size > 0 || spec.Fit != "" || spec.Grey
	spec.Size, spec.Fit, spec.Grey, spec.Pictures = 0, "", false, as
	set, err := dataset.Open(spec)
	if err != nil {
		return nil, err
	}
	if _, ok := set.AsPictures(); !ok && asked {
		return nil, fmt.Errorf("%s: holds vectors, not pictures, which --size, --fit and --grey are for", paths[0])
	}
	return set, nil
}

// agrees refuses flags that contradict how the pictures were prepared that a model was learned from.
func (d dataFlags) agrees(p picture.Preparation) error {
	fit := map[bool]string{false: "crop", true: "squash"}[p.Squash]
	const advice = "the model knows how to prepare pictures, so leave the flag out, or train another model with it"
	switch {
	case d.size > 0 && (p.Width != d.size || p.Height != d.size):
		return fmt.Errorf("--size %d: the model was learned from pictures of %d x %d pixels; %s", d.size, p.Width, p.Height, advice)
	case d.flags.Changed("fit") && d.fit != fit:
		return fmt.Errorf("--fit %s: the model was learned with --fit %s; %s", d.fit, fit, advice)
	case d.flags.Changed("grey") && d.grey != (p.Channels == 1):
		return fmt.Errorf("--grey=%v: the model was learned from pictures of %d channels; %s", d.grey, p.Channels, advice)
	}
	return nil
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
