package workshop

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stripes is a small picture with stripes in one direction.
func stripes(across bool, n int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, 12, 12))
	for y := range 12 {
		for x := range 12 {
			at := x
			if across {
				at = y
			}
			v := uint8(at % 4 * 60)
			img.Set(x, y, color.RGBA{v, uint8(n), v / 2, 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img)
	return b.Bytes()
}

func zipOf(t testing.TB, files map[string][]byte) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// pets is a zip that is as it should be, but for what change adds.
func pets(t testing.TB, change func(files map[string][]byte)) string {
	files := map[string][]byte{}
	for i := range 40 {
		files[fmt.Sprintf("%s/%d.png", []string{"cat", "dog"}[i%2], i)] = stripes(i%2 == 0, i)
	}
	change(files)
	return zipOf(t, files)
}

func TestHostileZips(t *testing.T) {
	b := newBench(t, Options{MaxBytes: 32 << 20, MaxUnpacked: 4 << 20})
	picture := stripes(true, 1)
	up := func(content string, facts ...string) {
		t.Helper()
		b.refused(400, "POST", "/v1/try?name=pets.zip", content, facts...)
		if left := b.folders(); len(left) != 0 {
			t.Errorf("%v are left", left)
		}
	}
	named := func(name string) string { return pets(t, func(f map[string][]byte) { f[name] = picture }) }
	for _, name := range []string{"../cat/x.png", "cat/../../x.png", "/etc/x.png", `..\cat\x.png`, "cat/\x00.png"} {
		up(named(name))
	}
	up(named("x.png"), `"x.png"`)
	up(pets(t, func(f map[string][]byte) { clear(f); f["cat/a.txt"] = picture }))
	up(pets(t, func(f map[string][]byte) { clear(f); f["x.npy"] = picture }))
	up(pets(t, func(f map[string][]byte) {
		maps.DeleteFunc(f, func(n string, _ []byte) bool { return n[0] == 'd' })
	}), "20")
	up(pets(t, func(f map[string][]byte) {
		for i := range 40 {
			f[fmt.Sprintf("cat/more%d.png", i)] = picture
			delete(f, fmt.Sprintf("dog/%d.png", i))
		}
	}))
	// A bomb, by its own account and by what it holds.
	up(pets(t, func(f map[string][]byte) { f["cat/x.png"] = make([]byte, 3<<20) }), `"cat/x.png"`, "200")
	up(pets(t, func(f map[string][]byte) { f["cat/x.png"] = noise(5 << 20) }), "4 MiB")
	// Links and passwords.
	up(special(t, func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }))
	up(special(t, func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | 0o777) }))
	up(special(t, func(h *zip.FileHeader) { h.Flags |= 1 }))
	up(special(t, func(h *zip.FileHeader) { h.Method = 99 }))
}

// TestABrokenPicture checks a picture that begins well and is cut off, which shows when it is decoded.
func TestABrokenPicture(t *testing.T) {
	b := newBench(t, Options{})
	b.must("POST", "/v1/try?name=pets.zip", pets(t, func(f map[string][]byte) {
		f["cat/holiday.png"] = noisePicture()[:1500]
	}))
	b.must("POST", "/v1/try/1/train", "{}") // it is named and left out
	j := b.wait("1", stateDone)
	for _, fact := range []string{" 1 ", " 41.", "cat/holiday.png"} {
		if !strings.Contains(j.Message, fact) {
			t.Errorf("%q does not name %q", j.Message, fact)
		}
	}
}

// noisePicture is a picture of some kilobytes.
func noisePicture() []byte {
	img := image.NewGray(image.Rect(0, 0, 64, 64))
	copy(img.Pix, noise(64*64))
	var b bytes.Buffer
	_ = png.Encode(&b, img)
	return b.Bytes()
}

// special is pets with one entry whose head is changed.
func special(t *testing.T, change func(*zip.FileHeader)) string {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := range 40 {
		h := &zip.FileHeader{Name: fmt.Sprintf("%s/%d.png", []string{"cat", "dog"}[i%2], i)}
		content := stripes(i%2 == 0, i)
		h.CompressedSize64, h.UncompressedSize64 = uint64(len(content)), uint64(len(content))
		if i == 20 {
			change(h)
		}
		f, err := z.CreateRaw(h)
		if err == nil {
			_, err = f.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// noise does not compress.
func noise(n int) []byte {
	b, x := make([]byte, n), uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// FuzzArchive checks that whatever a zip lists stays within the limits, and is what the tar has.
func FuzzArchive(f *testing.F) {
	f.Add([]byte(pets(f, func(map[string][]byte) {})))
	f.Add([]byte(pets(f, func(files map[string][]byte) { files["../x.png"] = nil })))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	o := Options{MaxPictures: 50, MaxUnpacked: 1 << 20}.withDefaults()
	f.Fuzz(func(t *testing.T, content []byte) {
		to := filepath.Join(t.TempDir(), "pictures.tar")
		pictures, folders, err := repack(t.Context(), bytes.NewReader(content), int64(len(content)), to, o)
		if err != nil {
			return
		}
		b, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		found, total := 0, int64(0)
		for entries := tar.NewReader(bytes.NewReader(b)); ; found++ {
			e, err := entries.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			total += e.Size
		}
		if found != pictures || found > o.MaxPictures || folders > found || total > o.MaxUnpacked {
			t.Errorf("%d pictures, %d in the tar, in %d folders, %d bytes", pictures, found, folders, total)
		}
	})
}
