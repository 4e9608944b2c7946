package engine_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fakeVespa answers as Vespa 8 does, by its references of document/v1, of the query API and of YQL, as far as the engine
// needs them. It has an application with the schemas of a plan.
type fakeVespa struct {
	*fake
	table   string
	bytes   int // of a code in the schema; 0 means that nothing is deployed
	record  map[string]any
	items   fakeItems
	refused []string
	partly  bool // searches look at a part of the documents
}

var (
	vespaItemShape = object{"put?": text, "fields": object{
		"key": text, "code": object{"values": text}, "label?": text, "tags?": list{text}, "attributes?": text,
		"terms?": list{text},
	}}
	vespaRecordShape = object{"fields": object{"bits": integer, "fingerprint": text, "identity": text}}
	vespaQueryShape  = object{
		"yql": text, "hits": integer, "timeout?": text, "ranking": one{"unranked", "hamming"},
		"ranking.softtimeout.enable?": boolean, "input.query(q)?": text,
	}
)

func newFakeVespa(t *testing.T, bits int) *fakeVespa {
	v := &fakeVespa{items: fakeItems{}, table: "items", bytes: (bits + 7) / 8}
	v.fake = newFake(t, v.answer)
	return v
}

func (v *fakeVespa) answer(q asked) (int, any) {
	records := "/document/v1/hashgrove/hashgrove_tables/docid/" + v.table
	items := "/document/v1/hashgrove/" + v.table + "/docid"
	if strings.HasPrefix(q.path, "/document/v1/") && v.bytes == 0 {
		return 400, map[string]any{"pathId": q.path, "message": "Document type does not exist"}
	}
	switch {
	case q.method == "GET" && q.path == records && len(q.query) == 0:
		if v.record == nil {
			return 404, map[string]any{"pathId": q.path, "id": "id:hashgrove:hashgrove_tables::" + v.table}
		}
		return 200, map[string]any{"pathId": q.path, "fields": v.record}
	case q.method == "GET" && q.path == items:
		return v.visit(q)
	case q.method != "POST" || len(q.query) > 0 || q.header.Get("Content-Type") != "application/json":
		return v.wrong(q, "no such operation")
	}
	shape := any(vespaItemShape)
	switch {
	case q.path == records:
		shape = vespaRecordShape
	case q.path == "/search/":
		shape = vespaQueryShape
	case !strings.HasPrefix(q.path, items+"/"):
		return v.wrong(q, "no such operation")
	}
	value, err := parse(q.body)
	if err == nil {
		err = fits(value, shape)
	}
	if err != nil {
		return v.wrong(q, "the body does not fit: %v", err)
	}
	body := value.(map[string]any)
	switch q.path {
	case records:
		v.record = body["fields"].(map[string]any)
		return 200, map[string]any{"pathId": q.path}
	case "/search/":
		return v.search(q, body)
	}
	return v.put(q, strings.TrimPrefix(q.path, items+"/"), body)
}

func (v *fakeVespa) put(q asked, name string, body map[string]any) (int, any) {
	fields := body["fields"].(map[string]any)
	it := fakeItem{key: fields["key"].(string), tags: texts(fields["tags"]), terms: texts(fields["terms"])}
	it.label, _ = fields["label"].(string)
	it.attributes, _ = fields["attributes"].(string)
	code, err := hex.DecodeString(fields["code"].(map[string]any)["values"].(string))
	id, unescaped := url.PathUnescape(name)
	if err != nil || len(code) != v.bytes || unescaped != nil || id != it.key || strings.Contains(name, "/") ||
		body["put"] != "id:hashgrove:"+v.table+"::"+id {
		return v.wrong(q, "a code of %d bytes, or another id than %q: %v %v", len(code), it.key, err, unescaped)
	}
	if slices.Contains(v.refused, it.key) {
		return 400, map[string]any{"pathId": q.path, "message": "Error in document: it is not wanted"}
	}
	it.code = code
	v.items[it.key] = it
	return 200, map[string]any{"pathId": q.path, "id": body["put"]}
}

// fields are those of an item in answers.
func (v *fakeVespa) fields(it fakeItem) map[string]any {
	cells := make([]int8, len(it.code))
	for i, b := range it.code {
		cells[i] = int8(b)
	}
	f := map[string]any{"key": it.key, "code": map[string]any{
		"type": fmt.Sprintf("tensor<int8>(x[%d])", v.bytes), "values": cells,
	}}
	if it.label != "" {
		f["label"] = it.label
	}
	if it.tags != nil {
		f["tags"] = it.tags
	}
	if it.attributes != "" {
		f["attributes"] = it.attributes
	}
	return f
}

// visit answers in pieces of 64 documents, whatever is wanted, and with an empty one now and then.
func (v *fakeVespa) visit(q asked) (int, any) {
	if q.query["fieldSet"] != v.table+":key,code,label,tags,attributes" || q.query["wantedDocumentCount"] != "500" ||
		len(q.query) > 3 {
		return v.wrong(q, "a visit with other parameters")
	}
	at := 0
	if token := q.query["continuation"]; token != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(token, "AAA="))
		if err != nil {
			return v.wrong(q, "no token of ours")
		}
		at = n
	}
	all := v.items.ordered(func(fakeItem) bool { return true })
	documents := []any{}
	end := min(at/2*64+64, len(all))
	if at%2 == 1 {
		for _, it := range all[min(at/2*64, len(all)):end] {
			documents = append(documents, map[string]any{
				"id": "id:hashgrove:" + v.table + "::" + it.key, "fields": v.fields(it),
			})
		}
	}
	answer := map[string]any{"pathId": q.path, "documents": documents, "documentCount": len(documents)}
	if at%2 == 0 || end < len(all) {
		answer["continuation"] = fmt.Sprintf("AAA=%d", at+1)
	}
	return 200, answer
}

