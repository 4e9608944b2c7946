package dataset

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	parquetformat "github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/budgettest"
	"hashgrove/internal/testkit/needs"
)

// readThrough opens files and reads all rows.
func readThrough(spec Spec) error {
	s, err := Open(spec)
	if err != nil {
		return err
	}
	for _, err := range s.Chunks(context.Background()) {
		if err != nil {
			return err
		}
	}
	return nil
}

// hostileFile is a file that asks for far more than it has, and the code of its refusal; "" where it is read.
type hostileFile struct {
	name, content string
	spec          Spec
	want          message.Code
}

// hostileFiles are the files of vectors that claim or stand for more than they have, one or more for every format.
func hostileFiles() []hostileFile {
	huge := "562949953421311, 12" // 2^49 - 1 rows
	manyFields := `"x"` + strings.Repeat(`,""`, maxFields)
	return []hostileFile{
		{"a.npy.gz", gzipped(npyOf("<f4", false, huge, "")), Spec{}, "impossible-claim"},
		{"a.npy.zst", zstded(npyOf("<f4", false, huge, "")), Spec{}, "impossible-claim"},
		{"a.npy", npyOf("<f4", false, huge, ""), Spec{}, "cut-off"},
		{"wide.npy.gz", gzipped(npyOf("<f4", false, "1, 16777216", "")), Spec{}, "impossible-claim"},
		{"a.idx.gz", gzipped(idxOf(0x08, "", 1<<32-1, 12)), Spec{Format: "idx"}, "impossible-claim"},
		{"a.npz", npzOf(zip.Deflate, "x", npyOf("<f4", false, huge, "")), Spec{}, "impossible-claim"},
		{"stored.npz", forgedZip(npyOf("<f4", false, huge, "")), Spec{}, "impossible-claim"},
		{"a.fvecs.gz", gzipped(packed(binary.LittleEndian, []uint32{1 << 24, 0})), Spec{Format: "fvecs"}, "cut-off"},
		{"a.bvecs.gz", gzipped(packed(binary.LittleEndian, []uint32{1 << 24, 0})), Spec{Format: "bvecs"}, "cut-off"},
		{"a.ivecs.gz", gzipped(packed(binary.LittleEndian, []uint32{1 << 24, 0})), Spec{Format: "ivecs"}, "cut-off"},
		{"c100.bin.gz", gzipped("\x01\x02"), Spec{Format: "cifar100"}, "cut-off"},
		{"quoted.tsv.gz", gzipped(strings.ReplaceAll(manyFields, ",", "\t") + "\n1\n"), Spec{Format: "tsv"}, "too-many-fields"},
		{"cifar.bin.gz", gzipped("\x01"), Spec{Format: "cifar10"}, "cut-off"},
		{"quoted.csv.gz", gzipped(manyFields + "\n1\n"), Spec{}, "too-many-fields"},
		{"long.csv.gz", gzipped(strings.Repeat("1", maxLine+4*maxTake)), Spec{Format: "csv"}, "line-too-long"},
		{"open.csv.gz", gzipped("\"a" + strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 66)), Spec{Format: "csv"}, "open-quote"},
		{"nested.jsonl", nestedJSON("v"), Spec{Vector: "v"}, "long-paths"},
		{"deep.jsonl", `{"v":` + strings.Repeat("[", 1<<20) + "\n", Spec{Vector: "v"}, "bad-json"},
		{"rows.parquet", claimRows(1 << 47), Spec{}, "impossible-claim"},
		{"some.parquet", claimRows(1 << 26), Spec{}, "wrong-count"},
		{"columns.parquet", emptyColumns(6 << 20), Spec{}, "impossible-claim"},
		{"schema.parquet", emptySchema(2 << 20), Spec{}, "impossible-claim"},
		{"page.parquet", claimPage(), Spec{}, "impossible-claim"},
		{"names.tar.gz", gzipped(tarOf("a/x.txt", "")), Spec{}, "no-pictures"},
		{"holes.tar", sparseTar("x.png", tone(1), 512<<20), Spec{Size: 2}, "too-much-memory"},
		{"zeros.tar.zst", zstded(tarOf("x.png", tone(1)+strings.Repeat("\x00", 80<<20))), Spec{Size: 2}, "too-much-memory"},
		{"pixels.png", hugePicture(), Spec{Size: 2}, tooManyPixels},
	}
}

