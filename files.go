package hashgrove

import "hashgrove/internal/dataset"

// Columns says which columns or keys of files hold what. The zero value takes what the format itself says.
type Columns struct {
	Vector string // the vectors, or their columns, as a,b or e0..e767 or e*; "" means all that are not named below
	Label  string // the class of each row
	Tags   string // the tags of each row: a column, or a file; if classes are named too, Train learns from those
	ID     string // the id of each row

	// Attributes of items of an index; nil means none, or all columns of Files.Attributes.
	Attributes []string
}

// Files names files of rows, and other files that belong to them.
type Files struct {
	Paths  []string // files, patterns such as "part-*.npy", or folders of pictures; together they are one data set
	Format string   // "" means by content and name

	Labels string // a file with the class of each row
	IDs    string // a file with the id of each row
	Pairs  string // a file of lines a,b,similar|dissimilar|unknown

	// Attributes is a file of records that belong to the rows with their ids (in AttributesID; "" means the name in
	// Columns.ID, else id), or to rows in order where neither the records nor the rows have ids.
	Attributes   string
	AttributesID string

	SkipBad bool // leave out rows that cannot be used instead of failing
}

// Open is data in a file: npy, npz, CSV, TSV, JSON lines, Parquet, LibSVM, fvecs, bvecs, IDX or CIFAR, plain or
// compressed, or pictures: a folder with a sub-folder per class, or a tar. The path may be a pattern such as
// "part-*.npy".
func Open(path string, c Columns) (*Data, error) { return OpenFiles(Files{Paths: []string{path}}, c) }

// OpenFiles is Open for data in several files.
func OpenFiles(f Files, c Columns) (*Data, error) {
	spec := dataset.Spec{
		Paths: f.Paths, Format: f.Format, Vector: c.Vector, Label: c.Label, Tags: c.Tags, ID: c.ID, SkipBad: f.SkipBad,
	}
	if f.Labels != "" {
		spec.LabelsFile = []string{f.Labels}
	}
	if f.IDs != "" {
		spec.IDsFile = []string{f.IDs}
	}
	if _, err := dataset.Open(spec); err != nil {
		return nil, err
	}
	about := attributeColumns{c.ID, c.Attributes, f.Attributes, f.AttributesID}
	return &Data{spec: spec, pairsFile: f.Pairs, columns: about}, nil
}
