package search

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/vectors"
)

// Explain tells why an item is as near to a query as it is.
func (x *Items) Explain(ctx context.Context, q api.Query, id api.ID) (*api.Why, error) {
	r := &api.Request{Query: q, Options: api.Options{Explain: true}}
	if err := r.Check(); err != nil {
		return nil, err
	}
	x, err := x.ready(ctx, index.Filter{}, 1)
	if err != nil {
		return nil, err
	}
	read, err := x.queries(ctx, r)
	if err != nil {
		return nil, err
	}
	key, err := index.ParseID(string(id))
	if err != nil {
		return nil, refused(api.ErrInvalid, err)
	}
	it, ok, err := x.get(ctx, key)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, api.Errorf(api.ErrNotFound, "no item has the id %.100q", key.String())
	}
	known, err := x.vectorsOf(ctx, map[index.ID]bool{key: true})
	if err != nil {
		return nil, err
	}
	return x.why(ctx, read, 0, it, known[key])
}

// vectorsOf returns the known vectors of items.
func (x *Items) vectorsOf(ctx context.Context, ids map[index.ID]bool) (map[index.ID][]float32, error) {
	if x.Vectors == nil || len(ids) == 0 {
		return nil, nil
	}
	return x.Vectors.Of(ctx, x.Snapshot, ids, 0)
}

// firstWhys explains the first hit of every query if the options ask for it.
func (x *Items) firstWhys(
	ctx context.Context, q *queries, found []index.Result, items []index.Item, o *api.Options,
) ([]*api.Why, error) {
	whys := make([]*api.Why, len(found))
	if !o.Explain {
		return whys, nil
	}
	first := map[index.ID]bool{}
	for i := range found {
		if len(found[i].Hits) > 0 {
			first[found[i].Hits[0].ID] = true
		}
	}
	known, err := x.vectorsOf(ctx, first)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if len(found[i].Hits) == 0 {
			continue
		}
		if ctx.Err() != nil { // the columns behind a bit take milliseconds
			return nil, context.Cause(ctx)
		}
		if whys[i], err = x.why(ctx, q, i, items[0], known[items[0].ID]); err != nil {
			return nil, err
		}
		items = items[len(found[i].Hits):]
	}
	return whys, nil
}

