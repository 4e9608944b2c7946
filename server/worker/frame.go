package worker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"unsafe"

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
	Uint8   Type = "u1"
	Int32   Type = "i4"
	Int64   Type = "i8"
)

// sizes are the bytes of one value.
var sizes = map[Type]int64{Float32: 4, Uint8: 1, Int32: 4, Int64: 8}

// Array is an array of a frame.
type Array struct {
	Type  Type  `json:"type"`
	Shape []int `json:"shape"`

	data []byte // as in memory: all machines with a release keep the lowest byte first
}

// arrayOf returns numbers as an array; without a shape it has one dimension.
func arrayOf[T vectors.Number](list []T, shape ...int) Array {
	kind := map[any]Type{float32(0): Float32, byte(0): Uint8, int32(0): Int32, int64(0): Int64}[any(*new(T))]
	if shape == nil {
		shape = []int{len(list)}
	}
	return Array{Type: kind, Shape: shape, data: vectors.Bytes(list)}
}

// valuesOf returns the values of an array, which must have the type.
func valuesOf[T vectors.Number](a *Array) []T {
	size := int(unsafe.Sizeof(*new(T)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(a.data))), len(a.data)/size)
}

// bytes returns the length of the array, or an error if the shape makes no sense or it is longer than allowed.
func (a *Array) bytes(most int64) (int, error) {
	n := sizes[a.Type]
	if n == 0 {
		return 0, message.New("bad-frame", "an array of the type %.20q: types are f4, u1, i4 and i8", a.Type)
	}
	for _, side := range a.Shape {
		if side < 0 || side > 0 && n > most/int64(side) {
			return 0, message.New("bad-frame", "an array of the shape %v and the type %s has more than %d bytes",
				a.Shape, a.Type, most)
		}
		n *= int64(side)
	}
	return int(n), nil
}

// atOnce is how many bytes get memory before any has arrived.
const atOnce = 1 << 24

// read reads the n bytes of an array. Memory grows with what arrives, whatever the head of the frame claims.
func (a *Array) read(r io.Reader, n int) error {
	a.data = make([]byte, min(n, atOnce))
	_, err := io.ReadFull(r, a.data)
	for err == nil && len(a.data) < n {
		more := make([]byte, min(n, 2*len(a.data)))
		_, err = io.ReadFull(r, more[copy(more, a.data):])
		a.data = more
	}
	return err
}

// matrix returns an array of two dimensions as vectors; bytes become numbers.
func (a *Array) matrix() (vectors.Matrix, error) {
	if len(a.Shape) != 2 || a.Type != Float32 && a.Type != Uint8 {
		return vectors.Matrix{}, message.New("bad-frame",
			"vectors are arrays of two dimensions and of the type f4 or u1, not of the shape %v and the type %s",
			a.Shape, a.Type)
	}
	x := vectors.Matrix{Rows: a.Shape[0], Cols: a.Shape[1]}
	if a.Type == Float32 {
		x.Data = valuesOf[float32](a)
		return x, nil
	}
	x.Data = make([]float32, len(a.data))
	for i, b := range a.data {
		x.Data[i] = float32(b)
	}
	return x, nil
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
		n, err := a.bytes(most)
		if err == nil {
			most -= int64(n)
			err = a.read(r, n)
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
	for len(arrays) > 0 && len(arrays[0].data) <= 1<<12 { // one call for a small answer
		b, arrays = append(b, arrays[0].data...), arrays[1:]
	}
	_, err = w.Write(b)
	for i := range arrays {
		if err == nil {
			_, err = w.Write(arrays[i].data)
		}
	}
	return err
}
