package hashgrove

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"slices"
	"strconv"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Data holds rows to learn from, or items to put into an index. Make it with Rows, Tagged, Paired, Vectors, Images,
// Codes, OpenData, OpenFiles or From. It is immutable: the With methods return changed copies. Mistakes are reported by
// Err and by the function that uses the data.
type Data struct {
	spec       dataset.Spec   // the files, if the rows are in files
	codeFiles  bool           // those are files of codes
	table      *vectors.Table // the rows, if they are in memory
	images     []image.Image  // of each row, if the rows are pictures in memory
	codes      []Code         // of each row, if that is all that is known of them
	source     vectors.Source // of the caller; nil otherwise
	pairs      []Pair
	pairsFile  string // for rows in files
	attributes []map[string]any
	columns    attributeColumns // for rows in files
	missing    bool             // treat NaN as a missing value
	err        error
}

// attributeColumns locates the attributes of rows read from files.
type attributeColumns struct {
	ID                           string
	Attributes                   []string
	AttributesFile, AttributesID string
}

// Err returns the first mistake made in building the data, or nil. Files are not checked until they are used.
func (d *Data) Err() error {
	switch {
	case d == nil:
		return api.Errorf(api.ErrInvalid, "there are no data: nil")
	case d.err != nil || d.table == nil:
		return d.err
	}
	return d.table.CheckLengths()
}

// copied returns data to change.
func (d *Data) copied() *Data {
	if d == nil {
		return &Data{err: d.Err()}
	}
	out := *d
	return &out
}

// WithMissing treats NaN as a missing value, and in files also empty fields, NA, n/a, - and null. A model trained on
// such data gives missing values a bin of their own and accepts them everywhere. Without it they are errors.
func (d *Data) WithMissing() *Data {
	out := d.copied()
	out.missing, out.spec.Missing = true, true
	return out
}

// Pair says that two rows are similar, dissimilar or of unknown similarity.
type Pair struct {
	A, B int32 // the rows, counted from 0
	Y    int8  // +1, -1 or 0
}

// pairsOf translates for package supervision.
func pairsOf(pairs []Pair) []supervision.Pair {
	list := make([]supervision.Pair, len(pairs))
	for i, p := range pairs {
		list[i] = supervision.Pair(p)
	}
	return list
}

// Rows returns vectors with one class each, by name or by number. Rows of the same class are similar.
func Rows[L string | int](x [][]float32, labels []L) *Data { return withLabels(Vectors(x), labels) }

// Tagged returns vectors with a set of tags each. Rows that share enough tags are similar.
func Tagged(x [][]float32, tags [][]string) *Data { return Vectors(x).WithTags(tags) }

// Paired returns vectors with pairs known to be similar or dissimilar.
func Paired(x [][]float32, pairs []Pair) *Data { return Vectors(x).WithPairs(pairs) }

// Vectors returns vectors without labels: items for an index, or rows for a method that learns without labels.
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

