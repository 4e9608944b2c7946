package parquetrows

import (
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
	t := thriftBytes{b}
	err := t.skip(structType, 0)
	return len(b) - len(t.rest), err
}

// thriftBytes skips values of Thrift's compact protocol.
type thriftBytes struct{ rest []byte }

// skip skips a value.
func (t *thriftBytes) skip(kind byte, depth int) error {
	if depth > maxDepth {
		return errors.New("it is nested too deeply")
	}
	switch kind {
	case trueType, falseType, byteType:
		return t.skipBytes(1)
	case int16Type, int32Type, int64Type:
		_, err := t.varint()
		return err
	case doubleType:
		return t.skipBytes(8)
	case binaryType:
		n, err := t.length()
		if err != nil {
			return err
		}
		return t.skipBytes(n)
	case listType, setType:
		return t.skipList(depth)
	case mapType:
		return t.skipMap(depth)
	case structType:
		return t.skipStruct(depth)
	}
	return fmt.Errorf("it has the unknown type %d", kind)
}

func (t *thriftBytes) skipList(depth int) error {
	head, err := t.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		n, err = t.length()
	}
	for ; n > 0 && err == nil; n-- {
		err = t.skip(head&15, depth+1)
	}
	return err
}

func (t *thriftBytes) skipMap(depth int) error {
	n, err := t.length()
	if err != nil || n == 0 {
		return err
	}
	kinds, err := t.byte()
	for ; n > 0 && err == nil; n-- {
		if err = t.skip(kinds>>4, depth+1); err == nil {
			err = t.skip(kinds&15, depth+1)
		}
	}
	return err
}

func (t *thriftBytes) skipStruct(depth int) error {
	for {
		head, err := t.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the number of the field is written out
			if _, err := t.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind > falseType { // true and false are in the head
			if err := t.skip(kind, depth+1); err != nil {
				return err
			}
		}
	}
}

func (t *thriftBytes) byte() (byte, error) {
	if len(t.rest) == 0 {
		return 0, errShort
	}
	b := t.rest[0]
	t.rest = t.rest[1:]
	return b, nil
}

func (t *thriftBytes) varint() (uint64, error) {
	n, k := binary.Uvarint(t.rest)
	if k <= 0 {
		return 0, errShort
	}
	t.rest = t.rest[k:]
	return n, nil
}

// length is a number of items or bytes that follow.
func (t *thriftBytes) length() (uint64, error) {
	n, err := t.varint()
	if err == nil && n > uint64(len(t.rest)) {
		err = errShort
	}
	return n, err
}

func (t *thriftBytes) skipBytes(n uint64) error {
	if n > uint64(len(t.rest)) {
		return errShort
	}
	t.rest = t.rest[n:]
	return nil
}
