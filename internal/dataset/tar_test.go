package dataset

import (
	"archive/tar"
	"bytes"
	"image"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/picture"
	"hashgrove/internal/testkit/picturetest"
)

// tarOf packs names and contents in turn; a name with an arrow is a link.
func tarOf(files ...string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644, Typeflag: tar.TypeReg}
		if name, target, link := strings.Cut(files[i], "->"); link {
			h = &tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}
		} else if strings.HasSuffix(files[i], "/") {
			h = &tar.Header{Name: files[i], Typeflag: tar.TypeDir}
		}
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

func TestTar(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"classes", []string{"cats/", "", "cats/10.png", tone(1), "cats/deep/er/2.png", tone(2), "notes.txt", "x", "dogs/x", tone(3)},
			"1 cats a.tar/cats/10.png\n2 cats a.tar/cats/deep/er/2.png\n3 dogs a.tar/dogs/x"},
		{"common folder", []string{"./zoo/", "", "./zoo/cats/1.png", tone(1), "./zoo/dogs/2.png", tone(2), "./zoo/._x.png", "x"},
			"1 cats a.tar/zoo/cats/1.png\n2 dogs a.tar/zoo/dogs/2.png"},
		{"flat", []string{"zoo/2.png", tone(2), "zoo/1.png", tone(1)}, "2 a.tar/zoo/2.png\n1 a.tar/zoo/1.png"},
		{"evil names", []string{"../../etc/1.png", tone(1), "/root/2.png", tone(2), "a/../../3.png", tone(3)[:0] + tone(3)},
			"error: no-class set:SkipBad at:a.tar/3.png:0:"},
		{"link", []string{"1.png", tone(1), "2.png->1.png", "", "b.txt->1.png", ""},
			"error: bad-link set:SkipBad at:a.tar/2.png:0: --dereference --hard-dereference"},
		{"broken", []string{"1.png", tone(1), "2.png", "oh"},
			"error: not-a-picture set:SkipBad at:a.tar/2.png:0: JPEG PNG GIF BMP TIFF WebP"},
	} {
		content := tarOf(c.files...)
		for suffix, packed := range map[string]string{".tar": content, ".tar.gz": gzipped(content), ".tgz": gzipped(content), ".tar.zst": zstded(content)} {
			s := setOpen(t, Spec{Paths: []string{fileOf(t, ".", "a"+suffix, packed)}, Size: 2})
			for range 2 {
				got, err := rowsUntil(s)
				want := strings.ReplaceAll(c.want, "a.tar/", "a"+suffix+"/")
				if refusal, ok := strings.CutPrefix(want, "error: "); ok { // rows before it may be in its chunk
					setWant(t, "", err, refusal)
				} else if err != nil || got != want {
					t.Errorf("%s as %s: read\n%s\n%v\nwant\n%s", c.name, suffix, got, err, want)
				}
			}
			if s.Format() != "tar" {
				t.Errorf("format %s", s.Format())
			}
		}
	}
	s := setOpen(t, Spec{Paths: []string{fileOf(t, ".", "b.tar", tarOf("zoo/1.png", tone(1), "zoo/2.png", tone(2)))}, Size: 1,
		LabelsFile: []string{fileOf(t, ".", "y.csv", "file,label\n2.png,dog\nzoo/1.png,cat\n")}})
	if got := rowsOf(t, s); got != "1 cat b.tar/zoo/1.png\n2 dog b.tar/zoo/2.png" {
		t.Errorf("read\n%s", got)
	}
	// The archive is another one in the next pass.
	fileOf(t, ".", "b.tar", tarOf("zoo/1.png", tone(1), "zoo/3.png", tone(2)))
	got, err := rowsUntil(s)
	if setWant(t, "", err, "file-changed b.tar 2.png"); got != "" {
		t.Errorf("read\n%s", got)
	}
}

func TestTarComplaints(t *testing.T) {
	dir := t.TempDir()
	content := tarOf("1.png", tone(1), "2.png", tone(2))
	for name, c := range map[string][2]string{
		"cut.tar":      {content[:1500], "cut-off cut.tar"},
		"cut.tar.gz":   {gzipped(content)[:100], "cut-off cut.tar.gz gzip"},
		"none.tar":     {tarOf("a.txt", "x"), "no-pictures none.tar JPEG PNG GIF BMP TIFF WebP"},
		"a.tar.xz":     {"\xfd7zXZ\x00\x00\x04", "unread-compression a.tar.xz xz gzip zstd"},
		"a.tar.bz2":    {"BZh91AY&SY\x00", "unread-compression a.tar.bz2 bzip2 gzip zstd"},
		"a.tar":        {strings.Repeat("hello there ", 100), "damaged a.tar"},
		"picture.png":  {"oh", "not-a-picture set:SkipBad at:picture.png:0: JPEG PNG GIF BMP TIFF WebP"},
		"p.png.gz":     {gzipped(tone(1)), "packed-inside p.png.gz gzip"},
		"vectors.npy":  {setNpy([]float32{1, 2}), "not-pictures vectors.npy"},
		"late.tar.zst": {zstded(content)[:len(zstded(content))-9], "cut-off late.tar.zst zstd"},
	} {
		_, err := Open(Spec{Paths: []string{fileOf(t, dir, name, c[0])}, Size: 4})
		setWant(t, dir, err, c[1])
	}
}

