package hamming

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// codesOfFAISS returns the contents of the files in testdata/faiss, written by FAISS 1.15.
const codesOfFAISS = "ffe42279f3bd068366a852c1bb9651f3cd18ec08f6a4e724d26facd2aeb0daf2a972cd3f"

func TestFilesOfFAISSAreRead(t *testing.T) {
	mapped := "[7 -3 0 4611686018427387904 100 101 102 103 104 105 106 107]"
	for name, want := range map[string]string{"flat": "[]", "idmap": mapped, "idmap2": mapped} {
		path := filepath.Join("testdata", "faiss", name+".faiss")
		table, err := ReadFile(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var packed []byte
		for i := range table.Codes.Len() {
			packed = table.Codes.AppendBytes(packed, i)
		}
		if got := fmt.Sprint(table.IDs); got != want || table.Codes.Bits != 24 || hex.EncodeToString(packed) != codesOfFAISS {
			t.Errorf("%s: %d bits, ids %s, codes %x", name, table.Codes.Bits, got, packed)
		}
		if is, err := IsFAISS(path); !is || err != nil {
			t.Errorf("%s is not known as a file of FAISS: %v", name, err)
		}
	}
	if _, err := ReadFile("testdata/faiss/hnsw.faiss"); !errors.Is(err, ErrFAISS) || !strings.Contains(err.Error(), `"IBHf"`) {
		t.Errorf("a graph of FAISS: %v", err)
	}
	if is, err := IsFAISS("faiss_test.go"); is || err != nil {
		t.Errorf("this file counts as one of FAISS: %v", err)
	}
}

// TestHostileFilesOfFAISS: files claim more than there is; memory must follow the bytes, and the error says what is
// wrong.
func TestHostileFilesOfFAISS(t *testing.T) {
	for _, name := range []string{"flat", "idmap", "idmap2"} {
		b, err := os.ReadFile(filepath.Join("testdata", "faiss", name+".faiss"))
		if err != nil {
			t.Fatal(err)
		}
		read := func(b []byte) error {
			r, err := NewReader(bytes.NewReader(b))
			if err == nil {
				_, err = r.All()
			}
			return err
		}
		for cut := 4; cut < len(b); cut++ {
			if err := read(b[:cut]); !errors.Is(err, ErrFAISS) {
				t.Errorf("%s cut at %d: %v", name, cut, err)
			}
		}
		if err := read(append(bytes.Clone(b), 0)); !errors.Is(err, ErrFAISS) {
			t.Errorf("%s with a byte more: %v", name, err)
		}
		huge := bytes.ReplaceAll(b, []byte{12, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 0x70, 0, 0, 0, 0})
		huge = bytes.ReplaceAll(huge, []byte{36, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 0x50, 1, 0, 0, 0})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = read(huge)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrFAISS) || n > 16<<20 {
			t.Errorf("%s that claims two billion codes: %v, after taking %d bytes", name, err, n)
		}
	}
}

// TestLongestCodesOfFAISS: codes of MaxBits are read, and an otherwise valid file of longer ones is rejected.
func TestLongestCodesOfFAISS(t *testing.T) {
	for _, bits := range []int{MaxBits, MaxBits + 8} {
		var b bytes.Buffer
		b.WriteString(faissFlat)
		head := faissHead{D: int32(bits), CodeSize: int32(bits / 8), Total: 2, Trained: 1}
		for _, part := range []any{head, uint64(2 * bits / 8), make([]byte, 2*bits/8)} {
			if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
				t.Fatal(err)
			}
		}
		var all *Table
		r, err := NewReader(&b)
		if err == nil {
			all, err = r.All()
		}
		switch {
		case bits == MaxBits && (err != nil || all.Codes.Len() != 2):
			t.Errorf("codes of %d bits: %v", bits, err)
		case bits > MaxBits && (!errors.Is(err, ErrFAISS) || !strings.Contains(err.Error(), fmt.Sprint(bits))):
			t.Errorf("codes of %d bits: %v", bits, err)
		}
	}
}
