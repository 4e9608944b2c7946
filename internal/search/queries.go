package search

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/picture/gallery"
	"hashgrove/internal/vectors"
)

// queries are the parsed queries of a request.
type queries struct {
	names, labels []string
	codes         hamming.Codes
	vectors       [][]float32 // nil where unknown
	rank          string      // how the hits are ordered
	scores        []float32   // one per bit, query after query, if they affect the order

	compared []int // by query: number of items that a reranking compared
	doubts   []string
}

// queries returns the codes of all queries, and their vectors and margins if the search needs them.
func (x *Items) queries(ctx context.Context, r *api.Request) (*queries, error) {
	all := r.All()
	rank, err := x.rank(&r.Options)
	if err != nil {
		return nil, err
	}
	q := &queries{
		rank: rank, names: make([]string, len(all)), labels: make([]string, len(all)), vectors: make([][]float32, len(all)),
		codes: hamming.NewCodes(len(all), x.Snapshot.Bits()),
	}
	rows, ids := []int(nil), map[index.ID]bool{}
	for i := range all {
		if err := x.read(ctx, q, i, &all[i], ids); err != nil {
			return nil, inQuery(i, len(all), err)
		}
		if q.vectors[i] != nil {
			rows = append(rows, i)
		}
	}
	if err := x.encode(ctx, q, rows); err != nil {
		return nil, err
	}
	if err := x.addItemVectors(ctx, q, all, ids, &r.Options); err != nil {
		return nil, err
	}
	return q, x.addScores(ctx, q, &r.Options)
}

// Codes returns the codes of queries.
func (x *Items) Codes(ctx context.Context, list []api.Query) (hamming.Codes, error) {
	r := &api.Request{Queries: list, Options: api.Options{Rank: api.Hamming}}
	if err := r.Check(); err != nil {
		return hamming.Codes{}, err
	}
	q, err := x.queries(ctx, r)
	if err != nil {
		return hamming.Codes{}, err
	}
	return q.codes, nil
}

// inQuery adds the number of the query to an error, if there are several.
func inQuery(i, n int, err error) error {
	if n == 1 {
		return err
	}
	return fmt.Errorf("query %d: %w", i, err)
}

// read finds the name, the label, and the code or vector of one query.
func (x *Items) read(ctx context.Context, q *queries, i int, from *api.Query, ids map[index.ID]bool) (err error) {
	q.names[i], q.labels[i] = from.Name, from.Label
	switch {
	case from.ID != "":
		id, err := index.ParseID(string(from.ID))
		if err != nil {
			return refused(api.ErrInvalid, err)
		}
		it, ok, err := x.get(ctx, id)
		if err != nil {
			return err
		}
		if !ok {
			return api.Errorf(api.ErrNotFound, "no item has the id %.100q", id.String())
		}
		ids[id] = true
		copy(q.codes.Row(i), it.Code)
		if q.labels[i] == "" {
			q.labels[i] = it.Label
		}
		if q.names[i] == "" {
			q.names[i] = id.String()
		}
	case from.Code != "" || from.PackedCode != nil:
		if err := SetCode(q.codes, i, from.Code, from.PackedCode); err != nil {
			return err
		}
	case x.Model == nil:
		return ErrNoModel
	case from.Picture != nil:
		if q.vectors[i], err = PictureVector(x.Model, from.Picture, x.Pixels); err != nil {
			return err
		}
	default:
		q.vectors[i] = from.Vector
	}
	if q.names[i] == "" {
		q.names[i] = strconv.Itoa(i)
	}
	return nil
}

// PictureVector returns the input vector of a model for a picture file.
func PictureVector(m *model.Model, file []byte, pixels int) ([]float32, error) {
	switch {
	case m == nil:
		return nil, ErrNoModel
	case m.Pictures == nil:
		return nil, invalid("picture", "the model takes vectors, not pictures")
	}
	row, err := gallery.Row(*m.Pictures, file, pixels)
	if err != nil {
		return nil, invalid("picture", "the picture %v", err)
	}
	x, err := m.PixelVector(row)
	if err != nil {
		return nil, invalid("picture", "the picture: %v", err)
	}
	return x, nil
}

// ErrNoModel is returned for requests that need a model.
var ErrNoModel = api.Errorf(api.ErrNoModel, "there is no model here to encode with: search by code or by id")

// SetCode sets a code from hexadecimal digits, or from bytes if there are no digits.
func SetCode(to hamming.Codes, i int, digits string, packed []byte) (err error) {
	if digits != "" {
		packed, err = hex.DecodeString(digits)
	}
	if err != nil || !to.SetBytes(i, packed) {
		return invalid("code", "the code %.40q: one of %d bits is %d bytes, %d hexadecimal digits, with unused bits 0",
			digits, to.Bits, to.Bytes(), 2*to.Bytes())
	}
	return nil
}

