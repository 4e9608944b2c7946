package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/picturetest"
)

// tone is a small grey picture, so that a row tells which one it is.
func tone(v uint8) string { return picturetest.PNG(picturetest.Flat(2, 2, color.Gray{v})) }

// album makes a folder of files: names and contents in turn.
func album(t testing.TB, dir string, files ...string) string {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, filepath.FromSlash(files[i]))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// rowsOf is what a set holds, a line per picture: its first value, label, id and tags.
func rowsOf(t testing.TB, s *Set) string {
	t.Helper()
	rows, err := rowsUntil(s)
	if err != nil {
		return rows + "\nerror: " + err.Error()
	}
	return rows
}

// rowsUntil is rowsOf with the error that ends a pass.
func rowsUntil(s *Set) (string, error) {
	var out []string
	for c, err := range s.Chunks(context.Background()) {
		if err != nil {
			return strings.Join(out, "\n"), err
		}
		for i := range c.X.Rows {
			line := fmt.Sprint(c.X.Row(i)[0])
			if c.Labels != nil {
				line += " " + c.Labels[i]
			}
			if c.IDs != nil {
				line += " " + c.IDs[i]
			}
			if c.Tags != nil {
				line += " [" + strings.Join(c.Tags[i], "|") + "]"
			}
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n"), nil
}

// tooManyPixels is the code of the complaint about a picture that claims to be huge: where int has 32 bits, the decoder
// refuses it by itself.
var tooManyPixels = map[int]message.Code{32: "damaged", 64: "too-many-pixels"}[strconv.IntSize]

// bomb is a small file that claims to be huge.
func bomb() string {
	file := tone(1)
	return file[:8] + picturetest.Chunk("IHDR", packed(binary.BigEndian, []uint32{30000, 30000})+file[24:29]) + file[33:]
}

// zoo is a folder with everything that may lie in one.
func zoo(t testing.TB, dir string) string {
	return album(t, dir,
		"cats/10.png", tone(1), "cats/2.png", tone(2), "cats/kittens/small/a.png", tone(3),
		"dogs/x", tone(4), // no ending, but a picture
		"dogs/notes.txt", "BMW", "dogs/.hidden.png", "", "dogs/list.csv", "a,b\n",
		".git/1.png", tone(9), "readme.md", "hello",
	)
}

func TestFolderOfClasses(t *testing.T) {
	t.Chdir(t.TempDir())
	zoo(t, "zoo")
	s := setOpen(t, Spec{Paths: []string{"zoo"}})
	want := "2 cats zoo/cats/2.png\n1 cats zoo/cats/10.png\n3 cats zoo/cats/kittens/small/a.png\n4 dogs zoo/dogs/x"
	for range 2 {
		if got := rowsOf(t, s); got != want {
			t.Errorf("read\n%s\nwant\n%s", got, want)
		}
	}
	_, pictures := s.AsPictures()
	shape := s.shape
	if !pictures || (shape != picture.Shape{Width: 32, Height: 32, Channels: 3}) || s.Dim() != 3072 || s.Rows() != 4 || s.Format() != "folder" {
		t.Errorf("%v %v, %d values, %d rows of format %s", shape, pictures, s.Dim(), s.Rows(), s.Format())
	}
	s = setOpen(t, Spec{Paths: []string{"zoo/"}, Size: 5, Grey: true, Fit: "squash"})
	if shape := s.shape; (shape != layout(5, 5, 1, false)) || s.Dim() != 25 || rowsOf(t, s) != want {
		t.Errorf("%v, %d values\n%s", shape, s.Dim(), rowsOf(t, s))
	}
	// Two folders are one set; a single picture is a set, too.
	s = setOpen(t, Spec{Paths: []string{"zoo/cats/kittens", "zoo/dogs", "zoo/cats/2.png"}, LabelsFile: []string{fileOf(t, ".", "y.txt", "a\nb\nc\n")}})
	if got, want := rowsOf(t, s), "3 a zoo/cats/kittens/small/a.png\n4 b zoo/dogs/x\n2 c zoo/cats/2.png"; got != want {
		t.Errorf("read\n%s\nwant\n%s", got, want)
	}
	t.Chdir("zoo")
	if got := rowsOf(t, setOpen(t, Spec{Paths: []string{"."}})); got != strings.ReplaceAll(want, "zoo/", "") {
		t.Errorf("read\n%s", got)
	}
}

// TestPicturesOnAnyNumberOfThreads reads more pictures than are decoded together.
func TestPicturesOnAnyNumberOfThreads(t *testing.T) {
	dir := t.TempDir()
	var files, want []string
	for i := range 300 {
		content := tone(uint8(i))
		switch i % 50 {
		case 7:
			content = content[:40]
		default:
			want = append(want, fmt.Sprintf("%d %s/%d.png", i%256, filepath.ToSlash(dir), i))
		}
		files = append(files, fmt.Sprintf("%d.png", i), content)
	}
	album(t, dir, files...)
	for _, threads := range []int{1, 2, 7} {
		s := setOpen(t, Spec{Paths: []string{dir}, Size: 1, SkipBad: true, Threads: threads})
		if got := rowsOf(t, s); got != strings.Join(want, "\n") {
			t.Errorf("%d threads: read\n%s", threads, got)
		}
		n, first := s.Bad()
		if n != 6 {
			t.Fatalf("%d bad pictures: %v", n, first)
		}
		setWant(t, dir, first[1], "cut-off at:57.png:0: PNG")
	}
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	for _, err := range setOpen(t, Spec{Paths: []string{dir}, Size: 1, SkipBad: true}).Chunks(ctx) {
		if err != stop {
			t.Errorf("a pass that was cancelled: %v", err)
		}
	}
}

func TestFolderComplaints(t *testing.T) {
	bombed := "too-many-pixels set:SkipBad at:zoo/b.png:0: 30000 120"
	if strconv.IntSize == 32 {
		bombed = "damaged set:SkipBad at:zoo/b.png:0: PNG"
	}
	for _, c := range []struct {
		name  string
		files []string
		spec  Spec
		want  string
	}{
		{"broken first", []string{"zoo/a.jpg", "hello", "zoo/b.png", tone(1)}, Spec{}, "not-a-picture set:SkipBad at:zoo/a.jpg:0: JPEG PNG GIF BMP TIFF WebP"},
		{"broken later", []string{"zoo/a.png", tone(1), "zoo/b.png", tone(1)[:40]}, Spec{}, "cut-off set:SkipBad at:zoo/b.png:0: PNG"},
		{"bomb", []string{"zoo/a.png", tone(1), "zoo/b.png", bomb()}, Spec{}, bombed},
		{"beside the classes", []string{"zoo/cats/a.png", tone(1), "zoo/dogs/b.png", tone(1), "zoo/x.png", tone(2)}, Spec{},
			"no-class set:SkipBad at:zoo/x.png:0:"},
		{"no pictures", []string{"zoo/a.npy", "x"}, Spec{}, "no-pictures zoo: JPEG PNG GIF BMP TIFF WebP zoo/*.npy"},
		{"size", []string{"zoo/a.png", tone(1)}, Spec{Size: 2000}, "bad-size 2000 1 1024"},
		{"fit", []string{"zoo/a.png", tone(1)}, Spec{Fit: "stretch"}, `unknown-fit "stretch" crop squash`},
		{"format", []string{"zoo/a.png", tone(1)}, Spec{Format: "csv"}, "folder-with-format set:Format zoo:"},
		{"column", []string{"zoo/a.png", tone(1)}, Spec{Label: "kind"},
			`no-columns set:LabelsFile zoo: "kind"`},
		{"too few labels", []string{"zoo/a.png", tone(1), "zoo/b.png", tone(1), "y.txt", "a\n"}, Spec{LabelsFile: []string{"y.txt"}}, "wrong-count y.txt 1 label 2 zoo"},
		{"no label", []string{"zoo/a.png", tone(1), "zoo/b.png", tone(1), "y.txt", "\na\n"}, Spec{LabelsFile: []string{"y.txt"}}, "no-label set:SkipBad at:zoo/a.png:0: y.txt"},
		{"missing name", []string{"zoo/a.png", tone(1), "zoo/b.png", tone(1), "y.csv", "file,label\na.png,x\n"}, Spec{LabelsFile: []string{"y.csv"}},
			"no-label set:SkipBad at:zoo/b.png:0: y.csv"},
		{"name twice", []string{"zoo/a.png", tone(1), "y.csv", "file,label\na.png,x\na.png,x\n"}, Spec{LabelsFile: []string{"y.csv"}}, `duplicate-id y.csv "a.png"`},
		{"which column", []string{"zoo/a.png", tone(1), "y.csv", "file,u,v\na.png,1,2\n"}, Spec{LabelsFile: []string{"y.csv"}}, "which-column y.csv 3 label"},
		{"ragged", []string{"zoo/a.png", tone(1), "y.csv", "file,label\na.png,1,2\n"}, Spec{LabelsFile: []string{"y.csv"}}, "wrong-count y.csv 2 3 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			album(t, ".", c.files...)
			c.spec.Paths = []string{"zoo"}
			pictures := strings.Count(strings.Join(c.files, " "), "zoo/")
			setRefuses(t, dir, c.spec, c.want, pictures-1)
		})
	}
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	album(t, ".", "zoo/a.png", tone(1), "zoo/sub/b.png", tone(2), "secret/s.png", tone(9), "secret.png", tone(8))
	for from, to := range map[string]string{
		"zoo/inside.png": "sub/b.png", "zoo/out.png": "../secret.png", "zoo/folder": "../secret", "zoo/loop": ".", "zoo/nowhere.png": "x", "zoo/out.txt": "../secret.png",
	} {
		if err := os.Symlink(to, from); err != nil {
			needs.Skip(t, needs.Links, err)
		}
	}
	s := setOpen(t, Spec{Paths: []string{"zoo"}, SkipBad: true, LabelsFile: []string{fileOf(t, dir, "y.txt", "1\n2\n3\n4\n5\n")}})
	if got, want := rowsOf(t, s), "1 1 zoo/a.png\n2 2 zoo/inside.png\n2 5 zoo/sub/b.png"; got != want {
		t.Errorf("read\n%s\nwant\n%s", got, want)
	}
	_, bad := s.Bad()
	if len(bad) != 2 {
		t.Fatalf("bad: %v", bad)
	}
	setWant(t, dir, bad[1], "unreadable at:zoo/out.png:0:")
	// What becomes a link after the folder was listed is not followed either.
	if err := errors.Join(os.Remove("zoo/a.png"), os.Symlink("../secret.png", "zoo/a.png")); err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, s); strings.Contains(got, "a.png") {
		t.Errorf("read\n%s", got)
	}
}

