package main

import (
	"context"
	"encoding/binary"
	"errors"
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

// hvecs is rows of 0 and 1 as TagProp writes them.
func hvecs(rows ...[]uint16) string {
	var b []byte
	for _, r := range rows {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(r)))
		for _, v := range r {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	}
	return string(b)
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
		if c.X.Cols != s.shape.Width*s.shape.Height*s.shape.Channels || c.First != len(list) {
			t.Fatalf("chunk from %d on of %d values", c.First, c.X.Cols)
		}
		for i := range c.X.Rows {
			list = append(list, fmt.Sprintf("%.0f: %s", c.X.Row(i)[0], strings.Join(c.Tags[i], " ")))
		}
	}
	return list
}

// layouts writes one data set in each of the layouts: pictures of the shades 10, 20, 30 and 40, of which 30 is a query.
func layouts(t *testing.T) map[string]string {
	t.Helper()
	root := t.TempDir()
	plain, lists, concepts := filepath.Join(root, "a", "iaprtc12"), filepath.Join(root, "b",
		"iaprtc12"), filepath.Join(root, "c", "mirflickr")
	draw(t, plain, "images/7.png", "images/8.png", "images/9.png", "images/11.png", "images/unlisted.png")
	write(t, plain, map[string]string{"ids.txt": "11\n7\n9\n8\n", "tags.txt": "sea\nsky\nsun\n",
		"labels.txt": "1 2\n0 1\n0 1 2\n2\n", "split.txt": "train\ntrain\ntest\ntrain\n"})
	draw(t, lists, "pictures/00/7.png", "pictures/00/8.png", "pictures/01/9.png", "pictures/01/11.png",
		"pictures/02/unlisted.png")
	write(t, lists, map[string]string{
		"iaprtc12_dictionary.txt": "sea\nsky\nsun\n", "iaprtc12_train_list.txt": "01/11\n00/7\n00/8\n", "iaprtc12_test_list.txt": "01/9\n",
		"iaprtc12_train_annot.hvecs": hvecs([]uint16{0, 1, 1}, []uint16{1, 1, 0},
			[]uint16{0, 0, 1}), "iaprtc12_test_annot.hvecs": hvecs([]uint16{1, 1, 1}),
	})
	draw(t, concepts, "mirflickr/im1.png", "mirflickr/im3.png", "mirflickr/im4.png", "mirflickr/im5.png")
	write(t, concepts, map[string]string{
		"annotations/sea.txt": "1\n4\n", "annotations/sky.txt": "1\n4\n5\n", "annotations/sun.txt": "3\n4\n5\n", "annotations/README.txt": "words\n", "mirflickr/doc/x.txt": "words",
	})
	return map[string]string{"iaprtc12 a": filepath.Dir(plain), "iaprtc12 b": filepath.Dir(lists),
		"mirflickr": filepath.Dir(concepts)}
}

