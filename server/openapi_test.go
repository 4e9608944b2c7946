package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/api"
	"hashgrove/server"
	"hashgrove/server/workshop"
)

// checked sends requests and compares every answer with the document.
type checked struct {
	*service
	document
	operations []operation
	statuses   map[string]map[int]bool // of the answers, by operation
}

// ask sends a request that must be answered with a status as the document says, and returns the answer.
func (c *checked) ask(t *testing.T, status int, method, path, body string, header ...string) *reply {
	t.Helper()
	a, err := c.call(method, path, body, header...)
	ok(t, err)
	if a.StatusCode != status {
		t.Errorf("%s %s %.100s: status %d, want %d: %.300s", method, path, body, a.StatusCode, status, a.body)
		return a
	}
	c.look(t, method, path, a)
	return a
}

// look compares an answer with the document.
func (c *checked) look(t *testing.T, method, path string, a *reply) {
	t.Helper()
	what, status := method+" "+path, a.StatusCode
	short, _, _ := strings.Cut(path, "?")
	i := slices.IndexFunc(c.operations, func(o operation) bool { return o.method == method && o.matches.MatchString(short) })
	if i < 0 || status == http.StatusMethodNotAllowed {
		var v any
		if err := json.Unmarshal(a.body, &v); err != nil {
			t.Errorf("%s: %v", what, err)
		} else if err := c.check(object{"$ref": "#/components/schemas/Error"}, v, "the error"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	var e struct{ Error struct{ Code api.ErrorCode } }
	special := []api.ErrorCode{api.CodeOf(status), api.ErrExists, api.ErrOtherModel, api.ErrFilter, api.ErrNoModel, api.ErrDimension, api.ErrNoVector}
	if status >= 400 && (json.Unmarshal(a.body, &e) != nil || !slices.Contains(special, e.Error.Code)) {
		t.Errorf("%s: the code %s beside the status %d", what, e.Error.Code, status)
	}
	o := c.operations[i]
	if c.statuses[o.method+" "+o.path] == nil {
		c.statuses[o.method+" "+o.path] = map[int]bool{}
	}
	c.statuses[o.method+" "+o.path][status] = true
	if err := c.checkAnswer(o, a); err != "" {
		t.Errorf("%s: %s\n%.1000s", what, err, a.body)
	}
}

// checkAnswer compares an answer with what an operation promises.
func (c *checked) checkAnswer(o operation, a *reply) string {
	described, isThere := o.object["responses"].(object)[strconv.Itoa(a.StatusCode)].(object)
	if !isThere {
		return "the document does not know the status " + a.Status
	}
	described, err := c.resolve(described)
	if err != nil {
		return err.Error()
	}
	headers, _ := described["headers"].(object)
	for name, h := range headers {
		value := a.Header.Get(name)
		if value == "" {
			return "the header " + name + " is missing"
		}
		h, err := c.resolve(h.(object))
		if err != nil {
			return err.Error()
		}
		var v any = value
		if n, err := strconv.ParseFloat(value, 64); err == nil && h["schema"].(object)["type"] == "integer" {
			v = n
		}
		if err := c.check(h["schema"].(object), v, "the header "+name); err != nil {
			return err.Error()
		}
	}
	kind, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		return "Content-Type: " + err.Error()
	}
	content, isThere := described["content"].(object)[kind].(object)
	if !isThere {
		return "the document does not know the content type " + kind
	}
	var v any = string(a.body)
	if kind == "application/json" {
		if err := json.Unmarshal(a.body, &v); err != nil {
			return err.Error()
		}
	}
	if err := c.check(content["schema"].(object), v, "the answer"); err != nil {
		return err.Error()
	}
	return ""
}

// newChecked starts a service.
func newChecked(t *testing.T, change func(o *server.Options)) *checked {
	d := readDocument(t)
	return &checked{serve(t, change), d, d.operations(), map[string]map[int]bool{}}
}

// TestAnswersMatchTheDocument sends every kind of request to a real service. Each operation must be answered well at least
// once, and every answer, good or not, must be as the document says.
func TestAnswersMatchTheDocument(t *testing.T) {
	c := newChecked(t, func(o *server.Options) { o.Try = workshop.Options{}.Mount })
	c.askExamples(t)
	c.askToRead(t)
	c.askToWrite(t)
	c.askToFail(t)
	c.askWorkshop(t)
	for _, o := range c.operations {
		what := o.method + " " + o.path
		if !c.statuses[what][200] && !c.statuses[what][202] {
			t.Errorf("%s was never answered well", what)
		}
	}
}

// askExamples sends all examples of the document.
func (c *checked) askExamples(t *testing.T) {
	sent := 0
	for _, o := range c.operations {
		body, _ := o.object["requestBody"].(object)
		content, _ := body["content"].(object)
		media, _ := content["application/json"].(object)
		examples, _ := media["examples"].(object)
		if media != nil && len(examples) == 0 {
			t.Errorf("%s %s has no example", o.method, o.path)
		}
		for _, name := range slices.Sorted(maps.Keys(examples)) {
			value := examples[name].(object)["value"]
			if err := c.check(media["schema"].(object), value, "the example "+name); err != nil {
				t.Errorf("%s %s: %v", o.method, o.path, err)
			}
			if strings.HasPrefix(o.path, "/v1/try") {
				continue // askWorkshop has the job that it needs
			}
			b, err := json.Marshal(value)
			ok(t, err)
			path := strings.NewReplacer("{collection}", "shop", "{id}", "5").Replace(o.path)
			if o.object["operationId"] == "createCollection" {
				path = madePath
			}
			c.ask(t, 200, o.method, path, string(b))
			sent++
		}
	}
	if sent < 10 {
		t.Errorf("%d examples only", sent)
	}
}

func (c *checked) askToRead(t *testing.T) {
	upper := url.PathEscape(c.files.picture("upper/p01.png"))
	for _, path := range []string{
		"/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/server", "/v1/collections", "/assets/app.js",
		shop, photos, shop + "/model", photos + "/model", shop + "/backup", shop + "/report",
		shop + "/search?id=7", shop + "/search?code=0f00000000000000&k=3&fields=label",
		shop + "/search?id=7&k=4&radius=60&where=price%20%3C%2030&rank=margins&prefix=32&explain=true&fields=",
		shop + "/search?id=7&rank=auto", shop + "/search?id=7&rank=expected&explain=true",
		shop + "/search?id=7&rerank=cosine", photos + "/search?id=" + upper,
		shop + "/items", shop + "/items?limit=2&after=5", shop + "/items?where=label+%3D+%22boots%22&limit=1000",
		shop + "/items/5", shop + "/items/shoe%2F7", shop + "/items/shoe/7", shop + "/facets", shop + "/facets?where=price%20%3C%203&top=2",
		photos + "/facets", shop + "/vector/5", shop + "/map",
	} {
		c.ask(t, 200, "GET", path, "")
	}
	until(t, "a picture, which is looked for behind requests", func() bool {
		a, err := c.call("GET", photos+"/pictures/"+upper, "")
		return err == nil && a.StatusCode == 200
	})
	c.ask(t, 200, "GET", photos+"/pictures/"+upper+"?size=16", "")
	picture := pngBytes(first(photoPictures()))
	for _, accept := range []string{"application/json", "application/octet-stream"} {
		c.ask(t, 200, "POST", shop+"/encode", packFloats(1, 2, 3, 4, 5, 6, 7, 8), "Content-Type", "application/octet-stream", "Accept", accept)
		c.ask(t, 200, "POST", shop+"/encode", npy("(1, 4)", 1, 2, 3, 4), "Content-Type", "application/x-npy", "Accept", accept)
		c.ask(t, 200, "POST", photos+"/encode", string(picture), "Content-Type", "image/png", "Accept", accept)
	}
	one := c.ask(t, 200, "POST", shop+"/encode", npy("(4,)", 1, 2, 3, 4), "Content-Type", "application/x-npy")
	if two := c.ask(t, 200, "POST", shop+"/encode", npy("(1, 4)", 1, 2, 3, 4), "Content-Type", "application/x-npy"); string(one.body) != string(two.body) {
		t.Errorf("an array of one dimension: %s, and of two: %s", one.body, two.body)
	}
	c.ask(t, 200, "POST", shop+"/encode?margins=true", packFloats(1, 2, 3, 4), "Content-Type", "application/octet-stream")
	c.ask(t, 200, "POST", shop+"/search?k=2", packFloats(1, 2, 3, 4, 5, 6, 7, 8), "Content-Type", "application/octet-stream")
	c.ask(t, 200, "POST", shop+"/search?explain=true&rank=margins", npy("(1, 4)", 1, 2, 3, 4), "Content-Type", "application/x-npy")
	c.ask(t, 200, "POST", photos+"/search?explain=true", string(picture), "Content-Type", "image/png")
	coded, err := json.Marshal(picture)
	ok(t, err)
	c.ask(t, 200, "POST", photos+"/search", `{"picture":`+string(coded)+`}`)
	c.ask(t, 200, "POST", photos+"/encode", `{"pictures":[`+string(coded)+`],"margins":true}`)
	c.ask(t, 200, "POST", photos+"/explain", `{"query":{"picture":`+string(coded)+`},"id":"`+c.files.picture("left/p02.png")+`"}`)
	c.ask(t, 200, "POST", shop+"/explain", `{"query":{"vector":[1,2,3,4]},"id":7}`)
	c.ask(t, 200, "POST", shop+"/explain", `{"query":{"code_base64":"DwAAAAAAAAA="},"id":7}`)
	c.ask(t, 200, "POST", shop+"/search", `{"vector":[1,2,3,4],"rerank":"euclidean","explain":true}`)
	c.ask(t, 200, "POST", shop+"/search", `{"code":"0f00000000000000","radius":0}`)
}

func (c *checked) askToWrite(t *testing.T) {
	c.ask(t, 200, "PUT", shop+"/items/a%2F%2Fb", `{"vector":[1,2,3,4],"tags":["x"],"attributes":{"price":2.5,"maker":"Grove"}}`)
	c.ask(t, 200, "GET", shop+"/items/a%2F%2Fb", "")
	c.ask(t, 200, "PATCH", shop+"/items/a%2F%2Fb", `{"label":"hats","attributes":{"price":1},"replace":true}`)
	c.ask(t, 200, "DELETE", shop+"/items/a%2F%2Fb", "")
	c.ask(t, 404, "DELETE", shop+"/items/a%2F%2Fb", "")
	c.ask(t, 200, "POST", shop+"/items", `{"ids":[900,"x"],"codes":["0f00000000000000","0f00000000000001"],"tags":[["a"],[]],"mode":"add"}`)
	c.ask(t, 409, "POST", shop+"/items", `{"ids":[901,"x"],"codes":["0f00000000000000","0f00000000000001"],"mode":"add"}`)
	c.ask(t, 404, "GET", shop+"/items/901", "")
	c.ask(t, 200, "POST", shop+"/delete", `{"where":"price = 7","dry_run":true}`)
	c.ask(t, 200, "POST", shop+"/delete", `{"where":"price = 7"}`)
	c.ask(t, 200, "POST", shop+"/reload", "")
	c.ask(t, 200, "GET", shop, "") // with recent writes
	c.ask(t, 409, "PUT", madePath, `{"like":"shop"}`)
	c.ask(t, 200, "DELETE", madePath, "")
	c.ask(t, 404, "DELETE", madePath, "")
	coded, err := json.Marshal(pngBytes(first(photoPictures())))
	ok(t, err)
	c.ask(t, 200, "PUT", photos+"/items/new.png", `{"picture":`+string(coded)+`,"label":"left"}`)
}

// askToFail asks for what cannot be.
func (c *checked) askToFail(t *testing.T) {
	for _, path := range []string{"", "/search?id=1", "/items", "/items/1", "/facets", "/model", "/backup", "/pictures/1", "/vector/1", "/map", "/report"} {
		c.ask(t, 404, "GET", "/v1/collections/nothing"+path, "")
		c.ask(t, 409, "GET", shop+path, "", "Hashgrove-Fingerprint", strings.Repeat("0", 31)+"1")
		sign := "?"
		if strings.Contains(path, "?") {
			sign = "&"
		}
		c.ask(t, 409, "GET", shop+path+sign+"fingerprint="+strings.Repeat("0", 31)+"1", "")
	}
	for _, path := range []string{
		"/search", "/search?id=1&k=0", "/search?id=1&k=x", "/search?id=1&nonsense=1", "/search?code=xyz", "/search?id=1&where=(",
		"/search?id=1&where=nothing%3D1", "/search?id=1&rank=best", "/search?id=1&fields=x", "/search?id=1&code=00", "/items?limit=0",
		"/items?limit=1000000", "/items?where=%28", "/items?nonsense=1", "/facets?top=0", "/facets?where=%28", "/facets?nonsense=1",
	} {
		c.ask(t, 400, "GET", shop+path, "")
	}
	for _, path := range []string{shop + "/items/none", shop + "/vector/none", shop + "/pictures/1", photos + "/pictures/none", photos + "/report"} {
		c.ask(t, 404, "GET", path, "")
	}
	c.ask(t, 400, "GET", photos+"/pictures/x?size=100000", "")
	for _, path := range []string{"/search", "/explain", "/encode", "/items", "/delete"} {
		c.ask(t, 400, "POST", shop+path, `{"nonsense":1}`)
		c.ask(t, 400, "POST", shop+path, `{`)
		c.ask(t, 400, "POST", shop+path, `[]`)
		c.ask(t, 400, "POST", shop+path, `{} {}`)
		c.ask(t, 415, "POST", shop+path, `{}`, "Content-Type", "text/plain")
		c.ask(t, 415, "POST", shop+path, `{}`, "Content-Encoding", "gzip")
		c.ask(t, 409, "POST", shop+path, `{}`, "Hashgrove-Fingerprint", strings.Repeat("0", 31)+"1")
		c.ask(t, 404, "POST", "/v1/collections/nothing"+path, `{}`)
	}
	c.ask(t, 409, "POST", shop+"/search", `{"id":1,"fingerprint":"`+strings.Repeat("0", 31)+`1"}`)
	for _, body := range []string{
		`{}`, `{"id":1,"code":"0f00000000000000"}`, `{"vector":[1,2]}`, `{"vector":[1,2,3,"4"]}`, `{"code":"0f"}`, `{"id":1,"k":1001}`,
		`{"id":1,"k":-1}`, `{"id":1,"radius":-1}`, `{"id":1,"prefix":65}`, `{"id":1,"queries":[{"id":2}]}`, `{"queries":[{"id":1},{}]}`,
		`{"code":"0f00000000000000","rank":"margins"}`, `{"picture":"AAAA"}`,
		`{"id":1,"fields":["id"]}`, `{"id":{}}`, `{"id":1.5}`, `{"id":1,"where":5}`,
	} {
		c.ask(t, 400, "POST", shop+"/search", body)
	}
	c.ask(t, 404, "POST", shop+"/search", `{"id":"none"}`)
	c.ask(t, 400, "POST", shop+"/search", "123", "Content-Type", "application/octet-stream")
	c.ask(t, 400, "POST", shop+"/search", "123", "Content-Type", "application/x-npy")
	c.ask(t, 400, "POST", photos+"/search", "123", "Content-Type", "image/png")
	c.ask(t, 400, "PUT", shop+"/items/1", `{}`)
	c.ask(t, 400, "PUT", shop+"/items/1", `{"code":"0f00000000000000","attributes":{"x":[1]}}`)
	c.ask(t, 404, "PATCH", shop+"/items/none", `{"label":"x"}`)
	c.ask(t, 404, "GET", "/assets/none.js", "")
	c.ask(t, 404, "GET", "/nothing", "")
	for _, o := range c.operations {
		path := strings.NewReplacer("{collection}", "shop", "{id}", "5", "{job}", "1", "{name}", "app.js").Replace(o.path)
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			known := slices.ContainsFunc(c.operations, func(other operation) bool { return other.path == o.path && other.method == method })
			if known || strings.HasPrefix(o.path, "/v1/try") || strings.HasSuffix(o.path, "/items") { // items/ with no id
				continue
			}
			c.ask(t, 405, method, path, "")
		}
	}
}