var yqlForm = regexp.MustCompile(`^select (key|key, code, label, tags, attributes) from sources (\w+) where (.*)$`)

func (v *fakeVespa) search(q asked, body map[string]any) (int, any) {
	m := yqlForm.FindStringSubmatch(body["yql"].(string))
	if m == nil {
		return v.wrong(q, "the YQL cannot be read")
	}
	if m[2] != v.table || v.bytes == 0 {
		return 400, map[string]any{"root": map[string]any{"errors": []any{map[string]any{
			"code": 4, "summary": "Invalid query parameter", "message": m[2] + " is not a known schema",
		}}}}
	}
	p := &yqlParser{rest: m[3]}
	match, err := p.either()
	if err != nil || strings.TrimSpace(p.rest) != "" {
		return v.wrong(q, "the condition cannot be read: %v before %q", err, p.rest)
	}
	hits, _ := strconv.Atoi(string(body["hits"].(json.Number)))
	if hits > 10000 || body["ranking.softtimeout.enable"] != false {
		return v.wrong(q, "%d hits", hits)
	}
	input, ranked := body["input.query(q)"].(string)
	found := v.items.ordered(match)
	total := len(found)
	var code []byte
	if ranked != (p.target > 0) || ranked != (body["ranking"] == "hamming") {
		return v.wrong(q, "a query without its tensor, or the other way round")
	}
	if ranked {
		for _, cell := range strings.Split(strings.Trim(input, "[]"), ",") {
			x, err := strconv.ParseInt(cell, 10, 8)
			if err != nil {
				return v.wrong(q, "%v", err)
			}
			code = append(code, byte(x))
		}
		if len(code) != v.bytes { // Vespa would convert it, or not: 400 either way
			return 400, map[string]any{"root": map[string]any{"errors": []any{map[string]any{
				"code": 3, "summary": "Illegal query", "message": "expected a tensor of the type of query(q)",
			}}}}
		}
		found = v.items.nearest(code, p.target, match)
		total = len(found)
	}
	children := []any{}
	for _, it := range found[:min(hits, len(found))] {
		f := map[string]any{"key": it.key}
		if strings.Contains(m[1], "code") {
			f = v.fields(it)
		}
		if ranked {
			f["matchfeatures"] = map[string]any{"distance(field,code)": float64(fakeDistance(it.code, code))}
		}
		children = append(children, map[string]any{"id": "index:content/0/1", "relevance": 0.5, "fields": f})
	}
	return 200, map[string]any{"root": map[string]any{
		"id": "toplevel", "fields": map[string]any{"totalCount": total}, "children": children,
		"coverage": map[string]any{"coverage": 100, "documents": len(v.items), "full": !v.partly, "nodes": 1},
	}}
}

// yqlParser reads the conditions that are needed.
type yqlParser struct {
	rest   string
	target int // hits of nearestNeighbor
}

var (
	yqlNear = regexp.MustCompile(`^\{targetHits: (\d+), approximate: false\}nearestNeighbor\(code, q\)`)
	yqlIn   = regexp.MustCompile(`^terms in \(("[0-9a-f]{32}"(?:, "[0-9a-f]{32}")*)\)`)
)

// take takes a piece of text if it is the next.
func (p *yqlParser) take(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " "), text)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *yqlParser) either() (func(fakeItem) bool, error) {
	match, err := p.both()
	for err == nil && p.take("or ") {
		var next func(fakeItem) bool
		first := match
		next, err = p.both()
		match = func(it fakeItem) bool { return first(it) || next(it) }
	}
	return match, err
}

// both reads conditions with and between them; a negation may only stand behind another one.
func (p *yqlParser) both() (func(fakeItem) bool, error) {
	match, err := p.condition()
	for err == nil && p.take("and ") {
		var next func(fakeItem) bool
		first, negated := match, p.take("!")
		next, err = p.condition()
		match = func(it fakeItem) bool { return first(it) && next(it) != negated }
	}
	return match, err
}

func (p *yqlParser) condition() (func(fakeItem) bool, error) {
	p.rest = strings.TrimLeft(p.rest, " ")
	if m := yqlNear.FindStringSubmatch(p.rest); m != nil {
		p.target, _ = strconv.Atoi(m[1])
		p.rest = p.rest[len(m[0]):]
		return func(fakeItem) bool { return true }, nil
	}
	if m := yqlIn.FindStringSubmatch(p.rest); m != nil {
		p.rest = p.rest[len(m[0]):]
		list := strings.Split(strings.ReplaceAll(m[1], `"`, ""), ", ")
		return func(it fakeItem) bool { return it.hasAny(list...) }, nil
	}
	if p.take("true") {
		return func(fakeItem) bool { return true }, nil
	}
	if !p.take("(") {
		return nil, fmt.Errorf("no condition")
	}
	match, err := p.either()
	if err == nil && !p.take(")") {
		err = fmt.Errorf("a bracket is missing")
	}
	return match, err
}
