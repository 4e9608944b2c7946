package hamming

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestShardsHaveEveryRowOnce divides many numbers of rows and counts row by row.
func TestShardsHaveEveryRowOnce(t *testing.T) {
	for _, total := range []int{0, 1, 2, 7, 64, 1000} {
		for _, of := range []int{1, 2, 3, 7, 64, 65} {
			seen := make([]int, total)
			least, most := total, 0
			for number := range of {
				s := NewShard(number+1, of, total)
				if !s.isPossible() {
					t.Fatalf("%v is not possible", s)
				}
				for row := s.First; row < s.First+s.Rows; row++ {
					seen[row]++
				}
				least, most = min(least, s.Rows), max(most, s.Rows)
			}
			if slices.ContainsFunc(seen, func(n int) bool { return n != 1 }) || most > least+1 {
				t.Errorf("%d rows in %d shards: %v, from %d to %d rows", total, of, seen, least, most)
			}
		}
	}
	if s := NewShard(MaxShards, MaxShards, 1<<31-1); s.First+s.Rows != 1<<31-1 {
		t.Errorf("the last of many shards is %v", s)
	}
	for want, s := range map[string]Shard{
		"00003-of-00008": NewShard(3, 8, 9), "00001-of-00001": NewShard(1, 1, 9), "0000012-of-1000000": NewShard(12, 1000000, 9),
	} {
		if got := s.Name(); got != want {
			t.Errorf("%v is called %s", s, got)
		}
	}
}

// TestShardInFile: a shard survives writing, and files of all rows stay version 1.
func TestShardInFile(t *testing.T) {
	c, ids := random(4, 13, 1), []string{"a", "b", "", "d"}
	s := NewShard(2, 3, 12)
	known := s
	known.Data = 0x0123456789abcdef
	for version, want := range map[byte]Shard{1: {}, 2: s, 3: known} {
		b := write(t, HGC, Header{Bits: 13, Shard: want}, c, ids, 3)
		got, err := read(b)
		if err != nil || got.Shard != want || b[8] != version || !slices.Equal(got.Codes.Data, c.Data) || !slices.Equal(got.IDs, ids) {
			t.Errorf("version %d: %+v came back, %v", version, got, err)
		}
	}
	// A file of version 1 with a shard in it, or of version 2 without.
	part := piece{"part", string(s.appendBinary(nil))}
	head := piece{"head", "\x08\x00\x00\x00\x00" + strings.Repeat("\x01", 32)}
	tail := piece{"tail", strings.Repeat("\x00", 8)}
	for _, b := range [][]byte{assembleVersion(1, []piece{head, part, tail}), assembleVersion(2, []piece{head, tail})} {
		if _, err := read(b); !errors.Is(err, ErrDamaged) {
			t.Errorf("taken: %v", err)
		}
	}
	for _, s := range []Shard{{Number: 3, Of: 2}, {Number: 1, Of: 2, First: -1}, {Number: 1, Of: 1, Rows: 5, Total: 4}} {
		if _, err := NewWriter(&bytes.Buffer{}, HGC, Header{Bits: 8, Shard: s}); err == nil {
			t.Errorf("%v was taken", s)
		}
	}
	w, _ := NewWriter(&bytes.Buffer{}, HGC, Header{Bits: 8, Shard: NewShard(1, 2, 4)})
	if err := w.Write(random(3, 8, 1), nil); err == nil {
		t.Error("more codes than the shard has rows were taken")
	}
}

// TestShardKeepsRowNumbers: rows without ids are numbered over all data.
func TestShardKeepsRowNumbers(t *testing.T) {
	h := Header{Bits: 8, Shard: NewShard(2, 2, 5)}
	c := NewCodes(2, 8)
	if got := string(write(t, CSV, h, c, nil, 1)); got != "id,code\n3,00\n4,00\n" {
		t.Errorf("csv: %q", got)
	}
	if got := string(write(t, JSONLines, h, c, nil, 1)); got != `{"row":3,"code":"00"}`+"\n"+`{"row":4,"code":"00"}`+"\n" {
		t.Errorf("jsonl: %q", got)
	}
	if got := string(write(t, CSV, h, c, []string{"a", "b"}, 1)); got != "id,code\na,00\nb,00\n" {
		t.Errorf("csv with ids: %q", got)
	}
}
