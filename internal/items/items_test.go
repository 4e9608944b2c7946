package items

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/vectors"
)

// codeFile writes codes of 8 bits, with ids where there are any.
func codeFile(t *testing.T, name string, ids []string, codes ...byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	c := hamming.NewCodes(len(codes), 8)
	for i, b := range codes {
		c.SetBytes(i, []byte{b})
	}
	w, err := hamming.Create(path, "hgc", hamming.Header{Bits: 8, Rows: len(codes)})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(c, ids), w.Close()); err != nil {
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
	q := Queries{Codes: hamming.NewCodes(0, 8)}
	if err := q.ReadCodes([]string{a, b}, []int{1, 2}); err != nil || strings.Join(q.Names, " ") != "y 2" || q.Codes.AppendBytes(nil, 1)[0] != 3 {
		t.Errorf("%+v, %v", q, err)
	}
	if d := fault.Differs(q.ReadCodes([]string{a}, []int{2}), "no-such-row", a, "2", "0 to 1"); d != "" {
		t.Errorf("a row that is not there: %s", d)
	}
	q = Queries{Codes: hamming.NewCodes(0, 16)}
	if d := fault.Differs(q.ReadCodes([]string{a}, nil), "bits-mismatch", a, "8", "16"); d != "" {
		t.Errorf("another length: %s", d)
	}
}

func TestVectorsByID(t *testing.T) {
	src := vectors.WithLabels(vectors.Matrix{Rows: 3, Cols: 2, Data: []float32{3, 4, 0, 0, 1, 0}}, []string{"a", "b", "c"})
	needed := map[index.ID]bool{index.Int(0): true, index.Int(2): true}
	of, err := VectorsByID(context.Background(), src, needed, func(int) {})
	if err != nil || len(of) != 2 || of[index.Int(0)][1] != 4 {
		t.Fatalf("%v, %v", of, err)
	}
}

// TestReadItems: a text with commas is one id where there is such an item, else a list.
func TestReadItems(t *testing.T) {
	get := func(id index.ID) (index.Item, bool, error) {
		known := id == index.Text("a,b") || id == index.Text("c") || id == index.Int(7)
		return index.Item{ID: id, Label: "x", Code: []uint64{5}}, known, nil
	}
	q := Queries{Codes: hamming.NewCodes(0, 8)}
	if err := q.ReadItems(get, []string{"a,b", "c,7", `"a,b",c`}); err != nil || strings.Join(q.Names, " ") != "a,b c 7 a,b c" {
		t.Errorf("%q, %v", q.Names, err)
	}
	for _, text := range []string{"d", "c,d", `a"b`, ""} {
		if err := q.ReadItems(get, []string{text}); err == nil {
			t.Errorf("%q is accepted", text)
		}
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
