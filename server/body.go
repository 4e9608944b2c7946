package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"strings"

	"hashgrove/internal/dataset"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/vectors"
)

// Media types of request bodies.
const (
	kindJSON   = "application/json"
	kindFloats = "application/octet-stream"
	kindNpy    = "application/x-npy"
)

// small is the largest body that is read without reserving memory.
const small = 64 << 10

// read reads the request body within its own limit and the shared memory budget.
func (s *Server) read(a *answer, r *http.Request) ([]byte, error) {
	if r.ContentLength > s.limits.Body {
		return nil, &http.MaxBytesError{Limit: s.limits.Body}
	}
	var b bytes.Buffer
	in := http.MaxBytesReader(a, r.Body, s.limits.Body)
	for room := int64(small); ; room *= 2 { // as the buffer grows
		_, err := io.CopyN(&b, in, room-int64(b.Len()))
		if err == io.EOF {
			return b.Bytes(), nil
		}
		if err != nil {
			return nil, readError(err)
		}
		if err := a.take(room); err != nil {
			return nil, err
		}
	}
}

// readError converts an error from reading a request body.
func readError(err error) error {
	large, timeout := new(http.MaxBytesError), net.Error(nil)
	switch {
	case errors.As(err, &large), errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return bad("request body: %v", err)
}

// kind returns the media type of the body without parameters.
func kind(r *http.Request) string {
	t, more, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := more["charset"]; err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return ""
	}
	return t
}

// readJSON decodes a body holding one JSON value, strictly. What decoding needs comes from the same
// memory budget as the body, and vectors must be such as the collection's model takes; c is nil where there are none.
func (s *Server) readJSON(a *answer, r *http.Request, c *collection, v any) error {
	if k := kind(r); k != kindJSON {
		return problem(http.StatusUnsupportedMediaType, "send JSON, with the header Content-Type: %s", kindJSON)
	}
	if err := new(route{body: true}).check(r); err != nil { // where other bodies have parameters
		return err
	}
	b, err := s.read(a, r)
	if err != nil {
		return err
	}
	d := &decoder{answer: a, limits: &s.limits}
	if c != nil {
		d.model = c.open().model
	}
	return d.decode(b, v)
}

// ReadJSON reads the JSON of a Route, strictly.
func (s *Server) ReadJSON(w http.ResponseWriter, r *http.Request, v any) error {
	return s.readJSON(w.(*answer), r, nil, v)
}

// rows reads vectors from the body: little-endian float32, a NumPy array, or a picture.
func (s *Server) rows(a *answer, r *http.Request, m *model.Model) (vectors.Matrix, error) {
	if m == nil {
		return vectors.Matrix{}, search.ErrNoModel
	}
	if rows, ok := givenVectors(r.Context()); ok {
		return matrixOf(rows)
	}
	b, err := s.read(a, r)
	if err != nil {
		return vectors.Matrix{}, err
	}
	if n := int64(len(b)); n > small {
		if err := a.take(n); err != nil { // for the numbers of the bytes
			return vectors.Matrix{}, err
		}
	}
	var x vectors.Matrix
	switch k := kind(r); {
	case k == kindFloats:
		x, err = floatRows(b, m.Encoder.Dim())
	case k == kindNpy:
		x, err = npyRows(r.Context(), b, m.TakesMissing())
		if dim := m.Encoder.Dim(); x.Cols == 1 && x.Rows == dim { // one vector as an array of one dimension
			x.Rows, x.Cols = 1, dim
		}
	case strings.HasPrefix(k, "image/"):
		x.Rows = 1
		x.Data, err = search.PictureVector(m, b, s.limits.Pixels)
		x.Cols = len(x.Data)
	default:
		err = problem(http.StatusUnsupportedMediaType, "send %s, %s, %s or a picture (image/jpeg, image/png, ...)",
			kindJSON, kindFloats, kindNpy)
	}
	if err == nil && x.Rows > s.limits.Batch {
		err = problem(http.StatusRequestEntityTooLarge, "%d rows in one request: at most %d are allowed",
			x.Rows, s.limits.Batch)
	}
	if err == nil && x.Rows == 0 {
		err = bad("the request has no rows")
	}
	return x, err
}

// floatRows decodes rows of little-endian float32.
func floatRows(b []byte, dim int) (vectors.Matrix, error) {
	if len(b)%(4*dim) != 0 {
		return vectors.Matrix{}, bad("%d bytes are not whole rows of %d float32 values (%d bytes each)", len(b), dim, 4*dim)
	}
	x := vectors.Matrix{Rows: len(b) / (4 * dim), Cols: dim, Data: make([]float32, len(b)/4)}
	for i := range x.Data {
		x.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x, nil
}

// npyRows decodes the rows of a NumPy file.
func npyRows(ctx context.Context, b []byte, missing bool) (vectors.Matrix, error) {
	wrong := func(err error) error {
		return bad("the NumPy array in the request: %s", strings.TrimPrefix(err.Error(), dataset.Standard+": "))
	}
	set, err := dataset.Open(dataset.Spec{
		Paths: []string{dataset.Standard}, Stdin: bytes.NewReader(b), Once: true, Format: "npy", Threads: 1, Missing: missing,
	})
	if err != nil {
		return vectors.Matrix{}, wrong(err)
	}
	x := vectors.Matrix{Cols: set.Dim()}
	for chunk, err := range set.Chunks(ctx) {
		if err != nil {
			return vectors.Matrix{}, wrong(err)
		}
		x.Rows += chunk.X.Rows
		x.Data = append(x.Data, chunk.X.Data...)
	}
	return x, nil
}

// filter parses a filter within the limits.
func (s *Server) filter(text string) (index.Filter, error) {
	if len(text) > s.limits.FilterBytes {
		return index.Filter{}, bad("the filter has %d bytes: at most %d are allowed", len(text), s.limits.FilterBytes)
	}
	f, err := search.ParseFilter(text)
	if err != nil {
		return f, err // it begins with the word
	}
	if d := f.Depth(); d > s.limits.FilterDepth {
		return f, bad("the filter is nested %d deep: at most %d are allowed", d, s.limits.FilterDepth)
	}
	return f, nil
}
