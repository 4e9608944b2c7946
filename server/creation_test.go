package server_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/server"
)

const madePath = "/v1/collections/made"

// modelFile returns the model of shop or photos as a file.
func modelFile(t testing.TB, name string) string {
	t.Helper()
	models, err := learned()
	ok(t, err)
	var b bytes.Buffer
	ok(t, model.Write(&b, models[name]))
	return b.String()
}

var octets = []string{"Content-Type", "application/octet-stream"}

// TestCollectionOfCodes makes a collection for codes that no model has made.
func TestCollectionOfCodes(t *testing.T) {
	s := serve(t, func(o *server.Options) { o.Folder = filepath.Join(t.TempDir(), "made") })
	s.must(t, 200, "PUT", madePath, `{"bits":24}`)
	s.must(t, 200, "POST", madePath+"/items", `{"ids":["a","b"],"codes":["000102","ff0102"]}`)
	if text := s.must(t, 200, "GET", madePath+"/search?code=000103&radius=1", ""); !strings.Contains(text, `"a"`) || strings.Contains(text, `"b"`) {
		t.Errorf("a search: %s", text)
	}
	if text := s.must(t, 400, "POST", madePath+"/search", `{"vector":[1,2]}`); !strings.Contains(text, "model") {
		t.Errorf("a vector: %s", text)
	}
	for _, body := range []string{`{"bits":7}`, `{"bits":4097}`, `{"bits":8,"like":"shop"}`, `{}`} {
		s.must(t, 400, "PUT", "/v1/collections/other", body)
	}
}

// TestCollectionsAreCreatedFilledAndDropped goes through the life of a collection, with a restart in between.
func TestCollectionsAreCreatedFilledAndDropped(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made")
	in := func(o *server.Options) { o.Folder = folder }
	t.Run("before", func(t *testing.T) {
		s := serve(t, in)
		s.must(t, 200, "PUT", madePath, modelFile(t, "shop"), octets...)
		text := s.must(t, 200, "PUT", "/v1/collections/Alike-2.x", `{"like":"made"}`)
		if !strings.Contains(text, `"items":0`) || !strings.Contains(text, `"name":"Alike-2.x"`) {
			t.Errorf("a new collection: %s", text)
		}
		s.must(t, 200, "PUT", madePath+"/items/5", `{"vector":[1,2,3,4],"label":"caps"}`)
		s.must(t, 404, "GET", "/v1/collections/Alike-2.x/items/5", "")
		s.must(t, 409, "PUT", madePath, `{"like":"photos"}`)
		s.must(t, 409, "PUT", shop, `{"like":"photos"}`)
		if text := s.must(t, 200, "GET", madePath+"/search?id=5", ""); !strings.Contains(text, `"caps"`) {
			t.Errorf("a search: %s", text)
		}
	})
	t.Run("after", func(t *testing.T) {
		s := serve(t, in)
		if text := s.must(t, 200, "GET", madePath+"/items/5", ""); !strings.Contains(text, `"caps"`) {
			t.Errorf("after a restart: %s", text)
		}
		if text := s.must(t, 200, "DELETE", madePath, ""); !strings.Contains(text, `"items":1`) {
			t.Errorf("dropped: %s", text)
		}
		s.must(t, 404, "GET", madePath+"/items/5", "")
		s.must(t, 404, "DELETE", madePath, "")
		if text := s.must(t, 200, "GET", "/metrics", ""); strings.Contains(text, `"made"`) {
			t.Error("the metrics remember a collection that was dropped")
		}
		s.must(t, 200, "PUT", madePath, modelFile(t, "photos"), octets...) // another model, and no item of the old one
		s.must(t, 404, "GET", madePath+"/items/5", "")
		s.must(t, 200, "DELETE", madePath, "")
		s.must(t, 409, "DELETE", shop, "") // given at the start
		s.must(t, 200, "GET", shop+"/items/5", "")
	})
	if names := namesIn(t, folder); names != "Alike-2.x.hgi" {
		t.Errorf("the folder has %s", names)
	}
}

