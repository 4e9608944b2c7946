package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
)

// ID names an item: an integer or a text. A text that is an integer in its shortest decimal form is that integer, so 17
// and "17" name the same item wherever they come from; "017" is a text. IDs are comparable with ==.
//
// Ids order integers by value, then texts by their bytes. Items at equal distance come in this order.
type ID struct {
	text   string
	number int64
}

// Int returns the id of an integer.
func Int(n int64) ID { return ID{number: n} }

// ParseID returns the id that s spells.
func ParseID(s string) (ID, error) {
	switch {
	case s == "":
		return ID{}, errors.New("an id is empty: give every item its own text or integer")
	case len(s) > hamming.MaxID:
		return ID{}, fmt.Errorf("an id of %d bytes: at most %d are allowed", len(s), hamming.MaxID)
	}
	return Text(s), nil
}

// RowID returns the id of row i of a chunk, or the row's number if rows have no ids.
func RowID(ids []string, i, row int) (ID, error) {
	if ids == nil {
		return Int(int64(row)), nil
	}
	id, err := ParseID(ids[i])
	if err != nil {
		return id, fmt.Errorf("row %d: %w", row, err)
	}
	return id, nil
}

// Text is ParseID for a text that is not empty.
func Text(s string) ID {
	if s == "" {
		panic("index: empty id")
	}
	if len(s) <= 20 {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(n, 10) == s {
			return ID{number: n}
		}
	}
	return ID{text: s}
}

// String returns the id as text, which ParseID reads back.
func (a ID) String() string {
	if a.text != "" {
		return a.text
	}
	return strconv.FormatInt(a.number, 10)
}

// Short returns the id for a message, cut if it is long.
func (a ID) Short() string { return shortened(a.String()) }

// Integer returns the id as an integer, and whether it is one.
func (a ID) Integer() (int64, bool) { return a.number, a.text == "" }

// Compare returns a negative number, zero or a positive number if a comes before, equals or comes after b.
func (a ID) Compare(b ID) int {
	switch {
	case a.text == "" && b.text == "":
		return cmp.Compare(a.number, b.number)
	case a.text == "":
		return -1
	case b.text == "":
		return 1
	}
	return strings.Compare(a.text, b.text)
}

// MarshalJSON writes a number or a string.
func (a ID) MarshalJSON() ([]byte, error) {
	if a.text != "" {
		return json.Marshal(a.text)
	}
	return strconv.AppendInt(nil, a.number, 10), nil
}

// UnmarshalJSON reads a number or a string.
func (a *ID) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		id, err := ParseID(s)
		*a = id
		return err
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("the id %s is neither a 64-bit integer nor a string", b)
	}
	*a = Int(n)
	return nil
}

// idTable holds ids in ascending order. Positions are indexes into it.
type idTable struct {
	integers int     // number of integers, which come first
	first    int64   // the least integer
	number   []int64 // the integers; nil if they are consecutive
	text     stringTable
	room     int // expected number of ids
}

// add appends an id, which must come after all others.
func (t *idTable) add(id ID) {
	if id.text != "" {
		t.text.add(id.text)
		return
	}
	switch {
	case t.integers == 0:
		t.first = id.number
	case t.number == nil && uint64(id.number)-uint64(t.first) != uint64(t.integers): // the first gap
		t.number = make([]int64, t.integers, max(t.room, t.integers+1))
		for i := range t.number {
			t.number[i] = t.first + int64(i)
		}
	}
	if t.number != nil {
		t.number = append(t.number, id.number)
	}
	t.integers++
}

// clip releases spare capacity.
func (t *idTable) clip() {
	t.number = slices.Clip(t.number)
	t.text.clip()
}

func (t *idTable) len() int { return t.integers + t.text.len() }

func (t *idTable) get(pos uint32) ID {
	switch {
	case int(pos) >= t.integers:
		return ID{text: t.text.get(int(pos) - t.integers)}
	case t.number == nil:
		return ID{number: t.first + int64(pos)}
	}
	return ID{number: t.number[pos]}
}

// find returns the position of an id, or where it would be.
func (t *idTable) find(id ID) (uint32, bool) {
	if id.text != "" {
		i, ok := t.text.find(id.text)
		return uint32(t.integers + i), ok
	}
	if t.number == nil {
		switch offset := uint64(id.number) - uint64(t.first); {
		case t.integers == 0 || id.number < t.first:
			return 0, false
		case offset >= uint64(t.integers):
			return uint32(t.integers), false
		default:
			return uint32(offset), true
		}
	}
	i, ok := slices.BinarySearch(t.number, id.number)
	return uint32(i), ok
}

func (t *idTable) bytes() int { return 8*len(t.number) + t.text.bytes() }

// stringTable holds strings back to back.
type stringTable struct {
	all []byte
	end []int // of each string
}

func (t *stringTable) add(s string) {
	t.all = append(t.all, s...)
	t.end = append(t.end, len(t.all))
}

// clip releases spare capacity.
func (t *stringTable) clip() { t.all, t.end = slices.Clip(t.all), slices.Clip(t.end) }

func (t *stringTable) len() int { return len(t.end) }

func (t *stringTable) get(i int) string { return string(t.bytesOf(i)) }

// bytesOf returns string i without copying it.
func (t *stringTable) bytesOf(i int) []byte {
	start := 0
	if i > 0 {
		start = t.end[i-1]
	}
	return t.all[start:t.end[i]]
}

// find looks up a string in a sorted table.
func (t *stringTable) find(s string) (int, bool) {
	i := t.search(s, false)
	return i, i < t.len() && string(t.bytesOf(i)) == s
}

// search returns the first place whose string is at least s, or greater than s if over is set.
func (t *stringTable) search(s string, over bool) int {
	return sort.Search(t.len(), func(i int) bool {
		v := t.bytesOf(i)
		return string(v) > s || !over && string(v) == s
	})
}

// prefixed returns the range [lo, hi) of the strings that start with prefix.
func (t *stringTable) prefixed(prefix string) (lo, hi int) {
	lo = t.search(prefix, false)
	more := sort.Search(t.len()-lo, func(i int) bool { return !bytes.HasPrefix(t.bytesOf(lo+i), []byte(prefix)) })
	return lo, lo + more
}

func (t *stringTable) bytes() int { return cap(t.all) + 8*cap(t.end) }
