package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// trouble is what a fake server does instead of answering as it should.
type trouble int

const (
	healthy    trouble = iota
	busy               // 503, nothing done
	throttled          // 429, nothing done
	dropBefore         // the connection ends, nothing done
	dropAfter          // the connection ends after all was done
	silent             // no answer until the client gives up, nothing done
	torn               // all is done, and the answer ends in the middle
)

// fake is a strict server in place of an engine: it knows the requests of a published version, and whatever is not
// one of them fails the test. Its state belongs to the handler, which runs under the lock.
type fake struct {
	*httptest.Server
	t *testing.T

	// handle answers a request with a status and a value in JSON. It calls no method of the server.
	handle func(q asked) (status int, answer any)

	// fail, where it is set, chooses a fault for a request. It may be called concurrently.
	fail func(q asked) trouble

	mu       sync.Mutex
	requests []string // as a plan shows them
}

// asked is a request that came.
type asked struct {
	method, path string // the path without the query
	query        map[string]string
	header       http.Header
	body         []byte
}

// String returns the request as a plan shows it.
func (q asked) String() string {
	text := q.method + " " + q.path
	for i, key := range slices.Sorted(maps.Keys(q.query)) {
		text += map[bool]string{true: "?", false: "&"}[i == 0] + key + "=" + q.query[key]
	}
	if len(q.body) > 0 {
		text += "\n" + string(q.body)
	}
	return text
}

// newFake starts a server, which ends with the test.
func newFake(t *testing.T, handle func(q asked) (int, any)) *fake {
	f := &fake{t: t, handle: handle}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// address returns the server's URL for an engine's scheme.
func (f *fake) address(scheme string) string {
	return scheme + "+" + f.URL
}

// failWith sets what goes wrong with each request from now on; nil means nothing.
func (f *fake) failWith(fail func(q asked) trouble) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

// log returns the requests so far and forgets them.
func (f *fake) log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.requests
	f.requests = nil
	return log
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	q := asked{r.Method, r.URL.EscapedPath(), map[string]string{}, r.Header, body}
	for key, values := range r.URL.Query() {
		if q.query[key] = values[0]; len(values) > 1 {
			f.t.Errorf("the parameter %s is there twice: %s", key, r.URL)
		}
	}
	if (len(body) > 0) != (r.Header.Get("Content-Type") != "") {
		f.t.Errorf("%v has a body of %d bytes and the content type %q", q, len(body), r.Header.Get("Content-Type"))
	}
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	what := healthy
	if fail != nil {
		what = fail(q)
	}
	switch what {
	case busy, throttled:
		w.WriteHeader(map[trouble]int{busy: 503, throttled: 429}[what])
		return
	case dropBefore:
		panic(http.ErrAbortHandler)
	case silent:
		<-r.Context().Done()
		return
	}
	f.mu.Lock()
	f.requests = append(f.requests, q.String())
	status, answer := f.handle(q)
	f.mu.Unlock()
	text, err := json.Marshal(answer)
	if err != nil {
		f.t.Error(err)
	}
	if what == dropAfter {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if what == torn {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		text = text[:len(text)/2]
	}
	w.WriteHeader(status)
	w.Write(text)
}

// wrong fails the test because of a request, and is its answer.
func (f *fake) wrong(q asked, format string, args ...any) (int, any) {
	text := fmt.Sprintf(format, args...)
	f.t.Errorf("%s\n%s", text, strings.TrimSpace(q.String()))
	return 400, map[string]any{"error": text}
}

// The published schemas of requests, to the extent engines use them, are written with these shapes: a kind of value, a list,
// an object with the names it may have (a ? behind those that may be missing), or one of several shapes.
type (
	kind   string // text, integer, number, boolean
	list   struct{ of any }
	object map[string]any   // of shapes
	named  struct{ of any } // an object with any names
	single struct{ of any } // an object with one name, whichever
	either []any
	one    []string // of these texts
)

const (
	text    kind = "text"
	integer kind = "integer"
	number  kind = "number"
	boolean kind = "boolean"
)

// parse reads JSON with numbers as they are written, and nothing behind it.
func parse(body []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more than one value: %s", body)
	}
	return value, nil
}

// fits reports where a value is not of a shape.
func fits(value, shape any) error {
	if conforms(value, shape, nil) {
		return nil
	}
	var why []string
	conforms(value, shape, func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) })
	return errors.New(strings.Join(why, "; "))
}

