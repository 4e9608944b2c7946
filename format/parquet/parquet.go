// Package parquet lets a program read and write Parquet files. It is imported for that effect alone:
//
//	import _ "hashgrove/format/parquet"
package parquet

// It reads columns row by row in bounded memory, is the only package that uses the Parquet library, and trusts neither
// the library nor the file: sizes in footers and page headers are checked before the library sees them (claims.go), and
// its panics become errors.
import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/dataset/columnfile"
)

func init() { columnfile.Open, columnfile.Create = open, create }

// file is an open Parquet file.
type file struct {
	in     io.ReaderAt
	size   int64
	file   *parquet.File
	leaves []format.SchemaElement
	fields []field
	open   int64 // memory for the pages of columns that are read
}

// open reads the footer.
func open(in io.ReaderAt, size int64) (_ columnfile.File, err error) {
	defer catch(&err)
	if err := checkFooter(in, size); err != nil {
		return nil, err
	}
	opened, err := parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	f := &file{in: in, size: size, file: opened, leaves: slices.Clone(opened.Metadata().Schema)}
	f.leaves = slices.DeleteFunc(f.leaves, func(e format.SchemaElement) bool { return !e.Type.Valid })
	f.addFields(opened.Root(), nil, "", map[string]bool{})
	return f, checkClaims(opened.Metadata(), size)
}

func (f *file) Fields() []columnfile.Field {
	fields := make([]columnfile.Field, len(f.fields))
	for i := range fields {
		fields[i] = f.fields[i].Field
	}
	return fields
}

func (f *file) Rows() int { return int(f.file.NumRows()) }

func (f *file) Lookup(key string) string {
	value, _ := f.file.Lookup(key)
	return value
}

// catch turns a panic of the library into an error.
func catch(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the file is damaged: %v", p)
	}
}
