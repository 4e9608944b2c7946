package dataset

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// codeFile writes 8-bit codes, with ids if there are any.
func codeFile(t *testing.T, name string, ids []string, codes ...byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	c := hamming.NewCodes(len(codes), 8)
	for i, b := range codes {
		c.SetBytes(i, []byte{b})
	}
	var b bytes.Buffer
	w, err := hamming.NewWriter(&b, "hgc", hamming.Header{Bits: 8, Rows: len(codes)})
	if err := errors.Join(err, w.Write(c, ids), w.Close(), os.WriteFile(path, b.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCodes(t *testing.T) {
	ctx := context.Background()
	a, b := codeFile(t, "a.hgc", []string{"x", "y"}, 1, 2), codeFile(t, "b.hgc", nil, 3)
	other := filepath.Join(t.TempDir(), "v.csv")
	if err := os.WriteFile(other, []byte("1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if coded, err := AreCodes([]string{a, b}); !coded || err != nil {
		t.Errorf("%v, %v", coded, err)
	}
	if _, err := AreCodes([]string{a, other}); !errors.Is(err, ErrMixed) {
		t.Errorf("mixed: %v", err)
	}
	in, err := FromCodes([]string{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := in.CountCodes(ctx); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	last := 0
	batch, err := in.Read(ctx, 3, 1, func(done int) { last = done })
	if err != nil || last != 3 || !in.Named || batch.IDs[1] != index.Text("y") || batch.IDs[2] != index.Int(2) {
		t.Errorf("%+v, %v, after %d", batch, err, last)
	}
}

func TestReadIDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.txt")
	if err := os.WriteFile(path, []byte("b\r\n\n7\nb\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	ids, err := ReadIDs([]string{"a", "7", "a"}, []string{path})
	if err != nil || len(ids) != 3 || ids[0] != index.Text("a") || ids[1] != index.Int(7) || ids[2] != index.Text("b") {
		t.Errorf("%v, %v", ids, err)
	}
	_, err = ReadIDs(nil, []string{path + "x"})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path+"x") {
		t.Errorf("a missing file: %v", err)
	}
}
