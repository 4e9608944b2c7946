// Package export writes codes and models in the forms of other programs.
//
//	WriteFAISS   codes -> an index file that FAISS reads; ReadFAISS reads one back
//	WriteONNX    a model -> a graph from vectors to codes and margins, which ONNX runtimes run
//	WriteSource  a model of trees -> one file of Go or C without dependencies
//
// What is written gives the bits of the model itself, for every vector: thresholds are the float32 values at which its
// bins begin, not the middles of something.
package export

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"hashgrove/hamming"
)

// The files of FAISS for binary codes (faiss/impl/index_write.cpp of version 1.7 and later; all integers in
// little-endian order):
//
//	"IBxF"  d int32, bytes of a code int32, codes int64, trained byte, metric int32   IndexBinaryFlat
//	        length uint64, the codes one after the other
//	"IBMp"  the same header, then an index of its own,                                IndexBinaryIDMap
//	"IBM2"  length uint64, ids int64                                                  and IndexBinaryIDMap2
//
// d is a multiple of 8: codes of other lengths are filled up with zeros, which changes no distance.

const (
	flatMark, idMapMark, idMap2Mark = "IBxF", "IBMp", "IBM2"
	hammingMetric                   = 1 // METRIC_L2, which binary indexes have for want of another
)

// WriteFAISS writes codes as an IndexBinaryFlat or, with ids, as an IndexBinaryIDMap around one.
func WriteFAISS(w io.Writer, codes hamming.Codes, ids []int64) error {
	if ids != nil && len(ids) != codes.Len() {
		panic(fmt.Sprintf("export: %d ids for %d codes", len(ids), codes.Len()))
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if ids != nil {
		writeFAISSHead(out, idMapMark, codes)
	}
	writeFAISSHead(out, flatMark, codes)
	_ = binary.Write(out, binary.LittleEndian, uint64(codes.Len()*codes.Bytes()))
	var packed []byte
	for i := range codes.Len() {
		packed = codes.AppendBytes(packed[:0], i)
		_, _ = out.Write(packed) // errors stay until Flush
	}
	if ids != nil {
		_ = binary.Write(out, binary.LittleEndian, uint64(len(ids)))
		_ = binary.Write(out, binary.LittleEndian, ids)
	}
	return out.Flush()
}

func writeFAISSHead(out io.Writer, mark string, codes hamming.Codes) {
	_, _ = io.WriteString(out, mark)
	_ = binary.Write(out, binary.LittleEndian, faissHead{
		D: int32(8 * codes.Bytes()), CodeSize: int32(codes.Bytes()), Total: int64(codes.Len()), Trained: 1,
		Metric: hammingMetric,
	})
}

type faissHead struct {
	D, CodeSize int32
	Total       int64
	Trained     uint8
	Metric      int32
}

// ErrFAISS is the error of a file that is not a binary index of FAISS that can be read, for errors.Is.
var ErrFAISS = errors.New("not an IndexBinaryFlat or IndexBinaryIDMap of FAISS")

// ReadFAISS reads an IndexBinaryFlat or an IndexBinaryIDMap; ids is nil where there are none. Memory grows with the
// bytes that are there, whatever they claim.
func ReadFAISS(r io.Reader) (codes hamming.Codes, ids []int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	mark, head, err := readFAISSHead(in)
	if err != nil {
		return codes, nil, err
	}
	mapped := mark == idMapMark || mark == idMap2Mark
	if mapped {
		outer := head
		if mark, head, err = readFAISSHead(in); err != nil {
			return codes, nil, err
		}
		if head != outer {
			return codes, nil, fmt.Errorf("%w: an index of %d codes inside one of %d", ErrFAISS, head.Total, outer.Total)
		}
	}
	if mark != flatMark {
		return codes, nil, fmt.Errorf("%w: it begins with %q", ErrFAISS, mark)
	}
	packed, err := readFAISSVector(in, head.Total*int64(head.CodeSize), 1)
	if err != nil {
		return codes, nil, err
	}
	codes = hamming.NewCodes(int(head.Total), int(head.D))
	for i := range codes.Len() {
		codes.SetBytes(i, packed[i*int(head.CodeSize):(i+1)*int(head.CodeSize)])
	}
	if mapped {
		packed, err := readFAISSVector(in, head.Total, 8)
		if err != nil {
			return codes, nil, err
		}
		ids = make([]int64, head.Total)
		for i := range ids {
			ids[i] = int64(binary.LittleEndian.Uint64(packed[8*i:]))
		}
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return codes, nil, fmt.Errorf("%w: there is more after its end", ErrFAISS)
	}
	return codes, ids, nil
}

func readFAISSHead(in io.Reader) (mark string, head faissHead, err error) {
	b := make([]byte, 4)
	if _, err = io.ReadFull(in, b); err == nil {
		err = binary.Read(in, binary.LittleEndian, &head)
	}
	switch {
	case err != nil:
		return "", head, fmt.Errorf("%w: it ends too early", ErrFAISS)
	case string(b) != flatMark && string(b) != idMapMark && string(b) != idMap2Mark:
		return "", head, fmt.Errorf("%w: it begins with %q", ErrFAISS, b)
	case head.D < 8 || head.D > hamming.MaxBits || head.D%8 != 0 || head.CodeSize != head.D/8 ||
		head.Total < 0 || head.Total > math.MaxInt32:
		return "", head, fmt.Errorf("%w: %d codes of %d bits in %d bytes", ErrFAISS, head.Total, head.D, head.CodeSize)
	}
	return string(b), head, nil
}

// readFAISSVector reads a list that should have n values of the given size, as it comes.
func readFAISSVector(in io.Reader, n int64, size int) ([]byte, error) {
	var length uint64
	if err := binary.Read(in, binary.LittleEndian, &length); err != nil {
		return nil, fmt.Errorf("%w: it ends too early", ErrFAISS)
	}
	if length != uint64(n) {
		return nil, fmt.Errorf("%w: a list of %d values where %d should be", ErrFAISS, length, n)
	}
	b, err := io.ReadAll(io.LimitReader(in, n*int64(size)))
	if err == nil && int64(len(b)) != n*int64(size) {
		err = fmt.Errorf("%w: it ends too early", ErrFAISS)
	}
	return b, err
}
