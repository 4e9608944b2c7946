package hamming

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
)

// The files of FAISS for binary codes (faiss/impl/index_write.cpp of version 1.7 and later; all integers in
// little-endian order):
//
//	"IBxF"  d int32, bytes of a code int32, codes int64, trained byte, metric int32   IndexBinaryFlat
//	        length uint64, the codes back to back
//	"IBMp"  the same header, then an index of its own,                                IndexBinaryIDMap
//	"IBM2"  length uint64, ids int64                                                  and IndexBinaryIDMap2
//
// d is a multiple of 8. All is read before the first code is passed on, because ids come after all codes.

const faissFlat, faissIDMap, faissIDMap2 = "IBxF", "IBMp", "IBM2"

// faissOthers are the first bytes of FAISS binary indexes that do not store their codes back to back.
var faissOthers = []string{"IBwF", "IBHf", "IBHc", "IBFf", "IBHh", "IBHm"}

// ErrFAISS matches errors about files that are not FAISS binary indexes we can read.
var ErrFAISS = errors.New("not an IndexBinaryFlat or IndexBinaryIDMap of FAISS")

// IsFAISS reports whether the file at path begins like a FAISS binary index.
func IsFAISS(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	b := make([]byte, 4)
	if _, err := io.ReadFull(f, b); err != nil {
		return false, nil
	}
	return isFAISS(b), nil
}

func isFAISS(b []byte) bool {
	mark := string(b)
	return mark == faissFlat || mark == faissIDMap || mark == faissIDMap2 || slices.Contains(faissOthers, mark)
}

type faissHead struct {
	D, CodeSize int32
	Total       int64
	Trained     uint8
	Metric      int32 // METRIC_L2, the placeholder in binary indexes
}

// WriteFAISS writes the codes as an IndexBinaryFlat or, with ids, as an IndexBinaryIDMap around one. Codes are padded
// with zeros to whole bytes, which changes no distance.
func (c Codes) WriteFAISS(w io.Writer, ids []int64) error {
	if ids != nil && len(ids) != c.Len() {
		panic(fmt.Sprintf("hamming: %d ids for %d codes", len(ids), c.Len()))
	}
	out := bufio.NewWriterSize(w, 1<<16)
	put := func(v any) { _ = binary.Write(out, binary.LittleEndian, v) } // errors stay until Flush
	head := faissHead{int32(8 * c.Bytes()), int32(c.Bytes()), int64(c.Len()), 1, 1}
	if ids != nil {
		put([]byte(faissIDMap))
		put(head)
	}
	put([]byte(faissFlat))
	put(head)
	put(uint64(c.Len() * c.Bytes()))
	var packed []byte
	for i := range c.Len() {
		packed = c.AppendBytes(packed[:0], i)
		_, _ = out.Write(packed)
	}
	if ids != nil {
		put(uint64(len(ids)))
		put(ids)
	}
	return out.Flush()
}

// newFAISSReader returns a Reader of a FAISS index, with ids of an IndexBinaryIDMap as text.
func newFAISSReader(in *bufio.Reader) (*Reader, error) {
	mark, head, err := readFAISSHead(in)
	if err != nil {
		return nil, err
	}
	mapped := mark != faissFlat
	if mapped {
		outer := head
		if mark, head, err = readFAISSHead(in); err != nil {
			return nil, err
		}
		if outer.CodeSize == 0 {
			outer.CodeSize = head.CodeSize
		}
		if head != outer {
			return nil, fmt.Errorf("%w: an index of %d codes inside one of %d", ErrFAISS, head.Total, outer.Total)
		}
	}
	if mark != faissFlat {
		return nil, fmt.Errorf("%w: it begins with %q", ErrFAISS, mark)
	}
	codes, read := NewCodes(0, int(head.D)), false
	var ids []int64
	next := func() (Codes, []string, error) {
		if !read {
			read = true
			if ids, err = readFAISS(in, head, &codes, mapped); err == nil {
				err = endOfFAISS(in)
			}
		}
		if err != nil || codes.Len() == 0 {
			return Codes{}, nil, cmp.Or(err, io.EOF)
		}
		part, n := codes, min(codes.Len(), codesPerSection(codes.Bits))
		part.Data, codes.Data = codes.Data[:n*codes.Words], codes.Data[n*codes.Words:]
		if !mapped {
			return part, nil, nil
		}
		names := make([]string, n)
		for i := range names {
			names[i] = strconv.FormatInt(ids[i], 10)
		}
		ids = ids[n:]
		return part, names, nil
	}
	return &Reader{Bits: int(head.D), IDs: mapped, First: -1, next: next}, nil
}

// readFAISS reads all codes, and the ids that follow them.
func readFAISS(in *bufio.Reader, head faissHead, codes *Codes, mapped bool) (ids []int64, err error) {
	size := int64(head.CodeSize)
	err = readFAISSList(in, head.Total*size, head.Total, size, func(b []byte) { codes.Append(b) }) // always whole codes
	if err != nil || !mapped {
		return nil, err
	}
	return ids, readFAISSList(in, head.Total, head.Total, 8, func(b []byte) {
		for ; len(b) > 0; b = b[8:] {
			ids = append(ids, int64(binary.LittleEndian.Uint64(b)))
		}
	})
}

// readFAISSList reads a list, which must claim this length, and passes on its values of some bytes, about a megabyte at
// a time.
func readFAISSList(in io.Reader, length, values, size int64, put func(b []byte)) error {
	b := make([]byte, 8)
	if err := readFAISSPart(in, b); err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint64(b); n != uint64(length) {
		return fmt.Errorf("%w: a list of %d values where %d should be", ErrFAISS, n, length)
	}
	for n := int64(0); values > 0; values -= n {
		n = min(values, maxCodes/size)
		b = slices.Grow(b[:0], int(n*size))[:n*size]
		if err := readFAISSPart(in, b); err != nil {
			return err
		}
		put(b)
	}
	return nil
}

// endOfFAISS checks that the file ends here.
func endOfFAISS(in *bufio.Reader) error {
	if _, err := in.ReadByte(); err == nil {
		return fmt.Errorf("%w: there is more after its end", ErrFAISS)
	} else if err != io.EOF {
		return err
	}
	return nil
}

func readFAISSPart(in io.Reader, b []byte) error {
	_, err := io.ReadFull(in, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: it ends too early", ErrFAISS)
	}
	return err
}

func readFAISSHead(in io.Reader) (mark string, head faissHead, err error) {
	b := make([]byte, 4+21)
	if err := readFAISSPart(in, b[:4]); err != nil {
		return "", head, err
	}
	mark = string(b[:4])
	if mark != faissFlat && mark != faissIDMap && mark != faissIDMap2 {
		return "", head, fmt.Errorf("%w: it begins with %q", ErrFAISS, mark)
	}
	if err := readFAISSPart(in, b[4:]); err != nil {
		return "", head, err
	}
	_, _ = binary.Decode(b[4:], binary.LittleEndian, &head)
	// FAISS before 1.8 writes no size into the head of a map; that of the codes inside decides.
	size := head.CodeSize == head.D/8 || head.CodeSize == 0 && mark != faissFlat
	if head.D < 8 || head.D > MaxBits || head.D%8 != 0 || !size ||
		head.Total < 0 || head.Total > math.MaxInt32 {
		return "", head, fmt.Errorf("%w: %d codes of %d bits in %d bytes", ErrFAISS, head.Total, head.D, head.CodeSize)
	}
	return mark, head, nil
}
