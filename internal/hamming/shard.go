package hamming

import (
	"encoding/binary"
	"fmt"
	"math"
)

// MaxShards is the largest number of shards of a data set.
const MaxShards = 1 << 20

// Shard is one of several runs of rows that together cover a data set once. The same number of rows divided into the
// same number of shards always gives the same runs. The zero Shard means all rows.
type Shard struct {
	Number int // from 1 to Of
	Of     int // number of shards
	First  int // its first row, from 0 over the whole data set
	Rows   int // in the shard, including skipped ones
	Total  int // rows of all shards

	// Data identifies the data that the rows come from; 0 means unknown. Two shards of one number of rows may be of
	// different data all the same.
	Data uint64
}

// NewShard returns one of several shards whose lengths differ by at most one. The numbers must be in range.
func NewShard(number, of, total int) Shard {
	if of < 1 || of > MaxShards || number < 1 || number > of || total < 0 {
		panic(fmt.Sprintf("hamming: shard %d of %d for %d rows", number, of, total))
	}
	each, more := total/of, total%of
	s := Shard{Number: number, Of: of, First: (number-1)*each + min(number-1, more), Rows: each, Total: total}
	if number <= more {
		s.Rows++
	}
	return s
}

// IsWhole reports whether the shard means all rows.
func (s Shard) IsWhole() bool { return s.Of == 0 }

// Name returns a name for files of the shard, such as 00003-of-00008. Names sort by number.
func (s Shard) Name() string {
	digits := max(5, len(fmt.Sprint(s.Of)))
	return fmt.Sprintf("%0*d-of-%0*d", digits, s.Number, digits, s.Of)
}

func (s Shard) String() string {
	if s.IsWhole() {
		return "all rows"
	}
	return fmt.Sprintf("shard %d of %d, which is %d of %d rows from row %d on", s.Number, s.Of, s.Rows, s.Total, s.First)
}

// isPossible reports whether the numbers are consistent.
func (s Shard) isPossible() bool {
	return s.Of >= 1 && s.Of <= MaxShards && s.Number >= 1 && s.Number <= s.Of && s.First >= 0 && s.Rows >= 0 &&
		s.Total >= 0 && s.First <= s.Total && s.Rows <= s.Total-s.First
}

// shardSize is the encoded size of a shard; in version 2 of the file its last eight bytes, the data, are not there.
const shardSize = 4 + 4 + 8 + 8 + 8 + 8

func (s Shard) appendBinary(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.Number))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.Of))
	for _, n := range []int{s.First, s.Rows, s.Total} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
	}
	if s.Data != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, s.Data)
	}
	return dst
}

// parseShard parses the output of appendBinary and reports whether it is valid.
func parseShard(b []byte) (Shard, bool) {
	if len(b) != shardSize && len(b) != shardSize-8 {
		return Shard{}, false
	}
	number, of := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	var rows [3]int
	for i := range rows {
		n := binary.LittleEndian.Uint64(b[8+8*i:])
		if n > math.MaxInt {
			return Shard{}, false
		}
		rows[i] = int(n)
	}
	if number > MaxShards || of > MaxShards {
		return Shard{}, false
	}
	s := Shard{Number: int(number), Of: int(of), First: rows[0], Rows: rows[1], Total: rows[2]}
	if len(b) == shardSize {
		s.Data = binary.LittleEndian.Uint64(b[shardSize-8:])
	}
	return s, s.isPossible()
}