// askWorkshop uploads data, learns from them and throws them away.
func (c *checked) askWorkshop(t *testing.T) {
	shop := "color,size,species\n"
	for i := range 90 {
		shop += fmt.Sprintf("%d,%d,%s\n", i%3*10+i%7, i%3*5+i%4, []string{"oak", "elm", "yew"}[i%3])
	}
	var job struct {
		ID    string `json:"id"`
		State string `json:"state"`
	}
	note := func(a *reply) {
		t.Helper()
		if err := json.Unmarshal(a.body, &job); err != nil {
			t.Fatalf("%v: %s", err, a.body)
		}
	}
	note(c.ask(t, 202, "POST", "/v1/try?name=trees.csv", shop, "Content-Type", "text/csv"))
	c.ask(t, 400, "POST", "/v1/try/"+job.ID+"/train", `{"nonsense":1}`)
	c.ask(t, 202, "POST", "/v1/try/"+job.ID+"/train", `{"label":"species","bits":32}`)
	until(t, "an end of the training", func() bool {
		note(c.ask(t, 200, "GET", "/v1/try/"+job.ID, ""))
		return job.State == "done" || job.State == "failed"
	})
	if job.State != "done" {
		t.Errorf("the job is %s: %s", job.State, c.ask(t, 200, "GET", "/v1/try/"+job.ID, "").body)
	}
	c.ask(t, 409, "POST", "/v1/try/"+job.ID+"/cancel", "")
	c.ask(t, 200, "DELETE", "/v1/try/"+job.ID, "")
	c.ask(t, 404, "GET", "/v1/try/"+job.ID, "")
	note(c.ask(t, 202, "POST", "/v1/try?name=x.npy", npy("(60, 4)", make([]float32, 240)...), "Content-Type", "application/x-npy"))
	c.ask(t, 202, "POST", "/v1/try/"+job.ID+"/labels", strings.Repeat("a\nb\n", 30), "Content-Type", "text/plain")
	note(c.ask(t, 202, "POST", "/v1/try?name=trees.csv", shop, "Content-Type", "text/csv"))
	c.ask(t, 202, "POST", "/v1/try/"+job.ID+"/train", `{"bits":256}`)
	c.ask(t, 202, "POST", "/v1/try/"+job.ID+"/cancel", "")
	c.ask(t, 200, "GET", "/v1/try/samples/clothes.zip", "")
	c.ask(t, 400, "POST", "/v1/try?name=x.csv", "", "Content-Type", "text/csv")
}

