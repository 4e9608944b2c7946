package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"hashgrove/internal/message"
)

// dtype is the type of the values in a binary file.
type dtype struct {
	kind byte // 'f', 'i', 'u', 'b' (bool), or 'U' and 'S' for text
	size int  // bytes
	big  bool // most significant byte first
}

// appendFloats appends the values in src, whose length is a multiple of their size. It returns the place of the first
// finite value beyond the range of float32, or -1.
func (t dtype) appendFloats(dst []float32, src []byte) ([]float32, int) {
	switch {
	case t.size == 1 && t.kind == 'i':
		for _, b := range src {
			dst = append(dst, float32(int8(b)))
		}
		return dst, -1
	case t.size == 1:
		from := len(dst)
		dst = append(dst, make([]float32, len(src))...)
		for i, b := range src {
			dst[from+i] = float32(b)
		}
		return dst, -1
	case t == dtype{'f', 4, false}:
		from := len(dst)
		dst = append(dst, make([]float32, len(src)/4)...)
		out := dst[from:]
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
		return dst, -1
	}
	bad := -1
	for i := 0; i < len(src); i += t.size {
		u := t.bits(src[i:])
		var v float32
		switch t.kind {
		case 'f':
			wide := t.float(u)
			if v = float32(wide); math.IsInf(float64(v), 0) && !math.IsInf(wide, 0) && bad < 0 {
				bad = i / t.size
			}
		case 'i':
			v = float32(t.signed(u))
		default:
			v = float32(u)
		}
		dst = append(dst, v)
	}
	return dst, bad
}

// bits returns the first value of src, its bytes in order.
func (t dtype) bits(src []byte) uint64 {
	switch {
	case t.size == 1:
		return uint64(src[0])
	case t.size == 2 && t.big:
		return uint64(binary.BigEndian.Uint16(src))
	case t.size == 2:
		return uint64(binary.LittleEndian.Uint16(src))
	case t.size == 4 && t.big:
		return uint64(binary.BigEndian.Uint32(src))
	case t.size == 4:
		return uint64(binary.LittleEndian.Uint32(src))
	case t.big:
		return binary.BigEndian.Uint64(src)
	default:
		return binary.LittleEndian.Uint64(src)
	}
}

func (t dtype) signed(u uint64) int64 {
	shift := 64 - 8*t.size
	return int64(u<<shift) >> shift
}

func (t dtype) float(u uint64) float64 {
	switch t.size {
	case 2:
		return float64(Half(uint16(u)))
	case 4:
		return float64(math.Float32frombits(uint32(u)))
	default:
		return math.Float64frombits(u)
	}
}

// text returns the value src as a label: every digit of an integer, and a whole float without its point.
func (t dtype) text(src []byte) string {
	switch t.kind {
	case 'S':
		return strings.TrimRight(string(src), "\x00")
	case 'U':
		character := dtype{'u', 4, t.big}
		var s []byte
		for i := 0; i < len(src); i += 4 {
			s = utf8.AppendRune(s, rune(min(character.bits(src[i:]), utf8.MaxRune+1)))
		}
		return strings.TrimRight(string(s), "\x00")
	}
	u := t.bits(src)
	switch t.kind {
	case 'b':
		return strconv.FormatBool(u != 0)
	case 'i':
		return strconv.FormatInt(t.signed(u), 10)
	case 'u':
		return strconv.FormatUint(u, 10)
	}
	v := t.float(u)
	if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, max(8*t.size, 32))
}

// Half returns the value of an IEEE 754 half.
func Half(h uint16) float32 {
	sign, exponent, mantissa := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(mantissa)*0x1p-24))
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | mantissa<<13)
	default:
		return math.Float32frombits(sign | (exponent+127-15)<<23 | mantissa<<13)
	}
}

var (
	errNotNumber = message.New("not-a-number", "is not a number")
	errTooLarge  = message.New("out-of-range", "is beyond the range of float32")
)

// parseFloat parses a decimal number. "nan" and "inf" are numbers too: the caller decides whether they are allowed.
func parseFloat(b []byte) (float32, error) {
	// ParseFloat also accepts hexadecimal and underscores, which in data are ids or typing errors.
	if len(b) == 0 || len(b) > 2 && (b[1]|0x20 == 'x' || b[2]|0x20 == 'x') || bytes.IndexByte(b, '_') >= 0 {
		return 0, errNotNumber
	}
	// The bytes do not change during the call, and ParseFloat keeps none of them.
	v, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), 32)
	if err == nil {
		return float32(v), nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return 0, errTooLarge
	}
	return 0, errNotNumber
}

// excerpt quotes text of a file for an error.
func excerpt(b []byte) string {
	if len(b) > 40 {
		return strconv.Quote(string(b[:40])) + "..."
	}
	return strconv.Quote(string(b))
}
