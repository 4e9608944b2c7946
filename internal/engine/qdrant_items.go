package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Page sizes.
const (
	mostQdrantHits = 1 << 20 // hits per search
	qdrantIDs      = 10000   // ids listed at a time
	qdrantPage     = 1000    // items read at a time
)

// qdrantPayload is the payload of a point.
type qdrantPayload struct {
	ID         string                 `json:"id"`
	Number     *int64                 `json:"id_number,omitempty"`
	Label      string                 `json:"label,omitempty"`
	Tags       []string               `json:"tags,omitempty"`
	Attributes map[string]index.Value `json:"attributes,omitempty"`
}

// qdrantPoint is an item.
type qdrantPoint struct {
	ID      any           `json:"id"`
	Vector  []float64     `json:"vector"`
	Payload qdrantPayload `json:"payload"`
}

// signs returns code i as +1 for set bits and -1 for others.
func signs(c hamming.Codes, i int) []float64 {
	list := make([]float64, c.Bits)
	for b := range list {
		if list[b] = -1; c.Bit(i, b) {
			list[b] = 1
		}
	}
	return list
}

// weightedSigns is signs for queries: bits of the class count more where codes have detail.
func (s shape) weightedSigns(c hamming.Codes, i int) []float64 {
	list := signs(c, i)
	if s.detail > 0 {
		for b := range s.class() {
			list[b] *= repeats
		}
	}
	return list
}

