// Package parquet lets a program read and write Parquet files. It is imported for that effect alone:
//
//	import _ "hashgrove/format/parquet"
package parquet

// It reads columns row by row in bounded memory, is the only package that uses the Parquet library, and trusts neither
// the library nor the file: sizes in footers and page headers are checked before the library sees them (claims.go), and
// its panics become errors.
import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/dataset/columnfile"
	"hashgrove/internal/message"
)

func init() { columnfile.Open, columnfile.Create = open, create }

// file is an open Parquet file.
type file struct {
	in     io.ReaderAt
	size   int64
	file   *parquet.File
	fields []field
	open   int64 // memory for the pages of columns that are read
}

// open reads the footer.
func open(in io.ReaderAt, size int64) (f columnfile.File, err error) {
	defer catch(&err)
	meta, err := readMeta(in, size)
	if err != nil {
		return nil, err
	}
	fields, err := readSchema(meta)
	if err != nil {
		return nil, err
	}
	opened, err := parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	return &file{in: in, size: size, file: opened, fields: fields}, nil
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

const (
	maxFooter   = 256 << 20
	maxDepth    = 32
	maxElements = 1 << 16 // of the schema
	maxHeader   = 1 << 20 // bytes of the header of a page
	maxPage     = 1 << 28 // bytes of a page
	maxValues   = 1 << 26 // values of a page

	fewRows, rowFactor = 1 << 26, 1 << 16 // rows of a file: a number, and a multiple of its bytes
)

// readMeta reads the footer and checks what could make the library allocate too much memory.
func readMeta(in io.ReaderAt, size int64) (*format.FileMetaData, error) {
	if size < 12 {
		return nil, errors.New("the file is too short")
	}
	var tail [8]byte
	if _, err := in.ReadAt(tail[:], size-8); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return nil, message.New("encrypted", "the file is encrypted")
	default:
		return nil, message.New("cut-off", "the file is cut off: it does not end as a Parquet file does")
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > min(size-12, maxFooter) {
		return nil, message.New("impossible-claim", "the footer claims %d bytes", length)
	}
	footer := make([]byte, length)
	if _, err := in.ReadAt(footer, size-8-length); err != nil {
		return nil, err
	}
	n, err := footerLength(footer)
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	meta := new(format.FileMetaData)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer[:n], meta); err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	var total int64
	for _, g := range meta.RowGroups {
		if g.NumRows < 0 || g.NumRows > 1<<48 {
			return nil, fmt.Errorf("a row group claims %d rows", g.NumRows)
		}
		total += g.NumRows
	}
	if total != meta.NumRows {
		return nil, fmt.Errorf("the file claims %d rows, its row groups %d", meta.NumRows, total)
	}
	if total > fewRows+rowFactor*size {
		return nil, message.New("impossible-claim", "the file has %d bytes and claims %d rows", size, total)
	}
	return meta, checkExtent(meta, size)
}

// checkPages checks the page headers of a column chunk before the library allocates memory for them, and returns how
// much that can be at a time.
func (f *file) checkPages(group, leaf int) (memory int64, err error) {
	meta := f.file.Metadata().RowGroups[group].Columns[leaf].MetaData
	if meta.Codec == format.Lz4Raw || meta.Codec == format.Lz4 {
		// The library's decoder returns zeros for some pages and never ends on others (v0.32.0).
		return 0, message.New("unread-compression",
			"it is compressed with LZ4, which is not supported: write it with zstd or snappy")
	}
	at := meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		at = meta.DictionaryPageOffset
	}
	end := at + meta.TotalCompressedSize
	if at < 0 || end < at || end > f.size {
		return 0, fmt.Errorf("row group %d lies outside of the file", group+1)
	}
	var dictionary, largest int64
	for at < end {
		header, n, err := f.pageHeader(at, end)
		if err != nil {
			return 0, err
		}
		values := max(header.DataPageHeader.V.NumValues, header.DataPageHeaderV2.V.NumValues,
			header.DictionaryPageHeader.V.NumValues)
		switch at += n; {
		case header.CompressedPageSize < 0 || int64(header.CompressedPageSize) > end-at:
			return 0, fmt.Errorf("a page claims %d bytes", header.CompressedPageSize)
		case header.UncompressedPageSize < 0 || header.UncompressedPageSize > maxPage || values < 0 || values > maxValues:
			return 0, message.New("impossible-claim",
				"a page claims %d bytes and %d values, which is too large: write the file with smaller pages",
				header.UncompressedPageSize, values)
		}
		// A dictionary stays in memory; pages of values are read in sequence.
		page := 2*int64(header.UncompressedPageSize) + valueBytes*int64(values)
		if header.Type == format.DictionaryPage {
			dictionary += page
		} else {
			largest = max(largest, page)
		}
		at += int64(header.CompressedPageSize)
	}
	return dictionary + largest, nil
}

// pageHeader reads the header of a page and its length.
func (f *file) pageHeader(at, end int64) (*format.PageHeader, int64, error) {
	for length := int64(256); ; length *= 8 {
		b := make([]byte, min(length, end-at))
		if _, err := f.in.ReadAt(b, at); err != nil && err != io.EOF {
			return nil, 0, err
		}
		n, err := structLength(b)
		if err != nil {
			if length < min(end-at, maxHeader) {
				continue
			}
			return nil, 0, fmt.Errorf("the header of a page: %w", err)
		}
		header := new(format.PageHeader)
		return header, int64(n), thrift.Unmarshal(new(thrift.CompactProtocol), slices.Clone(b[:n]), header)
	}
}
