package hashgrove

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"slices"
	"strconv"

	"hashgrove/internal/dataset"
	"hashgrove/internal/picture"
	"hashgrove/internal/supervision"
	"hashgrove/internal/train"
	"hashgrove/internal/vectors"
	"hashgrove/method"
)

// Data is rows to learn from, or items to put into an index, with what is known about them. It comes from Rows, Tagged,
// Paired, Vectors, Images, Open, OpenFiles or From, and never changes: With* return changed copies. What is wrong with
// it is reported by the function that uses it, and by Err.
type Data struct {
	spec       dataset.Spec   // the files, where it is in files
	table      *vectors.Table // the rows, where they are in memory
	images     []image.Image  // of each row, where the rows are pictures in memory
	source     vectors.Source // of the caller; nil otherwise
	pairs      []Pair
	pairsFile  string // of rows in files
	attributes []map[string]any
	columns    attributeColumns // of rows in files
	missing    bool             // NaN is a missing value
	err        error
}

// attributeColumns says where the attributes of rows in files are.
type attributeColumns struct {
	ID                           string
	Attributes                   []string
	AttributesFile, AttributesID string
}

// Err is what is known to be wrong with the data, or nil. Files are looked at when they are used.
func (d *Data) Err() error {
	if d.err != nil || d.table == nil {
		return d.err
	}
	return d.table.CheckLengths()
}

// WithMissing takes NaN for missing values, and in files also empty fields, NA and null: a model that learns from the
// data has a bin of its own for them, and takes such values everywhere. Without it they are errors.
func (d *Data) WithMissing() *Data {
	out := *d
	out.missing, out.spec.Missing = true, true
	return &out
}

// Pair says that rows A and B are similar (Y = +1), dissimilar (-1) or that nobody knows (0). Rows count from 0.
type Pair = supervision.Pair

// Rows is vectors with one class each, by name or by number: rows of a class are similar.
func Rows[L string | int](x [][]float32, labels []L) *Data { return withLabels(Vectors(x), labels) }

// Tagged is vectors with a set of tags each: rows that share enough tags are similar.
func Tagged(x [][]float32, tags [][]string) *Data { return Vectors(x).WithTags(tags) }

// Paired is vectors and pairs of them that are known to be similar or dissimilar.
func Paired(x [][]float32, pairs []Pair) *Data { return Vectors(x).WithPairs(pairs) }

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

// From is rows of a source of your own, which may be more than memory holds. They are read once.
func From(source method.Source) *Data {
	d := &Data{source: source}
	if source == nil {
		d.fail(errors.New("there is no source of rows"))
	}
	return d
}

// WithLabels gives each row a class.
func (d *Data) WithLabels(labels []string) *Data { return withLabels(d, labels) }

// withLabels returns the data with classes by name or by number.
func withLabels[L string | int](d *Data, labels []L) *Data {
	names := make([]string, len(labels))
	out := d.inMemory("labels", func(t *vectors.Table) { t.Labels = names })
	for i, label := range labels {
		switch v := any(label).(type) {
		case string:
			names[i] = supervision.CanonicalLabel(v)
		case int:
			names[i] = strconv.Itoa(v)
		}
		if names[i] == "" {
			out.fail(fmt.Errorf("row %d has no label", i))
		}
	}
	return out
}

// WithIDs names the rows; without it they go by their numbers, from 0.
func (d *Data) WithIDs(ids []string) *Data {
	return d.inMemory("ids", func(t *vectors.Table) { t.IDs = slices.Concat([]string{}, ids) })
}

// WithTags gives each row a set of tags.
func (d *Data) WithTags(tags [][]string) *Data {
	return d.inMemory("tags", func(t *vectors.Table) { t.Tags = slices.Concat([][]string{}, tags) })
}

// WithPairs says which rows are similar; labels and tags are not learned from then.
func (d *Data) WithPairs(pairs []Pair) *Data {
	out := *d
	out.pairs, out.pairsFile = slices.Concat([]Pair{}, pairs), ""
	return &out
}

// WithPairsFile is WithPairs for a file of lines a,b,similar|dissimilar|unknown, by id or by row number from 0.
func (d *Data) WithPairsFile(path string) *Data {
	out := *d
	out.pairs, out.pairsFile = nil, path
	return &out
}

// WithAttributes gives each row attributes for filters and answers: numbers (int, int64, float32, float64), texts,
// truth values (bool, which become the texts true and false) or times (time.Time, which become texts of ISO 8601).
func (d *Data) WithAttributes(attributes []map[string]any) *Data {
	out := *d
	out.attributes = attributes
	return &out
}

// inMemory returns a copy of the data with a change to the rows, which must be in memory.
func (d *Data) inMemory(what string, change func(t *vectors.Table)) *Data {
	out := *d
	if d.table == nil {
		out.fail(fmt.Errorf("%s of rows in files come from the files", what))
		return &out
	}
	table := *d.table
	out.table = &table
	change(&table)
	return &out
}

// fail keeps the first error.
func (d *Data) fail(err error) { d.err = cmp.Or(d.err, err) }

// learnable returns the rows to learn from.
func (d *Data) learnable(o Options) (train.Data, error) {
	learned := *d // classes that come with the files do not hide tags that are named
	learned.spec.TagsAlone = d.spec.Tags != "" && d.spec.Label == "" && d.spec.LabelsFile == nil
	learned.spec.Threads = o.Threads
	var as *picture.Preparation
	if o.Grow != nil {
		learned.spec.Follow(o.Grow.Schema(), true)
		learned.missing, as = learned.spec.Missing, o.Grow.Pictures
	}
	rows, err := learned.rows(o.Pictures, as)
	return train.Data{Source: rows, Missing: learned.missing, Pairs: d.pairs, PairsFile: d.pairsFile}, err
}

// rows returns the source of the rows, or what is wrong with them. Pictures are prepared as a model says, or else as
// the options do.
func (d *Data) rows(p PictureOptions, as *picture.Preparation) (vectors.Source, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	switch {
	case d.source != nil:
		return d.source, nil
	case d.table == nil:
		spec := d.spec
		if spec.Pictures = as; as == nil {
			spec.Size, spec.Grey = p.Size, p.Grey
			if p.Squash {
				spec.Fit = "squash"
			}
		}
		return dataset.Open(spec)
	case d.images == nil:
		return *d.table, vectors.Chunk{X: d.table.X}.CheckValues(d.missing)
	}
	prepared := images{d.table, d.images, preparation(p)}
	if as != nil {
		prepared.as = *as
		prepared.as.Mirrored, prepared.as.Averaged = false, false
	}
	if err := prepared.as.CanResize(); err != nil {
		return nil, err
	}
	return prepared, nil
}
