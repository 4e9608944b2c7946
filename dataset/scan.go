package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"strings"

	"hashgrove/vectors"
)

// ScanOptions says what Scan does besides. The zero value does nothing besides.
type ScanOptions struct {
	Progress func(rows int) // called after every chunk with the rows read so far
	Digest   bool           // fill in Summary.Digest
}

// Summary is what one pass tells of a data set. It keeps a few bytes per row, never the vectors.
type Summary struct {
	Rows, Dim int
	Ranges    *vectors.Ranges
	Constant  []int    // columns with one value only, counted from 0
	IDs       []string // of each row, all different; nil when the data have none
	Labels    *Labels  // nil when the data have none
	Tags      *Tags    // nil when the data have none
	Pairs     []Pair   // nil until ReadPairs

	// Bad counts the rows left out; BadExamples are the first few.
	Bad         int
	BadExamples []RowError

	// Digest is the SHA-256 of the dimensions, all values and the supervision, in order. It does not depend
	// on the format of the files, nor on how the rows are spread over them, nor on ids.
	Digest   [32]byte
	digested bool

	Warnings []string // doubts in sentences
	dropped  []int    // rows left out, as the files count them, ascending
}

// Scan reads a source once. Two rows of one id are an error; in a Set with Spec.SkipBad the later one is a
// bad row, and the Set leaves it out of every later pass.
func Scan(ctx context.Context, src vectors.Source, o ScanOptions) (*Summary, error) {
	set := setOf(src)
	s := &Summary{Dim: src.Dim(), Ranges: vectors.NewRanges(src.Dim()), digested: o.Digest}
	var (
		digest  = newDigest(s.Dim)
		ids     = &identities{first: map[string]int{}}
		classes = &labelling{naming: newNaming()}
		tags    = &tagging{naming: newNaming()}
		kept    vectors.Chunk
	)
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		if c.IDs != nil {
			keep, err := ids.add(c, set)
			if err != nil {
				return nil, err
			}
			if keep != nil {
				c.Only(keep, &kept)
				c = kept
			}
		}
		if s.Rows += c.X.Rows; s.Rows > math.MaxInt32 {
			return nil, fmt.Errorf("more than %d rows, the most a model can be learned from: take a sample", math.MaxInt32)
		}
		s.Ranges.Add(c.X)
		if o.Digest {
			digest.rows(c.X)
		}
		for _, label := range c.Labels {
			classes.add(label)
		}
		for _, row := range c.Tags {
			tags.add(row)
		}
		if o.Progress != nil {
			o.Progress(s.Rows)
		}
	}
	if set != nil {
		if len(ids.duplicates) > 0 {
			set.leaveOut(ids.duplicates, ids.duplicateIDs)
		}
		s.Bad, s.BadExamples = set.Bad()
		s.dropped = set.last.dropped
		s.Warnings = append(s.Warnings, set.warnings...)
	}
	if s.Rows == 0 && s.Bad > 0 {
		return nil, fmt.Errorf("all %s bad; the first: %w", noun{"row is", "rows are"}.count(s.Bad), &s.BadExamples[0])
	} else if s.Rows == 0 {
		return nil, errors.New("the data have no rows")
	}
	for j := range s.Dim {
		if s.Ranges.Min[j] == s.Ranges.Max[j] {
			s.Constant = append(s.Constant, j)
		}
	}
	s.IDs = ids.list
	if len(classes.class) > 0 {
		s.Labels = classes.labels()
	}
	if len(tags.start) > 0 {
		s.Tags = tags.tags()
	}
	if o.Digest {
		s.Digest = digest.sum(s.Rows, s.Labels, s.Tags)
	}
	s.warn()
	return s, nil
}

// setOf finds the Set below sources that are made from others, or nil.
func setOf(src vectors.Source) *Set {
	for {
		switch s := src.(type) {
		case *Set:
			return s
		case interface{ Unwrap() vectors.Source }:
			src = s.Unwrap()
		default:
			return nil
		}
	}
}

