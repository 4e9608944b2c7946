package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hashgrove/internal/vectors"
)

// setNpy is a file of float32 rows, as numpy.save writes it.
func setNpy(rows ...[]float32) string {
	return npyOf("<f4", false, fmt.Sprintf("%d, %d", len(rows), len(rows[0])), float32s(slices.Concat(rows...)...))
}

func TestPatternsAreFilesInNaturalOrder(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{1, 2, 10} {
		fileOf(t, dir, fmt.Sprintf("part_%d.npy", n), setNpy([]float32{float32(n)}))
	}
	fileOf(t, dir, "first[1].npy", setNpy([]float32{0})) // a file of that name is no pattern
	if err := os.Mkdir(filepath.Join(dir, "part_3.npy"), 0o777); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Spec{Paths: []string{filepath.Join(dir, "first[1].npy"), filepath.Join(dir, "part_*.npy")}})
	if err != nil {
		t.Fatal(err)
	}
	var values []float32
	for c, err := range s.Chunks(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, c.X.Data...)
	}
	if !slices.Equal(values, []float32{0, 1, 2, 10}) || len(s.Files()) != 4 || s.Dim() != 1 || s.Format() != "npy" {
		t.Errorf("values %v of %d files, dim %d, format %s", values, len(s.Files()), s.Dim(), s.Format())
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	fileOf(t, dir, "train.npy", setNpy([]float32{1, 2}, []float32{3, 4}))
	fileOf(t, dir, "wide.npy", setNpy([]float32{1, 2, 3}))
	fileOf(t, dir, "y.txt", "0\n1\n2\n")
	fileOf(t, dir, "y1.txt", "0\n")
	fileOf(t, dir, "tags.txt", "sea sky\nsea\nsky\n")
	fileOf(t, dir, "rows.csv", "a,b,y\n1,2,x\n")
	fileOf(t, dir, "empty.csv", "a,label\n")
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{}, "no-files"},
		{Spec{Paths: []string{in("trian.npy")}}, "no-such-file trian.npy train.npy"},
		{Spec{Paths: []string{in("Train.NPY")}}, "no-such-file Train.NPY train.npy"},
		{Spec{Paths: []string{in("nothing")}}, "no-such-file nothing:"},
		{Spec{Paths: []string{in("*.parquet")}}, "no-file-matches *.parquet"},
		{Spec{Paths: []string{dir}}, "no-pictures " + dir + " JPEG PNG GIF BMP TIFF WebP *.npy"},
		{Spec{Paths: []string{in("train.npy"), in("*.npy")}}, "duplicate-file train.npy"},
		{Spec{Paths: []string{in("train.npy"), in("wide.npy")}}, "dim-mismatch wide.npy 3 train.npy 2"},
		{Spec{Paths: []string{in("train.npy"), in("rows.csv"), in("wide.npy")}, LabelsFile: []string{in("y.txt")}},
			"dim-mismatch wide.npy 3 train.npy 2"},
		{Spec{Paths: []string{in("wide.npy")}, LabelsFile: []string{in("y.txt")}}, "wrong-count y.txt 3 labels 1 wide.npy"},
		{Spec{Paths: []string{in("train.npy")}, LabelsFile: []string{in("y1.txt")}}, "wrong-count y1.txt 1 label 2 train.npy"},
		{Spec{Paths: []string{in("train.npy")}, Vector: "v"}, `no-columns set:Vector train.npy "v"`},
		{Spec{Paths: []string{in("train.npy")}, Label: "y"},
			`no-columns set:LabelsFile train.npy "y"`},
		{Spec{Paths: []string{in("train.npy")}, Tags: "tgas"},
			`no-columns set:TagsFile train.npy "tgas"`},
		{Spec{Paths: []string{in("train.npy")}, ID: "sku"},
			`no-columns set:IDsFile train.npy "sku"`},
		{Spec{Paths: []string{in("empty.csv")}}, "no-rows empty.csv"},
		{Spec{Paths: []string{in("train.npy")}, LabelsFile: []string{in("y.txt")}}, "wrong-count y.txt 3 labels 2 train.npy"},
		{Spec{Paths: []string{in("train.npy")}, LabelsFile: []string{in("y1.txt"), in("y.txt")}}, "wrong-count y1.txt y.txt 4 labels 2"},
		{Spec{Paths: []string{in("train.npy")}, TagsFile: []string{in("tags.txt")}}, "wrong-count tags.txt 3 tags 2 train.npy"},
		{Spec{Paths: []string{in("train.npy")}, IDsFile: []string{in("y.txt")}}, "wrong-count y.txt 3 ids 2 train.npy"},
		{Spec{Paths: []string{in("train.npy")}, IDsFile: []string{in("y2.txt")}}, "no-such-file y2.txt y.txt"},
		{Spec{Paths: []string{in("rows.csv")}, Label: "y", LabelsFile: []string{"y.txt"}}, "column-and-file labels y.txt"},
		{Spec{Paths: []string{in("rows.csv")}, ID: "y", IDsFile: []string{"y.txt"}}, "column-and-file ids y.txt"},
		{Spec{Paths: []string{in("rows.csv")}, Tags: "y", TagsFile: []string{"y.txt"}}, "column-and-file tags y.txt"},
	} {
		if _, err := os.Stat(in("Train.NPY")); err == nil && slices.Contains(c.spec.Paths, in("Train.NPY")) {
			continue // the same file, for this system
		}
		_, err := Open(c.spec)
		setWant(t, dir, err, c.want)
	}
}

func TestTagsAreAFileOrAColumn(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	fileOf(t, dir, "docs.jsonl", `{"v":[1,2],"tags":["a","b"]}`+"\n"+`{"v":[1,3],"tags":[]}`+"\n")
	fileOf(t, dir, "rows.npy", setNpy([]float32{1, 2}, []float32{1, 3}))
	fileOf(t, dir, "lines.txt", "a b\n\n")
	want := [][]string{{"a", "b"}, {}}
	check := func(spec Spec) {
		t.Helper()
		all, err := vectors.Read(t.Context(), setOpen(t, spec))
		if err != nil || !slices.EqualFunc(all.Tags, want, slices.Equal[[]string]) {
			t.Errorf("%q %v, want %q", all.Tags, err, want)
		}
	}
	check(Spec{Paths: []string{"docs.jsonl"}, Vector: "v", Tags: "tags"})
	check(Spec{Paths: []string{"docs.jsonl"}, Vector: "v", Tags: "lines.txt"})
	check(Spec{Paths: []string{"rows.npy"}, Tags: "lines.txt"})
	check(Spec{Paths: []string{"rows.npy"}, TagsFile: []string{"lines.txt"}})
	fileOf(t, dir, "tags", "a b\n\n")
	check(Spec{Paths: []string{"rows.npy"}, Tags: "tags"})
	check(Spec{Paths: []string{"docs.jsonl"}, Vector: "v", Tags: "./tags"})
}
