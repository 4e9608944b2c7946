package parquet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestWriterLists: lists of numbers come back, empty ones too, under the types that other programs look for.
func TestWriterLists(t *testing.T) {
	var out bytes.Buffer
	w, err := create(&out, []string{"signed", "code", "vector", "id"}, []any{[]int8(nil), []byte(nil), []float32(nil), ""})
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]any{
		{[]int8{-128, 127}, []byte{0, 200, 255}, []float32{-1, 0.5}, "a"},
		{[]int8{}, []byte(nil), []float32{}, nil},
		{[]int8{1}, []byte{7}, []float32{3}, "b"},
	}
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"group code (LIST)", "int32 element (INT(8,false))", "int32 element (INT(8,true))", "float element;"} {
		if schema := f.Schema().String(); !strings.Contains(schema, want) {
			t.Errorf("the schema lacks %q: %s", want, schema)
		}
	}
	reader := parquet.NewReader(f)
	defer reader.Close()
	for _, row := range rows {
		got := make([]parquet.Row, 1)
		if n, err := reader.ReadRows(got); n != 1 {
			t.Fatal(err)
		}
		columns := map[int][]string{}
		for _, v := range got[0] {
			if !v.IsNull() {
				columns[v.Column()] = append(columns[v.Column()], v.String())
			}
		}
		for place, name := range []int{1, 3, 0, 2} { // columns are in the order of their names
			want := strings.Fields(strings.Trim(fmt.Sprint(row[name]), "[]"))
			if row[name] == nil {
				want = nil
			}
			if fmt.Sprint(columns[place]) != fmt.Sprint(want) {
				t.Errorf("column %d is %v, want %v", place, columns[place], want)
			}
		}
	}
}

// TestWriterInBoundedMemory: rows with long lists are written in smaller groups than others.
func TestWriterInBoundedMemory(t *testing.T) {
	for _, list := range []int{0, 2047} {
		var out bytes.Buffer
		w, err := create(&out, []string{"code", "id"}, []any{[]byte(nil), ""})
		if err != nil {
			t.Fatal(err)
		}
		code, rows := make([]byte, list), rowsInMemory+10
		if list > 0 {
			rows = valuesInMemory/(list+1) + 10
		}
		for range rows {
			if err := w.Write([]any{code, "x"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(f.RowGroups()); n != 2 || f.NumRows() != int64(rows) {
			t.Errorf("%d rows in %d groups, want %d in 2", f.NumRows(), n, rows)
		}
	}
}