// hugePicture is the beginning of a PNG file that claims 2^56 pixels.
func hugePicture() string {
	head := "IHDR" + packed(binary.BigEndian, []uint32{1 << 28, 1 << 28}) + "\x08\x02\x00\x00\x00"
	return tone(1)[:12] + head + packed(binary.BigEndian, crc32.ChecksumIEEE([]byte(head)))
}

// sparseTar is an archive of one file that is a hole but for its beginning.
func sparseTar(name, content string, size int) string {
	records := ""
	for _, r := range []string{"major=1", "minor=0", "name=" + name, fmt.Sprint("realsize=", size)} {
		r = " GNU.sparse." + r + "\n"
		records += fmt.Sprint(len(r)+2) + r // all lengths have two digits
	}
	places := fmt.Sprintf("2\n0\n%d\n%d\n0\n", len(content), size)
	b := []byte(tarOf("records", records, name, places+strings.Repeat("\x00", 512-len(places))+content))
	b[156] = 'x'
	copy(b[148:], "        ") // counts as such in the checksum
	sum := 0
	for _, c := range b[:512] {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	return string(b)
}

// forgedZip is an npz file of one member that is stored as it is and claims to be longer than the file.
func forgedZip(content string) string {
	s := npzOf(zip.Store, "x", content)
	at := strings.LastIndex(s, "PK\x01\x02")
	return s[:at+20] + packed(binary.LittleEndian, []uint32{0xfffffff0, 0xfffffff0}) + s[at+28:]
}

// nestedJSON is a line with an object that has a long name and many keys.
func nestedJSON(key string) string {
	return `{"` + strings.Repeat("n", 1<<19) + `":{` + strings.Repeat(`"a":1,`, 1<<17) + `"b":1},"` + key + `":[1,2]}` + "\n"
}

// parquetMeta is a small Parquet file whose footer was changed.
func parquetMeta(change func(*parquetformat.FileMetaData)) string {
	file := parquetOf([]struct{ A, B float32 }{{1, 2}, {3, 4}})
	size := int(binary.LittleEndian.Uint32([]byte(file[len(file)-8:])))
	start := len(file) - 8 - size
	meta := new(parquetformat.FileMetaData)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), []byte(file[start:start+size]), meta); err != nil {
		panic(err)
	}
	change(meta)
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		panic(err)
	}
	return file[:start] + withFooter(string(footer))
}

func withFooter(footer string) string {
	return footer + packed(binary.LittleEndian, uint32(len(footer))) + "PAR1"
}

func claimRows(n int64) string {
	return parquetMeta(func(m *parquetformat.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = n, n })
}

// emptyColumns has a footer with a row group of n columns of one byte each.
func emptyColumns(n int) string {
	length := string(binary.AppendUvarint(nil, uint64(n)))
	group := "\x19\xfc" + length + strings.Repeat("\x00", n) + "\x16\x00\x16\x00\x00"
	return "PAR1" + withFooter("\x15\x02\x19\x1c"+"\x48\x01x\x00"+"\x16\x00"+"\x19\x1c"+group+"\x00")
}

// emptySchema has a footer with a schema of n elements of one byte each.
func emptySchema(n int) string {
	length := string(binary.AppendUvarint(nil, uint64(n)))
	return "PAR1" + withFooter("\x15\x02\x19\xfc"+length+strings.Repeat("\x00", n)+"\x00")
}

// claimPage has a page of a few bytes that claims to hold half a gigabyte.
func claimPage() string {
	file := parquetOf([]struct{ A float32 }{{1}, {2}}, parquet.DataPageVersion(1))
	meta, size := new(parquetformat.FileMetaData), int(binary.LittleEndian.Uint32([]byte(file[len(file)-8:])))
	start := len(file) - 8 - size
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), []byte(file[start:start+size]), meta); err != nil {
		panic(err)
	}
	column := &meta.RowGroups[0].Columns[0].MetaData
	header := new(parquetformat.PageHeader)
	at := int(column.DataPageOffset)
	r := bytes.NewReader([]byte(file[at:start]))
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(r)).Decode(header); err != nil {
		panic(err)
	}
	data := file[start-int(header.CompressedPageSize) : start]
	header.UncompressedPageSize = 1<<29 - 1
	page, err := thrift.Marshal(new(thrift.CompactProtocol), header)
	if err != nil {
		panic(err)
	}
	column.DataPageOffset, column.DictionaryPageOffset = 4, 0
	column.TotalCompressedSize = int64(len(page) + len(data))
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		panic(err)
	}
	return "PAR1" + string(page) + data + withFooter(string(footer))
}

