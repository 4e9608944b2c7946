package dataset

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"hashgrove/internal/message"
)

// fileOf writes a file for a test.
func fileOf(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// numbers are the whole numbers in a text.
var numbers = regexp.MustCompile(`-?[0-9]+`)

// unnamed is the first fact that a text does not name, or "". A number must stand alone, and be there as often as it is
// asked for.
func unnamed(text string, facts ...string) string {
	left := numbers.FindAllString(text, -1)
	for _, fact := range facts {
		if numbers.FindString(fact) != fact {
			if !strings.Contains(text, fact) {
				return fact
			}
		} else if i := slices.Index(left, fact); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			return fact
		}
	}
	return ""
}

// refused compares an error with the code and the facts that it must have, between spaces. Where the error is about a
// setting or a row, the words behind the code are its fields: "set:FIELD" and "at:FILE:ROW:COLUMN:LINE", with _ for
// spaces; rows count from 1, and where there are no lines none is named. The folder of the test is not part of a name.
func refused(dir string, err error, want string) string {
	code, rest, _ := strings.Cut(want, " ")
	if !message.Is(err, message.Code(code)) {
		return fmt.Sprintf("codes %q instead of %q: %v", message.Codes(err), code, err)
	}
	within := func(s string) string {
		if s = filepath.ToSlash(s); dir != "" {
			s = strings.ReplaceAll(s, filepath.ToSlash(dir)+"/", "")
		}
		return s
	}
	var fields, facts []string
	if e, ok := errors.AsType[*SpecError](err); ok {
		fields = append(fields, "set:"+e.Field)
	}
	if e, ok := errors.AsType[*RowError](err); ok {
		file := within(e.File)
		place := fmt.Sprintf("at:%s:%d:%s", strings.ReplaceAll(file, " ", "_"), e.Row+1, e.Column)
		facts = append(facts, file)
		if e.Column != "" {
			facts = append(facts, e.Column)
		}
		if e.Row >= 0 {
			facts = append(facts, fmt.Sprint(e.Row+1))
		}
		if e.Line > 0 {
			place += fmt.Sprint(":", e.Line)
			facts = append(facts, fmt.Sprint(e.Line))
		}
		fields = append(fields, place)
	}
	words, n := strings.Fields(rest), 0
	for n < len(words) && (strings.HasPrefix(words[n], "set:") || strings.HasPrefix(words[n], "at:")) {
		n++
	}
	if !slices.Equal(words[:n], fields) {
		return fmt.Sprintf("%v has the fields %q, want %q", err, fields, words[:n])
	}
	if fact := unnamed(within(err.Error()), append(facts, words[n:]...)...); fact != "" {
		return fmt.Sprintf("%s: the message does not name %q as often as it should: %v", code, fact, err)
	}
	return ""
}

// dumped is a line of a dump: the header or a row, or an error, which is "error", or "bad" for a row.
type dumped struct {
	text string
	err  error
}

func (l dumped) String() string {
	if l.err != nil {
		return fmt.Sprintf("%s: %v", l.text, l.err)
	}
	return l.text
}

// dump is all there is to know of a file: lines for the header and one for each row or error.
func dump(path, formatName string, spec Spec) (lines []dumped) {
	spec.Format = formatName
	say := func(format string, args ...any) {
		lines = append(lines, dumped{text: strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", `\n`)})
	}
	r, h, err := openFile(path, &spec)
	if err != nil {
		return []dumped{{"error", err}}
	}
	defer r.Close()
	say("%s %dx%d", h.format, h.rows, h.dim)
	if h.names != nil {
		say("names %s", strings.Join(h.names, ","))
	}
	var rec record
	for {
		err := r.next(&rec)
		var bad *RowError
		switch {
		case err == io.EOF:
			return lines
		case errors.As(err, &bad):
			lines = append(lines, dumped{"bad", err})
		case err != nil:
			return append(lines, dumped{"error", err})
		default:
			line := strings.Trim(fmt.Sprint(rec.vector), "[]")
			if rec.pixels != nil {
				line = strings.Trim(fmt.Sprint(rec.pixels), "[]")
			}
			if rec.hasLabel {
				line += " label " + rec.label
			}
			if rec.hasTags {
				line += " tags " + strings.Join(rec.tags, "/")
			}
			if rec.id != "" {
				line += " id " + rec.id
			}
			say("%s", line)
		}
	}
}

// dumpedText is a dump as a text.
func dumpedText(path, formatName string, spec Spec) string {
	var out strings.Builder
	for _, l := range dump(path, formatName, spec) {
		out.WriteString(l.String() + "\n")
	}
	return out.String()
}

// checkDump compares the dump of a file with lines between semicolons. After "error: " and "bad: " is what refused takes.
func checkDump(t *testing.T, path, formatName string, spec Spec, want string) {
	t.Helper()
	got, lines := dump(path, formatName, spec), strings.Split(want, "; ")
	for i, l := range got[:min(len(got), len(lines))] {
		rest, isError := strings.CutPrefix(lines[i], l.text+": ")
		if l.err != nil && isError {
			if d := refused(filepath.Dir(path), l.err, rest); d != "" {
				t.Error(d)
			}
		} else if l.err != nil || l.text != lines[i] {
			t.Errorf("line %d of %s is\n  %.300s\nwant\n  %.300s", i+1, path, l, lines[i])
		}
	}
	if len(got) != len(lines) {
		t.Errorf("%s has %d lines: %.1000s\nwant %d: %.1000s", path, len(got), got, len(lines), want)
	}
}

// a formatCase is a file and what is read from it.
type formatCase struct {
	name, file, content string
	spec                Spec
	want                string // as checkDump takes it
}

func runCases(t *testing.T, cases []formatCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := fileOf(t, t.TempDir(), c.file, c.content)
			checkDump(t, path, "", c.spec, c.want)
		})
	}
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

