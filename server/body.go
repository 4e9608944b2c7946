package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"hashgrove/api"
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

// body reads the request body within its own limit and the shared memory budget.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (b []byte, release func(), err error) {
	if r.ContentLength > s.limits.Body {
		return nil, nil, &http.MaxBytesError{Limit: s.limits.Body}
	}
	taken := int64(0)
	giveBack := func() { s.budget.give(taken) }
	defer func() {
		if err != nil {
			giveBack()
		}
	}()
	in := http.MaxBytesReader(w, r.Body, s.limits.Body)
	if r.ContentLength > 0 {
		b = make([]byte, 0, min(r.ContentLength+1, small))
	} else {
		b = make([]byte, 0, 512)
	}
	for {
		if len(b) == cap(b) {
			room := max(int64(2*cap(b)), small)
			if more := room - taken; room > small && !s.budget.take(more) {
				return nil, nil, busy("many large requests are being read", 1e9)
			} else if room > small {
				taken += more
			}
			b = append(make([]byte, 0, room), b...)
		}
		n, err := in.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, giveBack, nil
		}
		if err != nil {
			return nil, nil, readError(err)
		}
	}
}

// readError converts an error from reading a request body.
func readError(err error) error {
	large, timeout := new(http.MaxBytesError), net.Error(nil)
	switch {
	case errors.As(err, &large), errors.As(err, &timeout) && timeout.Timeout():
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bad("the request ended early")
	}
	return bad("request body: %v", err)
}