// Codes returns items for an index by their codes, which the model of the index must have made.
func Codes(codes []Code) *Data {
	return &Data{table: &vectors.Table{X: vectors.Matrix{Rows: len(codes)}}, codes: slices.Concat([]Code{}, codes)}
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

// WithPairs says which rows are similar. Training then ignores labels and tags.
func (d *Data) WithPairs(pairs []Pair) *Data {
	out := d.copied()
	out.pairs, out.pairsFile = slices.Concat([]Pair{}, pairs), ""
	return out
}

// WithPairsFile is like WithPairs but reads lines a,b,similar|dissimilar|unknown, by id or by row number from 0.
func (d *Data) WithPairsFile(path string) *Data {
	out := d.copied()
	out.pairs, out.pairsFile = nil, path
	return out
}

// WithAttributes gives each row attributes to filter by and to return with hits: numbers (int, int64, float32,
// float64), texts, bools (stored as the texts true and false) or times (time.Time, stored as ISO 8601 texts).
func (d *Data) WithAttributes(attributes []map[string]any) *Data {
	out := d.copied()
	out.attributes = attributes
	return out
}

// inMemory returns a copy of the data with its rows changed. The rows must be in memory.
func (d *Data) inMemory(what string, change func(t *vectors.Table)) *Data {
	out := d.copied()
	if out.table == nil {
		out.fail(fmt.Errorf("%s of rows in files come from the files", what))
		return out
	}
	table := *d.table
	out.table = &table
	change(&table)
	return out
}

// fail records the first error.
func (d *Data) fail(err error) { d.err = cmp.Or(d.err, err) }

// alone returns data in which classes that come with the files do not override the tags asked for.
func (d *Data) alone() *Data {
	out := d.copied()
	out.spec.TagsAlone = out.spec.Tags != "" && out.spec.Label == "" && out.spec.LabelsFile == nil
	return out
}

// isCoded reports whether the rows are codes.
func (d *Data) isCoded() bool { return d.codes != nil || d.codeFiles || d.spec.Codes }

// readOnce returns data that may come from a pipe.
func (d *Data) readOnce() *Data {
	out := d.copied()
	out.spec.Once = true
	return out
}

// forModel opens rows for a model to encode: as they are, and with the columns or features that the model takes. If
// they are compared by similarity, the columns with classes or tags are those of the model unless others are named.
func (d *Data) forModel(m *model.Model, compared bool, threads int) (given, seen vectors.Source, err error) {
	if err := d.Err(); err != nil {
		return nil, nil, err
	}
	rows := *d
	rows.missing = m.TakesMissing()
	rows.spec.Dim, rows.spec.Threads = m.Encoder.Dim(), threads
	rows.spec.Follow(m.Schema(), compared)
	if given, err = rows.rows(PictureOptions{}, m.Pictures); err != nil {
		return nil, nil, err
	}
	name := d.name()
	seen, err = m.Source(given, threads)
	switch {
	case err != nil && d.spec.Vector != "" && len(m.Info.Features) > 0:
		return nil, nil, &dataset.SpecError{Field: "Vector", Err: message.New("columns-mismatch",
			"%s: %w; name no columns for the vector: the model knows them", name, err)}
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	case seen.Dim() != m.Dim():
		return nil, nil, message.New("wrong-dimensions", "%s: vectors of %d dimensions, but the model takes %d",
			name, seen.Dim(), m.Encoder.Dim())
	}
	return given, seen, nil
}

// in names the files in an error about what to do with their rows.
func (d *Data) in(err error) error {
	if err == nil || d.spec.Paths == nil {
		return err
	}
	return fmt.Errorf("%s: %w", d.name(), err)
}

// name names the data in errors.
func (d *Data) name() string {
	if d.spec.Paths != nil {
		return d.spec.Paths[0]
	}
	return "the data"
}

// learnable returns the rows to learn from, and whether NaN stands for a missing value.
func (d *Data) learnable(o Options) (rows vectors.Source, missing bool, err error) {
	learned := d.alone()
	learned.spec.Threads = o.Threads
	var as *picture.Preparation
	if grown := o.Grow.inner(); grown != nil {
		if d.missing && !grown.TakesMissing() {
			return nil, false, wrong("missing-values", "%s: the model to grow does not accept missing values; train a new one",
				option("missing"))
		}
		learned.spec.Follow(grown.Schema(), true)
		learned.missing, as = learned.spec.Missing, grown.Pictures
	}
	rows, err = learned.rows(o.Pictures, as)
	return rows, learned.missing, err
}

// rows returns the source of the rows. Pictures are prepared as the model says or, without one, as the options say.
func (d *Data) rows(p PictureOptions, as *picture.Preparation) (vectors.Source, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	switch {
	case d.isCoded():
		return nil, errors.New("these rows are codes: they can only be put into an index or searched for")
	case d.source != nil:
		return d.source, nil
	case d.table == nil:
		spec := d.spec
		spec.Pictures, spec.Size, spec.Grey = as, p.Size, p.Grey
		if p.Squash {
			spec.Fit = "squash"
		}
		return dataset.Open(spec)
	case d.images == nil:
		return *d.table, vectors.Chunk{X: d.table.X}.CheckValues(d.missing)
	}
	prepared := images{d.table, d.images, preparation(p)}
	if as != nil {
		prepared.as = *as
		prepared.as.Mirrored = false
	}
	if err := prepared.as.CanResize(); err != nil {
		return nil, err
	}
	return prepared, nil
}
