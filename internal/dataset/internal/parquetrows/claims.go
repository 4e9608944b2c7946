package parquetrows

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/fault"
)

// Checks of a file's claims against its bytes. The library allocates memory for footers, pages and values as they
// claim, and for compressed pages without looking at their claims.

const (
	leastChunk = 16      // bytes of the footer for a column of a row group or for a row group; sound ones have more
	openBytes  = 1 << 30 // memory for the pages of all columns that are read, and openFactor times the bytes of the file
	openFactor = 64
	valueBytes = 16 // of a value of a page in memory, and its levels
)

// checkFooter compares the numbers of row groups and columns with the bytes of an otherwise sound footer.
func checkFooter(footer []byte) error {
	t := &thriftBytes{rest: footer}
	chunks := 0
	t.fields(func(field int, kind byte) bool {
		switch {
		case field == 2 && kind == listType: // the schema
			n, items := t.list()
			if n > maxElements {
				t.err = fault.New("schema-too-large", "the schema has %d elements", n)
			}
			for ; n > 0 && t.err == nil; n-- {
				t.skip(items, 1)
			}
		case field == 4 && kind == listType: // row groups
			n, items := t.list()
			for ; n > 0 && t.err == nil; n-- {
				if items != structType {
					t.skip(items, 1)
					continue
				}
				chunks++
				t.fields(func(field int, kind byte) bool {
					if field != 1 || kind != listType {
						return false
					}
					n, items := t.list()
					chunks += int(n)
					for ; n > 0 && t.err == nil; n-- {
						t.skip(items, 2)
					}
					return true
				})
			}
		default:
			return false
		}
		return true
	})
	if t.err == nil && chunks > 64+len(footer)/leastChunk {
		t.err = fault.New("impossible-claim",
			"it has %d bytes and claims %d row groups and columns in them", len(footer), chunks)
	}
	return t.err
}

// fields calls take with the number and kind of every field of a struct, and skips what it does not take.
func (t *thriftBytes) fields(take func(field int, kind byte) bool) {
	field := 0
	for head := t.byte(); head != 0 && t.err == nil; head = t.byte() {
		if delta := int(head >> 4); delta > 0 {
			field += delta
		} else {
			n := t.varint()
			field = int(int16(n>>1) ^ -int16(n&1))
		}
		kind := head & 15
		if !take(field, kind) && kind > falseType {
			t.skip(kind, 1)
		}
	}
}

// list reads the head of a list: how many items follow, and of which kind.
func (t *thriftBytes) list() (n uint64, kind byte) {
	head := t.byte()
	if n = uint64(head >> 4); n == 15 {
		n = t.length()
	}
	return n, head & 15
}

// checkExtent compares what all column chunks claim with the size of the file, since they cannot share bytes.
func checkExtent(meta *format.FileMetaData, size int64) error {
	total := int64(0)
	for _, g := range meta.RowGroups {
		for _, c := range g.Columns {
			n := c.MetaData.TotalCompressedSize
			if n < 0 || n > size || total+n > 2*size {
				return errors.New("its columns claim more bytes than the file has")
			}
			total += n
		}
	}
	return nil
}

// factors lists by how much compression formats can shrink a page at most.
var factors = map[format.CompressionCodec]int64{
	format.Uncompressed: 1, format.Snappy: 64, format.Gzip: 1032, format.Zstd: 1 << 15, format.Brotli: 1 << 20,
}

// checkExpansion compares the size that a page claims with what its bytes can expand to.
func checkExpansion(codec format.CompressionCodec, header *format.PageHeader) error {
	claim, packed := int64(header.UncompressedPageSize), int64(header.CompressedPageSize)
	if v2 := header.DataPageHeaderV2; v2.Valid { // the levels before the values are not compressed
		levels := int64(v2.V.RepetitionLevelsByteLength) + int64(v2.V.DefinitionLevelsByteLength)
		if levels < 0 || levels > min(claim, packed) {
			return fmt.Errorf("a page of %d bytes claims levels of %d", packed, levels)
		}
		claim, packed = claim-levels, packed-levels
		if v2.V.IsCompressed.Valid && !v2.V.IsCompressed.V {
			codec = format.Uncompressed
		}
	}
	factor, known := factors[codec]
	if !known {
		return nil // the library does not read it
	}
	if claim > 1<<10+factor*packed {
		return fault.New("impossible-claim", "a page of %d bytes claims to hold %d", packed, claim)
	}
	return nil
}
