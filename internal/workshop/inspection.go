package workshop

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"hashgrove/internal/dataset"
)

const (
	sampleRows    = 5
	sampleColumns = 12 // columns of a sample that fit on a page
	fewestRows    = 40 // to learn from, to search in and to search with
)

// inspectPictures unpacks a zip and counts its classes.
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
	list, err := listArchive(f, info.Size(), w.options)
	if err != nil {
		return bad("bad-data", "%w", err)
	}
	if err := os.Mkdir(j.data(), 0o700); err != nil {
		return err
	}
	if j.files, err = unpackArchive(ctx, list, j.data(), w.options); err != nil {
		return asBad(err)
	}
	count := map[string]int{}
	for name := range j.files {
		count[path.Dir(name)]++
	}
	for _, class := range slices.Sorted(maps.Keys(count)) {
		j.about.Classes = append(j.about.Classes, Class{class, count[class]})
	}
	j.about.Rows = len(j.files)
	if err := checkAmount(j.about.Rows, len(count)); err != nil {
		return err
	}
	return os.Remove(upload) // no longer needed once unpacked
}

// inspectNpy looks at the shape of an npy file.
func (w *Workshop) inspectNpy(j *job) error {
	set, err := dataset.Open(dataset.Spec{Paths: []string{j.data()}, Format: formatNpy})
	if err != nil {
		return asBad(err)
	}
	j.about.Rows, j.about.Dims = set.Rows(), set.Dim()
	if err := checkAmount(set.Rows(), -1); err != nil {
		return err
	}
	return w.checkSize(set.Rows(), set.Dim())
}

// inspectTable examines the columns of a table and suggests a use for each.
func (w *Workshop) inspectTable(ctx context.Context, j *job) error {
	if err := checkLines(j.data()); err != nil {
		return err
	}
	limits := dataset.SurveyLimits{Rows: w.options.MaxRows, Columns: w.options.MaxColumns, Sample: sampleRows}
	s, err := dataset.Look(ctx, j.data(), j.format, limits)
	if err != nil {
		return asBad(err)
	}
	if err := checkAmount(s.Rows, -1); err != nil {
		return err
	}
	j.survey, j.about.Rows = s, s.Rows
	if j.label == "" {
		j.label = suggestLabel(s)
	}
	set, err := dataset.Open(dataset.Spec{Paths: []string{j.data()}, Format: j.format, Label: j.label, SkipBad: true})
	if err != nil {
		return asBad(err)
	}
	taken := set.Columns()
	if err := w.checkSize(s.Rows, set.Dim()); err != nil {
		return err
	}
	for _, c := range s.Columns {
		column := Column{
			Name: c.Name, Kind: c.Kind, Distinct: c.Distinct, More: c.Distinct == dataset.MostDistinct, Empty: c.Empty,
			Suggest: "ignore",
		}
		switch {
		case c.Name == j.label:
			column.Suggest = "label"
		case c.Name == taken.ID:
			column.Suggest = "id"
		case slices.Contains(taken.Vector, c.Name):
			column.Suggest = "vector"
		}
		j.about.Columns = append(j.about.Columns, column)
	}
	for _, row := range s.Sample {
		j.about.Sample = append(j.about.Sample, row[:min(len(row), sampleColumns)])
	}
	return nil
}

// longestLine bounds the bytes of a line of a table: ten times what thousands of columns take.
const longestLine = 1 << 20

// checkLines rejects a text with a line that would take too much memory to split.
func checkLines(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	chunk, long := make([]byte, 256<<10), 0 // bytes since the last end of a line
	for {
		n, err := f.Read(chunk)
		for rest := chunk[:n]; len(rest) > 0; {
			line, after, ended := bytes.Cut(rest, []byte("\n"))
			if long += len(line); long > longestLine {
				return bad("long-line", "a line has more than %s: is this a table with a row on each line?", sizeText(longestLine))
			}
			if rest = after; ended {
				long = 0
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// usualLabels lists usual names of label columns, most likely first.
var usualLabels = []string{
	"label", "labels", "class", "target", "category", "species", "kind", "type", "genre", "group", "brand", "y",
}

// suggestLabel returns the most likely label column: one with a usual name; else a text column, the last of the table,
// the first, or that with the fewest values; else one of few whole numbers, the last or the first. It returns "" if
// none fits.
func suggestLabel(s *dataset.Survey) string {
	fits := func(c dataset.SurveyColumn) bool {
		return c.Kind != "list" && c.Distinct >= 2 && c.Distinct < dataset.MostDistinct && 2*c.Distinct <= s.Rows &&
			!strings.EqualFold(c.Name, "id")
	}
	for _, usual := range usualLabels {
		for _, c := range s.Columns {
			if strings.EqualFold(c.Name, usual) && fits(c) {
				return c.Name
			}
		}
	}
	ends := []dataset.SurveyColumn{s.Columns[len(s.Columns)-1], s.Columns[0]}
	for _, c := range ends {
		if c.Kind == "text" && fits(c) {
			return c.Name
		}
	}
	texts := slices.DeleteFunc(slices.Clone(s.Columns), func(c dataset.SurveyColumn) bool {
		return c.Kind != "text" || !fits(c)
	})
	if len(texts) > 0 {
		return slices.MinFunc(texts, func(a, b dataset.SurveyColumn) int { return cmp.Compare(a.Distinct, b.Distinct) }).Name
	}
	for _, c := range ends {
		if c.Integers && fits(c) && c.Distinct <= 100 && 5*c.Distinct <= s.Rows && len(s.Columns) > 1 {
			return c.Name
		}
	}
	return ""
}

// checkAmount rejects data that are too few to learn from; negative classes are not known yet.
func checkAmount(rows, classes int) error {
	switch {
	case rows < fewestRows:
		return bad("too-few-rows",
			"there are too few rows or pictures (%d): at least %d are needed, to learn from some and to search for "+
				"others", rows, fewestRows)
	case classes == 1:
		return bad("one-class",
			"all are of one class: at least two are needed, because codes are learned from what tells classes apart")
	case classes > rows/2:
		return bad("too-many-classes",
			"there are %d classes for %d rows or pictures: most need several examples; choose labels that repeat",
			classes, rows)
	}
	return nil
}

// checkSize rejects data that would take too much memory.
func (w *Workshop) checkSize(rows, dims int) error {
	o := w.options
	switch {
	case rows > o.MaxRows:
		return bad("too-many-rows",
			"there are %d rows, and at most %d are taken here: use a part of them, or \"hashgrove train\"",
			rows, o.MaxRows)
	case dims > o.MaxColumns:
		return bad("too-many-columns",
			"there are %d columns, and at most %d are taken here: use a part of them, or \"hashgrove train\"",
			dims, o.MaxColumns)
	case rows*dims > o.MaxValues:
		return bad("too-many-values",
			"%d rows of %d values are more than the %d values that are taken here: use fewer rows, or "+
				"\"hashgrove train\"", rows, dims, o.MaxValues)
	}
	return nil
}

// asBad turns errors about data into errors of the request, and leaves others alone.
func asBad(err error) error {
	if f := failureOf(err); f.status != 500 {
		return err
	}
	return bad("bad-data", "%w", err)
}
