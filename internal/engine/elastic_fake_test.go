package engine_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
)

// The shapes follow the published descriptions of the REST interface: the API specification of OpenSearch 2.16 and that
// of Elasticsearch 9. What the engine never sends is left out, so it is refused.

// elasticQuery returns the part of the query language that filters use.
func elasticQuery() any { return elasticQueries }

var elasticQueries either

func init() {
	self := elasticQuery
	elasticQueries = either{
		object{"match_all": object{}}, object{"match_none": object{}},
		object{"exists": object{"field": text}},
		object{"term": single{either{text, number}}}, object{"prefix": single{text}},
		object{"terms": single{list{either{text, number}}}},
		object{"range": single{object{
			"lt?": either{text, number}, "lte?": either{text, number}, "gt?": either{text, number}, "gte?": either{text, number},
		}}},
		object{"nested": object{"path": text, "query": self}},
		object{"bool": object{
			"filter?": list{self}, "must_not?": list{self}, "should?": list{self}, "minimum_should_match?": integer,
		}},
	}
}

// elasticSearch is the body of a search.
var elasticSearch = object{
	"size": integer, "track_total_hits": boolean, "_source": either{boolean, list{text}},
	"sort": list{single{object{"order": one{"asc", "desc"}}}}, "search_after?": list{either{text, number}},
	"pit?": object{"id": text, "keep_alive": text},
	"query": either{elasticQuery, object{"script_score": object{
		"query": elasticQuery, "min_score?": number,
		"script": object{"source": text, "params": object{"bits": integer, "code": list{integer}}},
	}}},
}

// elasticGraphSearch are the approximate searches that a plan prints.
var elasticGraphSearch = map[bool]object{
	true:  {"query": object{"knn": single{object{"vector": list{integer}, "k": integer}}}},
	false: {"knn": object{"field": text, "query_vector": list{integer}, "k": integer, "num_candidates": integer}},
}

// elasticCode is the mapping of the code.
var elasticCode = map[bool]object{
	true: {"type": one{"knn_vector"}, "data_type": one{"binary"}, "dimension": integer,
		"method": object{"name": one{"hnsw", "ivf"}, "engine": one{"faiss"}, "space_type": one{"hamming"}}},
	false: {"type": one{"dense_vector"}, "element_type": one{"bit"}, "dims": integer, "index": boolean,
		"similarity": one{"l2_norm"}, "index_options": object{"type": one{"hnsw", "flat"}}},
}

// elasticCreation returns the body that creates an index.
func elasticCreation(open bool) object {
	plain := object{
		"type": one{"keyword", "double", "long"}, "index?": boolean, "doc_values?": boolean,
	}
	shape := object{"mappings": object{
		"dynamic": one{"strict"}, "_meta": named{named{either{integer, text}}},
		"properties": named{either{plain, elasticCode[open], object{
			"type": one{"nested"}, "dynamic": one{"strict"}, "properties": named{plain},
		}}},
	}}
	if open {
		shape["settings"] = object{"index": object{"knn": boolean}}
	}
	return shape
}

// elasticFake is OpenSearch or Elasticsearch in memory.
type elasticFake struct {
	*fake
	open    bool
	version string
	indexes map[string]*elasticFakeIndex
	points  map[string]*elasticFakeIndex // in time
	made    int

	// refuse, where it is set, is the status and type of the error of an item.
	refuse func(id string) (int, string)
}

type elasticFakeIndex struct {
	uuid     string
	body     map[string]any
	fields   map[string]string // types by path
	length   int               // bytes of a code
	docs     map[string]*elasticDoc
	searched []*elasticDoc            // what searches see, by id_order
	matches  map[string][]*elasticDoc // of queries, until the next refresh
}

type elasticDoc struct {
	id, order string
	source    map[string]any
	code      []byte
}

