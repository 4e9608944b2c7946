package server

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"sync"
)

//go:embed page
var pageFiles embed.FS

//go:embed openapi.json
var openAPI []byte

// asset is a file of the web page, or a map.
type asset struct {
	kind string
	body []byte
	tag  string // changes with the content
}

// assets holds the files of the page by name.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{"openapi.json": newAsset("openapi.json", openAPI)}
	files, _ := pageFiles.ReadDir("page") // nothing fails: the files are part of the program
	for _, f := range files {
		b, _ := pageFiles.ReadFile("page/" + f.Name())
		all[f.Name()] = newAsset(f.Name(), b)
	}
	return all
})

// kinds maps file extensions to media types, independent of the system's table.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json",
}

func newAsset(name string, b []byte) asset {
	sum := sha256.Sum256(b)
	return asset{kinds[path.Ext(name)], b, `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// file sends a file of the page, or the one that the address names.
func file(name string) handler {
	return func(a *answer, r *http.Request) (any, error) {
		found, ok := assets()[cmp.Or(name, r.PathValue("name"))]
		if !ok || name == "" && r.PathValue("name") == "index.html" {
			return nil, problem(http.StatusNotFound, "the page has no such file")
		}
		found.send(a, r)
		return nil, nil
	}
}

// send answers with the asset, or says that the client has it.
func (f asset) send(a *answer, r *http.Request) {
	h := a.Header()
	h.Set("ETag", f.tag)
	h.Set("Cache-Control", "no-cache") // browsers revalidate every time
	if r.Header.Get("If-None-Match") == f.tag {
		a.WriteHeader(http.StatusNotModified)
		return
	}
	a.body(http.StatusOK, f.kind, f.body)
}
