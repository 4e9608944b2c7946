package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/message"
)

// Checks of a file's claims against its bytes: the library allocates memory for footers, pages and values as they
// claim.

const (
	maxFooter   = 256 << 20
	maxDepth    = 32
	maxElements = 1 << 16 // of the schema
	maxHeader   = 1 << 20 // bytes of the header of a page
	maxPage     = 1 << 28 // bytes of a page
	maxValues   = 1 << 26 // values of a page

	fewRows, rowFactor = 1 << 26, 1 << 16 // rows of a file: a number, and a multiple of its bytes

	leastItem  = 3       // bytes of the footer for a row group or an element of the schema; sound ones have more
	leastChunk = 16      // and for a column of a row group
	openBytes  = 1 << 30 // memory for the pages of all columns that are read, and openFactor times the bytes of the file
	openFactor = 64
	valueBytes = 16 // of a value of a page in memory, and its levels
)

// checkFooter reads the footer.
func checkFooter(in io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < 12 {
		return errors.New("the file is too short")
	}
	if _, err := in.ReadAt(tail[:], size-8); err != nil {
		return err
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return message.New("encrypted", "the file is encrypted")
	default:
		return message.New("cut-off", "the file is cut off: it does not end as a Parquet file does")
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > min(size-12, maxFooter) {
		return message.New("impossible-claim", "the footer claims %d bytes", length)
	}
	footer := make([]byte, length)
	if _, err := in.ReadAt(footer, size-8-length); err != nil {
		return err
	}
	w := newWalk(footer)
	err := w.skip(thrift.STRUCT, 0)
	groups, chunks := w.items[1], w.items[3]
	if err == nil && (groups > 64+length/leastItem || chunks > 64+length/leastChunk) {
		err = message.New("impossible-claim",
			"it has %d bytes and claims %d row groups and columns in them", length, groups+chunks)
	}
	var claims struct {
		Schema []struct {
			Children int32 `thrift:"5,optional"`
		} `thrift:"2"`
	}
	if err == nil {
		err = thrift.NewDecoder(newWalk(footer).BytesReader).Decode(&claims)
	}
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	if n := len(claims.Schema); n > maxElements {
		return message.New("impossible-claim", "the schema has %d elements", n)
	}
	// The library takes memory for the paths of all elements, which are written depth first.
	var open []int32 // children still to come, on each level
	for _, e := range claims.Schema {
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1]--
		}
		if open = append(open, max(e.Children, 0)); len(open) > maxDepth {
			return errors.New("the schema is nested too deeply")
		}
	}
	return nil
}

// checkClaims compares what row groups claim with the size of the file; their column chunks cannot share bytes.
func checkClaims(meta *format.FileMetaData, size int64) error {
	var rows, bytes int64
	for _, g := range meta.RowGroups {
		if g.NumRows < 0 || g.NumRows > 1<<48 {
			return fmt.Errorf("a row group claims %d rows", g.NumRows)
		}
		rows += g.NumRows
		for _, c := range g.Columns {
			n := c.MetaData.TotalCompressedSize
			if n < 0 || n > size || bytes+n > 2*size {
				return errors.New("its columns claim more bytes than the file has")
			}
			bytes += n
		}
	}
	if rows != meta.NumRows {
		return fmt.Errorf("the file claims %d rows, its row groups %d", meta.NumRows, rows)
	}
	if rows > fewRows+rowFactor*size {
		return message.New("impossible-claim", "the file has %d bytes and claims %d rows", size, rows)
	}
	return nil
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
		w := newWalk(b)
		if err := w.skip(thrift.STRUCT, 0); err != nil {
			if length < min(end-at, maxHeader) {
				continue
			}
			return nil, 0, fmt.Errorf("the header of a page: %w", err)
		}
		header := new(format.PageHeader)
		return header, int64(w.BytesRead()), thrift.NewDecoder(newWalk(b).BytesReader).Decode(header)
	}
}

// walk goes through values of Thrift's compact protocol, which may claim what they do not have.
type walk struct {
	thrift.BytesReader
	items [maxDepth + 1]int64 // structs in lists, by depth
}

func newWalk(b []byte) *walk {
	return &walk{BytesReader: new(thrift.CompactProtocol).NewReaderFromBytes(b)}
}

// skip skips a value. One that claims more items or bytes than there are, for which the library would allocate memory,
// is an error.
func (w *walk) skip(kind thrift.Type, depth int) (err error) {
	if depth > maxDepth {
		return errors.New("it is nested too deeply")
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		_, err = w.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = w.ReadInt64()
	case thrift.DOUBLE:
		_, err = w.ReadFloat64()
	case thrift.BINARY:
		_, err = w.ReadBytes()
	case thrift.LIST, thrift.SET:
		var l thrift.List
		if l, err = w.ReadList(); l.Type == thrift.STRUCT {
			w.items[depth] += int64(l.Size)
		}
		for i := int32(0); i < l.Size && err == nil; i++ {
			err = w.skip(l.Type, depth+1)
		}
	case thrift.MAP:
		var m thrift.Map
		m, err = w.ReadMap()
		for i := int32(0); i < m.Size && err == nil; i++ {
			if err = w.skip(m.Key, depth+1); err == nil {
				err = w.skip(m.Value, depth+1)
			}
		}
	case thrift.STRUCT:
		for err == nil {
			var f thrift.Field
			if f, err = w.ReadField(); err != nil || f.Type == thrift.STOP {
				break
			}
			if f.Type > thrift.FALSE { // true and false are in the head
				err = w.skip(f.Type, depth+1)
			}
		}
	default:
		return fmt.Errorf("it has the unknown type %d", kind)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = message.New("impossible-claim", "it ends too early, or claims too much")
	}
	return err
}
