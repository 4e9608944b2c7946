package supervision

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"

	"hashgrove/vectors"
)

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
