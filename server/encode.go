package server

import (
	"cmp"
	"encoding/hex"
	"mime"
	"net/http"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/vectors"
)

// encode turns vectors or pictures into codes.
func (s *Server) encode(a *answer, r *http.Request, c *collection) (any, error) {
	form, err := acceptedForm(r)
	if err != nil {
		return nil, err
	}
	m := c.open().model
	var x vectors.Matrix
	var margins bool
	if kind(r) == kindJSON {
		var request api.EncodeRequest
		if err := s.readJSON(a, r, c, &request); err != nil {
			return nil, err
		}
		if margins = request.Margins; m == nil {
			return nil, search.ErrNoModel
		}
		x, err = s.encodeRows(m, &request)
	} else if margins, err = truth(r, "margins"); err == nil {
		x, err = s.rows(a, r, m)
	}
	if err != nil {
		return nil, err
	}
	if margins && form != kindJSON {
		return nil, bad("margins are available as JSON only")
	}
	leave, err := s.enter(r.Context(), x.Rows > 100)
	if err != nil {
		return nil, err
	}
	defer leave()
	codes, err := m.Encode(r.Context(), x, search.Threads(x.Rows, s.options.Threads))
	if err != nil {
		return nil, bad("%v", err)
	}
	if form != kindJSON {
		var b []byte
		for i := range codes.Len() {
			b = codes.AppendBytes(b, i)
		}
		a.body(http.StatusOK, form, b)
		return nil, nil
	}
	made := api.EncodeAnswer{
		Collection: c.name, Fingerprint: m.Fingerprint().String(), Bits: codes.Bits, Codes: make([]string, codes.Len()),
	}
	for i := range made.Codes {
		made.Codes[i] = hex.EncodeToString(codes.AppendBytes(nil, i))
	}
	if margins {
		all, err := m.Margins(r.Context(), x, search.Threads(x.Rows, s.options.Threads))
		if err != nil {
			return nil, bad("%v", err)
		}
		for i := range all.Rows {
			made.Margins = append(made.Margins, all.Row(i))
		}
	}
	return made, nil
}

// encodeRows returns the rows of a JSON request.
func (s *Server) encodeRows(m *model.Model, r *api.EncodeRequest) (vectors.Matrix, error) {
	if (len(r.Vectors) > 0) == (len(r.Pictures) > 0) {
		return vectors.Matrix{}, bad("give either vectors or pictures to encode")
	}
	for _, b := range r.Pictures {
		v, err := search.PictureVector(m, b, s.limits.Pixels)
		if err != nil {
			return vectors.Matrix{}, err
		}
		r.Vectors = append(r.Vectors, v)
	}
	return matrixOf(r.Vectors)
}

// matrixOf copies rows of equal length into a matrix.
func matrixOf(rows [][]float32) (vectors.Matrix, error) {
	if len(rows) == 0 {
		return vectors.Matrix{}, bad("the request has no rows")
	}
	x := vectors.Matrix{Rows: len(rows), Cols: len(rows[0]), Data: make([]float32, 0, len(rows)*len(rows[0]))}
	for i, row := range rows {
		if len(row) != x.Cols {
			return x, bad("vector %d has %d values, but vector 0 has %d", i, len(row), x.Cols)
		}
		x.Data = append(x.Data, row...)
	}
	return x, nil
}

// acceptedForm negotiates the media type of the response.
func acceptedForm(r *http.Request) (string, error) {
	wanted := r.Header.Get("Accept")
	for part := range strings.SplitSeq(cmp.Or(wanted, kindJSON), ",") {
		switch t, _, _ := mime.ParseMediaType(strings.TrimSpace(part)); t {
		case kindJSON, "*/*", "application/*":
			return kindJSON, nil
		case kindFloats:
			return kindFloats, nil
		}
	}
	return "", problem(http.StatusNotAcceptable, "codes are sent as %s or %s", kindJSON, kindFloats)
}
