package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// OpenSearch 2.16 and Elasticsearch 8.15, or later. A table is an index whose documents are items by id. A search
// scores every document that matches the filter with bits - distance, an integer that a float32 represents exactly, and
// sorts by it and then by id_order, so it is exact. The graph in the mapping is for searches of your own.
//
//	id, id_order   the id, and a text that sorts bytewise like the ids
//	code, hex      bytes of the code, spread (shape.go) if it has detail, as a vector, and of the code itself in hex:
//	               newer versions omit vectors from responses
//	label, tags    keywords
//	attributes     nested documents with a name and a number or a text
//	_meta          of the mapping: bits and fingerprint
//
// A bulk request is not a transaction: after an error, some items of a batch may have been written. Documents are
// replaced by id, so sending the batch again is harmless and completes it.

// elastic is the engine for OpenSearch and Elasticsearch.
type elastic struct {
	*rest
	table string
	open  bool // is OpenSearch
	shape
	behind atomic.Bool // searches may not see what was written
}

// dsl is a part of a request.
type dsl = map[string]any

var openSearchDialect = dialect{
	name: "OpenSearch", variables: []string{"OPENSEARCH_PASSWORD"}, authorize: basic,
}

var elasticsearchDialect = dialect{
	name: "Elasticsearch", variables: []string{"ELASTIC_API_KEY", "ELASTIC_PASSWORD"},
	authorize: func(h http.Header, user, secret string) {
		if user == "" { // an API key needs no user
			h.Set("Authorization", "ApiKey "+secret)
			return
		}
		basic(h, user, secret)
	},
}

// basic authenticates with user and password.
func basic(h http.Header, user, secret string) {
	r := http.Request{Header: h}
	r.SetBasicAuth(user, secret)
}

func openElastic(t Target, d dialect) (Engine, error) {
	if strings.ToLower(t.Table) != t.Table || strings.ContainsAny(t.Table, "\\/*?\"<>| ,#:\x00") || len(t.Table) > 255 ||
		strings.ContainsAny(t.Table[:1], "-_+.") {
		return nil, fmt.Errorf("%q is not a valid index name: use lower case, without spaces and \\ / * ? \" < > | , "+
			"# : and not with - _ + or . in front", t.Table)
	}
	client, err := openRest(t, d)
	if err != nil {
		return nil, err
	}
	e := &elastic{rest: client, table: t.Table, open: d.name == openSearchDialect.name}
	e.behind.Store(true)
	return e, nil
}

// path returns a path below the index.
func (e *elastic) path(of string) string { return "/" + url.PathEscape(e.table) + of }

// width rounds a number of bits up to whole bytes.
func width(bits int) int { return (bits + 7) / 8 * 8 }

// creation is the request that creates the index.
func (e *elastic) creation(s Space) request {
	keyword := dsl{"type": "keyword"}
	code := dsl{"type": "dense_vector", "element_type": "bit", "dims": width(s.shape().wide()), "index": true,
		"similarity": "l2_norm", "index_options": dsl{"type": "hnsw"}}
	body := dsl{}
	if e.open {
		code = dsl{"type": "knn_vector", "data_type": "binary", "dimension": width(s.shape().wide()),
			"method": dsl{"name": "hnsw", "engine": "faiss", "space_type": "hamming"}}
		body["settings"] = dsl{"index": dsl{"knn": true}}
	}
	body["mappings"] = dsl{
		"dynamic": "strict",
		"_meta":   dsl{"hashgrove": dsl{"bits": s.Bits, "fingerprint": s.Fingerprint.Full()}},
		"properties": dsl{
			"id": keyword, "id_order": keyword, "code": code, "label": keyword, "tags": keyword,
			"hex": dsl{"type": "keyword", "index": false, "doc_values": false},
			"attributes": dsl{"type": "nested", "dynamic": "strict", "properties": dsl{
				"name": keyword, "text": keyword, "number": dsl{"type": "double"},
			}},
		},
	}
	q := newRequest("PUT", e.path(""), body)
	var indented bytes.Buffer
	if json.Indent(&indented, q.body, "", "  ") == nil {
		q.body = indented.Bytes()
	}
	return q
}

