package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"hashgrove/internal/engine"
)

// TestPushOverHTTP looks at dry runs and at mistakes; package engine tests what is sent.
func TestPushOverHTTP(t *testing.T) {
	indexed(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	t.Setenv("QDRANT_API_KEY", "hunter2hunter2")
	for scheme, want := range map[string]string{
		"opensearch": "PUT /items\n", "elasticsearch": "POST /items/_bulk\n", "qdrant": "PUT /collections/items\n",
		"milvus": "POST /v2/vectordb/entities/upsert\n", "weaviate": "POST /v1/schema\n",
	} {
		out := succeed(t, "push", "items.hgi", "--engine", scheme+"+"+gone.URL, "--dry-run")
		if !strings.Contains(out, want) || strings.Contains(out, ";\n") || strings.Contains(out, "hunter2") {
			t.Errorf("%s: %s", scheme, out)
		}
	}
	for _, r := range []refusal{
		{"qdrant+" + gone.URL, 1, engine.ErrTemporary, "Qdrant"},
		{"qdrant://u:secret@host", 2, nil, "--engine password"},
		{"qdrant://host?api-key=a", 2, nil, "--engine engine://user@host:port ?"},
		{"qdrant+ftp://host", 2, nil, `--engine "qdrant+ftp" qdrant,`},
		{"elasticsearch+http://", 2, nil, "--engine engine://user@host:port"},
		{"opensearch+https://:9200", 2, nil, "--engine engine://user@host:port"},
	} {
		r.line = "push items.hgi --engine " + r.line
		o := r.try(t, "--retries", "-1")
		if strings.Contains(o.err+o.out, "hunter2") || strings.Contains(o.err, "secret@") {
			t.Errorf("%s: %s%s", r.line, o.err, o.out)
		}
	}
}