// TestHostileFilesStayWithinTheirBudget reads files that ask for far more than they have: memory at any time, and work,
// are those of the bytes that are there.
func TestHostileFilesStayWithinTheirBudget(t *testing.T) {
	defer func(was int) { maxFields = was }(maxFields)
	maxFields = 1 << 16
	dir := t.TempDir()
	for _, c := range hostileFiles() {
		t.Run(c.name, func(t *testing.T) {
			if !needs.Full() && len(c.content) > 1<<16 && strings.HasSuffix(c.name, ".csv.gz") {
				t.Skip("has 64 MiB")
			}
			c.spec.Paths = []string{fileOf(t, dir, c.name, c.content)}
			budgettest.Peak(t, 640*budgettest.MiB, func() { checkCode(t, readThrough(c.spec), c.want) })
		})
	}
}

func checkCode(t *testing.T, err error, want message.Code) {
	t.Helper()
	if want == "" && err != nil || want != "" && !message.Is(err, want) {
		t.Errorf("got %v with the codes %q, want %q", err, message.Codes(err), want)
	}
}

// TestHeldFilesStayWithinTheirBudget: files that are held in memory, compressed to a thousandth.
func TestHeldFilesStayWithinTheirBudget(t *testing.T) {
	defer func(was int64) { heldBytes = was }(heldBytes)
	heldBytes = 16 << 20
	dir := t.TempDir()
	data := fileOf(t, dir, "x.npy", npyOf("<f4", false, "1, 1", "\x00\x00\x00\x00"))
	lines := func(line string, n int) string { return gzipped(strings.Repeat(line, n)) }
	const many = 2_000_000
	read := map[string]func(path string) error{
		"labels": func(path string) error { return readThrough(Spec{Paths: []string{data}, LabelsFile: []string{path}}) },
		"ids":    func(path string) error { return readThrough(Spec{Paths: []string{data}, IDsFile: []string{path}}) },
		"tags":   func(path string) error { return readThrough(Spec{Paths: []string{data}, TagsFile: []string{path}}) },
		"names":  func(path string) error { return readThrough(Spec{Paths: []string{path}}) },
		"pairs":  func(path string) error { return ReadPairs(path, &supervision.Data{Rows: 2}) },
		"attributes": func(path string) error {
			_, err := readAttributes(path, "", nil)
			return err
		},
	}
	for name, content := range map[string]string{
		"labels.txt.gz": lines("\n", 8*many), "ids.csv.gz": lines("a\n", many/2), "tags.txt.gz": lines("\n", many),
		"labels.npy":   npyOf("|S0", false, "562949953421311,", ""),
		"tags.row.gz":  lines("a ", many),
		"pairs.csv.gz": lines("0,1,1\n", many/2), "attributes.jsonl.gz": lines("{}\n", many/3),
		"attributes.csv.gz": gzipped("a,b\n" + strings.Repeat("1,2\n", many/8)),
		"names.tar.zst":     zstded(strings.Repeat(tarOf("a.png", "")[:512], many/5)),
	} {
		t.Run(name, func(t *testing.T) {
			path := fileOf(t, dir, name, content)
			kind, _, _ := strings.Cut(name, ".")
			budgettest.Peak(t, 96*budgettest.MiB, func() { checkCode(t, read[kind](path), "too-much-memory") })
		})
	}
}

// TestAttributesAreReadInOneGo: files whose reading took time in the square of their size.
func TestAttributesAreReadInOneGo(t *testing.T) {
	dir := t.TempDir()
	var header, object strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&header, ",c%d", i)
		fmt.Fprintf(&object, `,"c%d":1`, i)
	}
	for _, c := range []struct {
		name, content string
		want          message.Code
	}{
		{"wide.csv", "id" + header.String() + "\n1" + strings.Repeat(",2", 150_000) + "\n", ""},
		{"long-line.jsonl", `{"id":1` + object.String() + "}\n" + strings.Repeat(`{"id":1,"a":2}`+"\n", 150_000), "duplicate-id"},
		{"nested.jsonl", nestedJSON("id"), "long-paths"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := fileOf(t, dir, c.name, c.content)
			budgettest.Peak(t, 640*budgettest.MiB, func() {
				_, err := readAttributes(path, "", nil)
				checkCode(t, err, c.want)
			})
		})
	}
}