func zstded(s string) string {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

// samples is a small file of every format that may be compressed as a whole.
func samples() []struct{ name, content, rows string } {
	return []struct{ name, content, rows string }{
		{"a.npy", npyOf("<f4", false, "2, 2", float32s(1, 2, 3, 4)), "1 2\n3 4\n"},
		{"a.csv", "a,b,label\n1,2,x\n3,4,y\n", "1 2 label x\n3 4 label y\n"},
		{"a.tsv", "1\t2\n3\t4\n", "1 2\n3 4\n"},
		{"a.jsonl", "{\"vector\":[1,2]}\n[3,4]\n", "1 2\n3 4\n"},
		{"a.fvecs", "\x02\x00\x00\x00" + float32s(1, 2) + "\x02\x00\x00\x00" + float32s(3, 4), "1 2\n3 4\n"},
		{"a.bvecs", "\x02\x00\x00\x00\x01\x02\x02\x00\x00\x00\x03\x04\x02\x00\x00\x00\x05\x06", "1 2\n3 4\n5 6\n"},
		{"a.ivecs", "\x02\x00\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff", "1 -1\n"},
		{"a-idx2-ubyte", "\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x02\x01\x02\x03\x04", "1 2\n3 4\n"},
		{"data_batch_1.bin", "\x03" + strings.Repeat("\x07", 3072), strings.Repeat("7 ", 3071) + "7 label 3\n"},
		{"cifar100.bin", "\x03\x63" + strings.Repeat("\x07", 3072), strings.Repeat("7 ", 3071) + "7 label 99\n"},
	}
}

// TestCompressed reads every format plain, in gzip and in zstd, under its own name and, plain, under none.
func TestCompressed(t *testing.T) {
	dir := t.TempDir()
	for _, s := range samples() {
		for _, packed := range []struct{ suffix, content string }{{"", s.content}, {".gz", gzipped(s.content)}, {".zst", zstded(s.content)}} {
			path := fileOf(t, dir, s.name+packed.suffix, packed.content)
			if _, rows, _ := strings.Cut(dumpedText(path, "", Spec{}), "\n"); strings.TrimPrefix(rows, "names a,b\n") != s.rows {
				t.Errorf("%s: read %.200q, want %.200q", path, rows, s.rows)
			}
		}
		if s.name == "a.ivecs" || s.name == "a.fvecs" {
			continue // without a name they look the same
		}
		path := fileOf(t, dir, "nameless", s.content)
		if _, rows, _ := strings.Cut(dumpedText(path, "", Spec{}), "\n"); strings.TrimPrefix(rows, "names a,b\n") != s.rows {
			t.Errorf("%s without a name: read %.200q, want %.200q", s.name, rows, s.rows)
		}
	}
}

// TestCutOff cuts every compressed file short, and every plain binary one.
func TestCutOff(t *testing.T) {
	dir := t.TempDir()
	for _, s := range samples() {
		for suffix, content := range map[string]string{".gz": gzipped(s.content), ".zst": zstded(s.content)} {
			path := fileOf(t, dir, s.name+suffix, content[:len(content)-5])
			lines := dump(path, "", Spec{})
			if d := refused(dir, lines[len(lines)-1].err, "cut-off "+s.name+suffix); d != "" {
				t.Error(d)
			}
		}
	}
	path := fileOf(t, dir, "b.npy.gz", gzipped(npyOf("<f4", false, "3, 2", float32s(1, 2, 3, 4))))
	checkDump(t, path, "", Spec{}, "npy 3x2; 1 2; 3 4; error: cut-off b.npy.gz 2 3")
	path = fileOf(t, dir, "c.csv.gz", gzipped("1,2\n3,4\n")[:20])
	checkDump(t, path, "", Spec{}, "error: cut-off c.csv.gz gzip")
}

func TestRecognise(t *testing.T) {
	const all = "npy npz parquet idx cifar10 cifar100 tar picture fvecs bvecs ivecs jsonl tsv csv"
	runCases(t, []formatCase{
		{"empty", "a.npy", "", Spec{}, "error: empty-file a.npy"},
		{"unknown", "a", "\x01\x02\x03", Spec{}, "error: unrecognised-format set:Format a: " + all},
		{"prose", "a", "Dear reader\n", Spec{}, "error: unrecognised-format set:Format a: " + all},
		{"ambiguous", "a", "\x01\x00\x00\x00\x01\x00\x00\x00", Spec{}, "error: ambiguous-format set:Format a: fvecs ivecs"},
		{"content before name", "a.csv", npyOf("<f4", false, "1, 2", float32s(1, 2)), Spec{}, "npy 1x2; 1 2"},
		{"name when content fails", "a.npy", "hello there", Spec{}, "error: not-npy a.npy"},
		{"savetxt", "a.txt", "1.0e+00 2.5e+00\n3 4\n", Spec{}, "csv -1x-1; 1 2.5; 3 4"},
		{"Latin-1", "a.csv", "1,2,caf\xe9\n3,4,th\xe9\n", Spec{Label: "3"}, "error: wrong-encoding a.csv 1 UTF-8"},
		{"Latin-1 later", "a.csv", "a,b,c\n1,2,x\n3,4,\"th\n\xe9\"\n", Spec{Label: "c"}, "error: wrong-encoding a.csv 4 UTF-8"},
		{"Latin-1 JSON", "a.jsonl", "{\"v\":[1,2],\"label\":\"\xe9\"}\n", Spec{}, "error: wrong-encoding a.jsonl 1 UTF-8"},
		{"UTF-16", "a.txt", "\xff\xfe1\x00,\x002\x00", Spec{}, "error: wrong-encoding a.txt UTF-16 UTF-8"},
		{"pretty JSON", "a.json", "{\n  \"vector\": [1, 2]\n}\n", Spec{}, "error: json-ends a.json 1"},
	})
	dir := t.TempDir()
	checkDump(t, fileOf(t, dir, "a", "1,2\n"), "xls", Spec{}, `error: unknown-format "xls" `+all)
	checkDump(t, fileOf(t, dir, "a", "1\t2\n"), "TSV", Spec{}, "tsv -1x2; 1 2")
	if _, _, err := openFile(dir, &Spec{}); !message.Is(err, "no-pictures") {
		t.Errorf("a folder: %v", err)
	}
	if _, _, err := openFile(filepath.Join(dir, "nothing"), &Spec{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// fuzzFormat is the promise for any bytes: an error, or rows of one width, read the same way twice, and no panic.
func fuzzFormat(f *testing.F, formats []string, specs ...Spec) {
	dir := f.TempDir()
	specs = append(specs, Spec{})
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(dir, fmt.Sprintf("file%d", os.Getpid()))
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, format := range formats {
			for _, c := range specs {
				checkFile(t, path, format, c)
			}
		}
		_, _ = readValues(path)
		_, _ = readTagLines(path)
	})
}

func checkFile(t *testing.T, path, formatName string, spec Spec) {
	spec.Format = formatName
	r, h, err := openFile(path, &spec)
	if err != nil {
		if r != nil {
			t.Error("a reader with an error")
		}
		return
	}
	defer r.Close()
	var rec record
	dim := h.dim
	for row, rows := 0, 0; rows < 10_000; rows++ {
		err := r.next(&rec)
		var bad *RowError
		if errors.As(err, &bad) {
			if bad.Row != row || bad.File == "" || bad.Msg == "" {
				t.Errorf("row %d: %+v", row, bad)
			}
			row++
			continue
		}
		if err == io.EOF && h.rows >= 0 && row != h.rows {
			t.Errorf("%d rows, the header says %d", row, h.rows)
		}
		if err != nil {
			return
		}
		row++
		values := len(rec.vector) + len(rec.pixels)
		if dim < 0 {
			dim = values
		}
		if values != dim || dim == 0 {
			t.Errorf("row %d has %d values instead of %d", row, values, dim)
		}
	}
}

func FuzzFormats(f *testing.F) {
	for _, s := range samples() {
		f.Add([]byte(s.content))
		f.Add([]byte(gzipped(s.content)))
		f.Add([]byte(zstded(s.content)))
	}
	f.Add([]byte(npyOf(">f2", true, "2, 2, 2", "12345678abcdefgh")))
	f.Add([]byte(npyOf("<U2", false, "2,", "1234567812345678")))
	x := npyOf("<f4", false, "2, 2", float32s(1, 2, 3, 4))
	f.Add([]byte(npzOf(zip.Store, "X", x, "y", npyOf("|u1", false, "2,", "ab"), "tags", npyOf("|u1", false, "2, 1", "\x00\x01"))))
	f.Add([]byte(npzOf(zip.Deflate, "X", x, "ids", npyOf("|S2", false, "2,", "abcd"))))
	fuzzFormat(f, []string{"", "npy", "npz", "idx", "cifar10", "cifar100", "fvecs", "bvecs", "ivecs"})
}
