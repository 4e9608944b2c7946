package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// dataFlags are the flags, common to all verbs, that select rows and their labels, tags and ids.
type dataFlags struct {
	dataset.Spec
	flags   *pflag.FlagSet // of the verb, with those of all verbs
	similar bool           // labels or tags define similarity: see forSimilarity
}

// readOnce allows standard input and pipes.
func (d *dataFlags) readOnce(stdin io.Reader) {
	d.Once, d.Stdin = true, stdin
}

// bind adds the flags, in the help group of the given name.
func (d *dataFlags) bind(f *pflag.FlagSet, group string) {
	d.flags = f
	f.StringVar(&d.Label, "label", "",
		"`COLUMN` or key with the class; in a table without a header its number, counted from 1")
	f.StringArrayVar(&d.LabelsFile, "labels", nil,
		"`FILE` with the classes, one per row; for pictures also lines file,label; may be repeated")
	f.StringVar(&d.Tags, "tags", "", "`COLUMN`, key or file with the tags; for pictures also lines file,tag;tag")
	f.StringVar(&d.ID, "id-column", "", "`COLUMN` or key with the ids")
	f.StringVar(&d.Vector, "vector", "", "`COLUMN` or key with the vectors, or columns of numbers: names (a,b,c), "+
		"numbered names (e0..e767), a range of columns (width..height) or patterns ('e*')")
	f.BoolVar(&d.SkipBad, "skip-bad", false, "skip unusable rows and pictures, and say how many")
	cli.Group(f, group)
}

// bindFiles adds the flags for data of any form: those that are encoded, and not only learned from.
func (d *dataFlags) bindFiles(f *pflag.FlagSet, group string) {
	d.bind(f, group)
	f.StringArrayVar(&d.IDsFile, "ids", nil, "`FILE` with the ids, one per row; names of pictures give the order of "+
		"lines in the other files")
	f.StringVar(&d.Format, "format", "", "file `FORMAT`: "+dataset.FormatNames()+"; default by content and name")
	cli.Group(f, group)
}

// bindCodes adds the flag that takes rows as codes.
func (d *dataFlags) bindCodes(f *pflag.FlagSet, group string) {
	f.BoolVar(&d.Codes, "codes", false, "rows are codes, not vectors: uint8 arrays of packed bits, hexadecimal digits "+
		"or zeros and ones in the column code, or unsigned 64-bit columns code, or code_0, code_1, ... of Parquet")
	cli.Group(f, group)
}

// bindPictures adds the flag that says how pictures become rows. Models know, so verbs that take one have no such flag.
func (d *dataFlags) bindPictures(f *pflag.FlagSet) {
	f.IntVar(&d.Size, "size", 0, "side in `PIXELS` that pictures are resized to; default 32, or for CIFAR and IDX their "+
		"own size")
	cli.Group(f, "Pictures")
}

// besideFlags name what lies in files beside the data of one side, the base or the queries. Both sides have the same
// columns.
type besideFlags struct {
	labels []string
	tags   string
}

func (b *besideFlags) bind(f *pflag.FlagSet, side string) {
	f.StringArrayVar(&b.labels, side+"-labels", nil,
		"`FILE` with the classes of the "+side+", one per row; may be repeated")
	f.StringVar(&b.tags, side+"-tags", "", "`FILE` with the tags of the "+side)
}

// inputs returns the files.
func (b *besideFlags) inputs() []string { return append(slices.Clone(b.labels), b.tags) }

// with returns the flags for one side: the files beside it take the place of columns, and of the files of the other.
func (d dataFlags) with(b besideFlags) dataFlags {
	d.LabelsFile, d.IDsFile = b.labels, nil
	if len(b.labels) > 0 || b.tags != "" {
		d.Label, d.Tags = "", b.tags
	}
	return d
}

// similarRows is rows for verbs that compare rows by labels or tags.
func (d dataFlags) similarRows(paths []string) (*hashgrove.Data, error) {
	if _, err := d.forSimilarity(); err != nil {
		return nil, err
	}
	return d.rows(paths)
}

// rows returns the named files as data for the library.
func (d dataFlags) rows(paths []string) (*hashgrove.Data, error) {
	data, err := hashgrove.OpenFiles(hashgrove.Files{
		Paths: paths, Format: d.Format, Labels: d.LabelsFile, IDs: d.IDsFile, SkipBad: d.SkipBad, Codes: d.Codes,
		Stdin: d.Stdin,
	}, hashgrove.Columns{Vector: d.Vector, Label: d.Label, Tags: d.Tags, ID: d.ID})
	if err == nil && d.Missing {
		data = data.WithMissing()
	}
	return data, err
}

func (d dataFlags) threads() int {
	n, _ := d.flags.GetInt("threads") // every verb has the flag
	return n
}

