package server

import (
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/vectors"
)

// encode turns vectors or pictures into codes.
func (s *Server) encode(w http.ResponseWriter, r *http.Request, c *collection) error {
	form, err := acceptedForm(r)
	if err != nil {
		return err
	}
	m := c.open().model
	var x vectors.Matrix
	var margins bool
	if kind(r) == kindJSON {
		var request api.EncodeRequest
		release, err := s.readJSON(w, r, c, &request)
		if err != nil {
			return err
		}
		defer release()
		if margins = request.Margins; m == nil {
			return search.ErrNoModel
		}
		if err := search.Accept(m.Fingerprint(), request.Fingerprint); err != nil {
			return err
		}
		if x, err = s.encodeRows(m, &request); err != nil {
			return err
		}
	} else {
		p := &parameters{Values: r.URL.Query()}
		p.known("margins")
		if margins = p.truth("margins"); p.err != nil {
			return p.err
		}
		var release func()
		if x, release, err = s.rows(w, r, m); err != nil {
			return err
		}
		defer release()
	}
	if margins && form != kindJSON {
		return bad("margins are available as JSON only")
	}
	leave, err := s.enter(r.Context(), x.Rows > 100)
	if err != nil {
		return err
	}
	defer leave()
	codes, err := m.Encode(r.Context(), x, search.Threads(x.Rows, s.options.Threads))
	if err != nil {
		return bad("%v", err)
	}
	if form != kindJSON {
		writeBody(w, http.StatusOK, form, packCodes(codes, form))
		return nil
	}
	a := api.EncodeAnswer{
		Collection: c.name, Fingerprint: m.Fingerprint().String(), Bits: codes.Bits, Codes: make([]string, codes.Len()),
	}
	for i := range a.Codes {
		a.Codes[i] = hex.EncodeToString(codes.AppendBytes(nil, i))
	}
	if margins {
		all, err := m.Margins(r.Context(), x, search.Threads(x.Rows, s.options.Threads))
		if err != nil {
			return bad("%v", err)
		}
		for i := range all.Rows {
			a.Margins = append(a.Margins, all.Row(i))
		}
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}

// encodeRows returns the rows of a JSON request.
func (s *Server) encodeRows(m *model.Model, r *api.EncodeRequest) (vectors.Matrix, error) {
	rows := len(r.Vectors) + len(r.Pictures)
	switch {
	case len(r.Vectors) > 0 && len(r.Pictures) > 0:
		return vectors.Matrix{}, bad("give vectors or pictures, not both")
	case rows == 0:
		return vectors.Matrix{}, bad("give vectors or pictures to encode")
	case rows > s.limits.Batch:
		return vectors.Matrix{}, problem(http.StatusRequestEntityTooLarge,
			"%d rows in one request: at most %d are allowed", rows, s.limits.Batch)
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
	if wanted == "" {
		return kindJSON, nil
	}
	for part := range strings.SplitSeq(wanted, ",") {
		t, _, err := mime.ParseMediaType(strings.TrimSpace(part))
		switch {
		case err != nil:
		case t == "*/*" || t == "application/*":
			return kindJSON, nil
		case t == kindJSON || t == kindFloats || t == kindNpy:
			return t, nil
		}
	}
	return "", problem(http.StatusNotAcceptable, "codes are sent as %s, %s or %s", kindJSON, kindFloats, kindNpy)
}

// packCodes packs codes as bytes, with a NumPy header if form asks for one.
func packCodes(codes hamming.Codes, form string) []byte {
	var b []byte
	if form == kindNpy {
		b = npyHeader(codes.Len(), codes.Bytes())
	}
	for i := range codes.Len() {
		b = codes.AppendBytes(b, i)
	}
	return b
}

// npyHeader returns the header of a NumPy 1.0 file of byte rows.
func npyHeader(rows, cols int) []byte {
	text := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	const fixed = 10 // magic, version, length
	padding := 64 - (fixed+len(text)+1)%64
	text += strings.Repeat(" ", padding) + "\n"
	return append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(text)), byte(len(text) >> 8)}, text...)
}
