package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hashgrove/internal/testkit/needs"
)

// request is a request that a service answers well, and what is known about it.
type request struct {
	method, path string
	address      []string // parameters, escaped: k=3
	body         string
	header       []string
	free         []string // keys and parameters without which the request is another valid one
}

func (e request) target() string {
	if len(e.address) == 0 {
		return e.path
	}
	return e.path + "?" + strings.Join(e.address, "&")
}

func (e request) String() string { return fmt.Sprintf("%s %s %s", e.method, e.target(), e.body) }

// mutant is an request with one thing changed.
type mutant struct {
	request
	what  string // was changed
	names string // what an error has to name; empty means anything
	want  int
}

// What may become of a mutant.
const (
	mustRefuse = iota // a status of 4xx
	mayRefuse         // that, or the answer to the valid request
	mustEqual         // the answer to the valid request
	mayDiffer         // any good answer: it is another valid request
)

// mutants returns an request with every change that this file knows.
func mutants(e request) []mutant {
	all := slices.Concat(addressMutants(e), headMutants(e))
	if len(e.body) > 0 && e.body[0] == '{' {
		all = append(all, bodyMutants(e)...)
	}
	return all
}

// addressMutants changes the parameters of an address.
func addressMutants(e request) (all []mutant) {
	with := func(what, names string, want int, address ...string) {
		m := mutant{e, what, names, want}
		m.address = address
		all = append(all, m)
	}
	for i, p := range e.address {
		name, value, _ := strings.Cut(p, "=")
		others := slices.Delete(slices.Clone(e.address), i, i+1)
		and := func(p ...string) []string { return append(slices.Clone(others), p...) }
		with("doubled "+name, name, mustRefuse, and(p, p)...)
		with("doubled with another value "+name, name, mustRefuse, and(p, name+"=1")...)
		with("doubled, the other first "+name, name, mustRefuse, and(name+"=", p)...)
		with("in capitals "+name, strings.ToUpper(name), mustRefuse, and(strings.ToUpper(name)+"="+value)...)
		with("escaped "+name, "", mustEqual, and(escaped(name)+"="+value)...)
		for _, end := range []string{"%", "%2", "%zz", ";", ";x=1", "%ff", "%c3", "%ed%a0%80"} {
			with("ending with "+end+" "+name, "", mustRefuse, and(p+end)...)
			with("named with "+end+" "+name, "", mustRefuse, and(name+end+"="+value)...)
			if end != "%" && end != "%2" { // which may become a whole escape
				with("beginning with "+end+" "+name, "", mustRefuse, and(name+"="+end+value)...)
			}
		}
		want := mayRefuse
		if slices.Contains(e.free, name) {
			want = mayDiffer
		}
		with("missing "+name, "", want, others...)
		with("without a value "+name, "", want, and(name+"=")...)
		with("without an equals sign "+name, "", want, and(name)...)
	}
	with("an unknown parameter", "nonsense", mustRefuse, append(slices.Clone(e.address), "nonsense=1")...)
	with("a broken parameter", "", mustRefuse, append(slices.Clone(e.address), "%")...)
	with("a semicolon", "", mustRefuse, append(slices.Clone(e.address), "a;b")...)
	with("an ampersand at the end", "", mustEqual, append(slices.Clone(e.address), "")...)
	if e.body != "" {
		with("options in the address, which belong into the body", "", mustRefuse, append(slices.Clone(e.address), "k=1", "where=x")...)
	}
	return all
}

// escaped writes a parameter with its first letter escaped.
func escaped(name string) string { return fmt.Sprintf("%%%02x", name[0]) + name[1:] }

// headMutants changes path and headers.
func headMutants(e request) (all []mutant) {
	with := func(what, names string, want int, change func(m *mutant)) {
		m := mutant{e, what, names, want}
		m.header = slices.Clone(e.header)
		change(&m)
		all = append(all, m)
	}
	if strings.HasPrefix(e.path, "/v1/collections/") {
		with("another model", "", mustRefuse, func(m *mutant) {
			m.header = append(m.header, "Hashgrove-Fingerprint", strings.Repeat("0", 31)+"1")
		})
	}
	with("compressed", "", mustRefuse, func(m *mutant) { m.header = append(m.header, "Content-Encoding", "gzip") })
	if e.body == "" {
		with("with a body", "body", mustRefuse, func(m *mutant) { m.body = "{}" })
		return all
	}
	for _, kind := range []string{"text/plain", "application/json; charset=utf-16", "application/json; charset", "application/jsonl", " "} {
		with("of the type "+kind, "", mustRefuse, func(m *mutant) { m.header = append(m.header, "Content-Type", kind) })
	}
	with("of the type with a charset", "", mustEqual, func(m *mutant) {
		if e.body[0] == '{' {
			m.header = append(m.header, "Content-Type", "Application/JSON; charset=UTF-8")
		}
	})
	return all
}

