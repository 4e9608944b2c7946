package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
	"hashgrove/server"
)

// crossing is a body or a part of one, or the parameters of an address, with valid values for each of the keys. The first
// values are crossed, and the others show that a key has an effect.
type crossing struct {
	method, path string // of shop, or a whole path of photos
	body         string // with %s for the object; empty for parameters
	rows         string // sent beside parameters
	most         int    // keys at a time
	keys         map[string][]string
}

// crossings are all objects and addresses of all requests.
func crossings(fingerprint string) []crossing {
	const code, other = `"0f00000000000000"`, `"0f00000000000001"`
	x, _ := shopRows()
	query := map[string][]string{
		"vector": {strings.ReplaceAll(fmt.Sprint(x[143]), " ", ",")}, "code": {code}, "code_base64": {`"DwAAAAAAAAA="`}, "id": {`144`}, "picture": {`"AAAA"`},
		"name": {`"a"`}, "label": {`"b"`},
	}
	options := map[string][]string{
		"queries": {`[{"id":144},{"id":157}]`}, "k": {`10`, `1`}, "radius": {`30`, `2`}, "where": {`"price < 59"`, `"price < 9"`},
		"rank": {`"hamming"`, `"margins"`}, "ties": {`"margins"`, `"vectors"`}, "prefix": {`5`, `32`}, "rerank": {`"cosine"`},
		"explain": {`true`}, "fields": {`["label"]`, `[]`}, "fingerprint": {quoted(fingerprint), `"00000000000000000000000000000001"`},
	}
	details := map[string][]string{
		"label": {`"caps"`}, "tags": {`["new"]`}, "attributes": {`{"price":0.5}`},
	}
	item := with(details, map[string][]string{
		"vector": {`[1,2,3,4]`}, "code": {code}, "code_base64": {`"DwAAAAAAAAA="`}, "picture": {`"AAAA"`}, "id": {`5`, `6`},
	})
	change := with(details, map[string][]string{"id": {`5`, `6`}, "replace": {`true`}})
	part, unlabelled := maps.Clone(change), maps.Clone(query)
	delete(part, "replace")
	pictures, _ := photoPictures()
	seen := quoted(base64.StdEncoding.EncodeToString(pngBytes(pictures[0])))
	shown := map[string][]string{"vector": {fmt.Sprint("[1", strings.Repeat(",2", 63), "]")}, "code": {`"0f00"`}, "picture": {seen}}
	delete(unlabelled, "label") // an explanation gives the query's name alone
	address := map[string][]string{
		"k": {"10", "1"}, "radius": {"30", "2"}, "where": {"price < 50"}, "rank": {"hamming", "margins"}, "ties": {"margins"},
		"prefix": {"5"}, "rerank": {"cosine"}, "explain": {"true"}, "fields": {"label"},
		"fingerprint": {fingerprint, strings.Repeat("0", 31) + "1"},
	}
	return []crossing{
		{"POST", "/search", `%s`, "", 3, with(query, options)},
		{"POST", "/search", `{"queries":[{"id":9},%s]}`, "", 3, query},
		{"POST", "/explain", `{"query":%s,"id":7}`, "", 3, unlabelled},
		{"POST", "/explain", `%s`, "", 2, map[string][]string{"query": {`{"id":9}`}, "id": {`7`}}},
		{"POST", "/encode", `%s`, "", 3, map[string][]string{"vectors": {`[[1,2,3,4]]`}, "pictures": {`["AAAA"]`}, "margins": {`true`}}},
		{"POST", photos + "/search", `%s`, "", 2, shown},
		{"POST", photos + "/explain", `{"query":%s,"id":"there"}`, "", 2, shown},
		{"POST", photos + "/encode", `%s`, "", 3, map[string][]string{
			"vectors": {"[" + shown["vector"][0] + "]"}, "pictures": {"[" + seen + "]"}, "margins": {`true`},
		}},
		{"PUT", photos + "/items/there", `%s`, "", 2, shown},
		{"POST", photos + "/items", `{"items":[{"id":"n","code":"0f00"},%s]}`, "", 3, with(shown, map[string][]string{"id": {`5`}})},
		{"PUT", "/items/5", `%s`, "", 4, item},
		{"POST", "/items", `{"items":[{"id":"n","code":"0f00000000000000"},%s]}`, "", 4, item},
		{"POST", "/items", `%s`, "", 9, map[string][]string{
			"items": {`[{"id":5,"code":` + code + `}]`}, "ids": {`[5]`, `["m"]`}, "vectors": {`[[1,2,3,4]]`}, "codes": {`[` + other + `]`},
			"vectors_base64": {`"AACAPwAAAEAAAEBAAACAQA=="`}, "labels": {`["caps"]`}, "tags": {`[["new"]]`}, "attributes": {`[{"price":0.5}]`},
			"mode": {`"upsert"`, `"add"`},
		}},
		{"PATCH", "/items/5", `%s`, "", 5, change},
		{"PATCH", "/items", `{"items":[{"id":7,"label":"x"},%s]}`, "", 4, part},
		{"PATCH", "/items", `%s`, "", 2, map[string][]string{"items": {`[{"id":5,"attributes":{"price":0.5}}]`}, "replace": {`true`}}},
		{"GET", "/search", "", "", 2, with(address, map[string][]string{"id": {"144"}, "code": {"0f00000000000000"}})},
		{"POST", "/search", "", packFloats(x[143]...), 2, address},
		{"POST", "/encode", "", packFloats(x[143]...), 2, map[string][]string{"margins": {"true"}, "fingerprint": address["fingerprint"]}},
		{"GET", "/items", "", "", 3, map[string][]string{
			"where": {"price < 50"}, "limit": {"3"}, "after": {"7"}, "contains": {"1", "Oak"}, "sample": {"true"},
		}},
		{"GET", "/facets", "", "", 2, map[string][]string{"where": {"price < 50"}, "top": {"2"}}},
		{"PUT", "-made", `%s`, "", 2, map[string][]string{"like": {`"shop"`}, "bits": {`64`}}},
		{"POST", "/delete", `%s`, "", 3, map[string][]string{"ids": {`[5]`}, "where": {`"price < 9"`}, "dry_run": {`true`}}},
	}
}

