package vectors

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// RowHash identifies a row by its values: the first 16 bytes of the SHA-256 of its float32 values, little-endian, with
// -0 as 0 and all NaNs alike. Rows that compare equal have the same hash; for all practical purposes no others do.
type RowHash [16]byte

// Short returns the first 8 bytes as a big-endian number: evenly distributed, and good enough for estimates.
func (h RowHash) Short() uint64 { return binary.BigEndian.Uint64(h[:]) }

// HashRows calls each with the hash of every row, in order; of its first columns alone, unless columns is 0.
func HashRows(x Matrix, columns int, each func(i int, h RowHash)) {
	columns = cmp.Or(columns, x.Cols)
	buf := make([]byte, 0, 4*columns)
	for i := range x.Rows {
		buf = AppendValues(buf[:0], x.Row(i)[:columns])
		sum := sha256.Sum256(buf)
		each(i, RowHash(sum[:16]))
	}
}

// AppendValues appends the bytes that a row's hash is computed from.
func AppendValues(dst []byte, row []float32) []byte {
	for _, v := range row {
		if v != v {
			v = float32(math.NaN())
		}
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v+0)) // -0 + 0 is 0
	}
	return dst
}