func namesIn(t testing.TB, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	ok(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestCollectionsThatCannotBeCreated tries names, paths, bodies and tokens that are refused, and leave nothing behind.
func TestCollectionsThatCannotBeCreated(t *testing.T) {
	parent := t.TempDir()
	folder := filepath.Join(parent, "made")
	s := serve(t, func(o *server.Options) {
		o.Folder, o.ReadToken, o.WriteToken, o.Limits.Created = folder, "read-secret", "write-secret", 1
	})
	write := []string{"Authorization", "Bearer write-secret"}
	like := `{"like":"shop"}`
	for _, name := range []string{
		"..%2Fx", "%2e%2e%2Fx", "..%5Cx", "%2Fetc%2Fx", ".hidden", "-x", "_x", "a%2Fb", "a%00b", "a%0Ab", "a%20b",
		"%C3%A4", "a:b", strings.Repeat("a", 65), "try-1", "TRY-1", "~x", "a%3Fb", "a%25b", "%ff", "x%2F..%2F..%2Fy", "%2e",
	} {
		a, err := s.call("PUT", "/v1/collections/"+name, like, write...)
		ok(t, err)
		if a.StatusCode != 400 {
			t.Errorf("%s: status %d, %s", name, a.StatusCode, a.body)
		}
		if a, err = s.call("DELETE", "/v1/collections/"+name, "", write...); err != nil || a.StatusCode/100 != 4 {
			t.Errorf("dropping %s: %v, %v", name, a, err)
		}
	}
	good := modelFile(t, "shop")
	with := append([]string{"Content-Type", "application/octet-stream"}, write...)
	for what, body := range map[string]string{
		"nothing": "", "no model": "hello", "half a model": good[:len(good)/2], "more than a model": good + "x",
		"a damaged model": good[:len(good)/2] + "\x00\x01\x02" + good[len(good)/2+3:],
	} {
		a, err := s.call("PUT", madePath, body, with...)
		ok(t, err)
		if a.StatusCode != 400 || strings.Contains(string(a.body), parent) {
			t.Errorf("%s: status %d, %s", what, a.StatusCode, a.body)
		}
	}
	s.must(t, 415, "PUT", madePath, good, append([]string{"Content-Type", "text/plain"}, write...)...)
	s.must(t, 404, "PUT", madePath, `{"like":"nothing"}`, write...)
	s.must(t, 400, "PUT", madePath, `{"like":""}`, write...)
	other := strings.Repeat("0", 31) + "1"
	s.must(t, 409, "PUT", madePath, good, append([]string{"Hashgrove-Fingerprint", other}, with...)...)
	s.must(t, 409, "PUT", madePath+"?fingerprint="+other, good, with...)
	s.must(t, 400, "PUT", madePath+"?nonsense=1", good, with...)
	s.must(t, 401, "PUT", madePath, like)
	s.must(t, 403, "PUT", madePath, like, "Authorization", "Bearer read-secret")
	if names := namesIn(t, parent); names != "made" || namesIn(t, folder) != "" {
		t.Errorf("left behind: %s, %s", names, namesIn(t, folder))
	}
	s.must(t, 200, "PUT", madePath, like, write...)
	s.must(t, 403, "DELETE", madePath, "", "Authorization", "Bearer read-secret")
	s.must(t, 409, "PUT", "/v1/collections/second", like, write...) // one is allowed here
	s.must(t, 200, "GET", madePath, "", write...)
}

// TestNoFolderNoCollections checks the service without a folder, and one that only reads.
func TestNoFolderNoCollections(t *testing.T) {
	folder := t.TempDir()
	s := serve(t, func(o *server.Options) { o.Folder = "" })
	if text := s.must(t, 403, "PUT", madePath, `{"like":"shop"}`); !strings.Contains(text, "without a folder") {
		t.Errorf("without a folder: %s", text)
	}
	s.must(t, 409, "DELETE", shop, "")
	s = serve(t, func(o *server.Options) { o.ReadOnly, o.Folder = true, folder })
	s.must(t, 403, "PUT", madePath, `{"like":"shop"}`)
}
