// Package hamming holds packed binary codes and computes distances between them.
//
// Bit 0 of a code is the most significant bit of its first byte, as in numpy's packbits and PostgreSQL's bit(n).
// In memory a code is a row of 64-bit words whose big-endian bytes are that byte string; bits beyond the length
// are zero.
package hamming

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"

	"hashgrove/internal/message"
)

// MaxBits is the largest length of a code in a file.
const MaxBits = 4096

// Codes is a table of codes of the same length.
type Codes struct {
	Bits  int // length of every code
	Words int // words per code: Bits/64, rounded up
	Data  []uint64
}

// NewCodes returns n codes with all bits zero.
func NewCodes(n, bits int) Codes {
	if n < 0 || bits < 0 {
		panic("hamming: negative size")
	}
	words := (bits + 63) / 64
	return Codes{bits, words, make([]uint64, n*words)}
}

// Len returns the number of codes.
func (c Codes) Len() int {
	if c.Words == 0 {
		return 0
	}
	return len(c.Data) / c.Words
}

// Row returns code i without copying it.
func (c Codes) Row(i int) []uint64 { return c.Data[i*c.Words : (i+1)*c.Words : (i+1)*c.Words] }

// Bit returns bit b of code i.
func (c Codes) Bit(i, b int) bool { return c.Data[i*c.Words+b>>6]>>(63-b&63)&1 != 0 }

// SetBit sets bit b of code i to v.
func (c Codes) SetBit(i, b int, v bool) {
	word, mask := &c.Data[i*c.Words+b>>6], uint64(1)<<(63-b&63)
	if v {
		*word |= mask
	} else {
		*word &^= mask
	}
}

// Bytes returns the length of a packed code in bytes.
func (c Codes) Bytes() int { return (c.Bits + 7) / 8 }

// AppendBytes appends code i as packed bytes, bit 0 first.
func (c Codes) AppendBytes(dst []byte, i int) []byte {
	for _, w := range c.Row(i) {
		dst = binary.BigEndian.AppendUint64(dst, w)
	}
	return dst[:len(dst)-8*c.Words+c.Bytes()]
}

// SetBytes sets code i from packed bytes. It returns false if their number is wrong or a bit beyond the length is set.
func (c Codes) SetBytes(i int, packed []byte) bool {
	return len(packed) == c.Bytes() && c.unpack(i, packed)
}

// Append appends packed codes. It returns false if they are not whole codes or a bit beyond the length is set.
func (c *Codes) Append(packed []byte) bool {
	n, first := len(packed)/c.Bytes(), c.Len()
	c.Data = slices.Grow(c.Data, n*c.Words)[:(first+n)*c.Words]
	return len(packed)%c.Bytes() == 0 && c.unpack(first, packed)
}

func (c Codes) unpack(first int, packed []byte) bool {
	size := c.Bytes()
	rows := c.Data[first*c.Words : (first+len(packed)/size)*c.Words]
	if c.Bits&63 == 0 {
		for w := range rows {
			rows[w] = binary.BigEndian.Uint64(packed[8*w:])
		}
		return true
	}
	for ; len(rows) > 0; rows, packed = rows[c.Words:], packed[size:] {
		if over := c.Bits & 7; over != 0 && packed[size-1]<<over != 0 {
			return false
		}
		last := c.Words - 1
		for w := range last {
			rows[w] = binary.BigEndian.Uint64(packed[8*w:])
		}
		rows[last] = 0
		for b, v := range packed[8*last : size] {
			rows[last] |= uint64(v) << (56 - 8*b)
		}
	}
	return true
}

// Prefix returns a copy of the codes, cut to their first bits.
func (c Codes) Prefix(bits int) Codes {
	if bits < 0 || bits > c.Bits {
		panic("hamming: prefix longer than the code")
	}
	p := NewCodes(c.Len(), bits)
	for i := range c.Len() {
		row := p.Row(i)
		copy(row, c.Row(i))
		if over := bits & 63; over != 0 {
			row[len(row)-1] &= ^uint64(0) << (64 - over)
		}
	}
	return p
}

// Distance returns the number of bits in which two codes of the same length differ.
func Distance(a, b []uint64) int {
	if len(a) != len(b) {
		panic("hamming: codes of different lengths")
	}
	d := 0
	for i, w := range a {
		d += bits.OnesCount64(w ^ b[i])
	}
	return d
}

// BitWeight is the weight of a bit within its group, for models whose bits count differently.
type BitWeight struct {
	Group  int     `json:"group"`
	Weight float64 `json:"weight"` // from 0 to 1
}

// Match counts the bits in which two codes agree and differ.
type Match struct {
	Distance int   `json:"distance"`
	Agree    []int `json:"agree"`
	Differ   []int `json:"differ"`
}

// Compare explains the distance between two codes of the given length.
func Compare(a, b []uint64, width int) Match {
	if len(a) != len(b) || len(a) != (width+63)/64 {
		panic("hamming: codes of different lengths")
	}
	m := Match{Agree: []int{}, Differ: []int{}}
	for bit := range width {
		if (a[bit>>6]^b[bit>>6])>>(63-bit&63)&1 == 0 {
			m.Agree = append(m.Agree, bit)
		} else {
			m.Differ = append(m.Differ, bit)
		}
	}
	m.Distance = len(m.Differ)
	return m
}

// Fingerprint identifies the hash functions that made a code. It is a chain over the bits,
//
//	F_0 = SHA-256(kind, dimension, what all bits share),   F_k = SHA-256(F_{k-1}, bit k),
//
// so the first N bits of a longer model have the fingerprint of the shorter one: prefixes of codes and grown models
// stay compatible. It covers only the functions, not the seed, statistics or names.
//
// The fingerprint of codes with detail says so in its last bytes, "detail" and the number of these bits: wherever codes
// go, their fingerprint goes too, and nobody can search them as if all bits weighed the same.
type Fingerprint [sha256.Size]byte

const detailMark = "detail"

// WithDetail returns the fingerprint of codes whose last bits, at least one, are detail.
func (f Fingerprint) WithDetail(bits int) Fingerprint {
	at := len(f) - len(detailMark) - 2
	copy(f[at:], detailMark)
	binary.BigEndian.PutUint16(f[len(f)-2:], uint16(bits))
	return f
}

// Detail returns how many of the bits of a code, the last ones, are detail: fewer than all.
func (f Fingerprint) Detail(bits int) int {
	at := len(f) - len(detailMark) - 2
	n := int(binary.BigEndian.Uint16(f[len(f)-2:]))
	if string(f[at:len(f)-2]) != detailMark || n >= bits || bits > MaxWeightedBits {
		return 0
	}
	return n
}

// String returns the short form shown to people: 16 hex digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:8]) }

// Full returns all 64 hex digits.
func (f Fingerprint) Full() string { return hex.EncodeToString(f[:]) }

// ParseFingerprint parses the output of Full.
func ParseFingerprint(text string) (f Fingerprint, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(f) {
		return f, fmt.Errorf("%q is not the fingerprint of a model, which has %d hexadecimal digits", text, 2*len(f))
	}
	return Fingerprint(b), nil
}

// Accept returns an error naming both models if the codes come from another one. Zeros mean unknown and are accepted.
func (f Fingerprint) Accept(codes Fingerprint) error {
	if unknown := (Fingerprint{}); codes == unknown || f == unknown || codes == f {
		return nil
	}
	return message.New("other-model", "codes of model %v do not belong in the index of model %v: "+
		"encode with that model, or build another index", codes, f)
}
