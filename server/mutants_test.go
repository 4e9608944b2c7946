package server_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"hashgrove/server"
)

// TestMutatedRequestsAreAnsweredAlikeOrRefused sends every route every mutation of valid requests. The answer is that to the
// valid request, or a status of 4xx that names what is wrong: never a good answer with other contents, never a fault of
// the service, and a request that is refused changes nothing.
func TestMutatedRequestsAreAnsweredAlikeOrRefused(t *testing.T) {
	c := newChecked(t, nil)
	asked := map[string]bool{"POST /v1/collections/{collection}/reload": true}
	for _, e := range validRequests() {
		for _, o := range c.operations {
			if path, _, _ := strings.Cut(e.path, "?"); o.method == e.method && o.matches.MatchString(path) {
				asked[o.method+" "+o.path] = true
			}
		}
		t.Run(e.method+" "+strings.TrimPrefix(e.target(), shop), func(t *testing.T) {
			t.Parallel()
			tryMutants(t, e)
		})
	}
	for _, o := range c.operations {
		if what := o.method + " " + o.path; !asked[what] && !strings.HasPrefix(o.path, "/v1/try") && strings.HasPrefix(o.path, "/v1/") {
			t.Errorf("nothing is known about %s", what)
		}
	}
}

// validRequests are valid requests, at least one for every route.
func validRequests() []request {
	upper := []string{"sample", "contains", "where", "limit", "after", "top", "fields", "k", "radius", "rank", "rerank", "prefix", "explain", "size"}
	get := func(path string, address ...string) request {
		return request{method: "GET", path: path, address: address, free: upper}
	}
	send := func(method, path, body string, free ...string) request {
		return request{method: method, path: shop + path, body: body, free: free}
	}
	options := []string{"k", "radius", "where", "rank", "ties", "prefix", "rerank", "explain", "fields", "name", "label", "fingerprint"}
	details := []string{"label", "tags", "attributes", "mode", "replace"}
	return []request{
		get("/v1/server"), get("/v1/collections"), get(shop), get(shop + "/model"), get(shop + "/report"),
		get(shop + "/items/5"), get(shop + "/items/shoe%2F7"), get(shop + "/vector/5"), get(shop+"/pictures/5", "size=16"),
		get(shop + "/map"), get(shop + "/backup"),
		get(shop+"/items", "where=label%20%3D%20%22boots%22", "limit=3", "after=7"),
		get(shop+"/items", "limit=3", "sample=true"),
		get(shop+"/items", "limit=3", "contains=1"),
		get(shop+"/facets", "where=price%20%3C%209", "top=2"),
		get(shop+"/search", "id=7", "k=3", "where=label%20%3D%20%22boots%22", "rank=hamming", "explain=false", "fields=label"),
		get(shop+"/search", "code=0f00000000000000", "k=3", "radius=40", "prefix=0"),
		get(shop+"/search", "id=7", "k=3", "rerank=euclidean"),
		send("POST", "/search", `{"vector":[1,2,3,4],"k":3,"where":"price < 9","rank":"hamming","fields":["label"],"explain":true}`, options...),
		send("POST", "/search", `{"queries":[{"id":7},{"code":"0f00000000000000","name":"a"},{"vector":[1,2,3,4],"label":"b"}],"k":2,"radius":40}`, options...),
		send("POST", "/search", `{"id":"shoe/7","prefix":32}`, options...),
		send("POST", "/search", `{"code_base64":"DwAAAAAAAAA=","k":1}`, options...),
		send("POST", "/search", `{"id":7,"rerank":"cosine","k":2}`, options...),
		send("POST", "/explain", `{"query":{"vector":[1,2,3,4]},"id":7}`, "id"),
		send("POST", "/encode", `{"vectors":[[1,2,3,4],[5,6,7,8]],"margins":true}`, "margins"),
		send("PUT", "/items/new", `{"vector":[1,2,3,4],"label":"caps","tags":["a","b"],"attributes":{"price":1,"maker":"x","used":true}}`, details...),
		send("PUT", "/items/5", `{"id":5,"code":"0f00000000000000","label":"caps"}`, append(details, "id")...),
		send("POST", "/items", `{"items":[{"id":"n","code":"0f00000000000000","label":"x"},{"id":7,"vector":[1,2,3,4],"tags":["t"],"attributes":{"price":3}}],"mode":"upsert"}`, details...),
		send("POST", "/items", `{"ids":["n",900],"vectors":[[1,2,3,4],[5,6,7,8]],"labels":["a","b"],"tags":[["x"],["y","z"]],"attributes":[{"price":1},{"maker":"m"}],"mode":"add"}`,
			append(details, "labels")...),
		send("POST", "/items", `{"ids":["n",900],"codes":["0f00000000000000","0f00000000000001"]}`, details...),
		send("POST", "/items", `{"ids":["n"],"vectors_base64":"AACAPwAAAEAAAEBAAACAQA=="}`, details...),
		send("PATCH", "/items/5", `{"label":"caps","tags":["a"],"attributes":{"price":1,"maker":"x"},"replace":true}`, details...),
		send("PATCH", "/items", `{"items":[{"id":5,"label":"caps"},{"id":"shoe/7","attributes":{"price":2}}],"replace":true}`, details...),
		{method: "PUT", path: madePath, body: `{"like":"shop"}`}, {method: "DELETE", path: madePath},
		send("DELETE", "/items/5", ""),
		send("POST", "/delete", `{"ids":[1,2],"dry_run":false}`, "dry_run"),
		send("POST", "/delete", `{"where":"price < 5","dry_run":true}`, "dry_run"),
	}
}

