package worker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// A frame is
//
//	4 bytes    "HGW1"
//	4 bytes    length of the head, little-endian
//	head       a JSON object; its key arrays lists type and shape of the arrays that follow
//	arrays     back to back without padding, little-endian, row by row
const magic = "HGW1"

// maxHead bounds the head of a frame: ids, labels and attributes of a few million items.
const maxHead = 1 << 30

// Type says what an array holds.
type Type string

// The types of arrays.
const (
	Float32 Type = "f4"
	Float16 Type = "f2"
	Uint8   Type = "u1"
	Int32   Type = "i4"
	Int64   Type = "i8"
)

// size returns the bytes of one value, or 0 for an unknown type.
func (t Type) size() int {
	switch t {
	case Uint8:
		return 1
	case Float16:
		return 2
	case Float32, Int32:
		return 4
	case Int64:
		return 8
	}
	return 0
}

// Array is an array of a frame. Only the list of its type is filled in; numbers of half precision arrive as Float32.
type Array struct {
	Type  Type  `json:"type"`
	Shape []int `json:"shape"`

	floats []float32
	bytes  []byte
	int32s []int32
	int64s []int64
}

// count returns the number of values, or an error if the shape makes no sense or the bytes are more than allowed.
func (a *Array) count(most int64) (int, error) {
	size := int64(a.Type.size())
	if size == 0 {
		return 0, message.New("bad-frame", "an array of the type %.20q: types are f4, f2, u1, i4 and i8", a.Type)
	}
	n := int64(1)
	for _, side := range a.Shape {
		if side < 0 || side > 0 && n > most/size/int64(side) {
			return 0, message.New("bad-frame", "an array of the shape %v and the type %s has more than %d bytes",
				a.Shape, a.Type, most)
		}
		n *= int64(side)
	}
	return int(n), nil
}

// halfBlock is how many numbers of half precision are read at a time.
const halfBlock = 1 << 14

// atOnce is how many values get memory before any has arrived.
const atOnce = 1 << 22

// readValues reads n values. Memory grows with what arrives, whatever the head of the frame claims.
func readValues[T vectors.Number](r io.Reader, n int, read func(r io.Reader, to []T) error) ([]T, error) {
	list := make([]T, min(n, atOnce))
	err := read(r, list)
	for err == nil && len(list) < n {
		more := make([]T, min(n, 2*len(list)))
		err = read(r, more[copy(more, list):])
		list = more
	}
	return list, err
}

// readNumbers reads numbers as they are in memory: all machines with a release keep the lowest byte first.
func readNumbers[T vectors.Number](r io.Reader, to []T) error {
	_, err := io.ReadFull(r, vectors.Bytes(to))
	return err
}

// readHalves reads numbers of half precision.
func readHalves(r io.Reader, to []float32) error {
	block := make([]byte, 2*min(len(to), halfBlock))
	for len(to) > 0 {
		part := block[:2*min(len(to), halfBlock)]
		if _, err := io.ReadFull(r, part); err != nil {
			return err
		}
		for i := range len(part) / 2 {
			to[i] = dataset.Half(binary.LittleEndian.Uint16(part[2*i:]))
		}
		to = to[len(part)/2:]
	}
	return nil
}

// read reads the n values of an array.
func (a *Array) read(r io.Reader, n int) (err error) {
	switch a.Type {
	case Float16:
		a.floats, err = readValues(r, n, readHalves)
	case Float32:
		a.floats, err = readValues(r, n, readNumbers[float32])
	case Uint8:
		a.bytes, err = readValues(r, n, readNumbers[byte])
	case Int32:
		a.int32s, err = readValues(r, n, readNumbers[int32])
	case Int64:
		a.int64s, err = readValues(r, n, readNumbers[int64])
	}
	return err
}

// raw returns the values of an array as frames have them.
func (a *Array) raw() []byte {
	switch a.Type {
	case Float32, Float16:
		return vectors.Bytes(a.floats)
	case Int32:
		return vectors.Bytes(a.int32s)
	case Int64:
		return vectors.Bytes(a.int64s)
	}
	return a.bytes
}

// matrix returns an array of two dimensions as vectors; bytes become numbers.
func (a *Array) matrix() (vectors.Matrix, error) {
	if len(a.Shape) != 2 || a.Type == Int32 || a.Type == Int64 {
		return vectors.Matrix{}, message.New("bad-frame",
			"vectors are arrays of two dimensions and of the type f4, f2 or u1, not of the shape %v and the type %s",
			a.Shape, a.Type)
	}
	x := vectors.Matrix{Rows: a.Shape[0], Cols: a.Shape[1], Data: a.floats}
	if a.Type == Uint8 {
		x.Data = make([]float32, len(a.bytes))
		for i, b := range a.bytes {
			x.Data[i] = float32(b)
		}
	}
	return x, nil
}

// floatArray returns vectors as an array.
func floatArray(x vectors.Matrix) Array {
	return Array{Type: Float32, Shape: []int{x.Rows, x.Cols}, floats: x.Data}
}

// byteArray returns bytes as an array.
func byteArray(b []byte, shape ...int) Array {
	if shape == nil {
		shape = []int{len(b)}
	}
	return Array{Type: Uint8, Shape: shape, bytes: b}
}

// readFrame reads a frame: its head, and the arrays that the head lists. At the end of the input the error is io.EOF.
func readFrame(r io.Reader, most int64) (head []byte, arrays []Array, err error) {
	var start [8]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return nil, nil, err
	}
	n := binary.LittleEndian.Uint32(start[4:])
	if string(start[:4]) != magic || int64(n) > min(maxHead, most) {
		return nil, nil, message.New("bad-frame", "no frame begins with % x: this verb is for programs, see docs/python.md",
			start)
	}
	head = make([]byte, n)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, nil, fmt.Errorf("a frame ends early: %w", noEOF(err))
	}
	var about struct {
		Arrays []Array `json:"arrays"`
	}
	if err := json.Unmarshal(head, &about); err != nil {
		return nil, nil, message.New("bad-frame", "the head of a frame: %w", err)
	}
	for i := range about.Arrays {
		a := &about.Arrays[i]
		values, err := a.count(most)
		if err == nil {
			most -= int64(values * a.Type.size())
			err = a.read(r, values)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("array %d of a frame: %w", i, noEOF(err))
		}
	}
	return head, about.Arrays, nil
}

// noEOF says that an end came too early.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// writeFrame writes a head, which lists the arrays, and the arrays.
func writeFrame(w io.Writer, head any, arrays []Array) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if int64(len(text)) > math.MaxUint32 {
		return message.New("bad-frame", "the head of a frame has %d bytes", len(text))
	}
	b := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(text)))
	b = append(b, text...)
	small := 0
	for i := range arrays {
		if a := &arrays[i]; a.Type == Uint8 && small == i && len(a.bytes) <= 1<<12 { // one call for a small answer
			b, small = append(b, a.bytes...), i+1
		}
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	for i := range arrays[small:] {
		if _, err := w.Write(arrays[small+i].raw()); err != nil {
			return err
		}
	}
	return nil
}
