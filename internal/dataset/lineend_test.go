package dataset

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestLineEnds reads every text format with the line ends of Windows, with and without a mark of the order of bytes as
// its editors write it, and compares with what the usual ones give.
func TestLineEnds(t *testing.T) {
	dir := t.TempDir()
	vectors := setFile(t, dir, "v.csv", "1,2\n3,4\n")
	album(t, dir, "zoo/a.png", tone(1), "zoo/sub/b.png", tone(2))
	rows := func(spec func(name string) Spec) func(name string) (string, error) {
		return func(name string) (string, error) {
			s, err := Open(spec(name))
			if err != nil {
				return "", err
			}
			return rowsOf(t, s), nil
		}
	}
	data := rows(func(name string) Spec { return Spec{Paths: []string{name}} })
	attributes := func(name string) (string, error) {
		a, err := readAttributes(name, "", nil)
		if err != nil {
			return "", err
		}
		first, second := a.Find("a", 0), a.Find("b", 1)
		return fmt.Sprint(first, second), nil
	}
	for _, c := range []struct {
		name, text string
		read       func(name string) (string, error)
	}{
		{"d.csv", "label,x,note\ncat,1,\"two\"\ndog,2,end\n", data},
		{"d.tsv", "label\tx\tid\ncat\t1\ta\ndog\t2\tb\n", data},
		{"d.jsonl", "{\"vector\":[1,2],\"label\":\"cat\"}\n{\"vector\":[3,4],\"label\":\"dog\"}\n", data},
		{"labels.txt", "cat\ndog\n", rows(func(name string) Spec { return Spec{Paths: []string{vectors}, LabelsFile: []string{name}} })},
		{"ids.txt", "a\nb\n", rows(func(name string) Spec { return Spec{Paths: []string{vectors}, IDsFile: []string{name}} })},
		{"tags.txt", "red,big\nsmall\n", rows(func(name string) Spec { return Spec{Paths: []string{vectors}, TagsFile: []string{name}} })},
		{"tags.jsonl", "[\"red\",\"big\"]\n[]\n", rows(func(name string) Spec { return Spec{Paths: []string{vectors}, TagsFile: []string{name}} })},
		{"named.csv", "file,label\na.png,cat\nsub/b.png,dog\n", rows(func(name string) Spec {
			return Spec{Paths: []string{filepath.Join(dir, "zoo")}, LabelsFile: []string{name}}
		})},
		{"named.txt", "a.png cat\nsub\\b.png dog\n", rows(func(name string) Spec {
			return Spec{Paths: []string{filepath.Join(dir, "zoo")}, LabelsFile: []string{name}}
		})},
		{"a.csv", "id,price,note\na,1.5,x\nb,2,y\n", attributes},
		{"a.jsonl", "{\"id\":\"a\",\"price\":1.5}\n{\"id\":\"b\",\"price\":2}\n", attributes},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := c.read(setFile(t, dir, c.name, c.text))
			if err != nil || want == "" || strings.Contains(want, "error") {
				t.Fatalf("%q, %v", want, err)
			}
			windows := strings.ReplaceAll(c.text, "\n", "\r\n")
			for how, text := range map[string]string{
				"CRLF": windows, "CRLF and a mark": "\ufeff" + windows, "no CRLF at the end": strings.TrimSuffix(windows, "\r\n"),
			} {
				if got, err := c.read(setFile(t, dir, c.name, text)); err != nil || got != want {
					t.Errorf("%s: read\n%s\n%v\nwant\n%s", how, got, err, want)
				}
			}
		})
	}
}
