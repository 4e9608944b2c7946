package workshop

import (
	"bufio"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
)

// Limits on the data of an upload.
const (
	mostRows      = 100_000
	mostColumns   = 4_096
	mostValues    = 20_000_000 // rows times columns
	fewestRows    = 40         // to learn from, to search in and to search with
	sampleRows    = 5
	sampleColumns = 12      // columns of a sample that fit on a page
	longestLine   = 1 << 20 // bytes of a line of a table: ten times what thousands of columns take
)

// inspect recognises the file of an upload and looks at what is in it.
func (w *Workshop) inspect(ctx context.Context, j *job) (err error) {
	upload := j.data()
	format, packed, err := dataset.FormatOf(upload)
	switch {
	case err != nil && !message.Is(err, "unrecognised-format"):
		return j.bad(err)
	case format == "npz": // or any other zip
		j.Format = formatPictures
		return w.inspectPictures(ctx, j, upload)
	case packed:
		return bad("%s is compressed: decompress it first, or pack pictures as zip", j.Name)
	}
	switch j.Format = format; format {
	case formatNpy:
		j.LabelsNeeded = true
	case "csv", "tsv", "jsonl":
		if err := inspectTable(ctx, j); err != nil {
			return err
		}
	default:
		return bad("%s cannot be tried: give CSV, TSV, JSON lines, npy, or a zip of pictures with a folder for each class",
			j.Name)
	}
	set, err := dataset.Open(j.spec(format != formatNpy))
	if err != nil {
		return j.bad(err)
	}
	if format == formatNpy {
		j.Rows, j.Dims = set.Rows(), set.Dim()
	}
	return checkSize(j.Rows, set.Dim())
}

// inspectPictures copies the pictures of a zip and counts its classes.
func (w *Workshop) inspectPictures(ctx context.Context, j *job, upload string) error {
	f, err := os.Open(upload)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if j.Rows, j.Classes, err = repack(ctx, f, info.Size(), j.data(), w.options); err != nil {
		return err
	}
	if err := checkSize(j.Rows, 0); err != nil {
		return err
	}
	if j.Classes < 2 {
		return bad("all are of one class: at least two are needed, because codes are learned from what tells classes apart")
	}
	return os.Remove(upload) // which is no longer needed
}

// inspectTable examines the columns of a table and suggests one for the labels.
func inspectTable(ctx context.Context, j *job) error {
	if err := checkLines(j.data()); err != nil {
		return err
	}
	limits := dataset.SurveyLimits{Rows: mostRows, Columns: mostColumns, Sample: sampleRows}
	s, err := dataset.Look(ctx, j.data(), j.Format, limits)
	if err != nil {
		return j.bad(err)
	}
	if len(s.Columns) == 0 {
		return bad("%s has lists: write an object with a vector and a label on every line", j.Name)
	}
	j.Rows, j.Label = s.Rows, suggestLabel(s)
	for _, c := range s.Columns {
		j.Columns = append(j.Columns, Column{c.Name, c.Kind, c.Distinct})
	}
	for _, row := range s.Sample {
		j.Sample = append(j.Sample, row[:min(len(row), sampleColumns)])
	}
	return nil
}

// checkLines rejects a text with a line that would take too much memory to split.
func checkLines(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		continue
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return bad("a line has more than %d MiB: is this a table with a row on each line?", longestLine>>20)
	}
	return lines.Err()
}

// usualLabels lists usual names of label columns, most likely first.
var usualLabels = []string{
	"label", "labels", "class", "target", "category", "species", "kind", "type", "genre", "group", "brand", "y",
}

// suggestLabel returns the most likely label column: one with a usual name; else the last text column whose values
// repeat; else the last or the first of the table if it has few whole numbers. It returns "" if none fits.
func suggestLabel(s *dataset.Survey) (label string) {
	fits := func(c dataset.SurveyColumn) bool {
		return c.Kind != "list" && c.Distinct >= 2 && 2*c.Distinct <= s.Rows && !strings.EqualFold(c.Name, "id")
	}
	best := len(usualLabels)
	for _, c := range s.Columns {
		usual := slices.Index(usualLabels, strings.ToLower(c.Name))
		switch {
		case !fits(c):
		case usual >= 0 && usual < best:
			label, best = c.Name, usual
		case c.Kind == "text" && best == len(usualLabels):
			label = c.Name
		}
	}
	for _, c := range []dataset.SurveyColumn{s.Columns[len(s.Columns)-1], s.Columns[0]} {
		if label == "" && c.Integers && fits(c) && c.Distinct <= 100 && len(s.Columns) > 1 {
			label = c.Name
		}
	}
	return label
}

// checkSize rejects data that are too few to learn from, or would take too much memory.
func checkSize(rows, dims int) error {
	switch {
	case rows < fewestRows:
		return bad("there are too few rows or pictures (%d): at least %d are needed, to learn from some and to search for "+
			"others", rows, fewestRows)
	case rows > mostRows || dims > mostColumns || rows*dims > mostValues:
		return bad("there are %d rows of %d columns, and at most %d rows, %d columns and %d values are taken here: use a "+
			"part of them, or \"hashgrove train\"", rows, dims, mostRows, mostColumns, mostValues)
	}
	return nil
}