func newElasticFake(t *testing.T, open bool) *elasticFake {
	s := &elasticFake{
		open: open, version: "9.1.0", indexes: map[string]*elasticFakeIndex{}, points: map[string]*elasticFakeIndex{},
	}
	if open {
		s.version = "3.1.0"
	}
	s.fake = newFake(t, s.answer)
	return s
}

// failed returns an error as the services write it.
func failed(status int, kind, reason string) (int, any) {
	return status, map[string]any{"status": status, "error": map[string]any{"type": kind, "reason": reason}}
}

func (s *elasticFake) answer(q asked) (int, any) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(q.path, "/"), "/")
	x := s.indexes[name]
	for key, value := range q.query {
		if key != "keep_alive" || value != "5m" {
			return s.wrong(q, "the parameter %s=%s", key, value)
		}
	}
	ndjson := rest == "_bulk" || rest == "_msearch"
	if kind := q.header.Get("Content-Type"); kind != "" && (kind == "application/x-ndjson") != ndjson {
		return s.wrong(q, "the content type %s", kind)
	}
	pit, ended := "_pit", "_pit"
	if s.open {
		pit, ended = "_search/point_in_time", "_search/point_in_time"
	}
	switch route := q.method + " " + rest; {
	case q.method == "GET" && q.path == "/":
		version := map[string]any{"number": s.version, "build_type": "tar"}
		if s.open {
			version["distribution"] = "opensearch"
		}
		return 200, map[string]any{"name": "n", "cluster_name": "c", "version": version}
	case q.path == "/_search" && q.method == "POST":
		return s.searchPoint(q)
	case q.path == "/"+ended && q.method == "DELETE":
		return s.closePoint(q)
	case strings.HasPrefix(name, "_"):
		return s.wrong(q, "no such path")
	case route == "PUT ":
		return s.create(q, name)
	case x == nil && (route == "GET " || rest == "_refresh" || rest == "_count"):
		return failed(404, "index_not_found_exception", "no such index ["+name+"]")
	case x == nil:
		return s.wrong(q, "no such index")
	case route == "GET ":
		return 200, map[string]any{name: map[string]any{
			"aliases": map[string]any{}, "mappings": x.body["mappings"],
			"settings": map[string]any{"index": map[string]any{"uuid": x.uuid, "number_of_shards": "1"}},
		}}
	case route == "POST _refresh":
		x.refresh()
		return 200, map[string]any{"_shards": map[string]any{"total": 2, "successful": 1, "failed": 0}}
	case route == "GET _count":
		return 200, map[string]any{"count": len(x.searched), "_shards": map[string]any{"failed": 0}}
	case route == "POST _bulk":
		return s.bulk(q, x)
	case route == "POST _msearch":
		return s.searches(q, x)
	case route == "POST _search":
		return s.search(q, x, q.body)
	case route == "POST "+pit:
		s.made++
		id := fmt.Sprintf("point-%d", s.made)
		seen := *x
		s.points[id] = &seen
		return 200, map[string]any{map[bool]string{true: "pit_id", false: "id"}[s.open]: id}
	}
	return s.wrong(q, "no such path")
}

func (s *elasticFake) create(q asked, name string) (int, any) {
	if s.indexes[name] != nil {
		return failed(400, "resource_already_exists_exception", "index ["+name+"] already exists")
	}
	value, err := parse(q.body)
	if err == nil {
		err = fits(value, elasticCreation(s.open))
	}
	if err != nil {
		return s.wrong(q, "%v", err)
	}
	s.made++
	x := &elasticFakeIndex{
		uuid: fmt.Sprintf("uuid-%d", s.made), body: value.(map[string]any), fields: map[string]string{},
		docs: map[string]*elasticDoc{}, matches: map[string][]*elasticDoc{},
	}
	x.mapFields("", x.body["mappings"].(map[string]any)["properties"].(map[string]any))
	if x.length == 0 {
		return s.wrong(q, "the dimension is no multiple of 8")
	}
	s.indexes[name] = x
	return 200, map[string]any{"acknowledged": true, "shards_acknowledged": true, "index": name}
}

