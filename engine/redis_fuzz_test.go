package engine

import (
	"bufio"
	"bytes"
	"testing"

	"hashgrove/hamming"
)

// FuzzRedisAnswer: any bytes are an error or an answer, and never more than they are long.
func FuzzRedisAnswer(f *testing.F) {
	for _, answer := range []string{
		"+OK\r\n", "-ERR no\r\n", ":-7\r\n", "$3\r\nabc\r\n", "$-1\r\n", "*2\r\n:1\r\n*1\r\n$0\r\n\r\n", "*-1\r\n", "*9999999\r\n", "$99\r\n",
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &redisConn{in: bufio.NewReader(bytes.NewReader(b))}
		left := 1 << 20
		if v, err := c.read(&left, 0); err == nil {
			if n := size(v); n > len(b) {
				t.Errorf("%d bytes became %d", len(b), n)
			}
			r := &redis{bits: 64}
			_, _ = r.hits(v)
		}
	})
}

func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		n := 0
		for _, part := range v {
			n += 1 + size(part)
		}
		return n
	}
	return 0
}

// FuzzSQLiteLine: any line is an error or an item.
func FuzzSQLiteLine(f *testing.F) {
	f.Add("3137|626F6F7473|73616C65,78|7072696365:=4629418941960159232,6E:78|8000000000000000", false)
	f.Add("31|||"+"|00", true)
	f.Fuzz(func(t *testing.T, line string, vec bool) {
		s := &sqlite{bits: 13, vec: vec}
		code := hamming.NewCodes(1, s.bits)
		if it, err := s.item(line, code); err == nil && it.Code[0]<<13 != 0 {
			t.Errorf("%q gives bits beyond the code", line)
		}
	})
}
