package engine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The shapes follow the OpenAPI description of Qdrant 1.17. What the engine never sends is left out, so it is refused.

// qdrantCondition returns the shape of a condition, which may be a filter.
func qdrantCondition() any { return qdrantConditions }

var qdrantConditions either

func init() {
	field := func(name string, shape any) object { return object{"key": text, name: shape} }
	conditions := list{qdrantCondition}
	qdrantConditions = either{
		field("match", object{"any": list{text}}),
		field("range", object{"lt?": number, "lte?": number, "gt?": number, "gte?": number}),
		object{"is_empty": object{"key": text}},
		object{"has_id": list{either{integer, text}}},
		object{"must": conditions}, object{"must_not": conditions}, object{"should": conditions},
	}
}

var (
	qdrantCreation = object{
		"vectors":             object{"size": integer, "distance": one{"Dot", "Cosine", "Euclid", "Manhattan"}, "on_disk?": boolean},
		"quantization_config": object{"binary": object{"always_ram?": boolean}},
		"metadata":            named{named{either{integer, text}}},
	}
	qdrantIndexing = object{"field_name": text, "field_schema": one{"keyword", "integer", "float", "bool"}}
	qdrantUpsert   = object{"points": list{object{
		"id": either{integer, text}, "vector": list{number}, "payload": object{
			"id": text, "id_number?": integer, "label?": text, "tags?": list{text}, "attributes?": named{either{number, text}},
		},
	}}}
	qdrantQuery = object{
		"query": list{number}, "limit": integer, "with_payload": either{boolean, list{text}}, "filter?": qdrantCondition,
		"params?":          object{"exact": boolean, "quantization": object{"ignore": boolean}},
		"score_threshold?": number,
	}
	qdrantScroll = object{
		"limit": integer, "with_payload": list{text}, "with_vector": boolean, "filter?": qdrantCondition,
		"offset?": either{integer, text},
	}
	qdrantRetrieve = object{"ids": list{either{integer, text}}, "with_payload": boolean, "with_vector": boolean}
)

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// qdrantFake is Qdrant in memory.
type qdrantFake struct {
	*fake
	version     string
	status      string // of a write; "" means completed
	collections map[string]*qdrantFakeCollection

	refuse func(id string) bool // answers 400 to a batch with such an item
}

type qdrantFakeCollection struct {
	body    map[string]any
	size    int
	indexes map[string]any
	points  map[string]*qdrantFakePoint
	sorted  []*qdrantFakePoint
	matches map[string][]*qdrantFakePoint // of filters, until something is written
}

type qdrantFakePoint struct {
	key     string // by which points are ordered: integers first
	id      any
	vector  []float64
	payload map[string]any
}

func newQdrantFake(t *testing.T) *qdrantFake {
	s := &qdrantFake{version: "1.17.0", collections: map[string]*qdrantFakeCollection{}}
	s.fake = newFake(t, s.answer)
	return s
}

// told returns a success as Qdrant writes it.
func told(result any) (int, any) {
	return 200, map[string]any{"result": result, "status": "ok", "time": 0.001}
}

// failure returns an error as Qdrant writes it.
func (s *qdrantFake) failure(status int, reason string) (int, any) {
	return status, map[string]any{"status": map[string]any{"error": reason}, "time": 0.001}
}

func (s *qdrantFake) answer(q asked) (int, any) {
	if q.method == "GET" && q.path == "/" {
		return 200, map[string]any{"title": "qdrant - vector search engine", "version": s.version}
	}
	rest, ok := strings.CutPrefix(q.path, "/collections/")
	if !ok {
		return s.wrong(q, "no such path")
	}
	if kind := q.header.Get("Content-Type"); kind != "" && kind != "application/json" {
		return s.wrong(q, "the content type %s", kind)
	}
	if q.header.Get("Api-Key") != "hunter2hunter2" {
		return s.wrong(q, "no key")
	}
	name, rest, _ := strings.Cut(rest, "/")
	parameters := map[string]string{"PUT points": "ordering=strong wait=true", "PUT index": "wait=true"}[q.method+" "+rest]
	var got []string
	for key, value := range q.query {
		got = append(got, key+"="+value)
	}
	if slices.Sort(got); strings.Join(got, " ") != parameters {
		return s.wrong(q, "the parameters %v", got)
	}
	shapes := map[string]any{
		"PUT ": qdrantCreation, "PUT index": qdrantIndexing, "PUT points": qdrantUpsert, "POST points": qdrantRetrieve,
		"POST points/query": qdrantQuery, "POST points/query/batch": object{"searches": list{qdrantQuery}},
		"POST points/scroll": qdrantScroll, "POST points/count": object{"exact": boolean}, "GET ": nil,
	}
	shape, known := shapes[q.method+" "+rest]
	if !known {
		return s.wrong(q, "no such path")
	}
	var body map[string]any
	if shape != nil {
		value, err := parse(q.body)
		if err == nil {
			err = fits(value, shape)
		}
		if err != nil {
			return s.wrong(q, "%v", err)
		}
		body = value.(map[string]any)
	}
	c := s.collections[name]
	if q.method == "PUT" && rest == "" {
		return s.create(q, name, body)
	}
	if c == nil {
		return s.failure(404, "Not found: Collection `"+name+"` doesn't exist!")
	}
	return s.operate(q, c, q.method+" "+rest, body)
}

