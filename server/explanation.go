package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// explanation says why a query and an item are as near as they are.
type explanation struct {
	about
	Query     string        `json:"query"`
	ID        index.ID      `json:"id"`
	Distance  int           `json:"distance"`
	CodeQuery string        `json:"code_query"`
	CodeItem  string        `json:"code_item"`
	Bits      []explained   `json:"bits"`
	Columns   []columnShare `json:"columns,omitempty"` // that decided most
	Picture   *shape        `json:"picture,omitempty"` // the columns are its pixels
	Heat      []float64     `json:"heat,omitempty"`    // where the deciding columns lie, 0 to 1 for each pixel
}

// explained is a bit of both codes. Margins and reasons are known where the vectors are.
type explained struct {
	Bit         int      `json:"bit"`
	Query       int      `json:"query"`
	Item        int      `json:"item"`
	Agree       bool     `json:"agree"`
	MarginQuery *float32 `json:"margin_query,omitempty"`
	MarginItem  *float32 `json:"margin_item,omitempty"`
	Weight      *int     `json:"weight,omitempty"` // of the bit in a ranking by margins
	Reasons     []reason `json:"reasons,omitempty"`
}

// reason is a column that decided a bit.
type reason struct {
	Name      string  `json:"name"`
	Column    int     `json:"column"`
	Threshold float32 `json:"threshold"`
	Query     float32 `json:"query"`
	Item      float32 `json:"item"`
	Weight    float64 `json:"weight"` // share of the weights of the bit's reasons
}

type columnShare struct {
	Column int     `json:"column"`
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

type shape struct {
	Width    int `json:"width"`
	Height   int `json:"height"`
	Channels int `json:"channels"`
}

// explain explains the distance of a query and an item.
func (s *Server) explain(w http.ResponseWriter, r *http.Request, c *collection) error {
	var request struct {
		Query       target    `json:"query"`
		ID          *index.ID `json:"id"`
		Fingerprint string    `json:"fingerprint,omitempty"`
	}
	release, err := s.readJSON(w, r, &request)
	if err != nil {
		return err
	}
	defer release()
	if request.ID == nil {
		return bad("give the id of the item to compare the query with")
	}
	if err := s.gate.enter(r.Context()); err != nil {
		return err
	}
	defer s.gate.leave()
	q, err := s.readQueries(r.Context(), c, &searchRequest{target: request.Query}, vectors.Matrix{})
	if err != nil {
		return err
	}
	if err := accept(q.at.Fingerprint(), request.Fingerprint); err != nil {
		return err
	}
	item, ok := q.at.Get(*request.ID)
	if !ok {
		return noItem(request.ID)
	}
	a, err := s.why(c, q, 0, item)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}

// why compares a query with an item.
func (s *Server) why(c *collection, q *queries, i int, item index.Item) (*explanation, error) {
	width := q.at.Bits()
	both := hamming.Codes{Bits: width, Words: len(item.Code), Data: slices.Concat(q.Codes.Row(i), item.Code)}
	a := &explanation{
		about: about{c.name, q.at.Fingerprint().String()}, Query: q.Names[i], ID: item.ID,
		Distance:  hamming.Distance(both.Row(0), both.Row(1)),
		CodeQuery: hex.EncodeToString(both.AppendBytes(nil, 0)), CodeItem: hex.EncodeToString(both.AppendBytes(nil, 1)),
		Bits: make([]explained, width),
	}
	for k := range a.Bits {
		x, y := both.Bit(0, k), both.Bit(1, k)
		a.Bits[k] = explained{Bit: k, Query: number(x), Item: number(y), Agree: x == y}
	}
	var query []float32
	if q.known {
		query = q.Vectors.Row(i)
	}
	hit := c.vectors.vector(item.ID)
	if err := a.addMargins(q.model, query, hit); err != nil {
		return nil, err
	}
	if query == nil || hit == nil || q.model == nil {
		return a, nil
	}
	match, err := q.Explain(i, item, q.model, hit)
	if err != nil {
		return nil, err
	}
	weights := map[int]float64{}
	for _, b := range match.Bits {
		sum := 0.0
		for _, r := range b.Reasons {
			sum += float64(r.Weight)
		}
		for _, r := range b.Reasons {
			share := float64(r.Weight) / max(sum, 1)
			weights[r.Feature] += share
			a.Bits[b.Bit].Reasons = append(a.Bits[b.Bit].Reasons,
				reason{columnName(q.model, r.Feature), r.Feature, r.Threshold, r.A, r.B, share})
		}
	}
	a.addColumns(q.model, weights)
	return a, nil
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// addMargins adds how certain the bits of both vectors are, as far as they are known.
func (a *explanation) addMargins(m *model.Model, query, hit []float32) error {
	for _, side := range []struct {
		x     []float32
		isHit bool
	}{{query, false}, {hit, true}} {
		if m == nil || side.x == nil {
			continue
		}
		x := vectors.Matrix{Rows: 1, Cols: len(side.x), Data: side.x}
		margins, err := m.Margins(context.Background(), x, 1)
		if err != nil {
			return err
		}
		weights := hamming.Weights(margins.Data)
		for k := range a.Bits {
			if side.isHit {
				a.Bits[k].MarginItem = &margins.Data[k]
				continue
			}
			w := int(weights[k])
			a.Bits[k].MarginQuery, a.Bits[k].Weight = &margins.Data[k], &w
		}
	}
	return nil
}

// addColumns adds the columns that decided most, and where they lie in a picture.
func (a *explanation) addColumns(m *model.Model, weights map[int]float64) {
	for _, column := range slices.Sorted(maps.Keys(weights)) {
		a.Columns = append(a.Columns, columnShare{column, columnName(m, column), weights[column]})
	}
	slices.SortStableFunc(a.Columns, func(x, y columnShare) int { return cmp.Compare(y.Weight, x.Weight) })
	a.Columns = a.Columns[:min(len(a.Columns), 20)]
	at := pixels(m)
	if at == nil || len(weights) == 0 {
		return
	}
	a.Picture = &shape{at.Width, at.Height, at.Channels}
	a.Heat = make([]float64, at.Width*at.Height)
	for column, w := range weights {
		if column < at.Values() {
			a.Heat[pixelOf(*at, column)] += w
		}
	}
	if most := slices.Max(a.Heat); most > 0 {
		for i := range a.Heat {
			a.Heat[i] /= most
		}
	}
}

// pixels is the shape of the pictures whose pixels are the columns of a model; nil where they are something else.
func pixels(m *model.Model) *picture.Shape {
	if m.Pictures == nil || m.Features != nil || m.Encoder.Dim() != m.Pictures.Values() {
		return nil
	}
	return &m.Pictures.Shape
}

// pixelOf is the pixel that a column belongs to.
func pixelOf(s picture.Shape, column int) int {
	if s.Planar {
		return column % (s.Width * s.Height)
	}
	return column / s.Channels
}

// columnName is what people call a column: its name, its place in a picture, or its number.
func columnName(m *model.Model, column int) string {
	if name := m.Info.ColumnName(column, m.Encoder.Dim()); name != "" {
		return name
	}
	if s := pixels(m); s != nil && column < s.Values() {
		at := pixelOf(*s, column)
		name := "pixel " + strconv.Itoa(at%s.Width) + ", " + strconv.Itoa(at/s.Width)
		if s.Channels == 3 {
			channel := column % 3
			if s.Planar {
				channel = column / (s.Width * s.Height)
			}
			name += " " + []string{"red", "green", "blue"}[channel]
		}
		return name
	}
	return "column " + strconv.Itoa(column+1) // as the command counts
}
