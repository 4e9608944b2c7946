package parquetrows

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
)

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

var errShort = errors.New("it ends too early, or claims too much")

// structLength is the number of bytes of the struct, in Thrift's compact protocol, at the start of b. Lists of more
// items than bytes are left, for which the library would allocate memory, are an error.
func structLength(b []byte) (int, error) {
	t := thriftBytes{rest: b}
	t.skip(structType, 0)
	return len(b) - len(t.rest), t.err
}

// thriftBytes skips values of Thrift's compact protocol. After an error it skips nothing more and reads zeros.
type thriftBytes struct {
	rest []byte
	err  error
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

// fail notes that bytes are missing, unless there was an error before.
func (t *thriftBytes) fail() uint64 {
	t.err = cmp.Or(t.err, errShort)
	return 0
}

// take returns the next n bytes, or nil where there are fewer.
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

// length is a number of items that follow, each of a byte at least.
func (t *thriftBytes) length() uint64 {
	n := t.varint()
	if n > uint64(len(t.rest)) {
		return t.fail()
	}
	return n
}
