package hashgrove

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"strconv"

	"hashgrove/internal/dataset"
	"hashgrove/internal/picture"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Data is rows to learn from, or items to put into an index, with what is known about them. It comes from Rows, Tagged,
// Paired, Vectors, Pictures or Open. What is wrong with it is reported by the function that uses it.
type Data struct {
	spec       dataset.Spec   // the files, where it is in files
	table      *vectors.Table // the rows, where they are in memory
	images     []image.Image  // of each row, where the rows are pictures in memory
	pairs      []Pair
	pairsFile  string // of rows in files
	attributes []map[string]any
	columns    Columns // of rows in files
	missing    bool    // NaN is a missing value
	err        error
}

// WithMissing takes NaN for missing values, and in files also empty fields, NA and null: a model that learns from the
// data has a bin of its own for them, and takes such values everywhere. Without it they are errors.
func (d *Data) WithMissing() *Data {
	d.missing, d.spec.Missing = true, true
	return d
}

// Pair says that rows A and B are similar (Y = +1), dissimilar (-1) or that nobody knows (0). Rows count from 0.
type Pair = supervision.Pair

// Rows is vectors with one class each, by name or by number: rows of a class are similar.
func Rows[L string | int](x [][]float32, labels []L) *Data {
	d := Vectors(x)
	d.table.Labels = make([]string, len(labels))
	for i, label := range labels {
		switch v := any(label).(type) {
		case string:
			d.table.Labels[i] = supervision.CanonicalLabel(v)
		case int:
			d.table.Labels[i] = strconv.Itoa(v)
		}
		if d.table.Labels[i] == "" {
			d.fail(fmt.Errorf("row %d has no label", i))
		}
	}
	return d
}

// Tagged is vectors with a set of tags each: rows that share enough tags are similar.
func Tagged(x [][]float32, tags [][]string) *Data {
	d := Vectors(x)
	d.table.Tags = append([][]string{}, tags...)
	return d
}

// Paired is vectors and pairs of them that are known to be similar or dissimilar.
func Paired(x [][]float32, pairs []Pair) *Data {
	d := Vectors(x)
	d.pairs = append([]Pair{}, pairs...)
	return d
}

// Vectors is vectors that nothing is known about: items for an index, or rows for a method that learns without labels.
func Vectors(x [][]float32) *Data {
	d := &Data{table: &vectors.Table{X: vectors.Matrix{Rows: len(x)}}}
	if len(x) > 0 {
		if d.table.X.Cols = len(x[0]); d.table.X.Cols == 0 {
			d.fail(errors.New("the vectors have no values"))
		}
	}
	for i, row := range x {
		if len(row) != d.table.X.Cols {
			d.fail(fmt.Errorf("row %d has %d values and row 0 has %d: all vectors need the same length",
				i, len(row), d.table.X.Cols))
			return d
		}
		d.table.X.Data = append(d.table.X.Data, row...)
	}
	return d
}

// WithIDs names the rows; without it they go by their numbers, from 0.
func (d *Data) WithIDs(ids []string) *Data {
	if d.inMemory("ids") {
		d.table.IDs = append([]string{}, ids...)
	}
	return d
}

// WithTags gives each row a set of tags.
func (d *Data) WithTags(tags [][]string) *Data {
	if d.inMemory("tags") {
		d.table.Tags = append([][]string{}, tags...)
	}
	return d
}

// WithAttributes gives each row attributes for filters and answers: numbers (int, int64, float32, float64), texts,
// truth values (bool, which become the texts true and false) or times (time.Time, which become texts of ISO 8601).
func (d *Data) WithAttributes(attributes []map[string]any) *Data {
	d.attributes = attributes
	return d
}

func (d *Data) inMemory(what string) bool {
	if d.table == nil {
		d.fail(fmt.Errorf("%s of rows in files come from the files", what))
	}
	return d.table != nil
}

// fail keeps the first error.
func (d *Data) fail(err error) { d.err = cmp.Or(d.err, err) }

// rows is the source of the rows, or what is wrong with them. Pictures are prepared as a model says, or else as the
// options do.
func (d *Data) rows(p Pictures, as *picture.Preparation) (vectors.Source, error) {
	if d.err != nil {
		return nil, d.err
	}
	if d.table == nil {
		spec := d.spec
		if spec.Pictures = as; as == nil {
			spec.Size, spec.Grey = p.Size, p.Grey
			if p.Squash {
				spec.Fit = "squash"
			}
		}
		return dataset.Open(spec)
	}
	if d.images == nil {
		if err := d.table.CheckLengths(); err != nil {
			return nil, err
		}
		return *d.table, vectors.Chunk{X: d.table.X}.CheckValues(d.missing)
	}
	prepared := images{d.table, d.images, p.preparation()}
	if as != nil {
		prepared.as = *as
		prepared.as.Mirrored, prepared.as.Averaged = false, false
	}
	if err := d.table.CheckLengths(); err != nil {
		return nil, err
	}
	if err := prepared.as.CanResize(); err != nil {
		return nil, err
	}
	return prepared, nil
}

// Columns says which columns or keys of files hold what, and which other files belong to them. The zero value takes
// what the format itself says.
type Columns struct {
	Vector string // the vectors, or their columns, as a,b or e0..e767 or e*; "" means all that are not named below
	Label  string // the class of each row
	Tags   string // the tags of each row: a column, or a file; if both are named, Train learns from the classes
	ID     string // the id of each row

	LabelsFile string // a file with the class of each row
	IDsFile    string // a file with the id of each row
	PairsFile  string // a file of lines a,b,similar|dissimilar|unknown

	// Attributes of items of an index: columns or keys of the files themselves, or of AttributesFile, whose records
	// belong to the rows with their ids (in AttributesID; "" means the name in ID, else id), or to rows in order where
	// neither the records nor the rows have ids.
	Attributes     []string // nil means all columns of AttributesFile
	AttributesFile string
	AttributesID   string

	Format  string // of the files; "" means by content and name
	SkipBad bool   // leave out rows that cannot be used instead of failing
}

// Open is data in files: npy, npz, CSV, TSV, JSON lines, Parquet, LibSVM, fvecs, bvecs, IDX or CIFAR, plain or
// compressed, or pictures: a folder with a sub-folder per class, or a tar. The path may be a pattern such as
// "part-*.npy".
func Open(path string, c Columns) (*Data, error) {
	spec := dataset.Spec{
		Paths: []string{path}, Format: c.Format, Vector: c.Vector, Label: c.Label, Tags: c.Tags, ID: c.ID, SkipBad: c.SkipBad,
	}
	if c.LabelsFile != "" {
		spec.LabelsFile = []string{c.LabelsFile}
	}
	if c.IDsFile != "" {
		spec.IDsFile = []string{c.IDsFile}
	}
	if _, err := dataset.Open(spec); err != nil {
		return nil, err
	}
	return &Data{spec: spec, pairsFile: c.PairsFile, columns: c}, nil
}
