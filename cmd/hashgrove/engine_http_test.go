package main

import (
	"net/http/httptest"
	"strings"
	"testing"
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
		"vespa": "POST /document/v1/hashgrove/items/docid/17\n",
	} {
		out := succeed(t, "push", "items.hgi", "--engine", scheme+"+"+gone.URL, "--dry-run")
		if !strings.Contains(out, want) || strings.Contains(out, ";\n") || strings.Contains(out, "hunter2") {
			t.Errorf("%s: %s", scheme, out)
		}
	}
	for engine, want := range map[string]string{
		"qdrant+" + gone.URL:       "cannot be reached",
		"qdrant://u:secret@host":   "holds a password",
		"qdrant://host?api-key=a":  "nothing stands behind",
		"qdrant+ftp://host":        `"qdrant+ftp" is no engine`,
		"elasticsearch+http://":    "cannot be used",
		"opensearch+https://:9200": "cannot be used",
	} {
		o := try(t, "push", "items.hgi", "--engine", engine, "--retries", "-1")
		if o.code == 0 || !strings.Contains(o.err, want) || strings.Contains(o.err+o.out, "hunter2") || strings.Contains(o.err, "secret@") {
			t.Errorf("%s: exit %d, want %q: %s", engine, o.code, want, o.err)
		}
	}
}
