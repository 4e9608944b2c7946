package client

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"

	"hashgrove/api"
)

// Search implements api.Searcher. Unnamed vectors of equal length are sent packed rather than as JSON.
func (c *Collection) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	rows := plainRows(r.Queries)
	if rows == nil {
		return ask[api.Answer](ctx, c.Client, c.request(http.MethodPost, "/search", r))
	}
	packed, err := c.request(http.MethodPost, "/search", nil).withRows(rows)
	if err != nil {
		return nil, err
	}
	packed.query = r.Options.Values()
	return ask[api.Answer](ctx, c.Client, packed)
}

var _ api.Searcher = (*Collection)(nil)

// plainRows returns the vectors of the queries, or nil if any query holds more than a vector.
func plainRows(queries []api.Query) [][]float32 {
	rows := make([][]float32, len(queries))
	for i, q := range queries {
		if q.Vector == nil || len(q.Vector) != len(queries[0].Vector) || q.Name != "" || q.Label != "" {
			return nil
		}
		rows[i] = q.Vector
	}
	if len(rows) == 0 || len(rows[0]) == 0 {
		return nil
	}
	return rows
}

// withRows sets packed vectors as the body of the request.
func (r request) withRows(rows [][]float32) (request, error) {
	b, err := packRows(rows)
	r.contentType, r.body = "application/octet-stream", bytes.NewReader(b)
	return r, err
}

// packRows packs vectors as rows of little-endian float32.
func packRows(rows [][]float32) ([]byte, error) {
	var b []byte
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			return nil, fmt.Errorf("vector %d has %d numbers, but vector 0 has %d", i, len(row), len(rows[0]))
		}
		b = slices.Grow(b, 4*len(row)*(len(rows)-i))
		for _, x := range row {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b, nil
}

// Encode turns vectors or pictures into codes, with margins on request.
func (c *Collection) Encode(ctx context.Context, r api.EncodeRequest) (*api.EncodeAnswer, error) {
	return ask[api.EncodeAnswer](ctx, c.Client, c.request(http.MethodPost, "/encode", r))
}

// longestCode is the maximum length of a code in bytes.
const longestCode = 512

// EncodeVectors turns vectors of equal length into packed codes. Vectors and codes both travel packed.
func (c *Collection) EncodeVectors(ctx context.Context, rows [][]float32) ([][]byte, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	r, err := c.request(http.MethodPost, "/encode", nil).withRows(rows)
	if err != nil {
		return nil, err
	}
	r.accept = "application/octet-stream"
	a, err := c.Client.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	packed, err := io.ReadAll(io.LimitReader(a.Body, int64(len(rows)*longestCode)+1))
	if err != nil {
		return nil, err
	}
	width := len(packed) / len(rows)
	if width == 0 || len(packed) > len(rows)*longestCode || width*len(rows) != len(packed) {
		return nil, fmt.Errorf("the server sent %d bytes for the codes of %d vectors", len(packed), len(rows))
	}
	codes := make([][]byte, len(rows))
	for i := range codes {
		codes[i] = packed[i*width : (i+1)*width]
	}
	return codes, nil
}

// Explain says why an item is close to a query.
func (c *Collection) Explain(ctx context.Context, r api.ExplainRequest) (*api.Explanation, error) {
	return ask[api.Explanation](ctx, c.Client, c.request(http.MethodPost, "/explain", r))
}