func with(a, b map[string][]string) map[string][]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// TestEveryKeyHasAnEffect sends all pairs of the keys of every object, and more of them at a time. Whatever is accepted
// does or answers something else without any of its keys, for one of the key's values, and whatever is refused names a
// key and changes nothing. So do empty values, but of what an item may lack: a blank label is a label that is not given.
func TestEveryKeyHasAnEffect(t *testing.T) {
	models, err := learned()
	ok(t, err)
	all := crossings(models["shop"].Fingerprint().Full())
	for _, c := range all {
		t.Run(c.method+c.path+c.body, func(t *testing.T) {
			t.Parallel()
			newCrosser(t, c).cross()
		})
	}
	d := readDocument(t)
	for _, o := range d.operations() {
		path := strings.TrimPrefix(strings.ReplaceAll(o.path, "{id}", "5"), "/v1/collections/{collection}")
		if o.method == "PUT" && path == "" {
			path = "-made"
		}
		knows := func(body string, keys int) {
			known := func(c crossing) bool {
				return c.method == o.method && c.path == path && c.body == body && len(c.keys) == keys
			}
			if !strings.HasPrefix(path, "/v1/try") && !slices.ContainsFunc(all, known) { // package workshop tests those
				t.Errorf("not all keys of %s %s are crossed", o.method, path)
			}
		}
		body, _ := o.object["requestBody"].(object)
		content, _ := body["content"].(object)
		if media, is := content["application/json"].(object); is {
			schema, err := d.resolve(media["schema"].(object))
			ok(t, err)
			knows("%s", len(schema["properties"].(object)))
		}
	}
}

// crosser sends the bodies of one crossing to a service of its own.
type crosser struct {
	testing.TB
	crossing
	*service
	base, file   string // of the collection
	whole        []byte // what the file holds
	items        string
	past         map[string]string
	anyWords     bool // a refusal need not name a key
	sent, passed int
}

