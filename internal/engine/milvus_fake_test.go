package engine_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fakeMilvus answers as Milvus 2.6 does, whose requests are in internal/distributed/proxy/httpserver of its repository
// and whose filters are in internal/parser/planparserv2/Plan.g4, to the extent the engine needs them.
type fakeMilvus struct {
	*fake
	native  bool           // arrays and documents as version 3 writes them
	random  bool           // a query with a limit answers with any entities
	created map[string]any // the request; nil means none
	made    int
	loaded  bool
	items   fakeItems
	refused []string
}

// milvusShapes are the bodies of requests, less collectionName and dbName, which all have.
var milvusShapes = map[string]object{
	"collections/create": {
		"description?": text, "params?": object{"consistencyLevel": one{"Strong"}},
		"schema": object{"autoID": boolean, "enableDynamicField": boolean, "fields": list{object{
			"fieldName": text, "dataType": one{"VarChar", "BinaryVector", "Array", "JSON"}, "isPrimary?": boolean,
			"elementDataType?": one{"VarChar"}, "elementTypeParams": object{
				"max_length?": text, "dim?": text, "max_capacity?": text,
			},
		}}},
		"indexParams": list{object{
			"fieldName": text, "indexName": text, "metricType": one{"HAMMING"}, "indexType": one{"BIN_FLAT"},
		}},
	},
	"collections/describe": {},
	"collections/load":     {},
	"indexes/describe":     {"indexName": text},
	"entities/upsert": {"data": list{object{
		"id": text, "code": text, "label": text, "tags": list{text}, "terms": list{text},
		"attributes": named{either{text, number}},
	}}},
	"entities/query": {
		"filter?": text, "outputFields": list{text}, "limit?": integer, "consistencyLevel": one{"Strong"},
	},
	"entities/search": {
		"data": list{text}, "annsField": one{"code"}, "limit": integer, "filter?": text, "outputFields": list{one{"id"}},
		"consistencyLevel": one{"Strong"},
	},
}

func newFakeMilvus(t *testing.T) *fakeMilvus {
	m := &fakeMilvus{items: fakeItems{}}
	m.fake = newFake(t, m.answer)
	return m
}

// says returns a failure with status 200, as Milvus does.
func (m *fakeMilvus) says(code int, message string) (int, any) {
	return 200, map[string]any{"code": code, "message": message}
}

func (m *fakeMilvus) answer(q asked) (int, any) {
	action, found := strings.CutPrefix(q.path, "/v2/vectordb/")
	shape, known := milvusShapes[action]
	if !found || !known || q.method != "POST" || len(q.query) > 0 || q.header.Get("Content-Type") != "application/json" {
		return m.wrong(q, "no such operation")
	}
	shape = maps.Clone(shape)
	shape["collectionName"], shape["dbName?"] = text, one{"default"}
	value, err := parse(q.body)
	if err == nil {
		err = fits(value, shape)
	}
	if err != nil {
		return m.wrong(q, "the body does not fit: %v", err)
	}
	body := value.(map[string]any)
	if action == "collections/create" {
		return m.create(q, body)
	}
	if m.created == nil || body["collectionName"] != m.created["collectionName"] {
		return m.says(100, "collection not found[collection="+body["collectionName"].(string)+"]")
	}
	switch action {
	case "collections/describe":
		return m.describe()
	case "collections/load":
		m.loaded = true
		return 200, map[string]any{"code": 0, "data": map[string]any{}}
	case "indexes/describe":
		return 200, map[string]any{"code": 0, "data": []any{map[string]any{
			"fieldName": "code", "indexName": "code", "indexType": "BIN_FLAT", "metricType": "HAMMING", "totalRows": 0,
		}}}
	case "entities/upsert":
		return m.upsert(q, body["data"].([]any))
	}
	if !m.loaded {
		return m.says(101, "collection not loaded")
	}
	match, err := parseMilvusFilter(body["filter"])
	if err != nil {
		return m.wrong(q, "the filter cannot be read: %v", err)
	}
	limit, _ := body["limit"].(json.Number)
	n, err := strconv.Atoi(string(limit))
	if limit != "" && (err != nil || n < 1 || n > 16384) {
		return m.wrong(q, "invalid max query result window: %v", limit)
	}
	if action == "entities/search" {
		return m.search(q, texts(body["data"]), n, match)
	}
	return m.query(q, texts(body["outputFields"]), n, match)
}

func (m *fakeMilvus) create(q asked, body map[string]any) (int, any) {
	var names []string
	for _, f := range body["schema"].(map[string]any)["fields"].([]any) {
		field := f.(map[string]any)
		params := field["elementTypeParams"].(map[string]any)
		length, _ := strconv.Atoi(fmt.Sprint(params["max_length"]))
		capacity, _ := strconv.Atoi(fmt.Sprint(params["max_capacity"]))
		dim, _ := strconv.Atoi(fmt.Sprint(params["dim"]))
		ok := true
		switch field["dataType"] {
		case "VarChar":
			ok = length > 0 && length <= 65535
		case "Array":
			ok = length > 0 && length <= 65535 && capacity > 0 && capacity <= 4096 && field["elementDataType"] != nil
		case "BinaryVector":
			ok = dim > 0 && dim%8 == 0
		}
		if !ok {
			return m.wrong(q, "the field %v cannot be", field)
		}
		names = append(names, field["fieldName"].(string))
	}
	if !slices.Equal(names, []string{"id", "code", "label", "tags", "attributes", "terms"}) {
		return m.wrong(q, "fields %v", names)
	}
	if m.created != nil {
		return m.says(65535, "create duplicate collection with different parameters")
	}
	m.created, m.loaded = body, false // it is loaded in the background
	m.made++
	return 200, map[string]any{"code": 0, "data": map[string]any{}}
}

