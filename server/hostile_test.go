package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
	"hashgrove/server"
)

// hostileBodies returns JSON that is large, deep or odd, for every request that takes JSON.
func hostileBodies() map[string]string {
	n := 1_000_000
	if !needs.Full() {
		n = 100_000
	}
	list := func(begin, each, end string) string { return begin + strings.Repeat(each+",", n-1) + each + end }
	return map[string]string{
		"deep lists":            strings.Repeat("[", n),
		"deep objects":          strings.Repeat(`{"a":`, n),
		"deep in vector":        `{"vector":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}",
		"deep in attributes":    `{"attributes":{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}}",
		"a long vector":         list(`{"vector":[`, "0", "]}"),
		"many vectors":          list(`{"vectors":[`, "[]", "]}"),
		"many queries":          list(`{"queries":[`, "{}", "]}"),
		"many queries by id":    list(`{"queries":[`, `{"id":1}`, "]}"),
		"many items":            list(`{"items":[`, "{}", "]}"),
		"many ids":              list(`{"ids":[`, "1", "]}"),
		"many tags":             list(`{"label":"x","tags":[`, `""`, "]}"),
		"many lists of tags":    list(`{"ids":[1],"tags":[`, "[]", "]}"),
		"many attributes":       list(`{"ids":[1],"attributes":[`, "{}", "]}"),
		"many codes":            list(`{"ids":[1],"codes":[`, `""`, "]}"),
		"many pictures":         list(`{"pictures":[`, `""`, "]}"),
		"many fields":           list(`{"id":1,"fields":[`, `"label"`, "]}"),
		"a long key":            `{"` + strings.Repeat("k", 10*n) + `":1}`,
		"a long text":           `{"label":"` + strings.Repeat("k", 10*n) + `"}`,
		"a long number":         `{"k":` + strings.Repeat("9", n) + "}",
		"the same key again":    "{" + strings.Repeat(`"k":1,`, n) + `"k":0}`,
		"a huge number":         `{"vector":[1e39,1,1,1]}`,
		"a number beyond JSON":  `{"vector":[NaN,1,1,1]}`,
		"not UTF-8":             "{\"label\":\"\xff\xfe\",\"code\":\"\xff\"}",
		"nothing":               "",
		"spaces":                strings.Repeat(" ", n),
		"an escaped key":        `{"\u0071ueries":[{"nonsense":1}]}`,
		"a huge id":             `{"id":123456789012345678901234567890}`,
		"a long id":             `{"id":"` + strings.Repeat("i", n) + `"}`,
		"zero bytes in a label": `{"code":"0f00000000000000","label":"a\u0000b","nonsense":1}`,
	}
}

// TestHostileJSON sends each of them to every request that takes JSON. None may be accepted; all are refused by the
// client's fault, with bounded memory, and the items stay as they were. Work that grows with the square of the length
// would take longer than the patience of the client.
func TestHostileJSON(t *testing.T) {
	s := serve(t, nil)
	before := s.must(t, 200, "GET", shop+"/items?limit=1000", "")
	routes := []string{
		"POST /search", "POST /items", "POST /encode", "PUT /items/1", "POST /explain", "PATCH /items", "PATCH /items/1", "POST /delete",
	}
	if !needs.Full() {
		routes = routes[:3]
	}
	bodies := hostileBodies()
	w := startWatch(s)
	for name, body := range bodies {
		for _, what := range routes {
			method, path, _ := strings.Cut(what, " ")
			a, err := s.call(method, shop+path, body, "Content-Type", "application/json")
			ok(t, err)
			if a.StatusCode/100 != 4 || !json.Valid(a.body) || len(a.body) > 2000 {
				t.Errorf("%s to %s: status %d, %d bytes: %.300s", name, what, a.StatusCode, len(a.body), a.body)
			}
		}
	}
	w.end(t, s, 300<<20)
	if after := s.must(t, 200, "GET", shop+"/items?limit=1000", ""); after != before {
		t.Error("the items have changed")
	}
}