// TestTokensMatchTheDocument checks what the document says about tokens.
func TestTokensMatchTheDocument(t *testing.T) {
	c := newChecked(t, func(o *server.Options) { o.ReadToken, o.WriteToken = "read-secret", "write-secret" })
	for _, o := range c.operations {
		path := strings.NewReplacer("{collection}", "shop", "{id}", "5", "{job}", "1", "{name}", "app.js").Replace(o.path)
		if strings.HasPrefix(o.path, "/v1/try") {
			continue
		}
		if security, is := o.object["security"].([]any); is && len(security) == 0 {
			c.ask(t, 200, o.method, path, "")
			continue
		}
		body := ""
		if o.object["requestBody"] != nil {
			body = "{}"
		}
		c.ask(t, 401, o.method, path, body)
		c.ask(t, 401, o.method, path, body, "Authorization", "Bearer wrong")
		c.ask(t, 401, o.method, path, body, "Authorization", "Basic read-secret")
		a, err := c.call(o.method, path, body, "Authorization", "Bearer read-secret")
		ok(t, err)
		reads := o.method == "GET" && !strings.HasSuffix(path, "/backup") ||
			slices.Contains([]string{"search", "explain", "encode"}, filepath.Base(path))
		if refused := a.StatusCode == 403 || a.StatusCode == 401; refused == reads {
			t.Errorf("%s %s with the read token: %d", o.method, path, a.StatusCode)
		} else if refused {
			c.ask(t, 403, o.method, path, body, "Authorization", "Bearer read-secret")
		}
		if a, err = c.call(o.method, path, body, "Authorization", "Bearer write-secret"); err != nil || a.StatusCode == 401 || a.StatusCode == 403 {
			t.Errorf("%s %s with the write token: %v, %v", o.method, path, a, err)
		}
	}
	if text := c.log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "status=401") {
		t.Errorf("the log names a token, or does not mention those that were refused: %.300s", text)
	}
}