func newCrosser(t testing.TB, c crossing) *crosser {
	x := &crosser{TB: t, crossing: c, past: map[string]string{}, base: shop}
	at := 0
	if path, is := strings.CutPrefix(c.path, photos); is {
		x.base, x.path, at = photos, path, 1
	}
	x.service = serve(t, func(o *server.Options) {
		o.Collections = o.Collections[at : at+1]
		o.Collections[0].Pictures = ""
	})
	var err error
	x.file = []string{x.files.shop, x.files.photos}[at]
	x.whole, err = os.ReadFile(x.file)
	ok(t, err)
	if at == 1 {
		x.must(t, 200, "PUT", photos+"/items/there", `{"code":"00ff"}`)
		x.whole, err = os.ReadFile(x.file)
		ok(t, err)
	}
	x.items = x.list()
	return x
}

func (x *crosser) cross() {
	names, most := slices.Sorted(maps.Keys(x.keys)), x.most
	if !needs.Full() {
		most = min(most, 2+most/5)
	}
	for _, name := range names {
		if null := x.text(map[string]string{name: "null"}); x.body != "" &&
			!strings.Contains(x.must(x.TB, 400, x.method, x.base+x.path, null), name+" is null") {
			x.Errorf("%s is taken for something else", null)
		}
	}
	if nothing := map[string]string{}; x.body != "" && x.outcome(nothing) != "" {
		x.Errorf("%s is accepted", x.text(nothing))
	}
	for set := range 1 << len(names) {
		if bits.OnesCount(uint(set)) > most {
			continue
		}
		values := map[string]string{}
		for i, name := range names {
			if set>>i&1 == 1 {
				values[name] = x.keys[name][0]
			}
		}
		if len(values) > 0 && x.check(values) {
			x.passed++
			for name, value := range values { // and without what the key says
				empty, is := map[byte]string{'"': `""`, '[': `[]`, '{': `{}`}[value[0]]
				if (is || x.body == "") && value != empty && !slices.Contains([]string{"name", "label", "tags", "attributes"}, name) {
					changed := maps.Clone(values)
					if changed[name] = empty; x.outcome(changed) != "" && x.without(changed, name) == x.outcome(changed) {
						x.Errorf("%s has no effect in %s", name, x.text(changed))
					}
				}
			}
		}
	}
	if x.passed == 0 {
		x.Error("nothing was accepted")
	}
	x.Logf("%d requests, %d bodies accepted", x.sent, x.passed)
}

// check reports whether a body is accepted, in which case each of its keys must have an effect.
func (x *crosser) check(values map[string]string) bool {
	x.Helper()
	if x.outcome(values) == "" {
		return false
	}
	for name := range values {
		effect := slices.ContainsFunc(x.keys[name], func(value string) bool {
			changed := maps.Clone(values)
			changed[name] = value
			return x.outcome(changed) != x.without(values, name)
		})
		if !effect {
			x.Errorf("%s has no effect in %s", name, x.text(values))
		}
	}
	return true
}

func (x *crosser) without(values map[string]string, name string) string {
	rest := maps.Clone(values)
	delete(rest, name)
	return x.outcome(rest)
}

func (x *crosser) text(values map[string]string) string {
	if x.body == "" {
		address := url.Values{}
		for name, value := range values {
			address.Set(name, value)
		}
		return address.Encode()
	}
	return fmt.Sprintf(x.body, x.object(values))
}

