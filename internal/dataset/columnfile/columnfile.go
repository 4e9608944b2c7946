// Package columnfile says what package dataset needs of a library for Parquet. Package hashgrove/format/parquet brings
// one, so that only programs that import it link it.
package columnfile

import (
	"io"

	"hashgrove/internal/message"
)

// Open reads the footer of a file. Create starts a file with named columns of the types of the samples: string, float64
// or int64, which may be absent in a row, or uint64 or []string.
var (
	Open   = func(io.ReaderAt, int64) (File, error) { return nil, errNone }
	Create = func(io.Writer, []string, []any) (Writer, error) { return nil, errNone }
)

var errNone = message.NotImported("Parquet files", "parquet")

// File is an open file.
type File interface {
	Fields() []Field          // the columns that hold single values or lists of them
	Rows() int                // their number
	Lookup(key string) string // a value of the metadata, or ""

	// Column returns a reader of the field with that number. Half converts a float16.
	Column(field int, half func(uint16) float32) Column
}

// Field is a column that holds, in every row, one value or a list of them.
type Field struct {
	Name     string // with dots inside of groups; of a list the name of the list, not of its items
	List     bool
	Number   bool // values can be read as numbers
	Text     bool // values can be read as text: strings, numbers, true and false, dates and times
	Quantity bool // the text is always a number
}

// Column reads a field row by row; after the last row it returns io.EOF.
type Column interface {
	// AppendFloats appends the numbers of the next row, at most limit of them. It returns a *BadValue for a null or a
	// number beyond the range of float32.
	AppendFloats(dst []float32, limit int) ([]float32, error)

	// AppendTexts appends the values of the next row as text, at most limit of them, without nulls.
	AppendTexts(dst []string, limit int) ([]string, error)

	Close() error
}

// BadValue reports a value of a row that cannot be used. The row has been read.
type BadValue struct {
	Index int // in the list, from 0
	Err   error
	Null  bool // it is null, with NaN in its place
}

func (e *BadValue) Error() string { return e.Err.Error() }

// Writer writes a file row by row.
type Writer interface {
	Write(values []any) error // one value per column, nil for none
	Mark(key, value string)   // adds to the metadata
	Close() error
}