// TestSupervisionOfPictures says the same in all ways there are.
func TestSupervisionOfPictures(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	album(t, ".", "zoo/2.png", tone(2), "zoo/10.png", tone(10), "zoo/sub/a b.png", tone(3))
	file := func(name, content string) []string { return []string{fileOf(t, dir, name, content)} }
	const want = "2 cat zoo/2.png\n10 dog zoo/10.png\n3 cat zoo/sub/a b.png"
	for i, c := range []struct{ name, content string }{
		{"y.csv", "cat\ndog\ncat\n"},
		{"y.txt", "cat\ndog\ncat\n"},
		{"y.csv", "file,label\nsub/a b.png,cat\n10.png,dog\n2.png,cat\nothers.png,owl\n"},
		{"y.csv", "\ufefffile;label\nsub/a b.png;cat\n10.png;dog\n2.png;cat\n"},
		{"y.csv", "photo,kind\nsub/a b.png,cat\n10.png,dog\n2.png,cat\n"},
		{"y.csv", "label,size,filename\ncat,7,zoo/sub/a b.png\ndog,7,zoo/10.png\ncat,7,zoo/2.png\n"},
		{"y.csv", "id,breed\nsub/a b,cat\n10,dog\n2,cat\n"},
		{"y.jsonl", `{"file": "2.png", "label": "cat"}` + "\n" + `{"label": "cat", "file": "sub/a b.png"}` + "\n" + `{"file": "10.png", "label": "dog"}`},
	} {
		s := setOpen(t, Spec{Paths: []string{"zoo"}, LabelsFile: file(c.name, c.content)})
		if got := rowsOf(t, s); got != want {
			t.Errorf("%d: read\n%s\nwant\n%s", i, got, want)
		}
		if (len(s.warnings) == 1) != (i < 2) {
			t.Errorf("%d: warnings %q", i, s.warnings)
		}
	}
	parts := append(file("y.csv", "file,label\n10.png,dog\n"), file("y2.csv", "file,label\nsub/a b.png,cat\n2.png,cat\n")...)
	if got := rowsOf(t, setOpen(t, Spec{Paths: []string{"zoo"}, LabelsFile: parts})); got != want {
		t.Errorf("two tables: read\n%s\nwant\n%s", got, want)
	}
	if _, err := Open(Spec{Paths: []string{"zoo"}, LabelsFile: append(parts, file("y3.txt", "x\n")...)}); err == nil {
		t.Error("tables and a list were taken")
	}
	const tagged = "2 zoo/2.png [sea|sky]\n10 zoo/10.png []\n3 zoo/sub/a b.png [blue sky]"
	for name, content := range map[string]string{
		"tags.txt": "sea;sky\n\nblue sky\n", "tags.csv": "file,tags\nsub/a b.png,blue sky\n10.png,\n2.png,sea;sky\n",
	} {
		if got := rowsOf(t, setOpen(t, Spec{Paths: []string{"zoo"}, TagsFile: file(name, content)})); got != tagged {
			t.Errorf("%s: read\n%s\nwant\n%s", name, got, tagged)
		}
	}
	if err := os.RemoveAll("zoo/sub"); err != nil {
		t.Fatal(err)
	}
	s := setOpen(t, Spec{Paths: []string{"zoo"}, IDsFile: file("ids.txt", "u\nv\n"), LabelsFile: file("f.csv", "id,label\nv,dog\nu,cat\n")})
	if got := rowsOf(t, s); got != "2 cat u\n10 dog v" || len(s.warnings) != 1 {
		t.Errorf("read\n%s\n%q", got, s.warnings)
	}
	// A folder of classes whose labels or tags come from a file has no others.
	album(t, ".", "classes/a/1.png", tone(1), "classes/b/2.png", tone(2))
	if got := rowsOf(t, setOpen(t, Spec{Paths: []string{"classes"}, Tags: file("tags.txt", "x\ny z\n")[0]})); got != "1 classes/a/1.png [x]\n2 classes/b/2.png [y|z]" {
		t.Errorf("read\n%s", got)
	}
}

// FuzzNamedLabels is the promise for any file of labels: an error, or a label for every picture.
func FuzzNamedLabels(f *testing.F) {
	for _, s := range []string{"cat\ndog\n", "file,label\na.png,cat\nb.png,dog\n", "file;label\nb.png;x\na.png;y\n", "id\tz\nb\t1\na\t\"2\"\n", "photo,kind\na.png,1\nb.png,2\n"} {
		f.Add([]byte(s))
	}
	dir := album(f, f.TempDir(), "zoo/a.png", tone(1), "zoo/b.png", tone(2))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, name := range []string{"y.csv", "y.tsv", "y.jsonl", "y.txt"} {
			path := fileOf(t, dir, name, string(content))
			for _, spec := range []Spec{{LabelsFile: []string{path}}, {TagsFile: []string{path}, IDsFile: []string{path}}} {
				spec.Paths, spec.Size, spec.Threads = []string{filepath.Join(dir, "zoo")}, 1, 1
				if s, err := Open(spec); err == nil {
					if rows, err := setRead(t, s); err == nil && (len(rows) != 2 || spec.LabelsFile != nil && rows[1].label == "") {
						t.Errorf("rows %v", rows)
					}
				}
			}
		}
	})
}