// conforms reports whether a value is of a shape, and says where it is not when someone wants to know.
func conforms(value, shape any, say func(format string, args ...any)) bool {
	ok := false
	switch s := shape.(type) {
	case kind:
		switch v := value.(type) {
		case json.Number:
			_, err := v.Int64()
			ok = s == number || s == integer && err == nil
		case string:
			ok = s == text
		case bool:
			ok = s == boolean
		}
	case one:
		t, isText := value.(string)
		ok = isText && slices.Contains(s, t)
	case list:
		elements, isList := value.([]any)
		ok = isList && !slices.ContainsFunc(elements, func(e any) bool { return !conforms(e, s.of, say) })
	case single:
		members, isObject := value.(map[string]any)
		ok = isObject && len(members) == 1 && conforms(value, named(s), say)
	case named:
		members, isObject := value.(map[string]any)
		if ok = isObject; ok {
			for _, v := range members {
				ok = ok && conforms(v, s.of, say)
			}
		}
	case either:
		ok = slices.ContainsFunc(s, func(alternative any) bool { return conforms(value, alternative, say) })
	case func() any: // a shape that refers to itself
		return conforms(value, s(), say)
	case object:
		return s.conforms(value, say)
	default:
		panic(fmt.Sprintf("%T is no shape", shape))
	}
	if !ok && say != nil {
		say("%v (%T) is no %v", value, value, shape)
	}
	return ok
}

// conforms checks a value against an object shape.
func (s object) conforms(value any, say func(format string, args ...any)) bool {
	if say == nil {
		say = func(string, ...any) {}
	} else {
		defer func(names []string) { say("(an object with %v)", names) }(slices.Sorted(maps.Keys(s)))
	}
	members, ok := value.(map[string]any)
	if !ok {
		say("%v is no object", value)
		return false
	}
	for name := range s {
		if _, there := members[name]; !there && !strings.HasSuffix(name, "?") {
			say("the name %q is missing", name)
			return false
		}
	}
	for name, v := range members {
		shape, known := s[name]
		if !known {
			shape, known = s[name+"?"]
		}
		if !known {
			say("the name %q is not known", name)
			return false
		}
		if !conforms(v, shape, say) {
			say("in %q", name)
			return false
		}
	}
	return true
}

// TestShapes: a schema that accepts everything would make the fakes useless.
func TestShapes(t *testing.T) {
	shape := object{"s?": single{text}, "a": list{integer}, "b?": either{text, object{"c": boolean}}, "d?": named{number}, "e?": one{"x", "y"}}
	for body, ok := range map[string]bool{
		`{"a": [1, 2], "b": "t", "d": {"any": 1.5}, "e": "y"}`: true,
		`{"a": [], "b": {"c": true}}`:                          true,
		`{"a": [1.5]}`:                                         false,
		`{"a": ["1"]}`:                                         false,
		`{"A": [1]}`:                                           false,
		`{}`:                                                   false,
		`{"a": 1}`:                                             false,
		`{"a": [1], "f": 1}`:                                   false,
		`{"a": [1], "b": 1}`:                                   false,
		`{"a": [1], "b": {"c": 1}}`:                            false,
		`{"a": [1], "b": {}}`:                                  false,
		`{"a": [1], "d": {"any": "1"}}`:                        false,
		`{"a": [1], "e": "z"}`:                                 false,
		`{"a": null}`:                                          false,
		`[]`:                                                   false,
		`{"a": [], "s": {"x": "y"}}`:                           true,
		`{"a": [], "s": {"x": "y", "z": "y"}}`:                 false,
		`{"a": [], "s": {}}`:                                   false,
	} {
		value, err := parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(value, shape); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
	if _, err := parse([]byte(`{} {}`)); err == nil {
		t.Error("two values")
	}
}

// TestFakeFails looks at what a client sees of each fault.
func TestFakeFails(t *testing.T) {
	var applications atomic.Int32
	f := newFake(t, func(asked) (int, any) { applications.Add(1); return 200, "well" })
	for what, want := range map[trouble]string{
		healthy: "200", busy: "503", throttled: "429", dropBefore: "EOF", dropAfter: "EOF", silent: "deadline", torn: "EOF",
	} {
		before := applications.Load()
		f.failWith(func(asked) trouble { return what })
		client := http.Client{Timeout: time.Minute}
		if what == silent {
			client.Timeout = 50 * time.Millisecond
		}
		got, err := client.Get(f.URL)
		said := fmt.Sprint(err)
		if err == nil {
			said = got.Status
			if _, err := io.ReadAll(got.Body); err != nil {
				said = fmt.Sprint(err)
			}
			got.Body.Close()
		}
		if applied := what == healthy || what == dropAfter || what == torn; !strings.Contains(said, want) ||
			applications.Load() > before != applied {
			t.Errorf("fault %d: %s, applied %v", what, said, applications.Load() > before)
		}
	}
}
