package hashgrove

import (
	"cmp"
	"context"

	"hashgrove/internal/dataset"
	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/picture"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// InspectOptions say how to look at data.
type InspectOptions struct {
	Pictures  PictureOptions // how pictures are prepared; Features and Mirror are not looked at
	MinShared int            // tags that similar rows share; 0 means 2
	Threads   int            // 0 means all cores

	Progress func(Step) // called from one goroutine; may be nil
}

// Inspection says what data hold.
type Inspection struct {
	// Files are those with the rows, in order; nil for rows in memory.
	Files []string `json:"files"`
	// Rows is the number of rows that can be used.
	Rows int `json:"rows"`
	// Dim is the length of their vectors.
	Dim int `json:"dims"`
	// Pictures says what size and channels the pictures have; "" for vectors.
	Pictures string `json:"pictures,omitempty"`
	// Bad is the number of rows that cannot be used.
	Bad int `json:"bad_rows"`
	// BadExamples says what is wrong with the first of them.
	BadExamples []string `json:"bad_examples,omitempty"`
	// Constant is the number of values that are the same in all rows.
	Constant int `json:"constant_columns"`
	// Bytes says whether all values are whole numbers from 0 to 255.
	Bytes bool `json:"byte_values"`
	// IDs says whether the rows have ids.
	IDs bool `json:"ids"`
	// Labels are the classes, the most frequent first.
	Labels []NameCount `json:"labels,omitempty"`
	// Tags are the tags, the most frequent first.
	Tags []NameCount `json:"tags,omitempty"`
	// SimilarShare is the share of pairs of rows that are similar; nil if nothing says which are.
	SimilarShare *float64 `json:"similar_share,omitempty"`
	// Warnings are doubts about the data, and what prevents training on them.
	Warnings []string `json:"warnings"`
	// UsedColumns says what the columns are taken for.
	UsedColumns
}

// NameCount is a class or a tag.
type NameCount struct {
	Name string `json:"name"` // of the class or the tag
	Rows int    `json:"rows"` // that have it
}

// UsedColumns says what the columns of a table, or the keys of its records, are used for. Columns without names go by
// number, counted from 1. It is empty for data without columns.
type UsedColumns struct {
	Vector []string `json:"vector_columns,omitempty"` // in order; a single one may hold lists
	Label  string   `json:"label_column,omitempty"`   // "" where there is none, like the others
	Tags   string   `json:"tags_column,omitempty"`    // as in Columns
	ID     string   `json:"id_column,omitempty"`      // as in Columns
	Unused []string `json:"unused_columns,omitempty"` // all others
}

// usedColumns returns what the columns of a source are used for.
func usedColumns(src vectors.Source) UsedColumns {
	set, ok := src.(*dataset.Set)
	if !ok {
		return UsedColumns{}
	}
	c := set.Columns()
	return UsedColumns{c.Vector, c.Label, c.Tags, c.ID, c.Unused}
}

// Inspect reads all rows and says what they hold; rows that cannot be used are counted.
func (d *Data) Inspect(ctx context.Context, o InspectOptions) (*Inspection, error) {
	looked := d.alone()
	looked.spec.SkipBad, looked.spec.Threads = true, o.Threads
	src, err := looked.rows(o.Pictures, nil)
	if err != nil {
		return nil, err
	}
	scan := supervision.ScanOptions{
		Missing: looked.missing, Progress: func(rows int) { steps(o.Progress).step("reading", rows, 0) },
	}
	sum, err := supervision.Scan(ctx, src, scan)
	if err != nil {
		return nil, err
	}
	i := &Inspection{
		Rows: sum.Rows, Dim: sum.Dim(), Bad: sum.Bad, Constant: len(sum.Constant), Bytes: sum.Ranges.Bytes,
		IDs: sum.IDs != nil, Warnings: []string{}, UsedColumns: usedColumns(src),
	}
	if set, ok := src.(*dataset.Set); ok {
		i.Files = set.Files()
	}
	if pictures, ok := picture.Of(src); ok {
		i.Pictures = pictures.Preparation().Shape.String()
	}
	for _, err := range sum.BadExamples {
		i.BadExamples = append(i.BadExamples, err.Error())
	}
	sum.MinShared = cmp.Or(o.MinShared, affinity.DefaultShared)
	return i, i.addSupervision(d, sum)
}

// addSupervision counts classes, tags or pairs.
func (i *Inspection) addSupervision(d *Data, sum *supervision.Data) (err error) {
	switch {
	case d.pairsFile != "":
		err = dataset.ReadPairs(d.pairsFile, sum)
	case d.pairs != nil:
		err = sum.SetPairs(pairsOf(d.pairs))
	case sum.Labels != nil:
		i.Labels = counts(sum.Labels.Histogram())
	case sum.Tags != nil:
		i.Tags = counts(sum.Tags.Histogram())
	}
	if err != nil {
		return err
	}
	if sum.Kind() != "" {
		y, err := sum.Affinity(sum.Rows)
		if err != nil {
			return err
		}
		similar, dissimilar := y.Counts()
		share := float64(similar) / float64(max(similar+dissimilar, 1))
		i.SimilarShare = &share
	}
	i.Warnings = append(i.Warnings, sum.Warnings...)
	if err := sum.Trainable(); err != nil {
		i.Warnings = append(i.Warnings, "training is not possible with these data: "+err.Error())
	}
	return nil
}

// counts translates from package supervision.
func counts(list []supervision.Count) []NameCount {
	out := make([]NameCount, len(list))
	for i, c := range list {
		out[i] = NameCount(c)
	}
	return out
}
