package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"hashgrove/dataset"
	"hashgrove/internal/cli"
	"hashgrove/model"
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
func (d *dataFlags) bind(f *pflag.FlagSet, prefix string) {
	what := ""
	if prefix != "" {
		what = " of the " + prefix[:len(prefix)-1]
	}
	d.bindRows(f, prefix, what, true)
	cli.AddAlias(f, prefix+"id-column", prefix+"id")
	if prefix == "" {
		d.bindPictures(f, "Data")
	}
	cli.Group(f, "Data"+what)
}

// bindRows adds the flags that say where vectors, ids and classes are; files adds those for classes and tags that are
// not columns.
func (d *dataFlags) bindRows(f *pflag.FlagSet, prefix, what string, files bool) {
	d.flags = f
	f.StringVar(&d.label, prefix+"label", "", "`COLUMN` or key with the class"+what)
	if files {
		f.StringArrayVar(&d.labels, prefix+"labels", nil, "`FILE` with the classes"+what+
			", one per row, or for pictures lines file,label; may be repeated")
		f.StringVar(&d.tags, prefix+"tags", "", "`COLUMN`, key or file with the tags"+what+
			"; for pictures also lines file,tag;tag")
	}
	f.StringVar(&d.id, prefix+"id-column", "", "`COLUMN` or key with the ids"+what)
	f.StringArrayVar(&d.ids, prefix+"ids", nil, "`FILE` with the ids"+what+
		", one per row; with names of pictures, it says which picture each line of the other files is about")
	f.StringVar(&d.vector, prefix+"vector", "", "`COLUMN` or key with the vectors"+what)
	f.StringVar(&d.format, prefix+"format", "", "file `FORMAT`"+what+": "+dataset.FormatNames()+
		"; default by content and name")
}

// bindPictures adds the flags about bad rows, in a group of the help that begins before, and about pictures.
func (d *dataFlags) bindPictures(f *pflag.FlagSet, group string) {
	f.BoolVar(&d.skipBad, "skip-bad", false, "drop rows and pictures that cannot be used, and say how many")
	cli.Group(f, group)
	f.IntVar(&d.size, "size", 0, "side in `PIXELS` that pictures are resized to; default as the model says, else 32, "+
		"and for CIFAR and IDX their own size")
	f.StringVar(&d.fit, "fit", "crop", "`HOW` pictures become squares: crop for the central square, squash for the "+
		"whole picture, distorted; default as the model says")
	f.BoolVar(&d.grey, "grey", false, "make pictures grey; default as the model says")
	cli.Group(f, "Pictures")
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
		return nil, cli.Usagef("--size %d: give the side of the pictures in pixels, 1 to %d", d.size, picture.MaxSize)
	}
	if spec.Fit != "" && spec.Fit != "crop" && spec.Fit != "squash" {
		return nil, cli.Usagef("--fit %q: give crop or squash", d.fit)
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

// openFor opens data that a model is to encode: the set of rows, and the source of the model's vectors.
func (d dataFlags) openFor(m *model.Model, paths []string) (*dataset.Set, vectors.Source, error) {
	set, err := d.open(paths, m.Pictures)
	if err != nil {
		return nil, nil, err
	}
	threads, err := d.flags.GetInt("threads")
	if err != nil {
		return nil, nil, err
	}
	src, err := m.Source(set, threads)
	if err != nil {
		return nil, nil, err
	}
	if src.Dim() != m.Encoder.Dim() {
		return nil, nil, fmt.Errorf("%s: vectors of %d dimensions, but the model takes %d",
			paths[0], src.Dim(), m.Encoder.Dim())
	}
	return set, src, nil
}

// noteBad says how many rows were dropped, and returns that.
func (a *app) noteBad(set *dataset.Set) int {
	bad, first := set.Bad()
	if bad > 0 {
		a.note("dropped %d bad rows, the first: %v", bad, first[0])
	}
	return bad
}

// scan reads the data once.
func (a *app) scan(ctx context.Context, src vectors.Source, digest bool) (*supervision.Data, error) {
	p := a.start("reading", 0, 0)
	defer p.End()
	return supervision.Scan(ctx, src, supervision.ScanOptions{Digest: digest, Progress: p.Tick})
}

// similarity is what the supervision says about pairs of rows.
type similarity struct {
	minShared int
	pairs     string
}

func (s *similarity) bind(flags *pflag.FlagSet) {
	flags.IntVar(&s.minShared, "min-shared", 2, "`NUMBER` of common tags from which two rows are similar")
	flags.StringVar(&s.pairs, "pairs", "", "`FILE` of lines a,b,similar|dissimilar|unknown, by id or by row number from 0")
	cli.Group(flags, "Similarity")
}