// Plan implements Engine.
func (e *elastic) Plan(s Space) []Statement {
	example := index.NewBatch(s.Bits)
	example.Append(index.Item{
		ID: index.Int(17), Code: make([]uint64, (s.Bits+63)/64), Label: "boots", Tags: []string{"sale"},
		Attributes: map[string]index.Value{"price": index.Number(30)},
	})
	of := s.shape()
	lines, _ := e.documents(of, example)
	code := numbers(of.spread(example.Codes, 0), 0)
	filter, _ := elasticFilter{e.name}.condition(index.And(index.Label("boots"), index.Tag("sale")))
	search := e.search(Query{K: 10, Radius: -1}, filter, code, of)
	knn := dsl{"knn": dsl{"field": "code", "query_vector": code, "k": 10, "num_candidates": 100}}
	if e.open {
		knn = dsl{"query": dsl{"knn": dsl{"code": dsl{"vector": code, "k": 10}}}}
	}
	return []Statement{
		{"look at the server", newRequest("GET", "/", nil).String(), true},
		{"look at the index", newRequest("GET", e.path(""), nil).String(), true},
		{"make the index, where there is none", e.creation(s).String(), true},
		{"write a batch, two lines for each item", e.bulk(lines).String(), true},
		{"search exactly, with the code of your query" + of.advice(),
			newRequest("POST", e.path("/_search"), search).String(), false},
		{"search with the graph, nearly exactly", newRequest("POST", e.path("/_search"), knn).String(), false},
	}
}

// elasticIndex is the service's description of an index.
type elasticIndex struct {
	Mappings struct {
		Meta struct {
			Hashgrove *struct {
				Bits        int    `json:"bits"`
				Fingerprint string `json:"fingerprint"`
			} `json:"hashgrove"`
		} `json:"_meta"`
		Properties map[string]struct {
			Type      string `json:"type"`
			Dims      int    `json:"dims"`
			Dimension int    `json:"dimension"`
		} `json:"properties"`
	} `json:"mappings"`
	Settings struct {
		Index struct {
			UUID string `json:"uuid"`
		} `json:"index"`
	} `json:"settings"`
}

// Info implements Engine.
func (e *elastic) Info(ctx context.Context) (Info, error) {
	info := Info{Table: e.table, Exact: true}
	version, err := e.version(ctx)
	if err != nil {
		return info, err
	}
	info.Engine = e.name + " " + version
	var found map[string]elasticIndex
	err = e.call(ctx, newRequest("GET", e.path(""), nil), &found)
	if hasStatus(err, http.StatusNotFound) {
		return info, fmt.Errorf("%w: %s", ErrNoTable, e.table)
	}
	if err != nil {
		return info, err
	}
	if len(found) != 1 {
		return info, fmt.Errorf("%s stands for %d indexes: name one of them", e.table, len(found))
	}
	for _, x := range found {
		meta := x.Mappings.Meta.Hashgrove
		if meta == nil || meta.Bits <= 0 {
			return info, fault.New("foreign-table", "the index %s exists, but was not made by Hashgrove: name another table",
				e.table)
		}
		info.Bits, info.Identity = meta.Bits, x.Settings.Index.UUID
		if info.Fingerprint, err = hamming.ParseFingerprint(meta.Fingerprint); err != nil {
			return info, err
		}
		if code := x.Mappings.Properties["code"]; max(code.Dims, code.Dimension) != width(info.shape().wide()) {
			return info, fmt.Errorf("the field code of %s is %s of %d bits instead of %d: was it changed?",
				e.table, code.Type, max(code.Dims, code.Dimension), width(info.shape().wide()))
		}
	}
	e.shape = info.shape()
	return info, nil
}

// version asks the server for its version.
func (e *elastic) version(ctx context.Context) (string, error) {
	var root struct {
		Version struct {
			Number       string `json:"number"`
			Distribution string `json:"distribution"`
		} `json:"version"`
	}
	if err := e.call(ctx, newRequest("GET", "/", nil), &root); err != nil {
		return "", err
	}
	version := e.clean(root.Version.Number)
	if (root.Version.Distribution == "opensearch") != e.open {
		other, scheme := elasticsearchDialect.name, "elasticsearch"
		if !e.open {
			other, scheme = openSearchDialect.name, "opensearch"
		}
		return "", fault.New("wrong-service", "the server is %s, not %s: use the scheme %s in its URL",
			other, e.name, scheme)
	}
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n != 2 {
		return "", fault.New("unknown-version", "%s reports an unknown version: %q", e.name, version)
	}
	if e.open && (major < 2 || major == 2 && minor < 16) || !e.open && (major < 8 || major == 8 && minor < 15) {
		return "", fault.New("old-version", "%s %s has no vectors of bits: "+
			"OpenSearch 2.16 and Elasticsearch 8.15 or later have", e.name, version)
	}
	return version, nil
}

// Prepare implements Engine.
func (e *elastic) Prepare(ctx context.Context, s Space) (Info, error) {
	info, err := e.Info(ctx)
	if errors.Is(err, ErrNoTable) {
		err = e.call(ctx, e.creation(s), nil)
		if status, ok := errors.AsType[*StatusError](err); err == nil ||
			ok && strings.Contains(status.Text, "resource_already_exists_exception") { // another push was faster
			info, err = e.Info(ctx)
		}
	}
	if err != nil {
		return Info{}, err
	}
	return info, info.Accept(s)
}
