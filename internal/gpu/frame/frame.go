// Package frame is what a training and hashgrove-gpu say to each other.
package frame

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/vectors"
)

// Frames between a training and hashgrove-gpu, over the pipes of the child. A frame is
//
//	length of the head   4 bytes, the lowest first
//	head                 JSON: a request or an answer, and the lengths of the parts
//	parts                arrays, as they lie in memory
//
// A request is answered by one frame or, for trees, by several. Both ends are of one release and on one machine.

// Request asks the child for something.
type Request struct {
	Do    string `json:"do"` // open, begin, run, outputs, close
	ID    int    `json:"id"` // of a session
	Plan  *Plan  `json:"plan,omitempty"`
	From  int    `json:"from,omitempty"` // rounds, for run
	To    int    `json:"to,omitempty"`
	Total int64  `json:"total,omitempty"` // of the weights of the trees, for outputs

	Parts []int64 `json:"parts"`
}

// Answer is what the child says.
type Answer struct {
	Error   string `json:"error,omitempty"`
	Refused string `json:"refused,omitempty"` // why only this was not done
	Hello   *About `json:"hello,omitempty"`   // first of all
	From    int    `json:"from,omitempty"`    // rounds in the parts
	To      int    `json:"to,omitempty"`

	Parts []int64 `json:"parts"`
}

// About describes the device that a child uses.
type About struct {
	Name    string  `json:"name"`
	Driver  string  `json:"driver"`
	IsGPU   bool    `json:"is_gpu"`
	Memory  int64   `json:"memory"`
	Seconds float64 `json:"seconds"` // until it was ready
}

// Plan is a plan of package boost and the number of columns that its rounds draw.
type Plan struct {
	boost.Plan
	Drawn int // columns drawn in a round
}

// Nodes is more than a tree of the greatest depth has splits, and as many as it has leaves.
const Nodes = 256

// Rounds is what some rounds leave: the parts of an answer.
type Rounds struct {
	Features []uint32  // by round and split
	Bins     []uint8   // by round and split
	Leaves   []uint32  // by round, of AdaBoost: the signs of the leaves, Nodes bits
	Results  []float64 // by round, of AdaBoost: V- and V+
	Digits   []uint8   // by round and leaf, of logistic boosting, Nodes of each round
	Units    []int32   // by round
}

// Parts returns the rounds as parts of a frame.
func (r *Rounds) Parts() [][]byte {
	return [][]byte{
		vectors.Bytes(r.Features), r.Bins, vectors.Bytes(r.Leaves), vectors.Bytes(r.Results), r.Digits,
		vectors.Bytes(r.Units),
	}
}

// RoundsOf returns the rounds in the parts of a frame, which ReadAligned has read.
func RoundsOf(parts [][]byte) (*Rounds, error) {
	if len(parts) != 6 {
		return nil, fmt.Errorf("%d parts of rounds", len(parts))
	}
	return &Rounds{
		ValuesOf[uint32](parts[0]), parts[1], ValuesOf[uint32](parts[2]), ValuesOf[float64](parts[3]),
		parts[4], ValuesOf[int32](parts[5]),
	}, nil
}

// PipeBytes is the size of the buffers of the pipes.
const PipeBytes = 1 << 20

// maxHead bounds the head of a frame, which is short.
const maxHead = 1 << 20

// Write writes a frame.
func Write(w *bufio.Writer, head any, parts ...[]byte) error {
	b, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if err := binary.Write(w, binary.LittleEndian, uint32(len(b))); err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return w.Flush()
}

// ReadHead reads the head of a frame.
func ReadHead(r io.Reader, head any) error {
	var n uint32
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return err
	}
	if n > maxHead {
		return fmt.Errorf("a frame with a head of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return json.Unmarshal(b, head)
}

// Lengths returns the lengths of parts.
func Lengths(parts ...[]byte) []int64 {
	out := make([]int64, len(parts))
	for i, p := range parts {
		out[i] = int64(len(p))
	}
	return out
}

// maxPart bounds an array that is read at once.
const maxPart = 1 << 36

// ReadPart reads an array.
func ReadPart[T vectors.Number](r io.Reader, bytes int64) ([]T, error) {
	var zero T
	size := int64(unsafe.Sizeof(zero))
	if bytes < 0 || bytes > maxPart || bytes%size != 0 {
		return nil, errors.New("a part of an impossible length")
	}
	out := make([]T, bytes/size)
	_, err := io.ReadFull(r, vectors.Bytes(out))
	return out, err
}

// ReadAligned reads an array whose type is not known yet.
func ReadAligned(r io.Reader, bytes int64) ([]byte, error) {
	if bytes < 0 || bytes > maxPart {
		return nil, errors.New("a part of an impossible length")
	}
	out := vectors.Bytes(make([]uint64, (bytes+7)/8))[:bytes]
	_, err := io.ReadFull(r, out)
	return out, err
}

// ValuesOf returns the values in memory that ReadAligned has read.
func ValuesOf[T vectors.Number](b []byte) []T {
	var zero T
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}
