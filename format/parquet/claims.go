package parquet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/message"
)

// Checks of a file's claims against its bytes: the library allocates memory for footers, pages and values as they
// claim.

const (
	leastItem  = 3       // bytes of the footer for a row group or an element of the schema; sound ones have more
	leastChunk = 16      // and for a column of a row group
	openBytes  = 1 << 30 // memory for the pages of all columns that are read, and openFactor times the bytes of the file
	openFactor = 64
	valueBytes = 16 // of a value of a page in memory, and its levels
)

// footerLength returns the number of bytes of the footer. More row groups or columns than its bytes can hold, for which
// the library would allocate memory, are an error.
func footerLength(footer []byte) (int, error) {
	t := thriftBytes{rest: footer}
	t.skip(structType, 0)
	groups, chunks, length := t.items[1], t.items[3], uint64(len(footer))
	if t.err == nil && (groups > 64+length/leastItem || chunks > 64+length/leastChunk) {
		t.err = message.New("impossible-claim",
			"it has %d bytes and claims %d row groups and columns in them", length, groups+chunks)
	}
	return len(footer) - len(t.rest), t.err
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

// Types of Thrift's compact protocol.
const (
	trueType = iota + 1
	falseType
	byteType
	int16Type
	int32Type
	int64Type
	doubleType
	binaryType
	listType
	setType
	mapType
	structType
)

var errShort = message.New("impossible-claim", "it ends too early, or claims too much")

// structLength returns the number of bytes of the struct, in Thrift's compact protocol, at the start of b. A list that
// claims more items than there are bytes left, for which the library would allocate memory, is an error.
func structLength(b []byte) (int, error) {
	t := thriftBytes{rest: b}
	t.skip(structType, 0)
	return len(b) - len(t.rest), t.err
}

// thriftBytes skips values of Thrift's compact protocol. After an error it skips nothing more and reads zeros.
type thriftBytes struct {
	rest  []byte
	err   error
	items [maxDepth + 1]uint64 // structs in lists, by depth
}

// skip skips a value.
func (t *thriftBytes) skip(kind byte, depth int) {
	if t.err != nil {
		return
	}
	if depth > maxDepth {
		t.err = errors.New("it is nested too deeply")
		return
	}
	switch kind {
	case trueType, falseType, byteType:
		t.take(1)
	case int16Type, int32Type, int64Type:
		t.varint()
	case doubleType:
		t.take(8)
	case binaryType:
		t.take(t.varint())
	case listType, setType:
		head := t.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = t.length()
		}
		if head&15 == structType {
			t.items[depth] += n
		}
		for ; n > 0 && t.err == nil; n-- {
			t.skip(head&15, depth+1)
		}
	case mapType:
		n, kinds := t.length(), byte(0)
		if n > 0 {
			kinds = t.byte()
		}
		for ; n > 0 && t.err == nil; n-- {
			t.skip(kinds>>4, depth+1)
			t.skip(kinds&15, depth+1)
		}
	case structType:
		for head := t.byte(); head != 0; head = t.byte() {
			if head>>4 == 0 { // the number of the field is written out
				t.varint()
			}
			if kind := head & 15; kind > falseType { // true and false are in the head
				t.skip(kind, depth+1)
			}
		}
	default:
		t.err = fmt.Errorf("it has the unknown type %d", kind)
	}
}

// fail records that bytes are missing, unless there was an error before.
func (t *thriftBytes) fail() uint64 {
	t.err = cmp.Or(t.err, errShort)
	return 0
}

// take returns the next n bytes, or nil if there are fewer.
func (t *thriftBytes) take(n uint64) []byte {
	if n > uint64(len(t.rest)) {
		t.fail()
	}
	if t.err != nil {
		return nil
	}
	b := t.rest[:n]
	t.rest = t.rest[n:]
	return b
}

func (t *thriftBytes) byte() byte {
	if b := t.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (t *thriftBytes) varint() uint64 {
	n, k := binary.Uvarint(t.rest)
	if k <= 0 || t.err != nil {
		return t.fail()
	}
	t.rest = t.rest[k:]
	return n
}

// length returns the number of items that follow, each of at least one byte.
func (t *thriftBytes) length() uint64 {
	n := t.varint()
	if n > uint64(len(t.rest)) {
		return t.fail()
	}
	return n
}