// kind returns the media type of the body without parameters.
func kind(r *http.Request) string {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

// readJSON decodes a body holding one JSON value.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, v any) (release func(), err error) {
	if k := kind(r); k != kindJSON {
		return nil, problem(http.StatusUnsupportedMediaType, "send JSON, with the header Content-Type: %s", kindJSON)
	}
	b, release, err := s.body(w, r)
	if err != nil {
		return nil, err
	}
	if err := decode(b, v, s.limits.Batch); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// readAbout is readJSON plus a check of the model fingerprint that the request may name.
func (s *Server) readAbout(
	w http.ResponseWriter, r *http.Request, c *collection, v any, expected *string,
) (release func(), err error) {
	if release, err = s.readJSON(w, r, v); err != nil {
		return nil, err
	}
	if err := search.Accept(c.open().fingerprint(), *expected); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// maxNesting limits how deep lists and objects may nest; the tags of an item are five deep.
const maxNesting = 16

// decode decodes one JSON value. It rejects unknown keys, trailing data, and lists other than vectors with more than
// most entries.
func decode(b []byte, v any, most int) error {
	if err := checkShape(b, most); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var at *json.UnmarshalTypeError
		switch {
		case errors.Is(err, io.EOF):
			return bad("the request is empty: send a JSON object")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return bad("the JSON in the request ends early")
		case errors.As(err, &at):
			return bad("the value of %q cannot be a %.20s", jsonName(at.Field), at.Value)
		}
		return bad("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bad("the request holds more than one JSON value")
	}
	return nil
}

// jsonName strips the names of embedded structs from a key.
func jsonName(field string) string {
	for _, part := range []string{"target.", "searchOptions.", "newItem.", "details."} {
		field = strings.ReplaceAll(field, part, "")
	}
	return field
}

// checkShape checks nesting and list lengths before decoding: a list of a million empty objects is short as text but
// large in memory. The numbers of a vector are exempt, since they take no more room than their digits.
func checkShape(b []byte, most int) error {
	var open [maxNesting]struct {
		entries int
		key     string
		list    bool
	}
	depth, key := 0, ""
	for i := 0; i < len(b); i++ {
		switch c := b[i]; c {
		case '"':
			from := i + 1
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth > 0 && !open[depth-1].list && i < len(b) {
				key = string(b[from:min(i, from+len("vectors")+1)])
			}
		case '[', '{':
			if depth == maxNesting {
				return bad("the request is nested more than %d deep", maxNesting)
			}
			inner := depth > 0 && open[depth-1].list
			if inner && open[depth-1].key == "vectors" {
				key = "vector"
			}
			open[depth].entries, open[depth].key, open[depth].list = 1, key, c == '['
			depth, key = depth+1, ""
		case ']', '}':
			depth = max(0, depth-1)
		case ',':
			if depth == 0 {
				continue
			}
			o := &open[depth-1]
			if o.entries++; o.entries > most && o.key != "vector" {
				return problem(http.StatusRequestEntityTooLarge,
					"a list in the request has more than the allowed %d entries", most)
			}
		}
	}
	return nil
}

// rows reads vectors from the body: little-endian float32, a NumPy array, or a picture.
func (s *Server) rows(w http.ResponseWriter, r *http.Request, m *model.Model) (vectors.Matrix, func(), error) {
	if m == nil {
		return vectors.Matrix{}, nil, search.ErrNoModel
	}
	b, release, err := s.body(w, r)
	if err != nil {
		return vectors.Matrix{}, nil, err
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
	if err != nil {
		release()
		return vectors.Matrix{}, nil, err
	}
	return x, release, nil
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
	set, err := dataset.Open(dataset.Spec{
		Paths: []string{dataset.Standard}, Stdin: bytes.NewReader(b), Once: true, Format: "npy", Threads: 1, Missing: missing,
	})
	if err != nil {
		return vectors.Matrix{}, bad("the NumPy array in the request: %v", err)
	}
	x := vectors.Matrix{Cols: set.Dim()}
	for chunk, err := range set.Chunks(ctx) {
		if err != nil {
			return vectors.Matrix{}, bad("the NumPy array in the request: %v", err)
		}
		x.Rows += chunk.X.Rows
		x.Data = append(x.Data, chunk.X.Data...)
	}
	return x, nil
}

// parameters parses query parameters and keeps the first error.
type parameters struct {
	url.Values
	err error
}

// number returns a whole number, or nil if absent.
func (p *parameters) number(name string) *int {
	text := p.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil && p.err == nil {
		p.err = bad("%s=%.40s: give a whole number", name, text)
	}
	return &n
}

// truth returns a boolean; absent means false.
func (p *parameters) truth(name string) bool {
	switch p.Get(name) {
	case "", "false", "0":
		return false
	case "true", "1":
		return true
	}
	if p.err == nil {
		p.err = bad("%s=%.40s: give true or false", name, p.Get(name))
	}
	return false
}

// known rejects parameters with other names.
func (p *parameters) known(names ...string) {
	for name := range p.Values {
		found := name == "fingerprint"
		for _, n := range names {
			found = found || n == name
		}
		if !found && p.err == nil {
			p.err = bad("unknown parameter %.40q: known here are %s", name, strings.Join(names, ", "))
		}
	}
}

// filter parses a filter within the limits.
func (s *Server) filter(text string) (index.Filter, error) {
	if len(text) > s.limits.FilterBytes {
		return index.Filter{}, bad("the filter has %d bytes: at most %d are allowed", len(text), s.limits.FilterBytes)
	}
	f, err := search.ParseFilter(text)
	if err != nil {
		return f, fmt.Errorf("filter: %w", err)
	}
	if d := f.Depth(); d > s.limits.FilterDepth {
		return f, bad("the filter is nested %d deep: at most %d are allowed", d, s.limits.FilterDepth)
	}
	return f, nil
}

// pathID returns the item id in the URL.
func pathID(r *http.Request) (index.ID, error) {
	id, err := index.ParseID(r.PathValue("id"))
	if err != nil {
		return id, bad("id: %v", err)
	}
	return id, nil
}

// noItem is the error for an unknown id.
func noItem(id fmt.Stringer) error {
	return api.Errorf(api.ErrNotFound, "no item has the id %.100q", id.String())
}