func (s *qdrantFake) create(q asked, name string, body map[string]any) (int, any) {
	if s.collections[name] != nil {
		return s.failure(409, "Wrong input: Collection `"+name+"` already exists!")
	}
	size, _ := body["vectors"].(map[string]any)["size"].(json.Number).Int64()
	if size < 1 || size > 65536 {
		return s.wrong(q, "%d dimensions", size)
	}
	s.collections[name] = &qdrantFakeCollection{
		body: body, size: int(size), indexes: map[string]any{}, points: map[string]*qdrantFakePoint{},
	}
	return told(true)
}

func (s *qdrantFake) operate(q asked, c *qdrantFakeCollection, route string, body map[string]any) (int, any) {
	switch route {
	case "GET ":
		return told(map[string]any{
			"status": "green", "points_count": len(c.points), "payload_schema": c.indexes,
			"config": map[string]any{
				"params": map[string]any{"vectors": c.body["vectors"]}, "metadata": c.body["metadata"],
			},
		})
	case "PUT index":
		c.indexes[body["field_name"].(string)] = map[string]any{"data_type": body["field_schema"], "points": len(c.points)}
		return told(map[string]any{"operation_id": 1, "status": "completed"})
	case "PUT points":
		return s.upsert(q, c, body["points"].([]any))
	case "POST points/count":
		return told(map[string]any{"count": len(c.points)})
	case "POST points/query/batch":
		results := []any{}
		for _, search := range body["searches"].([]any) {
			found, err := c.search(search.(map[string]any))
			if err != nil {
				return s.wrong(q, "%v", err)
			}
			results = append(results, found)
		}
		return told(results)
	case "POST points/query":
		found, err := c.search(body)
		if err != nil {
			return s.wrong(q, "%v", err)
		}
		return told(found)
	case "POST points/scroll":
		return s.scroll(q, c, body)
	}
	list := []any{} // POST points
	for _, id := range body["ids"].([]any) {
		if p := c.points[fmt.Sprint(id)]; p != nil {
			list = append(list, map[string]any{"id": p.id, "vector": p.vector, "payload": p.payload})
		}
	}
	slices.Reverse(list) // there is no promise about the order
	return told(list)
}

func (s *qdrantFake) upsert(q asked, c *qdrantFakeCollection, points []any) (int, any) {
	for _, v := range points {
		if id := v.(map[string]any)["payload"].(map[string]any)["id"].(string); s.refuse != nil && s.refuse(id) {
			return s.failure(400, "Wrong input: the point of "+id+" is not welcome")
		}
	}
	for _, v := range points {
		fields := v.(map[string]any)
		p := &qdrantFakePoint{id: fields["id"], payload: fields["payload"].(map[string]any)}
		switch id := p.id.(type) {
		case json.Number:
			if n, err := id.Int64(); err != nil || n < 0 {
				return s.wrong(q, "the id %s", id)
			}
			p.key = fmt.Sprintf("0%20s", id)
		case string:
			if p.key = "1" + id; !uuidForm.MatchString(id) {
				return s.wrong(q, "the id %s", id)
			}
		}
		for _, x := range fields["vector"].([]any) {
			number, _ := x.(json.Number).Float64()
			p.vector = append(p.vector, number)
		}
		if len(p.vector) != c.size {
			return s.wrong(q, "a vector of %d numbers where there are %d", len(p.vector), c.size)
		}
		c.points[fmt.Sprint(p.id)] = p
	}
	c.sorted, c.matches = nil, map[string][]*qdrantFakePoint{}
	for _, p := range c.points {
		c.sorted = append(c.sorted, p)
	}
	slices.SortFunc(c.sorted, func(a, b *qdrantFakePoint) int { return cmp.Compare(a.key, b.key) })
	return told(map[string]any{"operation_id": 1, "status": cmp.Or(s.status, "completed")})
}

func (s *qdrantFake) scroll(q asked, c *qdrantFakeCollection, body map[string]any) (int, any) {
	found, err := c.filtered(body["filter"])
	if err != nil {
		return s.wrong(q, "%v", err)
	}
	limit, _ := body["limit"].(json.Number).Int64()
	if offset := body["offset"]; offset != nil {
		start := c.points[fmt.Sprint(offset)]
		if start == nil {
			return s.wrong(q, "no point %v", offset)
		}
		for len(found) > 0 && found[0].key < start.key {
			found = found[1:]
		}
	}
	points, next := []any{}, any(nil)
	for i, p := range found {
		if i == int(limit) {
			next = p.id
			break
		}
		points = append(points, map[string]any{"id": p.id, "payload": map[string]any{"id": p.payload["id"]}})
	}
	return told(map[string]any{"points": points, "next_page_offset": next})
}