func TestOversizedBodies(t *testing.T) {
	s := serve(t, func(o *server.Options) { o.Limits.Body = 1 << 20 })
	text := `{"label":"` + strings.Repeat("x", 20<<20)
	w := startWatch(s)
	for _, kind := range []string{"application/json", "application/octet-stream", "application/x-npy", "image/png"} {
		for _, what := range []string{"POST /search", "POST /encode", "POST /items", "PUT /items/1"} {
			method, path, _ := strings.Cut(what, " ")
			if kind != "application/json" && strings.Contains(path, "items") {
				continue
			}
			collection := shop
			if kind == "image/png" {
				collection = photos
			}
			for _, chunked := range []bool{false, true} {
				var body io.Reader = strings.NewReader(text)
				if chunked {
					body = io.MultiReader(body) // hides its length
				}
				r, err := http.NewRequest(method, s.url+collection+path, body)
				ok(t, err)
				r.Header.Set("Content-Type", kind)
				a, err := s.client.Do(r)
				if err != nil {
					if !strings.Contains(err.Error(), "broken pipe") && !strings.Contains(err.Error(), "reset") {
						t.Error(err) // otherwise the service closed before everything was sent
					}
					continue
				}
				answer, _ := io.ReadAll(a.Body)
				ok(t, a.Body.Close())
				if a.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(answer), "1048576") {
					t.Errorf("%s %s of %s, chunked %t: %d, %s", method, path, kind, chunked, a.StatusCode, answer)
				}
			}
		}
	}
	w.end(t, s, 250<<20)
}

// TestBombs sends little that becomes much: compressed bodies, pictures of many pixels, arrays that claim many rows.
func TestBombs(t *testing.T) {
	s := serve(t, nil)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for range 20 {
		_, err := z.Write(make([]byte, 1<<20))
		ok(t, err)
	}
	ok(t, z.Close())
	w := startWatch(s)
	for _, coding := range []string{"gzip", "deflate", "br", "zstd", "gzip, gzip", "GZIP", "x-gzip"} {
		s.must(t, 415, "POST", shop+"/search", packed.String(), "Content-Encoding", coding)
	}
	s.must(t, 400, "POST", shop+"/search", packed.String())
	for name, body := range map[string]string{
		"pixels": string(hugePNG(60_000, 60_000)), "one side": string(hugePNG(2_000_000_000, 1)), "gzip": packed.String(),
		"gif": "GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x02L\x01\x00;",
	} {
		s.must(t, 400, "POST", photos+"/search", body, "Content-Type", "image/png")
		coded := base64.StdEncoding.EncodeToString([]byte(body))
		s.must(t, 400, "POST", photos+"/search", `{"picture":"`+coded+`"}`)
		s.must(t, 400, "POST", photos+"/encode", `{"pictures":["`+coded+`"]}`)
		if a, err := s.call("PUT", photos+"/items/x", `{"picture":"`+coded+`"}`); err != nil || a.StatusCode != 400 {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	for _, shape := range []string{"(1000000000000, 4)", "(4, 1000000000000)", "(9223372036854775807, 9223372036854775807)", "(-1, 4)", "(0, 4)", "()", "(1, 4, 4)"} {
		header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape)
		header += strings.Repeat(" ", 128-10-len(header)-1) + "\n"
		body := "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header + packFloats(1, 2, 3, 4)
		s.must(t, 400, "POST", shop+"/encode", body, "Content-Type", "application/x-npy")
		s.must(t, 400, "POST", shop+"/search", body, "Content-Type", "application/x-npy")
	}
	w.end(t, s, 100<<20)
}

// hugePNG claims to be a picture of that size.
func hugePNG(width, height uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, data []byte) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
		b = append(append(b, name...), data...)
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(append([]byte(name), data...)))
	}
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	chunk("IHDR", append(header, 8, 0, 0, 0, 0))
	chunk("IDAT", []byte("\x78\x9c\x63\x00\x00\x00\x01\x00\x01"))
	chunk("IEND", nil)
	return b
}

