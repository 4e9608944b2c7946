package server

import (
	"net/http"
	"os"
	"time"

	"hashgrove/internal/index"
)

// backup sends a consistent copy of the index file without blocking writes.
func (s *Server) backup(a *answer, r *http.Request, c *collection) (any, error) {
	// Copying many gigabytes takes longer than the write timeout allows.
	_ = http.NewResponseController(a).SetWriteDeadline(time.Time{})
	h := a.Header()
	h.Set("Content-Type", kindFloats)
	h.Set("Content-Disposition", `attachment; filename="`+c.name+`.hgi"`)
	out := &deadlineWriter{w: a, control: http.NewResponseController(a), each: s.limits.WriteTime}
	if err := c.open().store.Backup(r.Context(), out); err != nil {
		if out.wrote {
			s.log.Error("backup", "collection", c.name, "error", err.Error())
			panic(http.ErrAbortHandler) // so that the client does not mistake half a file for a whole one
		}
		h.Del("Content-Disposition")
		return nil, err
	}
	return nil, nil
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
func (s *Server) reload(a *answer, r *http.Request, c *collection) (any, error) {
	if err := s.reopen(r.Context(), c); err != nil {
		return nil, err
	}
	a.Header().Set("Hashgrove-Fingerprint", c.open().fingerprint().String())
	return c.summary(), nil
}

// report sends the HTML report on the model's quality. It comes from a file, so a sandbox denies it everything.
func (s *Server) report(a *answer, _ *http.Request, c *collection) (any, error) {
	if c.options.Report == "" {
		return nil, problem(http.StatusNotFound, "this collection has no report")
	}
	b, err := os.ReadFile(c.options.Report)
	if err != nil {
		return nil, err
	}
	a.Header().Set("Content-Security-Policy",
		"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'")
	a.Header().Set("X-Frame-Options", "SAMEORIGIN")
	a.body(http.StatusOK, "text/html; charset=utf-8", b)
	return nil, nil
}

// vector sends the vector of an item.
func (s *Server) vector(_ *answer, _ *http.Request, c *collection, id index.ID) (any, error) {
	o := c.open()
	it, _ := o.snapshot().Get(id)
	x := o.vectors.Vector(it)
	if x == nil {
		return nil, problem(http.StatusNotFound, "the vector of the item %.80q is not known", id)
	}
	values := make([]*float32, len(x)) // null where a value is missing, as in requests
	for i := range x {
		if x[i] == x[i] {
			values[i] = &x[i]
		}
	}
	return map[string]any{"id": id, "vector": values}, nil
}
