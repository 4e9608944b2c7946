package server

import (
	"bytes"
	"cmp"
	"embed"
	"net/http"
	"path"
)

//go:embed page openapi.json
var files embed.FS

// kinds maps file extensions to media types, independent of the system's table.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json",
}

// file sends a file of the program, or the one of the page that the address names.
func (s *Server) file(name string) handler {
	return func(a *answer, r *http.Request) (any, error) {
		asked := r.PathValue("name")
		name := cmp.Or(name, "page/"+asked)
		b, err := files.ReadFile(name)
		if err != nil || asked == "index.html" {
			return nil, problem(http.StatusNotFound, "the page has no such file")
		}
		a.Header().Set("Content-Type", kinds[path.Ext(name)])
		a.Header().Set("Cache-Control", "no-cache") // browsers ask every time whether there is another version
		http.ServeContent(a, r, "", s.began, bytes.NewReader(b))
		return nil, nil
	}
}
