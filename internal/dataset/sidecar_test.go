package dataset

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"hashgrove/internal/vectors"
)

// labelled is rows of one value with labels, tags and ids.
type labelled struct {
	labels, ids []string
	tags        [][]string
	err         error // after the rows
}

func (l labelled) Dim() int               { return 1 }
func (l labelled) Schema() vectors.Schema { return vectors.Schema{} }

func (l labelled) Chunks(context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		n := max(len(l.labels), len(l.ids), len(l.tags))
		c := vectors.Chunk{X: vectors.Matrix{Rows: n, Cols: 1, Data: make([]float32, n)}, Labels: l.labels, Tags: l.tags, IDs: l.ids}
		if yield(c, nil) && l.err != nil {
			yield(vectors.Chunk{}, l.err)
		}
	}
}

// TestSidecarsComeBack: labels, tags and ids are read as they were written, whatever is in them.
func TestSidecarsComeBack(t *testing.T) {
	for name, l := range map[string]labelled{
		"plain":     {labels: []string{"boots", "häts", "a b"}, ids: []string{"1", "x-2", "3"}, tags: [][]string{{"red", "blue sky"}, nil, {"z"}}},
		"lines":     {labels: []string{"boots", "two\nlines", "z"}, ids: []string{"a\r", "b", "c"}, tags: [][]string{{"red"}, {"two\nlines"}, nil}},
		"commas":    {tags: [][]string{{"red, dark", "blue"}, {"green"}, {"a;b", "c|d"}}},
		"spaces":    {labels: []string{" boots", "boots"}, tags: [][]string{{"blue sky"}, {"red"}}},
		"brackets":  {tags: [][]string{{"[a"}, {"[b]"}}},
		"quotes":    {labels: []string{`"boots"`, `{"a": 1}`}, ids: []string{`[1]`, "\t2"}, tags: [][]string{{`"red"`}, {`'`}}},
		"late":      {labels: []string{"a", "b", "c\x1b", "d"}, tags: [][]string{{"x", "y"}, nil, {"p,q"}, {"r"}}},
		"no labels": {ids: []string{"a", "b"}},
	} {
		path := filepath.Join(t.TempDir(), "v.npy")
		saved, err := SaveNpy(t.Context(), l, path, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, c := range []struct {
			file string
			want []string
		}{{saved.Labels, l.labels}, {saved.IDs, l.ids}} {
			if (c.file == "") != (c.want == nil) {
				t.Errorf("%s: the file is %q", name, c.file)
			}
			if c.file != "" {
				if got, err := readValues(c.file); err != nil || !reflect.DeepEqual(got, c.want) {
					t.Errorf("%s: %s holds %q, want %q, %v", name, filepath.Base(c.file), got, c.want, err)
				}
			}
		}
		if saved.Tags == "" {
			continue
		}
		got, err := readTagLines(saved.Tags)
		for i := range l.tags {
			if err != nil || len(got) != len(l.tags) || len(got[i])+len(l.tags[i]) > 0 && !reflect.DeepEqual(got[i], l.tags[i]) {
				t.Errorf("%s: tags %q, want %q, %v", name, got, l.tags, err)
				break
			}
		}
	}
}

// TestSidecarsAgree: vectors never stand beside the labels of others.
func TestSidecarsAgree(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "v.npy")
	first := labelled{labels: []string{"a", "b"}, ids: []string{"1", "2"}, tags: [][]string{{"x"}, {"y"}}}
	if _, err := SaveNpy(t.Context(), first, path, nil); err != nil {
		t.Fatal(err)
	}
	before := contentOf(t, dir)
	broken := labelled{labels: []string{"c", "d", "e"}, err: errors.New("a picture that cannot be read")}
	if _, err := SaveNpy(t.Context(), broken, path, nil); err == nil || !reflect.DeepEqual(contentOf(t, dir), before) {
		t.Errorf("a failure changes something: %v", err)
	}
	if _, err := SaveNpy(t.Context(), labelled{labels: []string{"c\nd"}}, path, nil); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, dir); len(got) != 2 || got["v.labels.jsonl"] != "\"c\\nd\"\n" {
		t.Errorf("labels, tags or ids of earlier vectors are there: %q", got)
	}
}

func contentOf(t *testing.T, dir string) map[string]string {
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		content[f.Name()] = string(b)
	}
	return content
}
