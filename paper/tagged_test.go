package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/supervision"
)

// write writes text files; the names say where.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// draw writes small pictures, each of one shade of its own.
func draw(t *testing.T, dir string, names ...string) {
	t.Helper()
	for i, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		m := image.NewGray(image.Rect(0, 0, 9, 8))
		for p := range m.Pix {
			m.Pix[p] = uint8(10*i + 10)
		}
		m.SetGray(2, 3, color.Gray{255})
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, m); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// contents reads a part: "shade: tags" for each row.
func contents(t *testing.T, s split) []string {
	t.Helper()
	src, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for c, err := range src.Chunks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.X.Cols != src.Preparation().Values() || c.First != len(list) {
			t.Fatalf("chunk from %d on of %d values", c.First, c.X.Cols)
		}
		for i := range c.X.Rows {
			list = append(list, fmt.Sprintf("%.0f: %s", c.X.Row(i)[0], strings.Join(c.Tags[i], " ")))
		}
	}
	return list
}

// tagged writes a data set: pictures of the shades 10, 20, 30 and 40, of which 30 is a query, and one that is not listed.
func tagged(t *testing.T) (data string) {
	t.Helper()
	data = t.TempDir()
	dir := filepath.Join(data, "iaprtc12")
	draw(t, dir, "images/7.png", "images/8.png", "images/9.png", "images/11.png", "images/unlisted.png")
	write(t, dir, map[string]string{"ids.txt": "11\n7\n9\n8\n", "tags.txt": "sea\nsky\nsun\n",
		"labels.txt": "1 2\n0 1\n0 1 2\n2\n", "split.txt": "train\ntrain\ntest\ntrain\n"})
	return data
}

func TestTaggedPictures(t *testing.T) {
	ctx := context.Background()
	runner := &Runner{Data: tagged(t), Cache: t.TempDir(), Say: quiet}
	base, queries, err := runner.open(t.Context(), iaprTC12)
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, base); !slices.Equal(got, []string{"10: sea sky", "20: sun", "40: sky sun"}) {
		t.Errorf("base %q", got)
	}
	if got := contents(t, queries); !slices.Equal(got, []string{"30: sea sky sun"}) {
		t.Errorf("queries %q", got)
	}
	// Features keep the tags, and one shared tag is not enough.
	e, err := feature.NewGIST(feature.GISTOptions{Size: side, Orientations: []int{2}, Blocks: 2})
	if err != nil {
		t.Fatal(err)
	}
	var set *dataset.Set
	k, err := runner.load(ctx, recipe{Name: "tiny"}, e, &set, base)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := supervision.Scan(ctx, set, supervision.ScanOptions{})
	if err != nil || sum.Labels != nil || sum.Tags.Rows() != 3 || len(sum.Tags.Row(1)) != 1 || k == "" {
		t.Errorf("%v %v", sum, err)
	}
	if m, err := sum.Affinity(sum.Rows); err != nil || m.At(0, 2) != -1 {
		t.Errorf("one shared tag makes %v", m)
	}
}

func TestTagErrors(t *testing.T) {
	for want, change := range map[string]map[string]string{
		"wrong-count labels.txt 3 4":   {"labels.txt": "1\n1\n1\n"},
		`no-such-tag labels.txt 3 "3"`: {"labels.txt": "1\n1\n3\n1\n"},
		`bad-value split.txt 2 "half"`: {"split.txt": "train\nhalf\ntest\ntrain\n"},
		"wrong-count iaprtc12 2 3":     {"ids.txt": "11\n7\n9\n12\n"},
	} {
		runner := &Runner{Data: tagged(t)}
		write(t, filepath.Join(runner.Data, "iaprtc12"), change)
		base, _, err := runner.open(t.Context(), iaprTC12)
		if err == nil {
			err = readAll(t, base)
		}
		facts := strings.Fields(want)
		if d := message.Differs(err, message.Code(facts[0]), facts[1:]...); d != "" {
			t.Error(d)
		}
	}
}

// readAll reads a part up to the first error.
func readAll(t *testing.T, s split) error {
	t.Helper()
	src, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range src.Chunks(context.Background()) {
		if err != nil {
			return err
		}
	}
	return nil
}
