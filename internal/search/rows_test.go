package search

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

func TestCodeQueries(t *testing.T) {
	var paths []string
	for i, ids := range [][]string{{"x", "y"}, nil} {
		paths = append(paths, filepath.Join(t.TempDir(), "codes.hgc"))
		c := hamming.NewCodes(2-i, 8)
		for j := range c.Len() {
			c.SetBytes(j, []byte{byte(2*i + j + 1)})
		}
		var b bytes.Buffer
		w, err := hamming.NewWriter(&b, "hgc", hamming.Header{Bits: 8, Rows: c.Len()})
		if err := errors.Join(err, w.Write(c, ids), w.Close(), os.WriteFile(paths[i], b.Bytes(), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	a := paths[0]
	list, _, err := CodeQueries(paths, []int{1, 2}, 8)
	if err != nil || len(list) != 2 || list[0].Name != "y" || list[1].Name != "2" || list[1].Code != "03" {
		t.Errorf("%+v, %v", list, err)
	}
	_, _, err = CodeQueries([]string{a}, []int{2}, 8)
	if d := message.Differs(err, "no-such-row", a, "2", "0 to 1"); d != "" {
		t.Errorf("a row that is not there: %s", d)
	}
	_, _, err = CodeQueries([]string{a}, nil, 16)
	if d := message.Differs(err, "bits-mismatch", a, "8", "16"); d != "" {
		t.Errorf("another length: %s", d)
	}
}