func (x *elasticFakeIndex) mapFields(prefix string, properties map[string]any) {
	for name, v := range properties {
		mapping := v.(map[string]any)
		x.fields[prefix+name] = mapping["type"].(string)
		if mapping["index"] == false {
			x.fields[prefix+name] = "unsearchable"
		}
		for _, key := range []string{"dims", "dimension"} {
			if digits, ok := mapping[key].(json.Number); ok {
				if n, _ := digits.Int64(); n%8 == 0 {
					x.length = int(n / 8)
				}
			}
		}
		if inner, ok := mapping["properties"].(map[string]any); ok {
			x.mapFields(prefix+name+".", inner)
		}
	}
}

// refresh lets searches see the documents.
func (x *elasticFakeIndex) refresh() {
	x.searched, x.matches = nil, map[string][]*elasticDoc{}
	for _, d := range x.docs {
		x.searched = append(x.searched, d)
	}
	slices.SortFunc(x.searched, func(a, b *elasticDoc) int { return cmp.Compare(a.order, b.order) })
}

// lines splits NDJSON, whose last line ends too.
func lines(body []byte) ([][]byte, error) {
	rest, ended := bytes.CutSuffix(body, []byte("\n"))
	if !ended {
		return nil, fmt.Errorf("the last line does not end")
	}
	split := bytes.Split(rest, []byte("\n"))
	if len(split)%2 != 0 {
		return nil, fmt.Errorf("%d lines are no pairs", len(split))
	}
	return split, nil
}

func (s *elasticFake) bulk(q asked, x *elasticFakeIndex) (int, any) {
	split, err := lines(q.body)
	if err != nil {
		return s.wrong(q, "%v", err)
	}
	items, failures := []any{}, false
	for i := 0; i < len(split); i += 2 {
		action, err := parse(split[i])
		if err == nil {
			err = fits(action, object{"index": object{"_id": text}})
		}
		if err != nil {
			return s.wrong(q, "line %d: %v", i, err)
		}
		id := action.(map[string]any)["index"].(map[string]any)["_id"].(string)
		if len(id) > 512 || id == "" {
			return s.wrong(q, "an id of %d bytes", len(id))
		}
		item := map[string]any{"_id": id, "status": 201}
		if s.refuse != nil {
			if status, kind := s.refuse(id); status != 0 {
				item["status"], failures = status, true
				item["error"] = map[string]any{"type": kind, "reason": "failed to parse"}
				items = append(items, map[string]any{"index": item})
				continue
			}
		}
		d, err := x.parse(split[i+1])
		if err != nil {
			return s.wrong(q, "document %q: %v", id, err)
		}
		if d.id = id; d.source["id"] != id {
			return s.wrong(q, "the document of %q says that it is %v", id, d.source["id"])
		}
		x.docs[id] = d
		items = append(items, map[string]any{"index": item})
	}
	return 200, map[string]any{"took": 1, "errors": failures, "items": items}
}

// parse checks a document against the mapping.
func (x *elasticFakeIndex) parse(body []byte) (*elasticDoc, error) {
	value, err := parse(body)
	if err == nil {
		err = fits(value, object{
			"id": text, "id_order": text, "code": list{integer}, "hex": text, "label?": text, "tags?": list{text},
			"attributes?": list{either{object{"name": text, "text": text}, object{"name": text, "number": number}}},
		})
	}
	if err != nil {
		return nil, err
	}
	d := &elasticDoc{source: value.(map[string]any)}
	d.order = d.source["id_order"].(string)
	for _, v := range d.source["code"].([]any) {
		n, _ := v.(json.Number).Int64()
		if n < -128 || n > 127 {
			return nil, fmt.Errorf("%d is no signed byte", n)
		}
		d.code = append(d.code, byte(n))
	}
	if len(d.code) != x.length {
		return nil, fmt.Errorf("a code of %d bytes where there are %d", len(d.code), x.length)
	}
	for name := range d.source {
		if x.fields[name] == "" {
			return nil, fmt.Errorf("mapping set to strict, dynamic introduction of [%s]", name)
		}
		if s, ok := d.source[name].(string); ok && len(s) > 32766 {
			return nil, fmt.Errorf("immense term in %s", name)
		}
	}
	return d, nil
}

