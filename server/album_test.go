package server_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"hashgrove"
	"hashgrove/server"
)

// pictureWorld serves pictures of two classes: bright above or bright below.
func pictureWorld(t *testing.T) (w *world, folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "pictures")
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 40 {
		class := []string{"above", "below"}[i%2]
		if err := os.MkdirAll(filepath.Join(folder, class), 0o777); err != nil {
			t.Fatal(err)
		}
		img := image.NewRGBA(image.Rect(0, 0, 180, 180))
		for y := range 180 {
			for x := range 180 {
				v := 20 + r.IntN(40)
				if (y < 90) == (i%2 == 0) {
					v += 150
				}
				img.Set(x, y, color.RGBA{uint8(v), uint8(v), uint8(v / 2), 255})
			}
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		if err := writeFile(filepath.Join(folder, class, fmt.Sprintf("%02d.png", i)), b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	data, err := hashgrove.Open(folder, hashgrove.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := hashgrove.Train(ctx, data, hashgrove.Options{
		Bits: 8, Effort: "paper", Rounds: 5, Depth: 2, Pictures: hashgrove.PictureOptions{Size: 8},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pictures.hgi")
	ix, err := hashgrove.CreateIndex(ctx, path, m.Model, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	w = &world{T: t, header: http.Header{}}
	w.server, err = server.New(ctx, server.Options{Collections: []server.CollectionOptions{
		{Name: "shop", Path: path, Pictures: folder, Vectors: folder},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.http = httptest.NewServer(w.server.Handler())
	t.Cleanup(func() {
		w.http.Close()
		if err := w.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, folder
}

func TestPictures(t *testing.T) {
	w, folder := pictureWorld(t)
	var list struct{ Items []struct{ ID, Label string } }
	w.get(&list, "GET", "/v1/collections/shop/items?limit=1000", nil)
	if len(list.Items) != 40 {
		t.Fatalf("%d items", len(list.Items))
	}
	const pictures = "/v1/collections/shop/pictures/"
	last := url.PathEscape(list.Items[39].ID)
	until(t, "the last picture, which is made in the background", func() bool {
		status, _, _ := w.call("GET", pictures+last, nil)
		return status == http.StatusOK
	})
	for _, it := range list.Items {
		for size, most := range map[string]int{"": 160, "?size=48": 48, "?size=512": 160} {
			status, h, b := w.call("GET", pictures+url.PathEscape(it.ID)+size, nil)
			if status != 200 || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Fatalf("%s%s: status %d, %s", it.ID, size, status, h.Get("Content-Type"))
			}
			c, _, err := image.DecodeConfig(bytes.NewReader(b))
			if err != nil || c.Width > most || c.Height > most {
				t.Errorf("%s%s: %d x %d, %v", it.ID, size, c.Width, c.Height, err)
			}
		}
	}
	for _, id := range []string{"none", "..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd", "above/../above/00.png"} {
		if status, _, b := w.call("GET", pictures+id, nil); status == 200 || bytes.Contains(b, []byte("root:")) {
			t.Errorf("%s: status %d: %.80s", id, status, b)
		}
	}
	w.refused(400, "GET", pictures+last+"?size=100000", nil)

	file, err := os.ReadFile(filepath.Join(folder, "below", "01.png"))
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Results []struct {
			Hits []struct {
				ID, Label string
				Distance  int
			}
		}
	}
	for name, ask := range map[string]func(a *answer){
		"body": func(a *answer) {
			w.get(a, "POST", "/v1/collections/shop/search?k=3", file, "Content-Type", "image/png")
		},
		"JSON": func(a *answer) {
			w.get(a, "POST", "/v1/collections/shop/search", map[string]any{"picture": base64.StdEncoding.EncodeToString(file), "k": 3})
		},
	} {
		var a answer
		ask(&a)
		for _, h := range a.Results[0].Hits {
			if h.Label != "below" {
				t.Errorf("by %s: %+v", name, h)
			}
		}
	}
	w.refused(400, "POST", "/v1/collections/shop/search", []byte("no picture"), "Content-Type", "image/png")
	w.refused(400, "POST", "/v1/collections/shop/search", file[:200], "Content-Type", "image/png")
	bomb := bytes.Clone(file)
	copy(bomb[16:], []byte{0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff}) // claims 65,535 x 65,535 pixels
	w.refused(400, "POST", "/v1/collections/shop/search", bomb, "Content-Type", "image/png")
}