type qdrantFakeHit struct {
	ID      any            `json:"id"`
	Version int            `json:"version"`
	Score   float64        `json:"score"`
	Payload map[string]any `json:"payload"`
}

// search answers with hits by score; those of equal score come in an order of their own.
func (c *qdrantFakeCollection) search(body map[string]any) (any, error) {
	found, err := c.filtered(body["filter"])
	if err != nil {
		return nil, err
	}
	var query []float64
	for _, x := range body["query"].([]any) {
		number, _ := x.(json.Number).Float64()
		query = append(query, number)
	}
	if len(query) != c.size {
		return nil, fmt.Errorf("a query of %d numbers where there are %d", len(query), c.size)
	}
	hits := []qdrantFakeHit{}
	for _, p := range found {
		h := qdrantFakeHit{ID: p.id, Payload: map[string]any{"id": p.payload["id"]}}
		for i, x := range query {
			h.Score += x * p.vector[i]
		}
		if threshold, ok := body["score_threshold"].(json.Number); ok {
			if least, _ := threshold.Float64(); h.Score <= least {
				continue
			}
		}
		hits = append(hits, h)
	}
	slices.Reverse(hits)
	slices.SortStableFunc(hits, func(a, b qdrantFakeHit) int { return cmp.Compare(b.Score, a.Score) })
	limit, err := body["limit"].(json.Number).Int64()
	if err != nil || limit < 1 {
		return nil, fmt.Errorf("%d hits", limit)
	}
	return map[string]any{"points": hits[:min(len(hits), int(limit))]}, nil
}

// filtered returns the points that match a filter, in the order of their ids.
func (c *qdrantFakeCollection) filtered(filter any) ([]*qdrantFakePoint, error) {
	if filter == nil {
		return c.sorted, nil
	}
	key, _ := json.Marshal(filter)
	found, known := c.matches[string(key)]
	for _, p := range c.sorted {
		if known {
			break
		}
		ok, err := p.match(filter.(map[string]any))
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, p)
		}
	}
	if c.matches != nil {
		c.matches[string(key)] = found
	}
	return found, nil
}

// match evaluates a condition.
func (p *qdrantFakePoint) match(condition map[string]any) (bool, error) {
	for _, word := range []string{"must", "must_not", "should"} {
		parts, there := condition[word].([]any)
		if !there {
			continue
		}
		hits := 0
		for _, part := range parts {
			ok, err := p.match(part.(map[string]any))
			if err != nil {
				return false, err
			}
			if ok {
				hits++
			}
		}
		return map[string]bool{"must": hits == len(parts), "must_not": hits == 0, "should": hits > 0}[word], nil
	}
	if ids, ok := condition["has_id"].([]any); ok {
		return slices.ContainsFunc(ids, func(id any) bool { return fmt.Sprint(id) == fmt.Sprint(p.id) }), nil
	}
	if empty, ok := condition["is_empty"].(map[string]any); ok {
		values, err := p.values(empty["key"].(string))
		return len(values) == 0, err
	}
	values, err := p.values(condition["key"].(string))
	if err != nil {
		return false, err
	}
	if match, ok := condition["match"].(map[string]any); ok {
		return slices.ContainsFunc(values, func(v any) bool { return slices.Contains(match["any"].([]any), v) }), nil
	}
	return slices.ContainsFunc(values, func(v any) bool {
		digits, isNumber := v.(json.Number)
		x, _ := digits.Float64()
		for bound, w := range condition["range"].(map[string]any) {
			y, _ := w.(json.Number).Float64()
			isNumber = isNumber && map[string]bool{"lt": x < y, "lte": x <= y, "gt": x > y, "gte": x >= y}[bound]
		}
		return isNumber
	}), nil
}

// pathForm is how Qdrant reads the path of a key, for those that there are.
var pathForm = regexp.MustCompile(`^([\pL\pN_-]+)(?:\.(?:([\pL\pN_-]+)|"([^"\\]*)"))?$`)

// values returns the values under a key.
func (p *qdrantFakePoint) values(key string) ([]any, error) {
	parts := pathForm.FindStringSubmatch(key)
	if parts == nil {
		return nil, fmt.Errorf("%s is no path", key)
	}
	value := p.payload[parts[1]]
	if len(parts[0]) > len(parts[1]) {
		fields, _ := value.(map[string]any)
		value = fields[parts[2]+parts[3]]
	}
	switch v := value.(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	}
	return []any{value}, nil
}