func (s *elasticFake) searches(q asked, x *elasticFakeIndex) (int, any) {
	split, err := lines(q.body)
	if err != nil {
		return s.wrong(q, "%v", err)
	}
	responses := []any{}
	for i := 0; i < len(split); i += 2 {
		if string(split[i]) != "{}" {
			return s.wrong(q, "the header %s", split[i])
		}
		status, answer := s.search(q, x, split[i+1])
		if status != 200 {
			return status, answer
		}
		responses = append(responses, answer)
	}
	return 200, map[string]any{"took": 1, "responses": responses}
}

func (s *elasticFake) searchPoint(q asked) (int, any) {
	value, err := parse(q.body)
	if err == nil {
		err = fits(value, elasticSearch)
	}
	if err != nil {
		return s.wrong(q, "%v", err)
	}
	pit, _ := value.(map[string]any)["pit"].(map[string]any)
	id, _ := pit["id"].(string)
	x := s.points[id]
	if x == nil {
		return s.wrong(q, "no such point in time")
	}
	delete(s.points, id) // the id of a point in time may change
	id += "'"
	s.points[id] = x
	status, answer := s.search(q, x, q.body)
	if fields, ok := answer.(map[string]any); ok {
		fields["pit_id"] = id
	}
	return status, answer
}

func (s *elasticFake) closePoint(q asked) (int, any) {
	shape := object{"id": text}
	if s.open {
		shape = object{"pit_id": list{text}}
	}
	value, err := parse(q.body)
	if err == nil {
		err = fits(value, shape)
	}
	if err != nil {
		return s.wrong(q, "%v", err)
	}
	id, ok := value.(map[string]any)["id"].(string)
	if !ok {
		id = value.(map[string]any)["pit_id"].([]any)[0].(string)
	}
	if s.points[id] == nil {
		return failed(404, "search_context_missing_exception", "no such point in time")
	}
	delete(s.points, id)
	return 200, map[string]any{"succeeded": true}
}

// search answers one search.
func (s *elasticFake) search(q asked, x *elasticFakeIndex, body []byte) (int, any) {
	value, err := parse(body)
	if err == nil {
		if fits(value, elasticGraphSearch[s.open]) == nil { // nearly exact, here exactly
			return 200, map[string]any{"hits": map[string]any{"hits": []any{}}}
		}
		err = fits(value, elasticSearch)
	}
	if err != nil {
		return s.wrong(q, "%v", err)
	}
	search := value.(map[string]any)
	if (search["pit"] != nil) != (q.path == "/_search") {
		return s.wrong(q, "a point in time and an index")
	}
	size, _ := search["size"].(json.Number).Int64()
	if size > 10000 || size < 0 {
		return s.wrong(q, "%d hits, and 10000 are allowed", size)
	}
	hits, err := s.rank(x, search, int(size))
	if err != nil {
		return s.wrong(q, "%v", err)
	}
	for i, h := range hits {
		names, _ := search["_source"].([]any)
		for _, name := range names {
			if v, there := h.doc.source[name.(string)]; there {
				if hits[i].Source == nil {
					hits[i].Source = map[string]any{}
				}
				hits[i].Source[name.(string)] = v
			}
		}
	}
	return 200, map[string]any{
		"took": 1, "timed_out": false, "_shards": map[string]any{"total": 1, "failed": 0}, "hits": map[string]any{"hits": hits},
	}
}