// open opens the named files as one data set. Pictures are prepared as as says, or as the flags say if as is nil.
func (d dataFlags) open(paths []string, as *picture.Preparation) (*dataset.Set, error) {
	spec := d.Spec
	spec.Paths, spec.Threads, spec.Pictures = paths, d.threads(), as
	return dataset.Open(spec)
}

// inputs returns all files the command reads: the data, those named by the flags, and others.
func (d dataFlags) inputs(paths []string, others ...string) []string {
	return slices.Concat(paths, others, d.LabelsFile, d.IDsFile, d.TagsFile, []string{d.Tags})
}

// openFor opens data for a model to encode and returns the rows and the source of their vectors.
func (d dataFlags) openFor(m *model.Model, paths []string) (*dataset.Set, vectors.Source, error) {
	d.Dim = m.Encoder.Dim()
	d.asModel(m)
	set, err := d.open(paths, m.Pictures)
	if err != nil {
		return nil, nil, err
	}
	src, err := m.Source(set, d.threads())
	if err != nil && d.Vector != "" && len(m.Info.Features) > 0 {
		return nil, nil, message.New("columns-mismatch",
			"%s: %w; leave out --vector: the model knows its columns", paths[0], err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", paths[0], err)
	}
	if src.Dim() != m.Dim() {
		return nil, nil, message.New("wrong-dimensions", "%s: vectors of %d dimensions, but the model takes %d",
			paths[0], src.Dim(), m.Encoder.Dim())
	}
	return set, src, nil
}

// noteBad says how many rows were dropped and returns that number.
func (a *app) noteBad(set *dataset.Set) int {
	bad, first := set.Bad()
	if bad > 0 {
		a.note("dropped %s, the first: %v", message.Count(bad, "bad row", "bad rows"), first[0])
	}
	return bad
}

// noteNumbers warns that the numbers of rows without ids differ from those in the file if rows were dropped.
func (a *app) noteNumbers(read *hashgrove.DataRead) {
	if read.Bad > 0 && !read.IDs {
		a.warn([]string{"the rows have no ids, so they are identified by their numbers among the rows that were kept"})
	}
}

// scan makes one pass over the data.
func (a *app) scan(ctx context.Context, src vectors.Source, o supervision.ScanOptions) (*supervision.Data, error) {
	p := a.startProgress("reading", 0)
	defer p.End()
	o.Progress = p.Tick
	return supervision.Scan(ctx, src, o)
}

// pairsUsage is the help of the flag --pairs.
const pairsUsage = "`FILE` of lines a,b,similar|dissimilar|unknown, by id or by row number from 0"

// similarity holds the flags that define similar pairs of rows.
type similarity struct {
	minShared int
	pairs     string
}

// check rejects a --min-shared that is out of range.
func (s *similarity) check() error {
	if s.minShared < 1 || s.minShared > 255 {
		return cli.Usage("bad-flag-value", "--min-shared %d: give a number from 1 to 255", s.minShared)
	}
	return nil
}

func (s *similarity) bind(flags *pflag.FlagSet) {
	flags.IntVar(&s.minShared, "min-shared", 2, "`NUMBER` of common tags that make two rows similar")
	flags.StringVar(&s.pairs, "pairs", "", pairsUsage)
	cli.Group(flags, "Similarity")
}

// forSimilarity returns the flags with either labels or tags as the source of similarity. Tags given as a flag take
// precedence over classes that the data happen to have.
func (d dataFlags) forSimilarity() (dataFlags, error) {
	labelled := d.Label != "" || len(d.LabelsFile) > 0
	if labelled && d.Tags != "" {
		return d, cli.Usage("conflicting-flags",
			"both labels and tags are given, but only one can say which rows are similar: "+
				"leave out --tags %s, or --label and --labels", d.Tags)
	}
	d.similar, d.TagsAlone = true, d.Tags != ""
	return d, nil
}

// asModel reads the columns, by name, that the model was trained on.
func (d *dataFlags) asModel(m *model.Model) { d.Follow(m.Schema(), d.similar) }

// vectorText formats the columns of the vector.
func vectorText(c hashgrove.UsedColumns, dim int) string {
	if len(c.Vector) == 1 && dim > 1 {
		return fmt.Sprintf("%s (lists of %d numbers)", c.Vector[0], dim)
	}
	return fmt.Sprintf("%s (%s)", cli.Runs(c.Vector), cli.Count(len(c.Vector), "column", "columns"))
}

// noteColumns says which columns are used for training.
func (a *app) noteColumns(c hashgrove.UsedColumns, dim int) {
	text := "vector: " + vectorText(c, dim)
	if len(c.Unused) > 0 {
		text += "; not used: " + cli.Runs(c.Unused)
	}
	a.note("%s", cli.Printable(text))
}
