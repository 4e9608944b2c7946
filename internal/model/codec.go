package model

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hashgrove/internal/vectors"
)

// codec goes through canonical bytes, as stored in files and hashed into the fingerprint, to write or to read them:
// each type says once what it consists of. A value has exactly one such string. All numbers are little-endian;
// docs/formats.md shows the kinds. What is read takes no more memory than its bytes justify, and is zeros after the
// first error.
type codec struct {
	reading bool
	b       []byte // left to read, or written so far
	err     error
}

var errShort = errors.New("it is cut short")

// read returns a codec of bytes to read.
func read(b []byte) *codec { return &codec{reading: true, b: b} }

// end returns the first error of a codec that should have read everything.
func (c *codec) end() error {
	if c.err == nil && len(c.b) > 0 {
		return fmt.Errorf("it has %d bytes too many", len(c.b))
	}
	return c.err
}

// fail keeps the first error of reading, if there is one.
func (c *codec) fail(err error) {
	if c.err == nil && c.reading && err != nil {
		c.err, c.b = err, nil
	}
}

// next returns the next n bytes, to be read or filled in, or nil.
func (c *codec) next(n int64) []byte {
	if !c.reading {
		at := len(c.b)
		c.b = append(c.b, make([]byte, n)...)
		return c.b[at:]
	}
	if c.err != nil || n < 0 || n > int64(len(c.b)) {
		c.fail(errShort)
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

// rest returns all that is left to read.
func (c *codec) rest() []byte { return c.next(int64(len(c.b))) }

// number takes a number at v.
func (c *codec) number(v any) {
	if b := c.next(int64(binary.Size(v))); b == nil {
		return
	} else if c.reading {
		_, _ = binary.Decode(b, binary.LittleEndian, v)
	} else {
		_, _ = binary.Encode(b, binary.LittleEndian, v)
	}
}

// values takes n numbers if they are present.
func values[T int8 | uint8 | int32 | uint32 | float32](c *codec, present bool, v *[]T, n int64) {
	if !present {
		return
	}
	var one T
	b := c.next(n * int64(binary.Size(one)))
	if !c.reading {
		_, _ = binary.Encode(b, binary.LittleEndian, *v)
	} else if c.err == nil {
		*v = make([]T, n)
		_, _ = binary.Decode(b, binary.LittleEndian, *v)
	}
}

// size takes a length or number of dimensions.
func (c *codec) size(v *int) {
	n := uint32(*v)
	c.number(&n)
	if !c.reading {
		return
	}
	if *v = int(n); n < 1 || n > maxDim {
		c.fail(fmt.Errorf("a size of %d, outside of 1 to %d", n, maxDim))
		*v = 1
	}
}

// flags takes a byte in which only the known bits may be set.
func (c *codec) flags(v *uint8, known uint8) {
	if c.number(v); *v&^known != 0 {
		c.fail(fmt.Errorf("unknown flags %#x", *v))
		*v = 0
	}
}

// text takes a short text.
func (c *codec) text(v *string) {
	n := uint8(len(*v))
	c.number(&n)
	if b := c.next(int64(n)); c.reading {
		*v = string(b)
	} else {
		copy(b, *v)
	}
}

// part takes bytes of their own, after their length.
func (c *codec) part(each func(c *codec)) {
	if c.reading {
		n := uint64(0)
		c.number(&n)
		p := read(c.next(int64(min(n, maxMapBytes+1))))
		if p.err = c.err; c.err == nil {
			each(p)
		}
		if err := p.end(); err != nil {
			c.fail(err)
		}
		return
	}
	at := len(c.b)
	c.b = append(c.b, 0, 0, 0, 0, 0, 0, 0, 0)
	each(c)
	binary.LittleEndian.PutUint64(c.b[at:], uint64(len(c.b)-at-8))
}

// bitIf returns the flag if the condition holds.
func bitIf(flag uint8, condition bool) uint8 {
	if condition {
		return flag
	}
	return 0
}

// The first byte of a function.
const (
	ensembleTag = 1
	linearTag   = 2
)

// AppendFunction appends the canonical bytes of f.
func AppendFunction(dst []byte, f Function) []byte {
	c := &codec{b: dst}
	codeFunction(c, &f)
	return c.b
}

// ParseFunction is the inverse of AppendFunction: it takes all of b or returns an error. It checks everything except
// whether the function fits vectors of some dimension, which is left to Check.
func ParseFunction(b []byte) (f Function, err error) {
	c := read(b)
	codeFunction(c, &f)
	if err := c.end(); err != nil {
		return nil, err
	}
	dim := maxDim
	if l, ok := f.(*Linear); ok {
		dim = len(l.Weight)
	}
	return f, f.Check(dim)
}

func codeFunction(c *codec, f *Function) {
	tag := uint8(ensembleTag)
	if _, linear := (*f).(*Linear); linear {
		tag = linearTag
	}
	c.number(&tag)
	if c.reading {
		switch tag {
		case ensembleTag:
			*f = new(Ensemble)
		case linearTag:
			*f = new(Linear)
		default:
			c.fail(fmt.Errorf("a hash function of unknown type %d", tag))
			return
		}
	}
	(*f).code(c)
}

func (e *Ensemble) code(c *codec) {
	depth, trees := uint8(e.Depth), uint32(e.Trees())
	c.number(&depth)
	c.number(&trees)
	if depth < 1 || depth > MaxDepth || trees > maxTrees {
		c.fail(fmt.Errorf("%d trees of depth %d: at most %d of depth 1 to %d", trees, depth, maxTrees, MaxDepth))
		return
	}
	if c.reading {
		e.Depth = int(depth)
	}
	splits := int64(trees) * int64(Splits(int(depth)))
	values(c, true, &e.Feature, splits)
	values(c, true, &e.Bin, splits)
	// A word of leaf signs has as many bytes as it needs: 1, 1, 1, 2, 4, 8.
	words, width := int(trees)*LeafWords(int(depth)), max(1, min(8, 1<<depth/8))
	b := c.next(int64(words * width))
	if c.reading && b != nil {
		e.Leaf = make([]uint64, words)
	}
	for i := range b {
		if word, shift := &e.Leaf[i/width], i%width*8; c.reading {
			*word |= uint64(b[i]) << shift
		} else {
			b[i] = uint8(*word >> shift)
		}
	}
	values(c, true, &e.Weight, int64(trees))
}

func (l *Linear) code(c *codec) {
	dim := len(l.Weight)
	c.size(&dim)
	c.number(&l.Bias)
	values(c, true, &l.Weight, int64(dim))
}

// Flags for columns with more than linear bins.
const (
	missingFlag = 1 << iota // values may be missing
	edgesFlag               // some columns have edges of their own
)

// codeQuantizer takes all Lo, all Hi, and if there is more a byte of flags, then with edgesFlag for every column the
// number of its edges, a byte, and the edges.
func codeQuantizer(c *codec, q *vectors.Quantizer, dim int) {
	values(c, true, &q.Lo, int64(dim))
	values(c, true, &q.Hi, int64(dim))
	if c.reading && len(c.b) == 0 || !c.reading && q.Plain() {
		return
	}
	flags := bitIf(missingFlag, q.Missing) | bitIf(edgesFlag, q.Edges != nil)
	c.flags(&flags, missingFlag|edgesFlag)
	if c.reading {
		if q.Missing = flags&missingFlag != 0; flags == 0 {
			c.fail(errors.New("a quantiser without more than linear bins says that it has more"))
		}
		if flags&edgesFlag != 0 {
			if len(c.b) <= dim { // all columns without edges
				c.fail(errShort)
				return
			}
			q.Edges = make([][]float32, dim)
		}
	}
	for j := range q.Edges {
		n := uint8(len(q.Edges[j]))
		c.number(&n)
		values(c, n > 0, &q.Edges[j], int64(n))
	}
}
