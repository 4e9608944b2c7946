package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"hashgrove/server"
)

// FuzzRequest: any request has an answer, which is whole JSON where it says so and never an error of the service itself, and
// the service works afterwards.
func FuzzRequest(f *testing.F) {
	for _, line := range []string{
		"GET /v1/server", "GET /v1/collections", "GET " + shop, "GET " + shop + "/search?id=3&k=2&where=price%3C9", "GET " + shop + "/model",
		"GET " + shop + "/items?limit=3&after=7&where=label%3D%22hats%22", "GET " + shop + "/items/7", "DELETE " + shop + "/items/7",
		"GET " + shop + "/facets?top=3&where=has%20price", "GET " + shop + "/backup", "GET " + shop + "/map",
		`POST ` + shop + `/search {"vector":[1,2,3,4],"k":3,"where":"tag = \"new\"","margins":true}`, "POST " + shop + "/reload",
		`POST ` + shop + `/search {"queries":[{"id":1},{"code":"0a1b"},{"vector":[1,2,3,4]}],"k":2,"radius":5,"rank":"margin"}`,
		`POST ` + shop + `/search {"code_base64":"Cx8=","k":1}`, `POST ` + shop + `/search {"id":1,"rerank":"euclidean","why":true}`,
		`POST ` + shop + `/explain {"query":{"id":1},"id":2}`, `POST ` + shop + `/encode {"vectors":[[1,2,3,4],[0,0,0,1e30]],"margins":true}`,
		`PUT ` + shop + `/items/x {"vector":[1,2,3,4],"label":"caps","tags":["a"],"attributes":{"price":1,"maker":"x"}}`,
		`PATCH ` + shop + `/items/3 {"attributes":{"price":7}}`, `POST ` + shop + `/items {"items":[{"id":"n","code":"ffff"}]}`,
		`PATCH ` + shop + `/items {"items":[{"id":3,"attributes":{"price":8}}]}`, `POST ` + shop + `/delete {"ids":[1,"x"],"dry_run":true}`,
		`POST ` + shop + `/delete {"where":"price > 38"}`, "GET /metrics", "GET /openapi.json", "GET /", "OPTIONS " + shop, "GET /../x%00",
		`POST /v1/try?name=a.csv&label=b a,b`, "GET " + shop + "/vector/3", "GET " + shop + "/pictures/3",
	} {
		head, body, _ := strings.Cut(line, " {")
		if body != "" {
			body = "{" + body
		}
		method, target, _ := strings.Cut(head, " ")
		f.Add(method, target, []byte(body), uint8(0))
	}
	f.Add("POST", shop+"/search?k=2", []byte("\x00\x00\x80\x3f\x00\x00\x80\x3f\x00\x00\x80\x3f\x00\x00\x80\x3f"), uint8(1))
	f.Add("POST", shop+"/encode", []byte("\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }"), uint8(2))
	handler := serve(f, func(o *server.Options) { o.Limits.Body = 1 << 20 }).Handler()
	kinds := []string{"application/json", "application/octet-stream", "application/x-npy", "image/png", ""}
	f.Fuzz(func(t *testing.T, method, target string, body []byte, kind uint8) {
		u, err := url.ParseRequestURI(target)
		if err != nil || strings.ContainsAny(method, " \r\n") || method == "" || u.IsAbs() {
			return // no request has these
		}
		r := &http.Request{Method: method, URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: "localhost", RequestURI: target,
			Header: http.Header{"Content-Type": {kinds[int(kind)%len(kinds)]}}, ContentLength: int64(len(body)), RemoteAddr: "127.0.0.1:9"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.NoBody
		if len(body) > 0 {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Fatalf("%s %q %q: %s", method, target, body, w.Body)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && method != "HEAD" && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s %q %q: no JSON: %q", method, target, body, w.Body)
		}
		again := httptest.NewRecorder()
		handler.ServeHTTP(again, httptest.NewRequest("GET", fmt.Sprint("http://localhost", shop, "/search?code=0000000000000000&k=1"), nil))
		if again.Code != http.StatusOK {
			t.Fatalf("after %s %q %q: %d, %s", method, target, body, again.Code, again.Body)
		}
	})
}
