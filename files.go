package hashgrove

import (
	"io"
	"slices"

	"hashgrove/internal/dataset"
)

// Columns says what the columns or keys of a file hold. The zero value follows the conventions of the format.
type Columns struct {
	Vector string // the vectors, or their columns, as a,b or e0..e767 or e*; "" means all columns not named below
	Label  string // the class of each row
	Tags   string // the tags of each row: a column, or a file; Train prefers classes if both are named
	ID     string // the id of each row

	// Attributes to store with items of an index; nil means none, or all columns of Files.Attributes.
	Attributes []string
}

// Files names the files with the rows and the files that go with them.
type Files struct {
	Paths  []string  // files, patterns such as "part-*.npy", or picture folders, read as one data set
	Format string    // one of Formats; "" means detect it from content and name
	Stdin  io.Reader // what the path "-" stands for, where data are read once: to encode, to search and to push

	Labels []string // files with the class of each row, in order or in tables with ids, read as one
	IDs    []string // files with the id of each row, read as one
	Pairs  string   // a file of lines a,b,similar|dissimilar|unknown

	// Attributes is a file of records, matched to rows by id, or in order if neither records nor rows have ids.
	Attributes string
	// AttributesID is the column of Attributes with the ids; "" means the one in Columns.ID, or else id.
	AttributesID string

	SkipBad bool // skip unusable rows instead of failing

	// Codes says that the rows are codes from elsewhere, for an index: uint8 arrays of packed bits, as numpy.packbits
	// makes them; in CSV, TSV, JSON lines and Parquet hexadecimal digits or zeros and ones in the column Columns.Vector,
	// or "code"; or unsigned 64-bit columns of Parquet called code, or code_0, code_1 and so on.
	Codes bool
}

// OpenData reads data from a file: npy, npz, CSV, TSV, JSON lines, Parquet, fvecs, bvecs, IDX or CIFAR, plain or
// compressed; or pictures in a tar or in a folder with a sub-folder per class. The path may be a pattern such as
// "part-*.npy". Files of codes, as Model.WriteCodesFile and FAISS write them, can only be put into an index and
// searched for.
func OpenData(path string, c Columns) (*Data, error) {
	return OpenFiles(Files{Paths: []string{path}}, c)
}

// Formats returns the names of the formats that Files.Format takes, for a sentence.
func Formats() string { return dataset.FormatNames() }

// OpenFiles is like OpenData for data spread over several files. Mistakes in the files are reported by what reads them.
func OpenFiles(f Files, c Columns) (*Data, error) {
	spec := dataset.Spec{
		Paths: f.Paths, Format: f.Format, Vector: c.Vector, Label: c.Label, Tags: c.Tags, ID: c.ID, SkipBad: f.SkipBad,
		LabelsFile: f.Labels, IDsFile: f.IDs, Codes: f.Codes, Stdin: f.Stdin,
	}
	if err := dataset.CheckExist(f.Paths); err != nil {
		return nil, err
	}
	coded, err := dataset.AreCodes(f.Paths)
	about := attributeColumns{c.ID, c.Attributes, f.Attributes, f.AttributesID}
	return &Data{spec: spec, codeFiles: coded, pairsFile: f.Pairs, columns: about}, err
}

// Once reports whether some of the data can be read only once: standard input, or a pipe.
func (d *Data) Once() bool { return d != nil && slices.ContainsFunc(d.spec.Paths, dataset.IsStream) }
