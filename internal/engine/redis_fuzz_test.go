package engine

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
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
			r := &redis{shape: shape{bits: 64}}
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
		s := &sqlite{shape: shape{bits: 13}, vec: vec}
		code := hamming.NewCodes(1, s.bits)
		if it, err := s.item(line, code); err == nil && it.Code[0]<<13 != 0 {
			t.Errorf("%q gives bits beyond the code", line)
		}
	})
}

// FuzzJournal: any bytes are no journal, one of another push, or one whose batches have numbers and whole hashes; and what
// is added to one is there when it is read again.
func FuzzJournal(f *testing.F) {
	head := journalHead{journalFormat, "items", "x", 10, "d"}
	first := `{"format":"hashgrove push 2","table":"items","identity":"x","batch":10,"digest":"d"}` + "\n"
	sum := strings.Repeat("0", digestDigits)
	for _, text := range []string{
		"", first, first + "0 " + sum + ".\n1 " + sum + ".\n", first + "0 " + sum + ".\n1 " + sum[1:], first + "-1 x.\n\n7",
		strings.Replace(first, "push 2", "push 1", 1), strings.Replace(first, "push 2", "push 9", 1), first[:20], "{}\n", "\xff\n",
		strings.Replace(first, `"x"`, `"y"`, 1), strings.Replace(first, `"d"`, `"e"`, 1),
	} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "journal")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := openJournal(path, head)
		if err != nil {
			if after, _ := os.ReadFile(path); !bytes.Equal(after, b) {
				t.Fatal("a file that was refused has changed")
			}
			return
		}
		for _, digest := range j.done {
			if len(digest) != digestDigits {
				t.Fatalf("a batch with the hash %q", digest)
			}
		}
		if err := errors.Join(j.add(3, sum), j.file.Close()); err != nil {
			t.Fatal(err)
		}
		again, err := openJournal(path, head)
		if err != nil || again.done[3] != sum || len(again.done) < len(j.done) {
			t.Fatalf("read again: %v, %d batches after %d", err, len(again.done), len(j.done))
		}
		if err := again.file.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