type elasticHit struct {
	doc    *elasticDoc
	points int

	Index  string         `json:"_index"`
	ID     string         `json:"_id"`
	Score  *float64       `json:"_score"`
	Source map[string]any `json:"_source,omitempty"`
	Sort   []any          `json:"sort"`
}

// isAfter reports whether a hit comes after sort values.
func (h elasticHit) isAfter(values []any) bool {
	if len(h.Sort) == 2 {
		score, _ := values[0].(json.Number).Float64()
		if c := cmp.Compare(score, float64(h.points)); c != 0 {
			return c > 0
		}
	}
	return h.doc.order > values[len(values)-1].(string)
}

// rank returns hits in their order.
func (s *elasticFake) rank(x *elasticFakeIndex, search map[string]any, size int) ([]elasticHit, error) {
	after, _ := search["search_after"].([]any)
	query := search["query"].(map[string]any)
	score := func(*elasticDoc) (int, error) { return 1, nil }
	least := 0.0
	if script, ok := query["script_score"].(map[string]any); ok {
		query = script["query"].(map[string]any)
		if n, ok := script["min_score"].(json.Number); ok {
			least, _ = n.Float64()
		}
		var err error
		if score, err = s.script(x, script["script"].(map[string]any)); err != nil {
			return nil, err
		}
	}
	key, _ := json.Marshal(query)
	found, known := x.matches[string(key)]
	if !known {
		for _, d := range x.searched {
			matches, err := x.match(query, d.source, "")
			if err != nil {
				return nil, err
			}
			if matches {
				found = append(found, d)
			}
		}
		x.matches[string(key)] = found
	}
	byScore := fmt.Sprint(search["sort"]) == "[map[_score:map[order:desc]] map[id_order:map[order:asc]]]"
	if !byScore && fmt.Sprint(search["sort"]) != "[map[id_order:map[order:asc]]]" {
		return nil, fmt.Errorf("sorted by %v", search["sort"])
	}
	byPoints := make([][]*elasticDoc, 8*x.length+1)
	for _, d := range found { // in the order of ids
		points, err := score(d)
		if err != nil {
			return nil, err
		}
		if float64(points) >= least {
			byPoints[points] = append(byPoints[points], d)
		}
	}
	var hits []elasticHit
	for points := range slices.Backward(byPoints) {
		sort := []any{}
		if byScore {
			sort = append(sort, json.Number(fmt.Sprintf("%d.0", points)))
		}
		for _, d := range byPoints[points] {
			h := elasticHit{doc: d, points: points, Index: "x", ID: d.id, Sort: append(slices.Clip(sort), d.order)}
			if after == nil || h.isAfter(after) {
				if hits = append(hits, h); len(hits) == size {
					return hits, nil
				}
			}
		}
	}
	return hits, nil
}

// script parses the only script in use, in the language of the service.
func (s *elasticFake) script(x *elasticFakeIndex, script map[string]any) (func(*elasticDoc) (int, error), error) {
	want := "params.bits - hamming(params.code, 'code')"
	if s.open {
		want = "params.bits - hamming(params.code, doc['code'])"
	}
	if script["source"] != want {
		return nil, fmt.Errorf("the script %s", script["source"])
	}
	params := script["params"].(map[string]any)
	most, _ := params["bits"].(json.Number).Int64()
	var code []byte
	for _, v := range params["code"].([]any) {
		n, _ := v.(json.Number).Int64()
		if n < -128 || n > 127 {
			return nil, fmt.Errorf("%d is no signed byte", n)
		}
		code = append(code, byte(n))
	}
	if len(code) != x.length {
		return nil, fmt.Errorf("a code of %d bytes where there are %d", len(code), x.length)
	}
	return func(d *elasticDoc) (int, error) {
		points := int(most)
		for i, b := range d.code {
			points -= bits.OnesCount8(b ^ code[i])
		}
		if points < 0 {
			return 0, fmt.Errorf("script_score returned a negative score %d", points)
		}
		return points, nil
	}, nil
}