// why compares query i with an item: by bits and, if the model and both vectors are known, by the columns that decided
// them. The vector of the item may be nil.
func (x *Items) why(ctx context.Context, q *queries, i int, it index.Item, vector []float32) (*api.Why, error) {
	code := q.codes.Row(i)
	match := hamming.Compare(code, it.Code, q.codes.Bits)
	class := q.codes.Bits - x.Snapshot.Detail()
	w := &api.Why{
		Query: q.names[i], ID: api.ID(it.ID.String()), Distance: match.Distance, Agree: match.Agree, Differ: match.Differ,
		CodeQuery: HexCode(code, q.codes.Bits), CodeItem: HexCode(it.Code, q.codes.Bits),
		Bits: make([]api.Bit, q.codes.Bits),
	}
	both := hamming.Codes{Bits: q.codes.Bits, Words: len(it.Code), Data: slices.Concat(code, it.Code)}
	for k := range w.Bits {
		a, b := both.Bit(0, k), both.Bit(1, k)
		w.Bits[k] = api.Bit{Bit: k, Query: number(a), Item: number(b), Agree: a == b, Detail: k >= class}
		if k >= class && a != b {
			w.Distance, w.Detail = w.Distance-1, w.Detail+1
		}
	}
	if x.Model == nil {
		return w, nil
	}
	if err := addMargins(ctx, w, x.Model, q.vectors[i], vector); err != nil {
		return nil, err
	}
	if q.rank == api.Expected {
		bits := q.codes.Bits
		for k, weight := range hamming.Weights(q.scores[i*bits:(i+1)*bits], bits-class) {
			w.Bits[k].Weight = new(int(weight))
		}
	}
	if q.vectors[i] == nil || vector == nil {
		return w, nil
	}
	return w, addReasons(w, x.Model, q.vectors[i], vector)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// addMargins adds how certain the bits of the known vectors are.
func addMargins(ctx context.Context, w *api.Why, m *model.Model, query, hit []float32) error {
	for _, side := range []struct {
		x     []float32
		isHit bool
	}{{query, false}, {hit, true}} {
		if side.x == nil {
			continue
		}
		margins, err := m.Margins(ctx, vectors.Matrix{Rows: 1, Cols: len(side.x), Data: side.x}, 1)
		if err != nil {
			return err
		}
		weights := hamming.Weights(margins.Data, m.DetailBits())
		for k := range w.Bits {
			if side.isHit {
				w.Bits[k].MarginItem = &margins.Data[k]
				continue
			}
			weight := int(weights[k])
			w.Bits[k].MarginQuery, w.Bits[k].Weight = &margins.Data[k], &weight
		}
	}
	return nil
}

// addReasons adds the columns that decided the bits, or the classes if scores of these take the place of columns. There
// are none for models without column thresholds or weights, or if values are missing.
func addReasons(w *api.Why, m *model.Model, query, hit []float32) error {
	b, row, ok := model.Behind(m.Encoder)
	before := 0 // columns that the reasons do not count
	if !ok {
		b, row, ok = model.BehindScores(m.Encoder)
		before = m.Encoder.Dim()
	}
	if !ok || slices.ContainsFunc(query, isNaN) || slices.ContainsFunc(hit, isNaN) {
		return nil
	}
	if n := m.Encoder.Dim(); m.Dim() != n && len(hit) == m.Dim() { // rows with mirror images: compare the pictures
		query, hit = query[:n], hit[:n]
	}
	query, hit = row(query), row(hit)
	weights := map[int]float64{}
	for k := range b.Bits() {
		reasons, err := model.Reasons(b, k, query, hit, 3)
		if err != nil {
			return err
		}
		sum := 0.0
		for _, r := range reasons {
			sum += float64(r.Weight)
		}
		for _, r := range reasons {
			share := float64(r.Weight) / max(sum, 1)
			column := before + r.Feature
			weights[column] += share
			reason := api.Reason{Name: ColumnName(m, column), Column: column, Query: r.A, Item: r.B, Weight: share}
			if b.Kind() == "linear" {
				reason.PartQuery, reason.PartItem = &r.PartA, &r.PartB
			} else {
				reason.Threshold = &r.Threshold
			}
			w.Bits[k].Reasons = append(w.Bits[k].Reasons, reason)
		}
		if b.Kind() == "linear" {
			addRest(&w.Bits[k], b.Score(k, query), b.Score(k, hit))
		}
	}
	addColumns(w, m, weights)
	return nil
}

// addRest adds what scores consist of beside the parts that are listed.
func addRest(b *api.Bit, query, item int64) {
	for _, r := range b.Reasons {
		query, item = query-*r.PartQuery, item-*r.PartItem
	}
	b.RestQuery, b.RestItem = &query, &item
}

// addColumns adds the most decisive columns.
func addColumns(w *api.Why, m *model.Model, weights map[int]float64) {
	for _, column := range slices.Sorted(maps.Keys(weights)) {
		w.Columns = append(w.Columns, api.ColumnWeight{Column: column, Name: ColumnName(m, column), Weight: weights[column]})
	}
	slices.SortStableFunc(w.Columns, func(a, b api.ColumnWeight) int { return cmp.Compare(b.Weight, a.Weight) })
	w.Columns = w.Columns[:min(len(w.Columns), 20)]
}

// pixels returns the shape of the pictures whose pixels are the columns of a model, or nil if they are not pixels.
func pixels(m *model.Model) *picture.Shape {
	if m.Pictures == nil || m.Features != nil || m.Encoder.Dim() != m.Pictures.Values() {
		return nil
	}
	return &m.Pictures.Shape
}

// pixelOf returns the pixel that a column belongs to.
func pixelOf(s picture.Shape, column int) int {
	if s.Planar {
		return column % (s.Width * s.Height)
	}
	return column / s.Channels
}

// ColumnName returns a readable name of a column: its name, what it is a score for, its position in a picture, what a
// feature is about, or its number.
func ColumnName(m *model.Model, column int) string {
	if name := m.Info.ColumnTitle(column, m.Encoder.Dim()); name != "" {
		return name
	}
	if gist, ok := m.Features.(*feature.GIST); ok && gist.Dim() == m.Encoder.Dim() && column < gist.Dim() {
		return gist.ColumnName(column)
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
	if n := column - m.Encoder.Dim(); n >= 0 {
		return "score " + strconv.Itoa(n+1)
	}
	return "column " + strconv.Itoa(column+1) // the command counts from 1
}