// TestPicturesKeepTheirShape resizes pictures of files that have a shape of their own, and refuses to mix shapes.
func TestPicturesKeepTheirShape(t *testing.T) {
	t.Chdir(t.TempDir())
	cifar, want := []byte{3}, make([]uint8, cifarPixels)
	for i := range cifarPixels {
		cifar = append(cifar, byte(i*7+i/1024*50))
		want[i%1024*3+i/1024] = cifar[1+i] // side by side
	}
	fileOf(t, ".", "data_batch_1.bin", string(cifar))
	fileOf(t, ".", "a-idx3-ubyte", idxOf(8, "\x01\x02\x03\x04\x05\x06", 1, 2, 3))
	zoo(t, "zoo")
	check := func(spec Spec, shape picture.Shape, want []uint8) {
		t.Helper()
		s := setOpen(t, spec)
		if got, ok := s.AsPictures(); !ok || got.Preparation().Shape != shape {
			t.Errorf("%+v: %v", spec, s.shape)
		}
		for c, err := range s.Chunks(t.Context()) {
			if err != nil || len(c.X.Row(0)) != len(want) {
				t.Fatalf("%+v: %d values, %v", spec, len(c.X.Row(0)), err)
			}
			for i, v := range c.X.Row(0) {
				k := i
				if shape.Planar {
					plane := shape.Width * shape.Height
					k = i%plane*3 + i/plane
				}
				if v != float32(want[k]) {
					t.Fatalf("%+v: value %d is %v, want %d", spec, i, v, want[k])
				}
			}
		}
	}
	batch := []string{"data_batch_1.bin"}
	grey := func(b []uint8) (out []uint8) {
		for i := 0; i < len(b); i += 3 {
			out = append(out, luma(b[i:]))
		}
		return out
	}
	check(Spec{Paths: batch}, layout(32, 32, 3, true), want)
	check(Spec{Paths: batch, Size: 32}, layout(32, 32, 3, true), want)
	check(Spec{Paths: batch, Grey: true}, layout(32, 32, 1, false), grey(want))
	check(Spec{Paths: batch, Size: 5}, layout(5, 5, 3, true), picturetest.Resized(want, 32, 32, 3, image.Pt(5, 5)))
	check(Spec{Paths: batch, Size: 5, Grey: true}, layout(5, 5, 1, false), grey(picturetest.Resized(want, 32, 32, 3, image.Pt(5, 5))))
	small := []uint8{1, 2, 3, 4, 5, 6}
	check(Spec{Paths: []string{"a-idx3-ubyte"}}, layout(3, 2, 1, false), small)
	check(Spec{Paths: []string{"a-idx3-ubyte"}, Grey: true}, layout(3, 2, 1, false), small)
	check(Spec{Paths: []string{"a-idx3-ubyte"}, Size: 4, Fit: "squash"}, layout(4, 4, 1, false), picturetest.Resized(small, 3, 2, 1, image.Pt(4, 4)))
	check(Spec{Paths: []string{"a-idx3-ubyte"}, Size: 2}, layout(2, 2, 1, false), []uint8{1, 2, 4, 5})

	_, err := Open(Spec{Paths: []string{"zoo", "data_batch_1.bin"}})
	setWant(t, "", err, "shape-mismatch data_batch_1.bin zoo 32 32 32 32")
	if _, pictures := setOpen(t, Spec{Paths: []string{fileOf(t, ".", "v.npy", setNpy([]float32{1, 2}))}}).AsPictures(); pictures {
		t.Error("vectors have a shape")
	}
}

func layout(width, height, channels int, planar bool) picture.Shape {
	return picture.Shape{Width: width, Height: height, Channels: channels, Planar: planar}
}

// luma is the grey of a colour.
func luma(c []uint8) uint8 {
	return uint8(math.Round((19595*float64(c[0]) + 38470*float64(c[1]) + 7471*float64(c[2])) / 65536))
}

func FuzzTar(f *testing.F) {
	f.Add([]byte(tarOf("a/1.png", tone(1), "b/2.png", tone(2), "c->1.png", "")))
	f.Add([]byte(gzipped(tarOf("1.png", tone(1)))))
	f.Add([]byte(tarOf("x", strings.Repeat("x", 600))))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(dir, "a.tar")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Spec{Paths: []string{path}, Format: "tar", Size: 2, SkipBad: true, Threads: 1})
		if err != nil {
			return
		}
		rows, err := setRead(t, s)
		if bad, _ := s.Bad(); err == nil && len(rows)+bad != s.files[0].header.rows {
			t.Errorf("%d rows and %d bad ones of %d", len(rows), bad, s.files[0].header.rows)
		}
	})
}
