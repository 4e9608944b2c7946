package server

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

//go:embed page
var pageFiles embed.FS

//go:embed openapi.json
var openAPI []byte

// asset is a file of the web page, or a map.
type asset struct {
	kind         string
	plain, small []byte // uncompressed and gzipped
	tag          string // changes with the content
}

// assets holds the files of the page by name, compressed once.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	files, err := fs.ReadDir(pageFiles, "page")
	if err != nil {
		panic("server: " + err.Error())
	}
	for _, f := range files {
		b, err := pageFiles.ReadFile("page/" + f.Name())
		if err != nil {
			panic("server: " + err.Error())
		}
		all[f.Name()] = newAsset(f.Name(), b)
	}
	all["openapi.json"] = newAsset("openapi.json", openAPI)
	return all
})

// kinds maps file extensions to media types, independent of the system's table.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png",
}

func newAsset(name string, b []byte) asset {
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	_, _ = z.Write(b) // to memory
	_ = z.Close()
	sum := sha256.Sum256(b)
	kind := kinds[path.Ext(name)]
	if kind == "" {
		kind = mime.TypeByExtension(path.Ext(name))
	}
	return asset{kind, b, small.Bytes(), `"` + hex.EncodeToString(sum[:12]) + `"`}
}

func servePage(w http.ResponseWriter, r *http.Request)  { serveFile(w, r, "index.html") }
func serveAsset(w http.ResponseWriter, r *http.Request) { serveFile(w, r, r.PathValue("name")) }

func serveOpenAPI(w http.ResponseWriter, r *http.Request) { serveFile(w, r, "openapi.json") }

func serveFile(w http.ResponseWriter, r *http.Request, name string) {
	a, ok := assets()[name]
	if !ok || name == "index.html" && r.URL.Path != "/" {
		writeJSON(w, http.StatusNotFound,
			errorAnswer{errorText{http.StatusNotFound, "", "the page has no such file", requestID(w)}})
		return
	}
	a.send(w, r)
}

// send answers with the asset, or says that the client has it.
func (a asset) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", a.tag)
	h.Set("Cache-Control", "no-cache") // browsers revalidate every time
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	b := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		b = a.small
	}
	writeBody(w, http.StatusOK, a.kind, b)
}
