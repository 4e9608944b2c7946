package browsertest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// TestPicturesInTheMaking opens a collection whose small pictures are still being made: the page says how far it is,
// and shows them without being loaded again once they are there.
func TestPicturesInTheMaking(t *testing.T) {
	to, err := url.Parse(serve(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	const all = 120
	slow := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Origin")
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: func(r *http.Response) error {
			if n := made.Load(); r.Request.URL.Path == "/v1/collections" && n < all {
				b, err := io.ReadAll(r.Body)
				if err != nil {
					return err
				}
				b = bytes.ReplaceAll(b, []byte(`"pictures":true`), []byte(`"pictures":true,"pictures_made":`+strconv.Itoa(int(n))))
				r.Body = io.NopCloser(bytes.NewReader(b))
				r.Header.Set("Content-Length", strconv.Itoa(len(b)))
				r.ContentLength = int64(len(b))
			}
			return nil
		},
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/pictures/") && made.Load() < all {
			w.WriteHeader(http.StatusNoContent) // a browser cannot draw it, and does not complain as about a failure
			return
		}
		slow.ServeHTTP(w, r)
	}))
	defer service.Close()
	v := visit(t, service.URL, "#/search?c=shapes&id=shapes.tar/ring/03.png")
	v.hits()
	v.see(`!document.querySelector('#making').hidden`)
	v.read("#making", "0 so far, of 120 items")
	v.see(`document.querySelector('.hit img.missing')`)
	v.look("making-1280-light")
	v.Media(390, "dark", "screen")
	if wide := v.Number(`document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("%v pixels wide on a phone", wide)
	}
	v.look("making-390-dark")
	v.checkAxe("pictures in the making")
	made.Store(70)
	v.read("#making", "70 so far")
	made.Store(all)
	v.see(`document.querySelector('#making').hidden`)
	v.see(`document.querySelector('.hit img')?.naturalWidth > 0 && !document.querySelector('.hit img.missing')`)
	v.end()
}
