package dataset

import (
	"encoding/binary"
	"strings"
)

// texts is a list of many texts of which few are distinct, such as labels: one to four bytes each, instead of the 16 of
// a string. The zero value is an empty list.
type texts struct {
	names  []string
	number map[string]uint32
	packed []byte // the numbers of the texts, little-endian
	width  int    // bytes of a number: 1, 2 or 4
}

// add appends a copy of a text and returns the bytes of memory that it takes.
func (t *texts) add(text string) (bytes int) {
	k, found := t.number[text]
	bytes = 4
	if !found {
		bytes += 4*entryBytes + len(text)
		if t.number == nil {
			t.number, t.width = map[string]uint32{}, 1
		}
		k = uint32(len(t.names))
		text = strings.Clone(text)
		t.number[text] = k
		t.names = append(t.names, text)
		if k == 1<<8 || k == 1<<16 {
			t.widen()
		}
	}
	switch t.width {
	case 1:
		t.packed = append(t.packed, byte(k))
	case 2:
		t.packed = binary.LittleEndian.AppendUint16(t.packed, uint16(k))
	default:
		t.packed = binary.LittleEndian.AppendUint32(t.packed, k)
	}
	return bytes
}

// widen doubles the width of the numbers.
func (t *texts) widen() {
	old, n := *t, t.len()
	t.width *= 2
	t.packed = make([]byte, n*t.width, (n+1)*t.width*9/8)
	for i := range n {
		k := old.numberOf(i)
		if t.width == 2 {
			binary.LittleEndian.PutUint16(t.packed[2*i:], uint16(k))
		} else {
			binary.LittleEndian.PutUint32(t.packed[4*i:], k)
		}
	}
}

// numberOf returns the number of text i.
func (t *texts) numberOf(i int) uint32 {
	switch t.width {
	case 1:
		return uint32(t.packed[i])
	case 2:
		return uint32(binary.LittleEndian.Uint16(t.packed[2*i:]))
	}
	return binary.LittleEndian.Uint32(t.packed[4*i:])
}

// text returns text i.
func (t *texts) text(i int) string { return t.names[t.numberOf(i)] }

func (t *texts) len() int {
	if t.width == 0 {
		return 0
	}
	return len(t.packed) / t.width
}

// trim drops empty texts at the end, down to the given number.
func (t *texts) trim(from int) {
	for n := t.len(); n > from && t.text(n-1) == ""; n-- {
		t.packed = t.packed[:(n-1)*t.width]
	}
}
