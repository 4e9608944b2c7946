package server

import (
	"net/http"
	"os"
	"time"

	"hashgrove/internal/search"
)

// backup sends a consistent copy of the index file without blocking writes.
func (s *Server) backup(w http.ResponseWriter, r *http.Request, c *collection) error {
	// Copying many gigabytes takes longer than the write timeout allows.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+c.name+`.hgi"`)
	out := &deadlineWriter{w: w, control: http.NewResponseController(w), each: s.limits.WriteTime}
	if err := c.open().store.Backup(r.Context(), out); err != nil {
		if out.wrote {
			s.log.Error("backup", "collection", c.name, "error", err.Error())
			panic(http.ErrAbortHandler) // so that the client does not mistake half a file for a whole one
		}
		h.Del("Content-Disposition")
		return err
	}
	return nil
}

// deadlineWriter applies a timeout to each chunk of a long response instead of to the whole.
type deadlineWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	each    time.Duration
	wrote   bool
}

func (d *deadlineWriter) Write(b []byte) (int, error) {
	d.wrote = true
	_ = d.control.SetWriteDeadline(time.Now().Add(d.each))
	return d.w.Write(b)
}

// reload reopens the file of a collection.
func (s *Server) reload(w http.ResponseWriter, r *http.Request, c *collection) error {
	var request struct {
		Fingerprint string `json:"fingerprint,omitempty"` // of the model served so far
	}
	if r.ContentLength != 0 { // curl -X POST sends no body
		release, err := s.readJSON(w, r, c, &request)
		if err != nil {
			return err
		}
		release()
	} else if err := noParameters(r); err != nil {
		return err
	}
	if err := search.Accept(c.open().fingerprint(), request.Fingerprint); err != nil {
		return err
	}
	if err := s.reopen(r.Context(), c); err != nil {
		return err
	}
	w.Header().Set("Hashgrove-Fingerprint", c.open().fingerprint().String())
	writeJSON(w, http.StatusOK, c.summary())
	return nil
}

// report sends the HTML report on the model's quality. It comes from a file, so a sandbox denies it everything.
func (s *Server) report(w http.ResponseWriter, _ *http.Request, c *collection) error {
	if c.options.Report == "" {
		return problem(http.StatusNotFound, "this collection has no report")
	}
	b, err := os.ReadFile(c.options.Report)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy",
		"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'")
	w.Header().Set("X-Frame-Options", "SAMEORIGIN")
	writeBody(w, http.StatusOK, "text/html; charset=utf-8", b)
	return nil
}

// vector sends the vector of an item.
func (s *Server) vector(w http.ResponseWriter, r *http.Request, c *collection) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	o := c.open()
	it, _ := o.snapshot().Get(id)
	x := o.vectors.Vector(it)
	if x == nil {
		return problem(http.StatusNotFound, "the vector of the item %.80q is not known", id)
	}
	values := make([]*float32, len(x)) // null where a value is missing, as in requests
	for i := range x {
		if x[i] == x[i] {
			values[i] = &x[i]
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"id": id, "vector": values})
	return nil
}
