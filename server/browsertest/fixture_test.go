package browsertest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hashgrove"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/server"
)

// shapes are the classes of the pictures, thirty of each. Their ids are names such as
// shapes.tar/ring/03.png.
var shapes = []string{"bar", "cross", "ring", "square"}

// tarName is the file of the pictures, in the folder where the tests run.
const tarName = "shapes.tar"

// drawn makes a picture of a shape: bright on dark, somewhere near the middle, with noise.
func drawn(shape string, random *rand.Rand) *image.Gray {
	const side = 48
	m := image.NewGray(image.Rect(0, 0, side, side))
	cx, cy, size := 20+8*random.Float64(), 20+8*random.Float64(), 12+6*random.Float64()
	for y := range side {
		for x := range side {
			dx, dy := max(float64(x)-cx, cx-float64(x)), max(float64(y)-cy, cy-float64(y))
			radius := dx*dx + dy*dy
			in := map[string]bool{
				"bar":    dx < 4 && dy < size,
				"cross":  dx < 4 && dy < size || dy < 4 && dx < size,
				"ring":   radius < size*size && radius > size*size/3,
				"square": dx < size-3 && dy < size-3,
			}[shape]
			v := 20 + 20*random.Float64()
			if in {
				v += 190
			}
			m.SetGray(x, y, color.Gray{uint8(v)})
		}
	}
	return m
}

func encoded(m image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, m)
	return b.Bytes(), err
}

func second(_ int, err error) error { return err }

// hostile is texts that try to break out of wherever they are shown.
var hostile = struct{ script, quotes, long, backwards, id, tag, attribute string }{
	script:    `<script>document.title = 'owned'</script><img src=x onerror="document.title='owned'">`,
	quotes:    "\"double\" 'single' `back` \\ slash & and or",
	long:      strings.Repeat("very long ", 20) + strings.Repeat("W", 300),
	backwards: "\u202eright to left שלום عربى",
	id:        `a/b?c#d %41 <b>"x"</b>`,
	tag:       `</li><svg onload="document.title='owned'">`,
	attribute: "the `price` \"now\" <i>",
}

// folder is where the collections lie: built once, copied for every test, because tests write.
var folder = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hashgrove-page-")
	if err != nil {
		return "", err
	}
	undo.Store("folder", func() error { return os.RemoveAll(dir) })
	return dir, errors.Join(makeShapes(dir), makeShop(dir))
})

// browser is the one of all tests; every visit has a window of its own.
var browser = sync.OnceValues(func() (*browserProcess, error) {
	b, err := launch()
	if err == nil {
		undo.Store("browser", b.Close)
	}
	return b, err
})

// undo is what is left to do after the last test.
var undo sync.Map

func TestMain(m *testing.M) {
	code := m.Run()
	undo.Range(func(what, f any) bool {
		if err := f.(func() error)(); err != nil {
			fmt.Fprintln(os.Stderr, what, err)
			code = 1
		}
		return true
	})
	os.Exit(code)
}

// makeShapes makes the pictures shapes.tar, trains on them, with bits of detail, and makes the index shapes.hgi of them.
func makeShapes(dir string) error {
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	pictures := tar.NewWriter(&b)
	for _, shape := range shapes {
		for i := range 30 {
			content, err := encoded(drawn(shape, random))
			if err != nil {
				return err
			}
			h := &tar.Header{Name: fmt.Sprintf("%s/%02d.png", shape, i), Mode: 0o666, Size: int64(len(content))}
			if err := errors.Join(pictures.WriteHeader(h), second(pictures.Write(content))); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(os.Chdir(dir), pictures.Close(), os.WriteFile(tarName, b.Bytes(), 0o666)); err != nil {
		return err
	}
	data, err := hashgrove.OpenData(tarName, hashgrove.Columns{}) // ids have the path as it is given
	if err != nil {
		return err
	}
	ctx := context.Background()
	m, err := hashgrove.Train(ctx, data, hashgrove.Options{
		Bits: 24, DetailBits: 16, Effort: fasthash.Quick, Pictures: hashgrove.PictureOptions{Size: 24, Grey: true}, Trees: hashgrove.TreeOptions{Rounds: 12}, FastHash: hashgrove.FastHashOptions{LinearColumns: columns.Off},
	})
	if err != nil {
		return err
	}
	ix, err := hashgrove.CreateIndex(ctx, filepath.Join(dir, "shapes.hgi"), m.Model, data)
	if err != nil {
		return err
	}
	return ix.Close()
}

// makeShop makes the index shop.hgi of vectors, with labels, tags and attributes that are hostile, and no pictures.
func makeShop(dir string) error {
	random := rand.New(rand.NewPCG(3, 4))
	names := []string{"boots", "coats", "hats", hostile.script, hostile.quotes, hostile.long, hostile.backwards}
	var x [][]float32
	var labels, ids []string
	var tags [][]string
	var attributes []map[string]any
	for i := range 210 {
		class := i % len(names)
		row := make([]float32, 6)
		for j := range row {
			row[j] = float32(3*(class>>(j%3)&1)) + float32(random.NormFloat64())
		}
		x, labels, ids = append(x, row), append(labels, names[class]), append(ids, fmt.Sprint(i))
		tags = append(tags, [][]string{{"new"}, {"sale", "new"}, nil, {hostile.tag}}[i%4])
		attributes = append(attributes, map[string]any{
			"price": float64(5 + i%40), "added": fmt.Sprintf("2024-%02d-11", 1+i%12), "in stock": i%3 == 0,
			"colour": []string{"red", "blue", "</dd><script>"}[i%3], hostile.attribute: float64(i) / 4,
		})
	}
	ids[0], ids[1] = hostile.id, "9007199254740993" // an id beyond what a number of JavaScript holds
	ctx := context.Background()
	options := hashgrove.Options{Bits: 16, Effort: fasthash.Quick, Trees: hashgrove.TreeOptions{Rounds: 12}}
	m, err := hashgrove.Train(ctx, hashgrove.Rows(x, labels), options)
	if err != nil {
		return err
	}
	data := hashgrove.Rows(x, labels).WithIDs(ids).WithTags(tags).WithAttributes(attributes)
	ix, err := hashgrove.CreateIndex(ctx, filepath.Join(dir, "shop.hgi"), m.Model, data)
	if err != nil {
		return err
	}
	return ix.Close()
}

// serve starts a service with both collections. change may set other options.
func serve(t *testing.T, change func(*server.Options)) (address string) {
	t.Helper()
	dir, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	o := server.Options{Hosts: server.Loopback()}
	for _, name := range []string{"shapes", "shop"} {
		b, err := os.ReadFile(filepath.Join(dir, name+".hgi"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name+".hgi")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		c := server.CollectionOptions{Name: name, Path: path}
		if name == "shapes" {
			c.Pictures = tarName
			c.Vectors = c.Pictures
		}
		o.Collections = append(o.Collections, c)
	}
	if change != nil {
		change(&o)
	}
	s, err := server.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for made := false; !made; { // the page asks once more for a picture that is not there yet, and then gives up
		a, err := http.Get(web.URL + "/v1/collections")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(a.Body)
		if err = errors.Join(err, a.Body.Close()); err != nil {
			t.Fatal(err)
		}
		made = !bytes.Contains(b, []byte("pictures_made"))
	}
	return web.URL
}