// points converts a batch to points.
func (q *qdrant) points(of shape, b *index.Batch) ([]qdrantPoint, error) {
	order, err := b.Order(true)
	if err != nil {
		return nil, err
	}
	list := make([]qdrantPoint, 0, len(order))
	for _, r := range order {
		p, err := q.point(of, b, r)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// point converts an item to a point.
func (q *qdrant) point(_ shape, b *index.Batch, i int) (qdrantPoint, error) {
	it := b.Item(i)
	if err := checkTexts(q.name, it, math.MaxInt, math.MaxInt); err != nil {
		return qdrantPoint{}, err
	}
	p := qdrantPoint{pointID(it.ID), signs(b.Codes, i), qdrantPayload{
		ID: it.ID.String(), Label: it.Label, Tags: it.Tags, Attributes: it.Attributes,
	}}
	if n, ok := it.ID.Integer(); ok {
		p.Payload.Number = &n
	}
	return p, nil
}

// upsert is the request that writes points and waits until they are stored.
func (q *qdrant) upsert(points []qdrantPoint) request {
	return newRequest("PUT", q.path("/points?ordering=strong&wait=true"), dsl{"points": points})
}

// Write implements Engine. After an error some items may have been written; sending them again replaces them.
func (q *qdrant) Write(ctx context.Context, b *index.Batch) error {
	if b.Codes.Bits != q.bits {
		return fmt.Errorf("codes of %d bits for a table of codes of %d", b.Codes.Bits, q.bits)
	}
	points, err := q.points(q.shape, b)
	if err != nil || len(points) == 0 {
		return err
	}
	var answer struct {
		Result struct {
			Status string `json:"status"`
		} `json:"result"`
	}
	if err := q.call(ctx, q.upsert(points), &answer); err != nil {
		return refusedItems(err)
	}
	if answer.Result.Status != "completed" {
		return fmt.Errorf("%w: %s reports %q for a batch instead of storing it", ErrTemporary, q.name,
			q.clean(answer.Result.Status))
	}
	return nil
}

// search is the body of a search for a code. The score of a hit is bits - 2 distance, both of spread codes (shape.go),
// and the threshold lies between the scores of the radius and of the next distance.
func (q *qdrant) search(of shape, radius int, filter dsl, code []float64, limit int) dsl {
	body := dsl{
		"query": code, "limit": limit, "with_payload": []string{"id"},
		"params": dsl{"exact": true, "quantization": dsl{"ignore": true}},
	}
	if len(filter) > 0 {
		body["filter"] = filter
	}
	if radius >= 0 {
		body["score_threshold"] = of.wide() - 2*min(radius, of.wide()) - 1
	}
	return body
}

// qdrantHits is the response to a search.
type qdrantHits struct {
	Points []struct {
		Score   float64       `json:"score"`
		Payload qdrantPayload `json:"payload"`
	} `json:"points"`
}

// hits derives distances from the scores of a response.
func (q *qdrant) hits(answer qdrantHits) ([]index.Hit, error) {
	list := make([]index.Hit, 0, len(answer.Points))
	for _, p := range answer.Points {
		id, err := index.ParseID(p.Payload.ID)
		if err != nil {
			return nil, err
		}
		twice := float64(q.wide()) - p.Score
		distance := int(twice / 2)
		if twice != 2*float64(distance) || distance < 0 || distance > q.wide() {
			return nil, fmt.Errorf("%s scores %q with %v, not a distance of %d bits", q.name, id.String(), p.Score, q.wide())
		}
		list = append(list, index.Hit{ID: id, Distance: distance})
	}
	return list, nil
}

// Search implements Engine. The filter is Qdrant's own, so what is asked or scanned already matches.
func (q *qdrant) Search(ctx context.Context, query Query) ([][]index.Hit, error) {
	filter, err := qdrantFilter{}.condition(query.Filter)
	if err != nil {
		return nil, err
	}
	query.Filter = index.Filter{}
	finder := qdrantFinder{q, filter, q.radius(query.Radius)}
	found, err := skill{most: mostQdrantHits}.search(ctx, finder, q.shape, query)
	if err != nil {
		return nil, err
	}
	return q.apart(ctx, q, query, found)
}

// qdrantFinder searches with a filter and a radius.
type qdrantFinder struct {
	*qdrant
	filter dsl
	within int // the radius, of spread codes
}

// ask implements finder by sending all searches in one request.
func (q qdrantFinder) ask(ctx context.Context, codes hamming.Codes, limit int, _ clause) ([][]index.Hit, error) {
	searches, code := make([]dsl, codes.Len()), hamming.NewCodes(1, q.bits)
	for i := range searches {
		q.gather(code, codes, i)
		searches[i] = q.search(q.shape, q.within, q.filter, q.weightedSigns(code, 0), limit)
	}
	var answer struct {
		Result []qdrantHits `json:"result"`
	}
	err := q.call(ctx, newRequest("POST", q.path("/points/query/batch"), dsl{"searches": searches}), &answer)
	if err != nil {
		return nil, err
	}
	return translated(answer.Result, q.hits)
}

// scan implements finder.
func (q qdrantFinder) scan(ctx context.Context, _ clause, take func(*index.Batch) error) error {
	return q.read(ctx, q.filter, take)
}

// Count implements Engine.
func (q *qdrant) Count(ctx context.Context) (int, error) {
	var answer struct {
		Result struct {
			Count int `json:"count"`
		} `json:"result"`
	}
	err := q.call(ctx, newRequest("POST", q.path("/points/count"), dsl{"exact": true}), &answer)
	return answer.Result.Count, err
}

// Read implements Engine.
func (q *qdrant) Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error {
	filter, err := qdrantFilter{}.condition(f)
	if err != nil {
		return err
	}
	return q.read(ctx, filter, take)
}

// read passes on items ordered by id. Points have another order, so it lists and sorts the ids first. Items removed
// meanwhile are left out.
func (q *qdrant) read(ctx context.Context, filter dsl, take func(*index.Batch) error) error {
	ids, err := q.list(ctx, filter)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, qdrantPage) {
		points := make([]any, len(some))
		for i, id := range some {
			points[i] = pointID(id)
		}
		var answer struct {
			Result []qdrantPoint `json:"result"`
		}
		body := dsl{"ids": points, "with_payload": true, "with_vector": true}
		if err := q.call(ctx, newRequest("POST", q.path("/points"), body), &answer); err != nil {
			return err
		}
		b, err := q.batch(answer.Result)
		if err != nil {
			return err
		}
		if len(b.IDs) > 0 {
			if err := take(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// list returns the ids of the items that match a filter, in order.
func (q *qdrant) list(ctx context.Context, filter dsl) ([]index.ID, error) {
	body := dsl{"limit": qdrantIDs, "with_payload": []string{"id"}, "with_vector": false}
	if len(filter) > 0 {
		body["filter"] = filter
	}
	var ids []index.ID
	for {
		var answer struct {
			Result struct {
				Points []struct {
					Payload qdrantPayload `json:"payload"`
				} `json:"points"`
				Next any `json:"next_page_offset"`
			} `json:"result"`
		}
		if err := q.call(ctx, newRequest("POST", q.path("/points/scroll"), body), &answer); err != nil {
			return nil, err
		}
		for _, p := range answer.Result.Points {
			id, err := index.ParseID(p.Payload.ID)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		if answer.Result.Next == nil {
			break
		}
		body["offset"] = answer.Result.Next
	}
	slices.SortFunc(ids, index.ID.Compare)
	return slices.Compact(ids), nil
}

// batch converts points to items ordered by id.
func (q *qdrant) batch(points []qdrantPoint) (*index.Batch, error) {
	items := make([]index.Item, 0, len(points))
	for _, p := range points {
		id, err := index.ParseID(p.Payload.ID)
		if err != nil {
			return nil, err
		}
		code := hamming.NewCodes(1, q.bits)
		if len(p.Vector) != q.bits {
			return nil, fmt.Errorf("item %q has %d numbers instead of %d", id.String(), len(p.Vector), q.bits)
		}
		for b, x := range p.Vector {
			if x != 1 && x != -1 {
				return nil, fmt.Errorf("item %q has a %v among its bits, which must be +1 or -1", id.String(), x)
			}
			code.SetBit(0, b, x > 0)
		}
		items = append(items, index.Item{
			ID: id, Code: code.Row(0), Label: p.Payload.Label, Tags: p.Payload.Tags, Attributes: p.Payload.Attributes,
		})
	}
	slices.SortFunc(items, func(a, b index.Item) int { return a.ID.Compare(b.ID) })
	b := index.NewBatch(q.bits)
	for _, it := range items {
		b.Append(it)
	}
	return b, nil
}
