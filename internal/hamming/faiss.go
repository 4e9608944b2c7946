package hamming

import (
	"bufio"
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
// d is a multiple of 8. The codes of an IndexBinaryFlat are read a part at a time; those of an IndexBinaryIDMap come
// before all ids and are kept until then.

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

// faissFile is a FAISS file being read.
type faissFile struct {
	in     *bufio.Reader
	bits   int
	total  int64
	left   int64 // codes not read yet
	mapped bool  // ids follow
	buf    []byte
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

func openFAISS(in *bufio.Reader) (*faissFile, error) {
	mark, head, err := readFAISSHead(in)
	if err != nil {
		return nil, err
	}
	mapped := mark == faissIDMap || mark == faissIDMap2
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
	f := &faissFile{in: in, bits: int(head.D), total: head.Total, left: head.Total, mapped: mapped}
	return f, f.length(head.Total * int64(head.CodeSize))
}

// more reads some of the remaining codes. They are valid until the next call.
func (f *faissFile) more() (Codes, error) {
	codes := NewCodes(0, f.bits)
	n := min(f.left, int64(codesPerSection(f.bits)))
	f.left -= n
	err := f.read(int(n) * codes.Bytes())
	if err == nil {
		codes.Append(f.buf) // always whole codes
	}
	return codes, err
}

// all reads the remaining codes and the ids.
func (f *faissFile) all() (codes Codes, ids []int64, err error) {
	codes = NewCodes(0, f.bits)
	for f.left > 0 {
		part, err := f.more()
		if err != nil {
			return Codes{}, nil, err
		}
		codes.Data = append(codes.Data, part.Data...)
	}
	if f.mapped {
		if ids, err = f.ids(); err != nil {
			return Codes{}, nil, err
		}
	}
	return codes, ids, f.end()
}

// ids reads the ids that follow the codes.
func (f *faissFile) ids() ([]int64, error) {
	if err := f.length(f.total); err != nil {
		return nil, err
	}
	ids := []int64{}
	for left := f.total; left > 0; {
		n := min(left, maxIDs/8)
		left -= n
		if err := f.read(8 * int(n)); err != nil {
			return nil, err
		}
		for i := range int(n) {
			ids = append(ids, int64(binary.LittleEndian.Uint64(f.buf[8*i:])))
		}
	}
	return ids, nil
}

// end checks that the file ends here.
func (f *faissFile) end() error {
	if _, err := f.in.ReadByte(); err == nil {
		return fmt.Errorf("%w: there is more after its end", ErrFAISS)
	} else if err != io.EOF {
		return err
	}
	return nil
}

// length reads the length of a list, which must be n.
func (f *faissFile) length(n int64) error {
	if err := f.read(8); err != nil {
		return err
	}
	if length := binary.LittleEndian.Uint64(f.buf); length != uint64(n) {
		return fmt.Errorf("%w: a list of %d values where %d should be", ErrFAISS, length, n)
	}
	return nil
}

// read fills the buffer with the next n bytes, at most about a megabyte.
func (f *faissFile) read(n int) error {
	f.buf = slices.Grow(f.buf[:0], n)[:n]
	return readFAISSPart(f.in, f.buf)
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

// newFAISSReader returns a Reader of a FAISS index, with ids of an IndexBinaryIDMap as text.
func newFAISSReader(b *bufio.Reader) (*Reader, error) {
	f, err := openFAISS(b)
	if err != nil {
		return nil, err
	}
	out := &Reader{Bits: f.bits, IDs: f.mapped, First: -1}
	if f.mapped {
		out.next = f.mappedParts()
		return out, nil
	}
	out.next = func() (Codes, []string, error) {
		if f.left > 0 {
			part, err := f.more()
			return part, nil, err
		}
		if err := f.end(); err != nil {
			return Codes{}, nil, err
		}
		return Codes{}, nil, io.EOF
	}
	return out, nil
}

// mappedParts reads all codes and ids on the first call and returns them in parts.
func (f *faissFile) mappedParts() func() (Codes, []string, error) {
	var codes Codes
	var ids []int64
	var err error
	read := false
	return func() (Codes, []string, error) {
		if !read {
			read = true
			codes, ids, err = f.all()
		}
		if err != nil {
			return Codes{}, nil, err
		}
		if len(ids) == 0 {
			return Codes{}, nil, io.EOF
		}
		n := min(len(ids), codesPerSection(codes.Bits))
		part, names := codes, make([]string, n)
		part.Data = codes.Data[:n*codes.Words]
		for i := range names {
			names[i] = strconv.FormatInt(ids[i], 10)
		}
		codes.Data, ids = codes.Data[n*codes.Words:], ids[n:]
		return part, names, nil
	}
}