func (m *fakeMilvus) describe() (int, any) {
	state := map[bool]string{true: "LoadStateLoaded", false: "LoadStateLoading"}[m.loaded]
	return 200, map[string]any{"code": 0, "message": "", "data": map[string]any{
		"collectionName": m.created["collectionName"], "collectionID": 450000000000000000 + int64(m.made), "load": state,
		"description": m.created["description"], "fields": []any{map[string]any{
			"name": "code", "type": "BinaryVector", "params": []any{map[string]any{"key": "dim", "value": m.dim()}},
		}},
	}}
}

// dim returns the length of a code.
func (m *fakeMilvus) dim() string {
	field := m.created["schema"].(map[string]any)["fields"].([]any)[1].(map[string]any)
	return field["elementTypeParams"].(map[string]any)["dim"].(string)
}

func (m *fakeMilvus) upsert(q asked, data []any) (int, any) {
	var items []fakeItem
	for _, e := range data {
		entity := e.(map[string]any)
		it := fakeItem{
			key: entity["id"].(string), label: entity["label"].(string), tags: texts(entity["tags"]),
			terms: texts(entity["terms"]), numbers: map[string]float64{},
		}
		var err error
		if it.code, err = base64.StdEncoding.DecodeString(entity["code"].(string)); err != nil || strconv.Itoa(8*len(it.code)) != m.dim() {
			return m.wrong(q, "a code of %d bytes, %v", len(it.code), err)
		}
		if slices.Contains(m.refused, it.key) {
			return m.says(1804, "fail to deal the insert data, error: the entity is not wanted")
		}
		if len(it.terms) > 4096 || slices.ContainsFunc(it.terms, func(t string) bool { return len(t) > 200 }) {
			return m.wrong(q, "terms of %q are too many or too long", it.key)
		}
		for name, v := range entity["attributes"].(map[string]any) {
			if digits, ok := v.(json.Number); ok {
				it.numbers[name], _ = digits.Float64()
			}
		}
		document, _ := json.Marshal(entity["attributes"])
		it.attributes = string(document)
		if slices.ContainsFunc(items, func(o fakeItem) bool { return o.key == it.key }) {
			return m.wrong(q, "%q is there twice", it.key)
		}
		items = append(items, it)
	}
	var ids []string
	for _, it := range items {
		m.items[it.key] = it
		ids = append(ids, it.key)
	}
	return 200, map[string]any{"code": 0, "cost": 0, "data": map[string]any{"upsertCount": len(ids), "upsertIds": ids}}
}

func (m *fakeMilvus) search(q asked, data []string, limit int, match func(fakeItem) bool) (int, any) {
	rows, counts := []any{}, []int{}
	for _, text := range data {
		code, err := base64.StdEncoding.DecodeString(text)
		if err != nil || strconv.Itoa(8*len(code)) != m.dim() {
			return m.wrong(q, "a code of %d bytes, %v", len(code), err)
		}
		found := m.items.nearest(code, limit, match)
		for _, it := range found {
			rows = append(rows, map[string]any{"id": it.key, "distance": float32(fakeDistance(it.code, code))})
		}
		counts = append(counts, len(found))
	}
	return 200, map[string]any{"code": 0, "cost": 0, "data": rows, "topks": counts}
}

func (m *fakeMilvus) query(q asked, fields []string, limit int, match func(fakeItem) bool) (int, any) {
	if slices.Equal(fields, []string{"count(*)"}) {
		if limit != 0 {
			return m.wrong(q, "count entities with pagination is not allowed")
		}
		return 200, map[string]any{"code": 0, "data": []any{map[string]any{"count(*)": len(m.items.ordered(match))}}}
	}
	if limit == 0 {
		limit = 100
	}
	found := m.items.ordered(match)
	if m.random {
		found = m.items.nearest(make([]byte, 8), limit, match)
	}
	rows := []any{}
	for _, it := range found[:min(limit, len(found))] {
		all := map[string]any{
			"id": it.key, "code": it.code, "label": it.label, "attributes": it.attributes,
			"tags": map[string]any{"Data": map[string]any{"StringData": map[string]any{"data": it.tags}}},
		}
		if m.native {
			all["tags"], all["attributes"] = append([]string{}, it.tags...), json.RawMessage(it.attributes)
		}
		row := map[string]any{}
		for _, f := range fields {
			if all[f] == nil {
				return m.wrong(q, "there is no field %q", f)
			}
			row[f] = all[f]
		}
		rows = append(rows, row)
	}
	return 200, map[string]any{"code": 0, "cost": 0, "data": rows}
}