// TestHugeWishes asks for too much.
func TestHugeWishes(t *testing.T) {
	s := serve(t, nil)
	w := startWatch(s)
	for _, body := range []string{
		`{"id":1,"k":1001}`, `{"id":1,"k":1000000000}`, `{"id":1,"k":9223372036854775807}`, `{"id":1,"k":9223372036854775808}`,
		`{"id":1,"prefix":1000000000}`, `{"id":1,"k":1e9}`,
		`{"id":1,"where":"` + strings.Repeat("a", 5000) + `"}`,
		`{"id":1,"where":"` + strings.Repeat("(", 2000) + "price < 1" + strings.Repeat(")", 2000) + `"}`,
		`{"id":1,"where":"` + strings.Repeat("not ", 1000) + `price < 1"}`,
		`{"id":1,"where":"price < 1` + strings.Repeat(" or (price < 1 and", 100) + `"}`,
	} {
		s.must(t, 400, "POST", shop+"/search", body)
	}
	s.must(t, 400, "POST", shop+"/delete", `{"where":"`+strings.Repeat("(", 2000)+"price < 1"+strings.Repeat(")", 2000)+`"}`)
	s.must(t, 400, "GET", shop+"/items?where="+strings.Repeat("(", 2000)+"price", "")
	s.must(t, 400, "GET", shop+"/facets?top=1000000000", "")
	s.must(t, 413, "POST", shop+"/search", `{"queries":[{"id":1}`+strings.Repeat(`,{"id":1}`, 10_000)+`]}`)
	s.must(t, 200, "POST", shop+"/search", `{"k":1000,"fields":[],"queries":[{"id":1}`+strings.Repeat(`,{"id":1}`, 99)+`]}`)
	s.must(t, 413, "POST", shop+"/search", `{"k":1000,"fields":[],"queries":[{"id":1}`+strings.Repeat(`,{"id":1}`, 100)+`]}`)
	s.must(t, 413, "POST", shop+"/search?k=1", strings.Repeat(packFloats(1, 2, 3, 4), 10_001), "Content-Type", "application/octet-stream")
	s.must(t, 413, "POST", shop+"/encode", strings.Repeat(packFloats(1, 2, 3, 4), 10_001), "Content-Type", "application/octet-stream")
	s.must(t, 413, "POST", shop+"/items", `{"items":[`+strings.Repeat(`{"id":1,"code":"0f00000000000000"},`, 10_000)+`{"id":1,"code":"0f00000000000000"}]}`)
	w.end(t, s, 300<<20)
}

// TestNamesLeadNowhere asks for files outside by the names of collections, items, pictures and parts of the page.
func TestNamesLeadNowhere(t *testing.T) {
	s := serve(t, nil)
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	secret := filepath.Join(filepath.Dir(s.files.shop), "secret.png")
	ok(t, os.WriteFile(secret, pngBytes(first(photoPictures())), 0o600))
	names := []string{
		"..", "../secret.png", "../../etc/passwd", "/etc/passwd", secret, "..%2fsecret.png", "%2e%2e%2fsecret.png", "%2e%2e/secret.png",
		"..%5csecret.png", "....//secret.png", "%2fetc%2fpasswd", "%00", "p01.png%00.txt", "./p01.png/../../secret.png",
		strings.ReplaceAll(secret, "/", "%2f"), "file:%2f%2f%2fetc%2fpasswd", "C:%5cwindows", "nul", "%c0%ae%c0%ae%2fsecret.png",
	}
	for _, name := range names {
		for _, path := range []string{
			"/v1/collections/%s", "/v1/collections/%s/backup", photos + "/pictures/%s", photos + "/items/%s", photos + "/vector/%s", "/assets/%s",
			"/%s", "/v1/collections/%s/report",
		} {
			a, err := s.call("GET", fmt.Sprintf(path, name), "")
			if err != nil {
				t.Errorf("%s: %v", fmt.Sprintf(path, name), err)
				continue
			}
			redirected := a.StatusCode/100 == 3 && strings.HasPrefix(a.Header.Get("Location"), "/") && !strings.HasPrefix(a.Header.Get("Location"), "//")
			if a.StatusCode/100 != 4 && !redirected {
				t.Errorf("GET %s: status %d, %.100q, to %q", fmt.Sprintf(path, name), a.StatusCode, a.body, a.Header.Get("Location"))
			}
			for _, private := range []string{"root:", "PNG", filepath.Dir(s.files.shop)} {
				decoded, _ := url.PathUnescape(name)
				if bytes.Contains(a.body, []byte(private)) && !strings.Contains(decoded, private) {
					t.Errorf("GET %s tells %q: %.300s", fmt.Sprintf(path, name), private, a.body)
				}
			}
		}
	}
	for _, id := range []string{"../x", "/etc/passwd", "a%2f..%2fb", "..%2f..%2fx", "%3cscript%3e", "a%20b", "%F0%9F%8C%B3"} { // ids are only names
		a, err := s.call("PUT", shop+"/items/"+strings.ReplaceAll(id, "/", "%2f"), `{"code":"0f00000000000000"}`)
		if err != nil || a.StatusCode != 200 {
			t.Errorf("PUT of the id %s: %v, %v", id, a, err)
			continue
		}
		s.must(t, 200, "GET", shop+"/items/"+strings.ReplaceAll(id, "/", "%2f"), "")
		s.must(t, 200, "DELETE", shop+"/items/"+strings.ReplaceAll(id, "/", "%2f"), "")
	}
}

