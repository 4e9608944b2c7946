package engine_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// graphqlField is a field with its arguments and what is selected of it.
type graphqlField struct {
	alias  string // the name of the answer
	name   string
	args   map[string]any
	fields []graphqlField
}

// graphqlParser reads the part of GraphQL that is needed.
type graphqlParser struct {
	rest   string
	failed error
}

var graphqlToken = regexp.MustCompile(`^[\s,]*([{}()\[\]:]|[_A-Za-z]\w*|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")`)

// next takes a token, or returns "" at the end and where none fits.
func (p *graphqlParser) next() string {
	m := graphqlToken.FindStringSubmatch(p.rest)
	if m == nil {
		return ""
	}
	p.rest = p.rest[len(m[0]):]
	return m[1]
}

// take takes a token if it is the next.
func (p *graphqlParser) take(token string) bool {
	before := p.rest
	if p.next() == token {
		return true
	}
	p.rest = before
	return false
}

func (p *graphqlParser) expect(token string) {
	if !p.take(token) && p.failed == nil {
		p.failed = fmt.Errorf("%s is missing", token)
	}
}

func (p *graphqlParser) selection() []graphqlField {
	var fields []graphqlField
	p.expect("{")
	for p.failed == nil && !p.take("}") {
		f := graphqlField{name: p.next()}
		if f.alias = f.name; p.take(":") {
			f.name = p.next()
		}
		if f.name == "" {
			p.failed = fmt.Errorf("a name is missing")
		}
		if p.take("(") {
			f.args = p.members(")")
		}
		if strings.HasPrefix(strings.TrimSpace(p.rest), "{") {
			f.fields = p.selection()
		}
		fields = append(fields, f)
	}
	return fields
}

// members parses names with values, up to a bracket.
func (p *graphqlParser) members(end string) map[string]any {
	m := map[string]any{}
	for p.failed == nil && !p.take(end) {
		name := p.next()
		p.expect(":")
		m[name] = p.value()
	}
	return m
}

func (p *graphqlParser) value() any {
	switch token := p.next(); {
	case token == "{":
		return p.members("}")
	case token == "[":
		list := []any{}
		for p.failed == nil && !p.take("]") {
			list = append(list, p.value())
		}
		return list
	case strings.HasPrefix(token, `"`):
		var text string
		p.failed = json.Unmarshal([]byte(token), &text)
		return text
	case token != "" && strings.ContainsAny(token[:1], "-0123456789"):
		return json.Number(token)
	case token != "" && !strings.ContainsAny(token, "{}()[]:"):
		return token // an enum
	}
	p.failed = fmt.Errorf("a value is missing")
	return nil
}
