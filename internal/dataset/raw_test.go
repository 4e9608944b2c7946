package dataset

import (
	"io"
	"strings"
	"testing"
)

func TestRawValues(t *testing.T) {
	dir := t.TempDir()
	content := float32s(1, 2, 3, 4, 5, 6)
	open := func(name, content string, spec Spec) (string, error) {
		spec.Paths = []string{fileOf(t, dir, name, content)}
		s, err := Open(spec)
		if err != nil {
			return "", err
		}
		rows, err := setRead(t, s)
		var texts []string
		for _, r := range rows {
			texts = append(texts, r.x)
		}
		return strings.Join(texts, " "), err
	}
	for _, c := range []struct {
		name, content string
		spec          Spec
		want          string
	}{
		{"a.f32", content, Spec{Dim: 3}, "[1 2 3] [4 5 6]"},
		{"a.f32.gz", gzipped(content), Spec{Dim: 2}, "[1 2] [3 4] [5 6]"},
		{"b.f32.zst", zstded(content), Spec{Dim: 6}, "[1 2 3 4 5 6]"},
		{"a.bin", content, Spec{Dim: 1, Format: "raw"}, "[1] [2] [3] [4] [5] [6]"},
	} {
		if got, err := open(c.name, c.content, c.spec); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
	for _, c := range []struct {
		name, content string
		spec          Spec
		want          string
	}{
		{"a.f32", content, Spec{}, "unknown-dim set:Dim a.f32 1 16777216"},
		{"a.f32", content, Spec{Dim: 1 << 25}, "unknown-dim set:Dim a.f32 1 16777216"},
		{"a.f32", content, Spec{Dim: 4}, "cut-off a.f32 1 4 8"},
		{"a.f32.gz", gzipped(content), Spec{Dim: 4}, "cut-off a.f32.gz 1"},
		{"a.f32", content, Spec{Dim: 3, Label: "x"}, `no-columns set:LabelsFile a.f32 "x"`},
		{"a.f32", "", Spec{Dim: 3}, "empty-file a.f32"},
		{"a.f32", float32s(1, 2, 3) + "\x00\x00\xc0\x7f" + float32s(1, 2), Spec{Dim: 3}, "no-value set:Missing at:a.f32:2:1"},
	} {
		_, err := open(c.name, c.content, c.spec)
		setWant(t, dir, err, c.want)
	}
	for _, n := range []int{1, 5, 8, 1000} {
		spec := Spec{Paths: []string{"-"}, Once: true, Stdin: &pieces{[]byte(content), n}, Format: "raw", Dim: 3}
		rows, err := setRead(t, setOpen(t, spec))
		if err != nil || len(rows) != 2 || rows[1].x != "[4 5 6]" {
			t.Errorf("in pieces of %d: %v, %v", n, rows, err)
		}
	}
}

// TestNothingFromAPipe: no rows are no error where the format and the length of the rows are known.
func TestNothingFromAPipe(t *testing.T) {
	for _, format := range []string{"raw", "jsonl", "fvecs", "libsvm"} {
		s, err := Open(Spec{Paths: []string{"-"}, Once: true, Stdin: strings.NewReader(""), Format: format, Dim: 3})
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		if rows, err := setRead(t, s); err != nil || len(rows) > 0 || s.Dim() != 3 {
			t.Errorf("%s: %v, %v", format, rows, err)
		}
	}
	for _, spec := range []Spec{{Dim: 3}, {Format: "jsonl"}, {Format: "npy", Dim: 3}, {Format: "csv", Dim: 3}} {
		spec.Paths, spec.Once, spec.Stdin = []string{"-"}, true, io.LimitReader(strings.NewReader(""), 0)
		if _, err := Open(spec); err == nil {
			t.Errorf("%+v was taken", spec)
		}
	}
}

func FuzzRaw(f *testing.F) {
	f.Add([]byte(float32s(1, 2, 3, 4)))
	f.Add([]byte(gzipped(float32s(1, 2, 3))))
	f.Add([]byte{1, 2, 3})
	fuzzFormat(f, "raw", Spec{Dim: 1}, Spec{Dim: 2}, Spec{Dim: maxDim})
}
