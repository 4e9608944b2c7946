package items

import (
	"slices"
	"strconv"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
)

// Match explains the distance of a query and an item.
type Match struct {
	ID index.ID `json:"id"`
	hamming.Match
	Bits []BitReasons `json:"bits,omitempty"` // where the vectors of both are known
}

// BitReasons is why a bit of the query and of the item agree or differ; A is the query.
type BitReasons struct {
	Bit     int      `json:"bit"`
	Agree   bool     `json:"agree"`
	Reasons []Reason `json:"reasons"`
}

// Reason is a reason with the name of its column.
type Reason struct {
	Name string `json:"name"`
	model.Reason
}

// Explain compares query i with an item: by bits, and by the columns that decided them where the model and the vectors
// of both are known, with no value missing; m and vector may be nil.
func (q *Queries) Explain(i int, item index.Item, m *model.Model, vector []float32) (*Match, error) {
	r := &Match{ID: item.ID, Match: hamming.Compare(q.Codes.Row(i), item.Code, q.Codes.Bits)}
	if m == nil || vector == nil {
		return r, nil
	}
	b, row, ok := model.Behind(m.Encoder)
	if !ok || slices.ContainsFunc(slices.Concat(q.Vectors.Row(i), vector), isNaN) {
		return r, nil
	}
	query := q.Vectors.Row(i)
	// Of rows with mirror images, compare the pictures.
	if n := m.Encoder.Dim(); m.Dim() != n && len(vector) == m.Dim() {
		query, vector = query[:n], vector[:n]
	}
	query, hit := row(query), row(vector)
	for k := range b.Bits() {
		reasons, err := model.Reasons(b, k, query, hit, 3)
		if err != nil {
			return nil, err
		}
		bit := BitReasons{Bit: k, Agree: slices.Contains(r.Agree, k), Reasons: []Reason{}}
		for _, reason := range reasons {
			name := m.Info.ColumnName(reason.Feature, m.Encoder.Dim())
			if name == "" && (len(m.Info.Features) == 0 || reason.Feature >= m.Encoder.Dim()) {
				name = "column " + strconv.Itoa(reason.Feature)
			}
			bit.Reasons = append(bit.Reasons, Reason{name, reason})
		}
		r.Bits = append(r.Bits, bit)
	}
	return r, nil
}

func isNaN(v float32) bool { return v != v }