// TestForeignPages plays a web page of another site, and one that has made its name lead to this machine.
func TestForeignPages(t *testing.T) {
	s := serve(t, nil)
	for _, host := range []string{"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "[::1].evil", "0.0.0.0", "169.254.169.254", "localhost@evil.example"} {
		for _, path := range []string{"/", "/v1/server", shop + "/search?id=1", "/metrics", "/openapi.json"} {
			if a, err := s.call("GET", path, "", "Host", host); err != nil || a.StatusCode != 403 && a.StatusCode != 400 {
				t.Errorf("GET %s of the host %s: %v, %v", path, host, a, err)
			}
		}
	}
	_, port, _ := strings.Cut(s.address, ":")
	for _, host := range []string{"localhost", "LOCALHOST:" + port, "127.0.0.1:" + port, "[::1]:" + port, "localhost."} {
		s.must(t, 200, "GET", "/v1/server", "", "Host", host)
	}
	for _, origin := range []string{"http://evil.example", "null", "http://localhost:1", "http://127.0.0.1:1", "http://" + s.address + ".evil.example", "file://"} {
		for _, what := range []string{"GET /v1/server", "POST " + shop + "/search", "DELETE " + shop + "/items/1", "POST " + shop + "/delete", "OPTIONS " + shop + "/delete"} {
			method, path, _ := strings.Cut(what, " ")
			a, err := s.call(method, path, "", "Origin", origin, "Access-Control-Request-Method", "POST")
			ok(t, err)
			if a.StatusCode != 403 || a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s of a page of %s: %d, %v", what, origin, a.StatusCode, a.Header)
			}
		}
	}
	// Forms of other sites send these without asking first.
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
		if a, err := s.call("POST", shop+"/delete", `{"ids":[1]}`, "Content-Type", kind); err != nil || a.StatusCode != 415 {
			t.Errorf("a form of type %q: %v, %v", kind, a, err)
		}
	}
	for _, site := range []string{"cross-site", "same-site"} { // the same host with another port is the same site
		s.must(t, 403, "POST", shop+"/delete", `{"ids":[1]}`, "Sec-Fetch-Site", site)
		s.must(t, 403, "GET", shop+"/map", "", "Sec-Fetch-Site", site)
	}
	s.must(t, 200, "POST", shop+"/search", `{"id":1}`, "Origin", s.url)
	a, err := s.call("GET", "/", "")
	ok(t, err)
	policy := a.Header.Get("Content-Security-Policy")
	if a.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(policy, "default-src") || strings.Contains(policy, "unsafe") {
		t.Errorf("the page has the headers %v", a.Header)
	}

	open := serve(t, func(o *server.Options) { o.Origins = []string{"https://shop.example"} })
	a, err = open.call("GET", "/v1/server", "", "Origin", "https://shop.example")
	ok(t, err)
	if h := a.Header; a.StatusCode != 200 || h.Get("Access-Control-Allow-Origin") != "https://shop.example" ||
		h.Get("Cross-Origin-Resource-Policy") != "cross-origin" || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("a page that is allowed: %d, %v", a.StatusCode, h)
	}
	open.must(t, 403, "GET", "/v1/server", "", "Origin", "https://shop.example.evil.example")
	a, err = open.call("OPTIONS", shop+"/items", "", "Origin", "https://shop.example")
	if err != nil || a.StatusCode != 204 || !strings.Contains(a.Header.Get("Access-Control-Allow-Methods"), "DELETE") {
		t.Errorf("preflight: %v, %v", a, err)
	}
}
