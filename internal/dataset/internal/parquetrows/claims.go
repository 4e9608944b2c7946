package parquetrows

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/fault"
)

// Checks of a file's claims against its bytes. The library allocates memory for footers, pages and values as they
// claim, and for compressed pages without looking at their claims.

const (
	leastChunk = 16        // bytes of the footer for a column of a row group or for a row group; sound ones have more
	expansion  = 256 << 20 // bytes that a page may expand to without a closer look
	openBytes  = 1 << 30   // memory for the pages of all columns that are read, and openFactor times the bytes of the file
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
func (f *File) checkExpansion(codec format.CompressionCodec, header *format.PageHeader, at int64) error {
	claim, packed := int64(header.UncompressedPageSize), int64(header.CompressedPageSize)
	if v2 := header.DataPageHeaderV2; v2.Valid { // the levels before the values are not compressed
		levels := int64(v2.V.RepetitionLevelsByteLength) + int64(v2.V.DefinitionLevelsByteLength)
		if levels < 0 || levels > min(claim, packed) {
			return fmt.Errorf("a page of %d bytes claims levels of %d", packed, levels)
		}
		claim, packed, at = claim-levels, packed-levels, at+levels
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
	if most := max(expansion, claim); factor*packed <= most {
		return nil
	}
	section := func() *io.SectionReader { return io.NewSectionReader(f.in, at, packed) }
	var r io.Reader
	switch codec {
	case format.Gzip:
		z, err := gzip.NewReader(section())
		if err != nil {
			return err
		}
		r = z
	case format.Brotli:
		r = brotli.NewReader(section())
	case format.Zstd:
		if zstdBound(section(), packed) <= max(expansion, claim) {
			return nil
		}
		z, err := zstd.NewReader(section(), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxPage))
		if err != nil {
			return err
		}
		defer z.Close()
		r = z
	default: // snappy begins with the length, which is not exceeded
		head := make([]byte, min(packed, binary.MaxVarintLen64))
		if _, err := section().Read(head); err != nil && err != io.EOF {
			return err
		}
		if n, _ := binary.Uvarint(head); n > uint64(claim) {
			return fault.New("wrong-claim", "a page that claims to hold %d bytes holds %d", claim, n)
		}
		return nil
	}
	if n, err := io.CopyN(io.Discard, r, claim+1); n > claim {
		return fault.New("wrong-claim", "a page holds more than the %d bytes that it claims", claim)
	} else if err != nil && err != io.EOF {
		return err
	}
	return nil
}

// zstdBound returns the largest number of bytes that zstd frames can hold: the sum over their blocks (RFC 8878, 3.1.1).
func zstdBound(r io.ReaderAt, size int64) (bound int64) {
	const block = 128 << 10 // the greatest
	for at := int64(0); at < size; {
		var b [18]byte
		n, _ := r.ReadAt(b[:], at) // the decoder will report what is missing
		if b[0]&0xf0 == 0x50 && string(b[1:4]) == "\x2a\x4d\x18" {
			// A frame without content.
			at += 8 + int64(binary.LittleEndian.Uint32(b[4:]))
			continue
		}
		if n < 6 || binary.LittleEndian.Uint32(b[:]) != 0xfd2fb528 {
			return bound
		}
		descriptor := b[4]
		at += frameHeader(descriptor)
		for last := false; !last && at < size; {
			if n, _ := r.ReadAt(b[:3], at); n < 3 {
				return bound
			}
			head := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
			length := int64(head >> 3)
			at, last = at+3, head&1 == 1
			switch head >> 1 & 3 {
			case 0: // as it is
				bound, at = bound+length, at+length
			case 1: // one byte, repeated
				bound, at = bound+length, at+1
			default:
				bound, at = bound+block, at+length
			}
		}
		at += int64(descriptor & 4) // the checksum
	}
	return bound
}

// frameHeader returns the length of the header of a frame with a descriptor.
func frameHeader(descriptor byte) int64 {
	n := 5 + [4]int64{0, 1, 2, 4}[descriptor&3] + [4]int64{0, 2, 4, 8}[descriptor>>6]
	if single := descriptor&0x20 != 0; !single || descriptor>>6 == 0 {
		n++ // the window, or the size in one byte
	}
	return n
}
