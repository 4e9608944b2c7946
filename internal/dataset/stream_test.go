package dataset

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// pieces delivers a text in pieces of n bytes, as a slow pipe does.
type pieces struct {
	rest []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.n, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// TestStreamsEqualFiles reads the same rows from a file and from a stream, in pieces of any length.
func TestStreamsEqualFiles(t *testing.T) {
	var table, lines, wide strings.Builder
	vecs := []byte{}
	table.WriteString("id,label,a,b\n")
	for i := range 3000 {
		fmt.Fprintf(&table, "r%d,c%d,%d,0.5\n", i, i%3, i)
		fmt.Fprintf(&lines, "{\"id\": \"r%d\", \"tags\": [\"t%d\"], \"vector\": [%d, 2, 3]}\n", i, i%2, i)
		vecs = append(vecs, 2, 0, 0, 0, 0, 0, byte(i), 64, 0, 0, 128, 63)
	}
	for i := range 5 {
		fmt.Fprintf(&wide, "[%d%s]\n", i, strings.Repeat(", 1", 200_000)) // lines that no buffer holds
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(table.String()))
	_ = z.Close()
	for name, content := range map[string][]byte{
		"t.csv": []byte(table.String()), "t.csv.gz": packed.Bytes(), "t.tsv": []byte(strings.ReplaceAll(table.String(), ",", "\t")),
		"t.jsonl": []byte(lines.String()), "t.fvecs": vecs, "wide.jsonl": []byte(wide.String()),
		"one.jsonl": []byte("[1, 2]"), "one.csv": []byte("1,2\n"),
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		want, err := setRead(t, setOpen(t, Spec{Paths: []string{path}}))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{7, 4096, 1 << 30} {
			if n == 7 && name == "wide.jsonl" {
				continue // takes long
			}
			spec := Spec{Paths: []string{"-"}, Once: true, Stdin: &pieces{content, n}}
			if strings.HasSuffix(name, "vecs") {
				spec.Format = "fvecs" // only the name tells it from ivecs
			}
			got, err := setRead(t, setOpen(t, spec))
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s in pieces of %d: %d rows, want %d: %v", name, n, len(got), len(want), err)
			}
		}
	}
}

// TestStreamIsReadOnce: a second pass is an error, never an empty one, and nothing is kept once the rows are read.
func TestStreamIsReadOnce(t *testing.T) {
	s, err := Open(Spec{Paths: []string{"-"}, Once: true, Stdin: strings.NewReader("[1, 2]\n[3, 4]\n")})
	if err != nil {
		t.Fatal(err)
	}
	for pass := range 2 {
		rows, failed := 0, error(nil)
		for c, err := range s.Chunks(context.Background()) {
			if rows += c.X.Rows; err != nil {
				failed = err
			}
		}
		if (failed == nil) != (pass == 0) || rows != 2-2*pass {
			t.Errorf("pass %d: %d rows, %v", pass, rows, failed)
		}
		if pass == 1 {
			setWant(t, "", failed, "read-once -:")
		}
	}
	if kept := s.spec.streams["-"].kept; kept != nil {
		t.Errorf("%d bytes are kept", len(kept))
	}
	for want, spec := range map[string]Spec{
		"read-once -:":            {Paths: []string{"-"}, Stdin: strings.NewReader("[1]")},
		"no-standard-input -:":    {Paths: []string{"-"}, Once: true},
		"not-in-order -: picture": {Paths: []string{"-"}, Once: true, Stdin: strings.NewReader("\x89PNG\r\n\x1a\nxxxx")},
	} {
		_, err := Open(spec)
		setWant(t, "", err, want)
	}
}
