package main

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
)

// dataFlags are the flags, common to all verbs, that select rows and their labels, tags and ids.
type dataFlags struct {
	hashgrove.Files
	hashgrove.Columns
	missing bool // take NaN and empty fields for missing values
	size    int  // of pictures
}

// bind adds the flags, in the help group of the given name.
func (d *dataFlags) bind(f *pflag.FlagSet, group string) {
	f.StringVar(&d.Label, "label", "",
		"`COLUMN` or key with the class; in a table without a header its number, counted from 1")
	f.StringArrayVar(&d.Labels, "labels", nil,
		"`FILE` with the classes: one per row, or a table id,label or file,label; may be repeated")
	f.StringVar(&d.Tags, "tags", "", "`COLUMN`, key or file with the tags: a line a row, or a table id,tags or file,tags")
	f.StringVar(&d.ID, "id-column", "", "`COLUMN` or key with the ids")
	f.StringVar(&d.Vector, "vector", "", "`COLUMN` or key with the vectors, or columns of numbers: names (a,b,c), "+
		"numbered names (e0..e767), a range of columns (width..height) or patterns ('e*')")
	f.BoolVar(&d.SkipBad, "skip-bad", false, "skip unusable rows and pictures, and say how many")
	cli.Group(f, group)
}

// bindFiles adds the flags for data of any form: those that are encoded, and not only learned from.
func (d *dataFlags) bindFiles(f *pflag.FlagSet, group string) {
	d.bind(f, group)
	f.StringArrayVar(&d.IDs, "ids", nil, "`FILE` with the ids, one per row")
	f.StringVar(&d.Format, "format", "", "file `FORMAT`: "+hashgrove.Formats()+"; default by content and name")
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
	f.IntVar(&d.size, "size", 0, "side in `PIXELS` that pictures are resized to; default 32, or for CIFAR and IDX their "+
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
	d.Labels, d.IDs = b.labels, nil
	if len(b.labels) > 0 || b.tags != "" {
		d.Label, d.Tags = "", b.tags
	}
	return d
}

// similarRows is rows for verbs that compare rows by labels or tags, of which only one can say which are similar.
func (d dataFlags) similarRows(paths []string) (*hashgrove.Data, error) {
	if (d.Label != "" || len(d.Labels) > 0) && d.Tags != "" {
		return nil, cli.Usage("conflicting-flags",
			"both labels and tags are given, but only one can say which rows are similar: "+
				"leave out --tags %s, or --label and --labels", d.Tags)
	}
	return d.rows(paths)
}

// rows returns the named files as data for the library.
func (d dataFlags) rows(paths []string) (*hashgrove.Data, error) {
	d.Paths = paths
	data, err := hashgrove.OpenFiles(d.Files, d.Columns)
	if err == nil && d.missing {
		data = data.WithMissing()
	}
	return data, err
}

// inputs returns all files the command reads: the data, those named by the flags, and others.
func (d dataFlags) inputs(paths []string, others ...string) []string {
	return slices.Concat(paths, others, d.Labels, d.IDs, []string{d.Tags, d.Files.Attributes})
}

// noteRead says how attributes were matched to items, and warns if the numbers of rows without ids differ from those in
// the file because rows were dropped.
func (a *app) noteRead(read *hashgrove.DataRead) {
	if j := read.Attributes; j != nil && j.By == "id" {
		a.note("attributes joined by id: %d of %d items have a record; %s no item", j.Found, read.Rows,
			cli.Count(j.Unmatched, "record matches", "records match"))
	} else if j != nil && j.By == "row" {
		a.note("attributes joined row by row")
	}
	if read.Bad > 0 && !read.IDs {
		a.warn([]string{"the rows have no ids, so they are identified by their numbers among the rows that were kept"})
	}
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
	flags.IntVar(&s.minShared, "min-shared", hashgrove.Defaults().MinShared,
		"`NUMBER` of shared tags that makes two rows similar")
	flags.StringVar(&s.pairs, "pairs", "", pairsUsage)
	cli.Group(flags, "Similarity")
}

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