func (x *crosser) object(values map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, quoted(name)+":"+values[name])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// outcome is the answer to a body and the items afterwards, or "" if it is refused.
func (x *crosser) outcome(values map[string]string) string {
	x.Helper()
	text := x.text(values)
	if known, is := x.past[text]; is {
		return known
	}
	path, body := x.path+"?"+text, ""
	if x.body != "" {
		path, body = x.path, text
	}
	header := []string(nil)
	if x.rows != "" {
		body, header = x.rows, []string{"Content-Type", "application/octet-stream"}
	}
	a, err := x.call(x.method, x.base+path, body, header...)
	ok(x, err)
	x.sent++
	if x.path == "-made" && a.StatusCode == 200 {
		x.must(x.TB, 200, "DELETE", shop+path, "")
	}
	items := x.items
	if x.body != "" && x.path != "/search" && x.path != "/explain" && x.path != "/encode" {
		items = x.list()
	}
	switch named := func(name string) bool { return strings.Contains(messageOf(a.body), name) }; {
	case a.StatusCode == 200:
		x.past[text] = plainAnswer(a.body) + items
	case a.StatusCode < 400 || a.StatusCode >= 500 || items != x.items:
		x.Errorf("%s: status %d, the same items: %v\n%s", text, a.StatusCode, items == x.items, a.body)
	case !x.anyWords && strings.Contains(string(a.body), `"code":"invalid"`) && !slices.ContainsFunc(slices.Collect(maps.Keys(x.keys)), named):
		x.Errorf("%s: the refusal names no key: %s", text, a.body)
	default:
		x.past[text] = ""
	}
	if items != x.items {
		ok(x, os.WriteFile(x.file+".new", x.whole, 0o600))
		ok(x, os.Rename(x.file+".new", x.file))
		x.must(x.TB, 200, "POST", x.base+"/reload", "")
	}
	return x.past[text]
}

func (x *crosser) list() string {
	x.Helper()
	path := x.base + "/items?limit=1000"
	if x.path == "-made" {
		path = "/v1/server"
	}
	return x.must(x.TB, 200, "GET", path, "")
}

// FuzzKeys sends any set of the keys of any object, of which one has any value. What is accepted is sent again without
// each of its keys, and with other values of it: if the outcome is always the same, the key has no effect.
func FuzzKeys(f *testing.F) {
	models, err := learned()
	ok(f, err)
	var all []*crosser
	for i, c := range crossings(models["shop"].Fingerprint().Full()) {
		all = append(all, newCrosser(f, c))
		for at, name := range slices.Sorted(maps.Keys(c.keys)) {
			for _, value := range c.keys[name] {
				if needs.Full() || at == 0 {
					f.Add(uint8(i), uint32(1)<<at, uint32(0), uint8(at), value)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, set, second uint32, at uint8, value string) {
		x := all[int(which)%len(all)]
		x.TB, x.past, x.anyWords = t, map[string]string{}, true
		names, values := slices.Sorted(maps.Keys(x.keys)), map[string]string{}
		for i, name := range names {
			if set>>i&1 == 1 {
				values[name] = x.keys[name][int(second>>i&1)%len(x.keys[name])]
			}
		}
		values[names[int(at)%len(names)]] = value
		accepted := x.outcome(values)
		finds := strings.HasSuffix(x.path, "/search") || x.method+x.path == "GET/items"
		if accepted == "" || strings.Contains(accepted, `"missing":1`) ||
			finds && !strings.Contains(strings.TrimSuffix(accepted, x.items), `"id":`) {
			return // nothing has an effect on what is not found
		}
		if x.body != "" { // the value may have brought more keys
			var object map[string]json.RawMessage
			if json.Unmarshal([]byte(x.object(values)), &object) != nil {
				return
			}
			for name, value := range object {
				values[name] = string(value)
			}
		}
		for name, value := range values {
			others := append(slices.Clone(x.keys[name]), x.opposite(value))
			if x.without(values, name) == accepted && !slices.ContainsFunc(others, func(other string) bool {
				changed := maps.Clone(values)
				changed[name] = other
				return x.outcome(changed) != accepted
			}) {
				t.Errorf("%s has no effect in %s", name, x.text(values))
			}
		}
	})
}

// opposite is another value of the same kind, and most often one that is refused.
func (x *crosser) opposite(value string) string {
	switch {
	case x.body == "":
		return "~?"
	case value == "true":
		return "false"
	case value == "false":
		return "true"
	case value[0] == '"':
		return `"~?"`
	case strings.Contains("-0123456789", value[:1]):
		return "-1"
	}
	return value
}
