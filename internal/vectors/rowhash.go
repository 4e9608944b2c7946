package vectors

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// RowHash tells a row from others by its values alone: the first 16 bytes of the SHA-256 of its float32 values,
// little-endian, -0 as 0 and every NaN as one. Rows that compare equal have one hash, and for all practical purposes
// only those.
type RowHash [16]byte

// String is the hash in hexadecimal digits.
func (h RowHash) String() string { return hex.EncodeToString(h[:]) }

// Short is the first 8 bytes of the hash as a number, highest first: evenly spread, and good enough for estimates.
func (h RowHash) Short() uint64 { return binary.BigEndian.Uint64(h[:]) }

// HashRows calls each with the hash of every row, in order.
func HashRows(x Matrix, each func(i int, h RowHash)) { HashFirst(x, x.Cols, each) }

// HashFirst is HashRows for the first columns alone.
func HashFirst(x Matrix, columns int, each func(i int, h RowHash)) {
	buf := make([]byte, 0, 4*columns)
	for i := range x.Rows {
		buf = AppendValues(buf[:0], x.Row(i)[:columns])
		sum := sha256.Sum256(buf)
		each(i, RowHash(sum[:16]))
	}
}

// AppendValues appends the bytes of a row that hashes are made of.
func AppendValues(dst []byte, row []float32) []byte {
	for _, v := range row {
		if v != v {
			v = float32(math.NaN())
		}
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v+0)) // -0 + 0 is 0
	}
	return dst
}