// encode computes the codes of the queries that are vectors.
func (x *Items) encode(ctx context.Context, q *queries, rows []int) error {
	if len(rows) == 0 {
		return nil
	}
	dim := x.Model.Dim()
	if len(q.names) == 1 && len(q.vectors[0]) == dim { // the fastest way for one vector
		code, err := x.Model.EncodeRow(q.vectors[0])
		copy(q.codes.Row(0), code)
		return refused(api.ErrInvalid, err)
	}
	m := vectors.Matrix{Rows: len(rows), Cols: dim, Data: make([]float32, 0, len(rows)*dim)}
	for _, i := range rows {
		if len(q.vectors[i]) != dim {
			return inQuery(i, len(q.names), api.Errorf(api.ErrDimension,
				"a vector of %d values, and the model takes %d", len(q.vectors[i]), dim))
		}
		m.Data = append(m.Data, q.vectors[i]...)
	}
	codes, err := x.Model.Encode(ctx, m, x.threads(len(rows)))
	if err != nil {
		return refused(api.ErrInvalid, err)
	}
	for j, i := range rows {
		copy(q.codes.Row(i), codes.Row(j))
	}
	return nil
}

// addItemVectors adds the known vectors of queries that are items, if they affect the answer.
func (x *Items) addItemVectors(
	ctx context.Context, q *queries, all []api.Query, ids map[index.ID]bool, o *api.Options,
) error {
	if len(ids) == 0 || x.Vectors == nil || o.Rerank == "" && o.Ties != api.Vectors && !q.needsScores(o) && !o.Explain {
		return nil
	}
	found, err := x.Vectors.Of(ctx, x.Snapshot, ids, 0)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].ID != "" {
			q.vectors[i] = found[index.Text(string(all[i].ID))]
		}
	}
	return nil
}

// rank returns how to order the hits: as asked, or as the model chose. A radius counts bits, and ties are those of
// bits.
func (x *Items) rank(o *api.Options) (string, error) {
	switch {
	case o.Rank == api.Expected && x.Model == nil:
		return "", ErrNoModel
	case o.Rank == api.Expected && x.Model.Ranking == nil:
		return "", invalid("rank", "the model knows no codes of training rows, which the expected code needs: "+
			"choose another ranking, or train it again")
	case o.Rank != "" && o.Rank != api.Auto:
		return o.Rank, nil
	case o.Radius != nil || o.Ties == api.Margins:
		return api.Hamming, nil
	}
	return x.Model.Rank(), nil
}

// needsScores reports whether the order needs scores of the queries.
func (q *queries) needsScores(o *api.Options) bool {
	return q.rank != api.Hamming || o.Ties == api.Margins
}

// addScores computes the scores of the queries if they affect the order: their margins, or the codes that these make
// expected. Where margins are not asked for explicitly, a query without a vector has its bits as scores.
func (x *Items) addScores(ctx context.Context, q *queries, o *api.Options) error {
	if !q.needsScores(o) {
		return nil
	}
	if o.NeedsMargins() {
		field := "rank"
		if o.Rank != api.Margins {
			field = "ties"
		}
		_, err := x.matrix(q, field,
			"margins need vectors or pictures to search for: codes do not say how certain they are")
		if err != nil {
			return err
		}
		if x.Model == nil {
			return ErrNoModel
		}
	}
	bits := q.codes.Bits
	scores := vectors.Matrix{Rows: len(q.names), Cols: bits, Data: make([]float32, len(q.names)*bits)}
	known := vectors.Matrix{Cols: x.Model.Dim()}
	var rows []int
	for i, v := range q.vectors {
		if v != nil {
			rows, known.Data = append(rows, i), append(known.Data, v...)
			continue
		}
		for b := range bits {
			scores.Row(i)[b] = 1
			if !q.codes.Bit(i, b) {
				scores.Row(i)[b] = -1
			}
		}
	}
	known.Rows = len(rows)
	margins, err := x.Model.Margins(ctx, known, x.threads(known.Rows))
	if err != nil {
		return refused(api.ErrInvalid, err)
	}
	for k, i := range rows {
		copy(scores.Row(i), margins.Row(k))
	}
	q.scores = scores.Data
	if q.rank == api.Expected {
		return x.Model.Expect(ctx, scores)
	}
	return nil
}

// matrix returns the vectors of all queries, or an error saying why they are needed if one is unknown.
func (x *Items) matrix(q *queries, field, why string) (vectors.Matrix, error) {
	var m vectors.Matrix
	for i, v := range q.vectors {
		if v == nil {
			return m, inQuery(i, len(q.vectors), &api.Error{Code: api.ErrNoVector, Message: why, Field: field})
		}
		m.Cols = len(v)
		if m.Data == nil {
			m.Data = make([]float32, 0, len(q.vectors)*len(v))
		}
		m.Rows, m.Data = m.Rows+1, append(m.Data, v...)
	}
	return m, nil
}
