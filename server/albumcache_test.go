package server

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hashgrove/internal/index"
)

// kept is a folder of pictures, their items and a cache.
type kept struct {
	*testing.T
	dir, cache string
	x          *index.Index
}

func newKept(t *testing.T) *kept {
	k := &kept{t, t.TempDir(), filepath.Join(t.TempDir(), "a", "cache"), index.New(8, [32]byte{}, index.Config{})}
	for _, name := range []string{"1.png", "2.png", "later.png"} {
		k.draw(name, 40)
	}
	k.item("1.png")
	k.item("2.png")
	return k
}

func (k *kept) check(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// draw writes a picture in one shade.
func (k *kept) draw(name string, shade uint8) {
	p := image.NewGray(image.Rect(0, 0, 30, 20))
	for i := range p.Pix {
		p.Pix[i] = color.Gray{shade}.Y
	}
	var b bytes.Buffer
	k.check(png.Encode(&b, p))
	k.check(os.WriteFile(filepath.Join(k.dir, name), b.Bytes(), 0o600))
}

func (k *kept) item(id string) {
	batch := index.NewBatch(8)
	batch.Append(index.Item{ID: index.Text(id), Code: []uint64{0}})
	k.check(k.x.Add(context.Background(), batch))
}

// start fills an album as a service does, and returns its pictures and whether they had been kept.
func (k *kept) start() (map[string]string, bool) {
	k.Helper()
	a, err := newAlbum([]string{k.dir}, "", k.cache)
	k.check(err)
	defer func() { k.check(a.close()) }()
	a.every = 0
	ticks := 0
	a.tick = func(made int) {
		if ticks++; made != ticks {
			k.Errorf("%d pictures at step %d", made, ticks)
		}
	}
	k.check(a.fill(context.Background(), k.x.Snapshot()))
	if a.loaded == (ticks > 0) {
		k.Errorf("%d steps, kept before: %v", ticks, a.loaded)
	}
	all := map[string]string{}
	for id := range a.at {
		b, err := a.get(id)
		k.check(err)
		all[id.String()] = string(b)
	}
	return all, a.loaded
}

// same starts again and compares the pictures with those of an album without a cache, which define them.
func (k *kept) same(what string, want bool) {
	k.Helper()
	got, loaded := k.start()
	if loaded != want {
		k.Errorf("%s: kept before: %v", what, loaded)
	}
	cache := k.cache
	k.cache = ""
	plain, _ := k.start()
	k.cache = cache
	if len(got) != len(plain) || len(got) < 2 {
		k.Errorf("%s: %d pictures, want %d", what, len(got), len(plain))
	}
	for id := range plain {
		if got[id] != plain[id] {
			k.Errorf("%s: another picture of %s", what, id)
		}
	}
}

// TestPicturesAreKept starts several times, with changes of files, items and the kept pictures in between.
func TestPicturesAreKept(t *testing.T) {
	k := newKept(t)
	k.same("the first start", false)
	k.same("the second", true)
	k.draw("2.png", 200)
	k.check(os.Chtimes(filepath.Join(k.dir, "2.png"), time.Time{}, time.Unix(1e9, 0))) // an older file, of the same size
	k.same("another picture", false)
	k.same("after it", true)
	k.item("later.png")
	k.same("another item", false)
	k.same("after it", true)
	k.draw("new.png", 3)
	k.item("new.png")
	k.same("a new picture", false)
	k.check(os.Remove(filepath.Join(k.dir, "new.png")))
	k.same("a picture less", false)
	files, err := filepath.Glob(filepath.Join(k.cache, "*"))
	k.check(err)
	if len(files) != 1 {
		t.Fatalf("the cache has %v", files)
	}
	good, err := os.ReadFile(files[0])
	k.check(err)
	for i := range good { // every byte counts, and so does every end
		bad := bytes.Clone(good)
		bad[i] ^= 0x41
		for _, b := range [][]byte{bad, good[:i]} {
			k.check(os.WriteFile(files[0], b, 0o600))
			f, err := os.Open(files[0])
			k.check(err)
			if _, err := readAlbum(f, k.x.Snapshot(), []string{k.dir}); err == nil {
				t.Errorf("damage at byte %d of %d is not noticed", i, len(good))
			}
			k.check(f.Close())
		}
	}
	k.same("a damaged file", false)
	k.same("after it", true)
}

// TestPicturesWithoutACache goes on where the cache cannot be written.
func TestPicturesWithoutACache(t *testing.T) {
	k := newKept(t)
	file := filepath.Join(t.TempDir(), "file")
	k.check(os.WriteFile(file, nil, 0o600))
	k.cache = filepath.Join(file, "below")
	k.same("a cache that is a file", false)
	k.same("the same again", false)
}
