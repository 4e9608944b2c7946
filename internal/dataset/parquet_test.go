package dataset

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"
	parquetformat "github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/testkit/needs"
)

func parquetOf[T any](rows []T, options ...parquet.WriterOption) string {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	if _, err := w.Write(rows); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

func TestParquet(t *testing.T) {
	type item struct {
		ID        int64     `parquet:"id"`
		Embedding []float32 `parquet:"embedding,list"`
		Label     string    `parquet:"label,dict"`
		Tags      []string  `parquet:"tags,list"`
		Price     float64   `parquet:"price"`
	}
	items := []item{{math.MaxInt64, []float32{1, 2}, "cat", []string{"a", "b c"}, 1.5}, {-7, []float32{3, 4}, "dog", nil, 2.5}}
	type repeated struct {
		V []float64 `parquet:"v"`
	}
	type table struct {
		A     int32   `parquet:"a"`
		B     float64 `parquet:"b"`
		C     bool    `parquet:"c"`
		U     uint64  `parquet:"u"`
		Label int32   `parquet:"label"`
		Name  string  `parquet:"name"`
	}
	type optional struct {
		A    *float32 `parquet:"a,optional"`
		B    float64  `parquet:"b"`
		Kind *string  `parquet:"kind,optional"`
	}
	type two struct {
		One []float32 `parquet:"one,list"`
		Two []int16   `parquet:"two,list"`
		X   *struct {
			Y []float64 `parquet:"y,list"`
		} `parquet:"x,optional"`
	}
	type text struct {
		Name string `parquet:"name"`
	}
	one, kind := float32(1), "k"
	rows := parquetOf(items)
	runCases(t, []formatCase{
		{"lists", "a.parquet", rows, Spec{}, "parquet 2x-1; 1 2 label cat tags a/b c id 9223372036854775807; 3 4 label dog tags  id -7"},
		{"asked for", "a.parquet", rows, Spec{Vector: "price", Label: "id"}, "parquet 2x1; names price; 1.5 label 9223372036854775807 tags a/b c id 9223372036854775807; 2.5 label -7 tags  id -7"},
		{"plain repeated", "a", parquetOf([]repeated{{[]float64{1, 2}}, {nil}, {[]float64{3}}, {[]float64{1e300, 4}}, {[]float64{5, 6}}}), Spec{},
			"parquet 5x-1; 1 2; bad: no-values at:a:2:v; bad: wrong-dim at:a:3:v 1 2; bad: out-of-range at:a:4:v float32 1; 5 6"},
		{"scalars", "a", parquetOf([]table{{-1, 2.5, true, math.MaxUint64, 3, "x"}, {2, 3, false, 1, 4, "y"}}), Spec{}, "parquet 2x4; names a,b,c,u; -1 2.5 1 1.8446744e+19 label 3; 2 3 0 1 label 4"},
		{"nulls", "a", parquetOf([]optional{{&one, 1, &kind}, {nil, 2, nil}}), Spec{Label: "kind"}, "parquet 2x2; names a,b; 1 1 label k; bad: no-value at:a:2:a"},
		{"two lists", "a", parquetOf([]two{{One: []float32{1}, Two: []int16{-2}}}), Spec{}, "error: which-vector set:Vector a: one two"},
		{"several lists", "a", parquetOf([]two{{One: []float32{1}, Two: []int16{-2, 3}}}), Spec{Vector: "one, two"}, "parquet 1x-1; 1 -2 3"},
		{"nested list", "a", parquetOf([]two{{X: &struct {
			Y []float64 `parquet:"y,list"`
		}{[]float64{4, 5}}}}), Spec{Vector: "x.y"}, "parquet 1x-1; 4 5"},
		{"no numbers", "a", parquetOf([]text{{"x"}}), Spec{}, "error: no-numbers a: name"},
		{"no such column", "a", rows, Spec{Label: "q"}, `error: no-such-column a: "q" id embedding label tags price`},
		{"text as vector", "a", rows, Spec{Vector: "label"}, `error: not-numbers a: "label"`},
		{"list as label", "a", rows, Spec{Label: "embedding"}, `error: not-texts a: "embedding"`},
		{"gzip", "a.parquet.gz", gzipped(rows), Spec{}, "error: packed-inside a.parquet.gz gzip"},
		{"LZ4", "a", parquetOf(items, parquet.Compression(&parquet.Lz4Raw)), Spec{}, "parquet 2x-1; error: unread-compression a: 1 LZ4 zstd"},
		{"cut off", "a.parquet", rows[:len(rows)-1], Spec{}, "error: cut-off a.parquet"},
		{"encrypted", "a.parquet", rows[:len(rows)-1] + "E", Spec{}, "error: encrypted a.parquet"},
		{"footer", "a.parquet", rows[:len(rows)-8] + "\xff\xff\xff\xffPAR1", Spec{}, "error: impossible-claim a.parquet 4294967295"},
	})
}

// float16 is two bytes with the mark that makes them a number, which the library does not write by itself.
type float16 struct{ parquet.Type }

func (float16) LogicalType() *parquetformat.LogicalType {
	return &parquetformat.LogicalType{Value: new(parquetformat.Float16Type)}
}

func TestParquetFloat16(t *testing.T) {
	for want, leaf := range map[string]parquet.Type{
		"parquet 1x1; names v; 1": float16{parquet.FixedLenByteArrayType(2)},
		// Without the mark two bytes are two bytes.
		"error: no-numbers a: v": parquet.FixedLenByteArrayType(2),
	} {
		var b bytes.Buffer
		w := parquet.NewWriter(&b, parquet.NewSchema("s", parquet.Group{"v": parquet.Leaf(leaf)}))
		if _, err := w.WriteRows([]parquet.Row{{parquet.FixedLenByteArrayValue([]byte{0x00, 0x3c}).Level(0, 0, 0)}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		checkDump(t, fileOf(t, t.TempDir(), "a", b.String()), "", Spec{}, want)
	}
}

// TestParquetStreams reads several row groups and pages, with every codec and both page versions, against the
// values written.
func TestParquetStreams(t *testing.T) {
	type item struct {
		V []float32 `parquet:"v,list"`
		K string    `parquet:"label,dict"`
	}
	var items []item
	for i := range 2000 {
		it := item{K: fmt.Sprint(i % 7)}
		for j := range 16 {
			it.V = append(it.V, float32(i*16+j))
		}
		items = append(items, it)
	}
	for name, options := range map[string][]parquet.WriterOption{
		"plain":  {parquet.MaxRowsPerRowGroup(300)},
		"snappy": {parquet.MaxRowsPerRowGroup(300), parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1), parquet.PageBufferSize(1000)},
		"zstd":   {parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(1000)},
		"gzip":   {parquet.Compression(&parquet.Gzip), parquet.DataPageVersion(1)},
		"brotli": {parquet.Compression(&parquet.Brotli)},
	} {
		r, h, err := openFile(fileOf(t, t.TempDir(), "a", parquetOf(items, options...)), &Spec{})
		if err != nil || h.rows != len(items) {
			t.Fatalf("%s: %d rows, %v", name, h.rows, err)
		}
		var rec record
		for i, it := range items {
			if err := r.next(&rec); err != nil {
				t.Fatalf("%s: row %d: %v", name, i, err)
			}
			if rec.label != it.K || fmt.Sprint(rec.vector) != fmt.Sprint(it.V) {
				t.Fatalf("%s: row %d is %v %q", name, i, rec.vector, rec.label)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestParquetDamage flips every byte of a small file: an error or rows, never a panic, never much memory.
func TestParquetDamage(t *testing.T) {
	type item struct {
		V []float32 `parquet:"v,list"`
		K string    `parquet:"label,dict"`
	}
	good := parquetOf([]item{{[]float32{1, 2}, "a"}, {[]float32{3, 4}, "b"}}, parquet.Compression(&parquet.Snappy))
	dir := t.TempDir()
	opened := 0
	for i := range good {
		flips := []byte{0x01, 0x80, 0xff}
		if !needs.Full() { // one of them for each byte
			flips = flips[i%3:][:1]
		}
		opened += len(flips) + 1
		for _, flip := range flips {
			bad := []byte(good)
			bad[i] ^= flip
			checkFile(t, fileOf(t, dir, "a", string(bad)), "parquet", Spec{})
		}
		checkFile(t, fileOf(t, dir, "a", good[:i]), "parquet", Spec{})
	}
	t.Logf("count: damaged files opened %d", opened)
}

func FuzzParquet(f *testing.F) {
	type item struct {
		V []float32 `parquet:"v,list"`
		K *string   `parquet:"label,dict,optional"`
	}
	k := "k"
	items := []item{{[]float32{1, 2}, &k}, {[]float32{3, 4}, nil}}
	f.Add([]byte(parquetOf(items)))
	f.Add([]byte(parquetOf(items, parquet.DataPageVersion(1), parquet.Compression(&parquet.Gzip))))
	f.Add([]byte(parquetOf([]struct{ A, B int64 }{{1, 2}, {3, 4}}, parquet.Compression(&parquet.Snappy))))
	fuzzFormat(f, []string{"parquet"})
}