// tryMutants sends the mutants of one request to a service of their own.
func tryMutants(t *testing.T, e request) {
	start := func() *service {
		s := serve(t, func(o *server.Options) {
			if !strings.Contains(e.path, "/pictures/") {
				o.Collections = o.Collections[:1]
			}
		})
		if e.method == "DELETE" && e.path == madePath {
			s.must(t, 200, "PUT", madePath, `{"like":"shop"}`)
		}
		return s
	}
	s := start()
	if strings.HasSuffix(e.path, "/pictures/5") {
		e.path = photos + "/pictures/" + strings.ReplaceAll(s.files.picture("upper/p01.png"), "/", "%2F")
		until(t, "a picture", func() bool { a, err := s.call(e.method, e.path, ""); return err == nil && a.StatusCode == 200 })
	}
	writes := e.method != "GET" && !strings.HasSuffix(e.path, "/search") && !strings.HasSuffix(e.path, "/encode")
	before := stateOf(t, s)
	valid, err := s.call(e.method, e.target(), e.body, e.header...)
	ok(t, err)
	if valid.StatusCode != 200 {
		t.Fatalf("%v: status %d, %s", e, valid.StatusCode, valid.body)
	}
	after := stateOf(t, s)
	if writes && after != before {
		s = start()
	}
	sent, mark := 0, markOf(t, s)
	for _, m := range mutants(e) {
		a, err := s.call(m.method, m.target(), m.body, m.header...)
		ok(t, err)
		sent++
		now := before
		if writes && markOf(t, s) != mark {
			now = stateOf(t, s)
		}
		same := plainAnswer(a.body) == plainAnswer(valid.body) && (!writes || now == after)
		refused := a.StatusCode >= 400 && a.StatusCode < 500
		good := a.StatusCode == 200 && (m.want == mayDiffer || m.want != mustRefuse && same) || refused && m.want != mustEqual && now == before
		if !good {
			t.Errorf("%s: status %d, the same: %v, unchanged: %v\n%v\n%.300s\n%.300s", m.what, a.StatusCode, same, now == before, m, a.body, valid.body)
		}
		if refused && m.want == mustRefuse && !strings.Contains(messageOf(a.body), m.names) {
			t.Errorf("%s: the error does not name %q\n%v\n%s", m.what, m.names, m, a.body)
		}
		if writes && now != before {
			s = start()
			mark = markOf(t, s)
		}
	}
	if strings.Contains(e.path, "/items/") || strings.Contains(e.path, "/vector/") {
		for _, path := range brokenPaths(e.path) {
			if a, err := s.call(e.method, path, e.body); err != nil || a.StatusCode != 400 {
				t.Errorf("%s %s: %v, %v", e.method, path, a, err)
			}
		}
	}
	t.Logf("%d mutants", sent)
}

// stateOf returns all collections and all items of the shop.
func stateOf(t *testing.T, s *service) string {
	t.Helper()
	until(t, "all pictures", func() bool { // whose number is part of the state
		return !strings.Contains(s.must(t, 200, "GET", "/v1/collections", ""), "pictures_made")
	})
	a, err := s.call("GET", shop+"/items?limit=1000", "")
	ok(t, err)
	return string(a.body) + s.must(t, 200, "GET", "/v1/collections", "")
}

// markOf changes when the state does, and takes less time: the bytes of the shop, and all collections.
func markOf(t *testing.T, s *service) string {
	t.Helper()
	b, err := os.ReadFile(s.files.shop)
	ok(t, err)
	return string(b) + s.must(t, 200, "GET", "/v1/collections", "")
}

// plainAnswer returns an answer without what differs each time.
func plainAnswer(b []byte) string {
	var v map[string]any
	if json.Unmarshal(b, &v) != nil {
		return string(b)
	}
	for _, name := range []string{"seconds", "recent_writes", "file", "uptime", "memory"} {
		delete(v, name)
	}
	text, _ := json.Marshal(v)
	return string(text)
}

func messageOf(b []byte) string {
	var a struct{ Error struct{ Message string } }
	if json.Unmarshal(b, &a) != nil {
		return ""
	}
	return a.Error.Message
}