// bodyMutants changes a JSON object.
func bodyMutants(e request) (all []mutant) {
	with := func(what, names string, want int, body string) {
		m := mutant{e, what, names, want}
		m.body = body
		all = append(all, m)
	}
	step := 1
	if !needs.Full() {
		step = 7
	}
	for i := 1; i < len(e.body); i += step {
		with(fmt.Sprintf("cut after %d bytes", i), "", mustRefuse, e.body[:i])
	}
	for _, more := range []string{"x", "{}", e.body, ",", "null", "\x00", "]"} {
		with("followed by "+more, "", mustRefuse, e.body+more)
	}
	for _, before := range []string{"\ufeff", "\x00", ",", "null", "//\n"} {
		with("preceded by "+before, "", mustRefuse, before+e.body)
	}
	with("padded", "", mustEqual, " \t\r\n"+e.body+"\n\n ")
	with("as a list", "", mustRefuse, "["+e.body+"]")
	with("as a text", "", mustRefuse, `"`+strings.ReplaceAll(e.body, `"`, `\"`)+`"`)
	with("null", "null", mustRefuse, "null")
	var again bytes.Buffer
	if err := json.Indent(&again, []byte(e.body), " ", "\t"); err != nil {
		panic(err)
	}
	with("written again", "", mustEqual, again.String())
	root := parseNode(jsontext.NewDecoder(strings.NewReader(e.body)), "", nil)
	for n := range root.all() {
		n.mutants(e.body, func(what, names string, want int, body string) {
			if want == mayDiffer && !slices.Contains(e.free, n.key) {
				want = mayRefuse
			}
			with(what, names, want, body)
		})
	}
	return all
}

// node is a JSON value, and where it stands.
type node struct {
	key             string // in its object
	kind            byte   // { [ " 0 t
	of              *node
	parts           []*node
	begin, from, to int // of the key, if it has one, and of the value
}

func parseNode(d *jsontext.Decoder, key string, of *node) *node {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	n := &node{key: key, kind: byte(d.PeekKind()), of: of}
	if n.kind != '{' && n.kind != '[' {
		raw, err := d.ReadValue()
		must(err)
		n.to = int(d.InputOffset())
		n.from = n.to - len(raw)
		return n
	}
	_, err := d.ReadToken()
	must(err)
	n.from = int(d.InputOffset()) - 1
	for d.PeekKind() != ']' && d.PeekKind() != '}' {
		name, begin := key, 0
		if n.kind == '{' {
			raw, err := d.ReadValue()
			must(err)
			name, begin = strings.Trim(string(raw), `"`), int(d.InputOffset())-len(raw)
		}
		p := parseNode(d, name, n)
		p.begin = begin
		n.parts = append(n.parts, p)
	}
	_, err = d.ReadToken()
	must(err)
	n.to = int(d.InputOffset())
	return n
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// all returns a value and everything in it.
func (n *node) all() func(func(*node) bool) {
	return func(yield func(*node) bool) {
		if !yield(n) {
			return
		}
		for _, p := range n.parts {
			for q := range p.all() {
				if !yield(q) {
					return
				}
			}
		}
	}
}

// mutants calls use with a body in which one value, or its key with it, is changed.
func (n *node) mutants(body string, use func(what, names string, want int, body string)) {
	if n.of == nil {
		return
	}
	at, text := n.key, body[n.from:n.to]
	change := func(what, names string, want int, from int, instead string) {
		use(what+" "+at, names, want, body[:from]+instead+body[n.to:])
	}
	value := func(what, names string, want int, instead string) { change(what, names, want, n.from, instead) }
	if n.of.kind == '{' {
		key, anyName := quoted(at)+":", n.of.key == "attributes"
		member := func(what, names string, instead string) { change(what, names, mustRefuse, n.begin, instead) }
		if !anyName {
			use("missing "+at, "", mayDiffer, strings.NewReplacer("{,", "{", ",,", ",", ",}", "}").Replace(body[:n.begin]+body[n.to:]))
		}
		member("doubled", at, key+text+","+key+text)
		member("doubled with null", at, key+text+","+key+"null")
		member("doubled with another value first", at, key+"0,"+key+text)
		member("twice, once escaped", at, key+text+`,"\u00`+fmt.Sprintf("%02x", at[0])+at[1:]+`":`+text)
		if !anyName {
			upper := quoted(strings.ToUpper(at)) + ":"
			member("in capitals", strings.ToUpper(at), upper+text)
			member("beside itself in capitals", strings.ToUpper(at), key+text+","+upper+text)
			member("with a space", "", quoted(at+" ")+":"+text)
			member("with an unknown neighbour", "nonsense", key+text+`,"nonsense":1`)
		}
	}
	value("null", at, mustRefuse, "null")
	others := map[byte][]string{
		'"': {"true", "[]", "{}", "[" + text + "]", "7.5"}, '0': {quoted(text), "true", "[]", "{}", text + "e99", "1e999"},
		't': {"1", quoted(text), "[]", "{}"}, 'f': {"1", quoted(text), "[]", "{}"},
		'[': {"7.5", `"text"`, "true", "{}", "[" + text + "]"}, '{': {"7.5", `"text"`, "true", "[]"},
	}
	for _, other := range others[n.kind] {
		if n.of.key == "attributes" && other[0] != '[' && other[0] != '{' {
			continue // attributes are of any of these kinds
		}
		value("as "+other, "", mayRefuse, other)
	}
	switch {
	case n.kind == '"':
		for _, broken := range []string{"\xff", `\ud800`, `\ud800\ud800`, "\xed\xa0\x80", `\x`, "\n", "\x00"} {
			value(fmt.Sprintf("with %q", broken), "", mustRefuse, text[:len(text)-1]+broken+`"`)
		}
	case n.kind == '[' && len(n.parts) > 0:
		value("with null at the end", at, mustRefuse, text[:len(text)-1]+",null]")
		value("with a comma at the end", "", mustRefuse, text[:len(text)-1]+",]")
	}
}

// brokenPaths returns a path with broken escapes and bytes that are no UTF-8.
func brokenPaths(path string) []string {
	return []string{path + "%ff", path + "%ed%a0%80", path + url.PathEscape("\xc3")}
}