func TestTagsInEveryLayout(t *testing.T) {
	wantBase, wantQueries := []string{"10: sea sky", "20: sun", "40: sky sun"}, []string{"30: sea sky sun"}
	for name, data := range layouts(t) {
		c := iaprTC12
		if name == "mirflickr" {
			c = mirFlickr
		}
		runner := &Runner{Data: data, Cache: t.TempDir(), Say: quiet}
		base, queries, err := runner.open(c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := contents(t, base); !slices.Equal(got, wantBase) {
			t.Errorf("%s: base %q", name, got)
		}
		if got := contents(t, queries); !slices.Equal(got, wantQueries) {
			t.Errorf("%s: queries %q", name, got)
		}
		y, err := splitAffinity(context.Background(), base)
		if err != nil || y.Len() != 3 {
			t.Errorf("%s: affinity %v, %v", name, y, err)
		}
		// Features keep the tags, and one shared tag is not enough.
		e, err := feature.NewGIST(feature.GISTOptions{Size: side, Orientations: []int{2}, Blocks: 2})
		if err != nil {
			t.Fatal(err)
		}
		var set *dataset.Set
		k, err := runner.load(context.Background(), recipe{Name: "tiny"}, e, &set, base)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sum, err := supervision.Scan(context.Background(), set, supervision.ScanOptions{})
		if err != nil || sum.Labels != nil || sum.Tags.Rows() != 3 || len(sum.Tags.Row(1)) != 1 || k == "" {
			t.Errorf("%s: %v %v", name, sum, err)
		}
		if m, err := sum.Affinity(sum.Rows); err != nil || m.At(0, 2) != -1 {
			t.Errorf("%s: one shared tag makes %v", name, m)
		}
	}
}

// Another picture or another tag is another data set.
func TestGalleryDigest(t *testing.T) {
	data := layouts(t)["iaprtc12 a"]
	runner := &Runner{Data: data}
	digests := map[string]bool{}
	look := func() {
		t.Helper()
		base, _, err := runner.open(iaprTC12)
		if err != nil {
			t.Fatal(err)
		}
		digests[base.digest] = true
	}
	look()
	look()
	write(t, filepath.Join(data, "iaprtc12"), map[string]string{"labels.txt": "1 2\n0\n0 1 2\n2\n"})
	look()
	write(t, filepath.Join(data, "iaprtc12"), map[string]string{"split.txt": "train\ntrain\ntest\ntest\n"})
	look()
	write(t, filepath.Join(data, "iaprtc12"), map[string]string{"images/7.png": "another size"})
	look()
	if len(digests) != 4 {
		t.Errorf("%d digests of 4 data sets", len(digests))
	}
}

func TestTagErrors(t *testing.T) {
	differs := func(err error, want string) { // code and what the message has to name
		t.Helper()
		facts := strings.Fields(want)
		if d := message.Differs(err, message.Code(facts[0]), facts[1:]...); d != "" {
			t.Error(d)
		}
	}
	for want, change := range map[string]map[string]string{
		"wrong-count labels.txt 3 4":   {"labels.txt": "1\n1\n1\n"},
		`no-such-tag labels.txt 3 "3"`: {"labels.txt": "1\n1\n3\n1\n"},
		"no-such-picture iaprtc12 12":  {"ids.txt": "11\n7\n9\n12\n"},
		"listed-twice iaprtc12 7":      {"ids.txt": "11\n7\n9\n7\n"},
	} {
		data := layouts(t)["iaprtc12 a"]
		write(t, filepath.Join(data, "iaprtc12"), change)
		runner := &Runner{Data: data}
		_, _, err := runner.open(iaprTC12)
		differs(err, want)
	}
	for want, change := range map[string]map[string]string{
		"odd-size annot.hvecs 3":      {"iaprtc12_test_annot.hvecs": "odd"},
		"wrong-count annot.hvecs 2 1": {"iaprtc12_test_annot.hvecs": hvecs([]uint16{0, 1, 1}, []uint16{0, 1, 1})},
		"bad-value annot.hvecs 0 1 2": {"iaprtc12_test_annot.hvecs": hvecs([]uint16{0, 2, 1})},
		"dictionary.txt":              nil,
	} {
		data := layouts(t)["iaprtc12 b"]
		dir := filepath.Join(data, "iaprtc12")
		write(t, dir, change)
		if change == nil {
			if err := os.Remove(filepath.Join(dir, "iaprtc12_dictionary.txt")); err != nil {
				t.Fatal(err)
			}
		}
		runner := &Runner{Data: data}
		_, _, err := runner.open(iaprTC12)
		if change != nil {
			differs(err, want)
		} else if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", want, err)
		}
	}
	for want, text := range map[string]string{
		`not-a-number sea.txt 1 "x"`: "x", "no-such-picture sea.txt 2 im9.jpg": "1\n9",
	} {
		data := layouts(t)["mirflickr"]
		write(t, filepath.Join(data, "mirflickr"), map[string]string{"annotations/sea.txt": text})
		runner := &Runner{Data: data}
		_, _, err := runner.open(mirFlickr)
		differs(err, want)
	}
}

func FuzzParseTags(f *testing.F) {
	f.Add([]byte(hvecs([]uint16{0, 1, 1}, []uint16{1, 0, 0})), 3)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, b []byte, tags int) {
		if tags < 0 || tags > 1<<15 {
			return
		}
		rows, err := parseTags(b, tags)
		if err != nil {
			return
		}
		var again [][]uint16
		for _, r := range rows {
			row := make([]uint16, tags)
			for _, v := range r {
				row[v] = 1
			}
			again = append(again, row)
		}
		if hvecs(again...) != string(b) {
			t.Errorf("%q was read as %v", b, rows)
		}
	})
}
