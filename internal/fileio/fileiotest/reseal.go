// Package fileiotest lets tests change a file and fix its checksums.
package fileiotest

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Reseal corrects all checksums and the end marker of a file, as long as its sections can be followed. A fuzzer that
// changes bytes then reaches the parser of the contents instead of failing at the checksums.
func Reseal(file []byte) []byte {
	b := slices.Clone(file)
	if len(b) < 16 {
		return b
	}
	le, table := binary.LittleEndian, crc32.MakeTable(crc32.Castagnoli)
	le.PutUint32(b[12:], crc32.Checksum(b[:12], table))
	chain, n := uint32(0), uint64(0)
	for at := 16; len(b)-at >= 16; {
		length := le.Uint64(b[at+4:])
		if length > uint64(len(b)-at-16) {
			break
		}
		foot := at + 12 + int(length)
		if string(b[at:at+4]) == "end." && length == 12 {
			le.PutUint64(b[at+12:], n)
			le.PutUint32(b[at+20:], chain)
		}
		le.PutUint32(b[foot:], crc32.Checksum(b[at:foot], table))
		chain = crc32.Update(chain, table, b[foot:foot+4])
		n++
		at = foot + 4
	}
	return b
}