// identities collects ids and finds those that occur twice.
type identities struct {
	first map[string]int // the row that has the id, as the files count
	list  []string

	duplicates   []duplicate
	duplicateIDs []string // of the first few
}

// add takes the ids of a chunk. Where rows must be left out it says which to keep.
func (d *identities) add(c vectors.Chunk, set *Set) (keep []bool, err error) {
	slab := strings.Join(c.IDs, "") // one string instead of thousands; the chunk's own are lent
	for i := range c.IDs {
		id := slab[:len(c.IDs[i])]
		slab = slab[len(id):]
		row := c.First + i
		if c.Places != nil {
			row = c.Places[i]
		}
		first, twice := d.first[id]
		if !twice {
			d.first[id] = row
			d.list = append(d.list, id)
			continue
		}
		switch {
		case set == nil:
			return nil, fmt.Errorf("rows %d and %d have the same id %q", first+1, row+1, id)
		case !set.spec.SkipBad:
			return nil, advise(set.last.sameID(row, first, id))
		}
		if keep == nil {
			keep = make([]bool, c.X.Rows)
			for k := range keep {
				keep[k] = true
			}
		}
		keep[i] = false
		d.duplicates = append(d.duplicates, duplicate{row, first})
		if len(d.duplicateIDs) < badExamples {
			d.duplicateIDs = append(d.duplicateIDs, id)
		}
	}
	return keep, nil
}

// dataDigest is a SHA-256 over, all numbers little-endian,
//
//	"hashgrove data 1\n", dim uint32
//	the values, float32, row after row, -0 as 0
//	rows uint64
//	'L' when there are labels: the names, then the class of each row, int32
//	'T' when there are tags:   the names, then for each row the number of its tags and the tags, int32
//	'P' when there are pairs:  A, B, Y of each, int32 (hashed over the digest without them)
//
// where names are a uint32 count and for each a uint32 length and the bytes.
type dataDigest struct {
	h   hash.Hash
	buf []byte
}

func newDigest(dim int) *dataDigest {
	d := &dataDigest{h: sha256.New()}
	d.h.Write([]byte("hashgrove data 1\n"))
	d.number(dim)
	return d
}

func (d *dataDigest) rows(x vectors.Matrix) {
	for i := range x.Rows {
		d.buf = d.buf[:0]
		for _, v := range x.Row(i) {
			d.buf = binary.LittleEndian.AppendUint32(d.buf, math.Float32bits(v+0)) // -0 + 0 is 0
		}
		d.h.Write(d.buf)
	}
}

func (d *dataDigest) number(n int) {
	d.buf = binary.LittleEndian.AppendUint32(d.buf[:0], uint32(n))
	d.h.Write(d.buf)
}

func (d *dataDigest) numbers(list []int32) {
	for _, n := range list {
		d.number(int(n))
	}
}

func (d *dataDigest) names(names []string) {
	d.number(len(names))
	for _, name := range names {
		d.number(len(name))
		d.h.Write([]byte(name))
	}
}

func (d *dataDigest) sum(rows int, l *Labels, t *Tags) [32]byte {
	d.h.Write(binary.LittleEndian.AppendUint64(nil, uint64(rows)))
	if l != nil {
		d.h.Write([]byte{'L'})
		d.names(l.Names)
		d.numbers(l.Class)
	}
	if t != nil {
		d.h.Write([]byte{'T'})
		d.names(t.Names)
		for i := range t.Rows() {
			d.number(len(t.Row(i)))
			d.numbers(t.Row(i))
		}
	}
	return [32]byte(d.h.Sum(nil))
}

// digestPairs is the digest of the data together with pairs.
func digestPairs(data [32]byte, pairs []Pair) [32]byte {
	d := &dataDigest{h: sha256.New()}
	d.h.Write(data[:])
	d.h.Write([]byte{'P'})
	for _, p := range pairs {
		d.numbers([]int32{p.A, p.B, int32(p.Y)})
	}
	return [32]byte(d.h.Sum(nil))
}
