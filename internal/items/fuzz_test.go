package items

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/section/sectiontest"
	"hashgrove/internal/vectors"
)

// FuzzCrossFit: any bytes are an error, or a code for each of some rows.
func FuzzCrossFit(f *testing.F) {
	m := &model.Model{Encoder: &model.Projection{Weight: []float32{1, -1, 2, 0, 1, 1, -1, 3}, Threshold: make([]float32, 4)}}
	path := filepath.Join(f.TempDir(), "codes.hgc")
	rowHashes := []vectors.RowHash{{1}, {2}}
	for rows := range 3 {
		codes := hamming.NewCodes(rows, 4)
		if err := WriteCrossFit(path, m, rowHashes[:rows], codes); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(bytes.Replace(b, []byte("01000000"), []byte("0100000x"), 1)) // not a hash
		f.Add(bytes.Replace(b, []byte("01000000"), []byte("02000000"), 1)) // twice the same
		f.Add(b[:len(b)*2/3])
		if err := WriteCrossFit(path, m, rowHashes[:rows], hamming.NewCodes(rows, 32)); err != nil { // of another width
			f.Fatal(err)
		}
		if b, err = os.ReadFile(path); err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, sectiontest.Reseal(b)} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := ReadCrossFit(path, m)
			if err != nil {
				continue
			}
			if c.codes.Bits != 4 || len(c.place) != c.codes.Len() {
				t.Fatalf("%d codes of %d bits for %d rows", c.codes.Len(), c.codes.Bits, len(c.place))
			}
			codes := hamming.NewCodes(1, 4)
			c.replace(codes, vectors.Matrix{Rows: 1, Cols: 2, Data: []float32{1, 2}})
		}
	})
}

// FuzzIDs: any text is an error, or different ids, none of them empty.
func FuzzIDs(f *testing.F) {
	for _, text := range []string{"a\nb\na\n", "1\n01\r\n\r\n-3", "\xff\x00\n", ""} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "ids.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		ids, err := ReadIDs(nil, []string{path})
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, id := range ids {
			if id.String() == "" || seen[id.String()] {
				t.Fatalf("%q gives the id %q", b, id)
			}
			seen[id.String()] = true
		}
	})
}
