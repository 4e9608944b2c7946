package engine_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// milvusParser reads the filters that are needed.
type milvusParser struct{ rest []string }

var milvusToken = regexp.MustCompile(`^\s*([()\[\],]|<=|>=|<|>|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[A-Za-z_]\w*|"(?:[^"\\\r\n]|\\["\\]|\\u[0-9a-f]{4})*")`)

// parseMilvusFilter makes a function of a filter; none lets everything through.
func parseMilvusFilter(filter any) (func(fakeItem) bool, error) {
	text, _ := filter.(string)
	if text == "" {
		return func(fakeItem) bool { return true }, nil
	}
	p := &milvusParser{}
	for strings.TrimSpace(text) != "" {
		m := milvusToken.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("no token at %.30q", text)
		}
		p.rest, text = append(p.rest, m[1]), text[len(m[0]):]
	}
	match, err := p.either()
	if err == nil && len(p.rest) > 0 {
		err = fmt.Errorf("more follows: %v", p.rest)
	}
	return match, err
}

func (p *milvusParser) next() string {
	if len(p.rest) == 0 {
		return ""
	}
	token := p.rest[0]
	p.rest = p.rest[1:]
	return token
}

func (p *milvusParser) take(token string) bool {
	if len(p.rest) == 0 || p.rest[0] != token {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *milvusParser) either() (func(fakeItem) bool, error) {
	match, err := p.both()
	for err == nil && p.take("or") {
		var next func(fakeItem) bool
		first := match
		next, err = p.both()
		match = func(it fakeItem) bool { return first(it) || next(it) }
	}
	return match, err
}

func (p *milvusParser) both() (func(fakeItem) bool, error) {
	match, err := p.condition()
	for err == nil && p.take("and") {
		var next func(fakeItem) bool
		first := match
		next, err = p.condition()
		match = func(it fakeItem) bool { return first(it) && next(it) }
	}
	return match, err
}

func (p *milvusParser) condition() (func(fakeItem) bool, error) {
	switch token := p.next(); token {
	case "not":
		inner, err := p.condition()
		return func(it fakeItem) bool { return !inner(it) }, err
	case "(":
		inner, err := p.either()
		if err == nil && !p.take(")") {
			err = fmt.Errorf("a bracket is missing before %v", p.rest)
		}
		return inner, err
	case "array_contains_any":
		if !p.take("(") || !p.take("terms") || !p.take(",") {
			return nil, fmt.Errorf("array_contains_any(terms, ...) is meant")
		}
		list, err := p.list()
		if err == nil && !p.take(")") {
			err = fmt.Errorf("a bracket is missing before %v", p.rest)
		}
		return func(it fakeItem) bool { return it.hasAny(list...) }, err
	case "id":
		return p.id()
	case "attributes":
		return p.number()
	default:
		return nil, fmt.Errorf("%q is no condition", token)
	}
}

// list parses texts in square brackets.
func (p *milvusParser) list() ([]string, error) {
	var list []string
	if !p.take("[") {
		return nil, fmt.Errorf("a list is missing before %v", p.rest)
	}
	for {
		text, err := strconv.Unquote(p.next())
		if err != nil {
			return nil, err
		}
		list = append(list, text)
		if p.take("]") {
			return list, nil
		}
		if !p.take(",") {
			return nil, fmt.Errorf("a comma is missing before %v", p.rest)
		}
	}
}

func (p *milvusParser) id() (func(fakeItem) bool, error) {
	op := p.next()
	if op == "in" {
		list, err := p.list()
		return func(it fakeItem) bool { return slices.Contains(list, it.key) }, err
	}
	text, err := strconv.Unquote(p.next())
	if op != ">" && op != "<=" {
		err = fmt.Errorf("id %s", op)
	}
	return func(it fakeItem) bool { return it.key > text == (op == ">") }, err
}

func (p *milvusParser) number() (func(fakeItem) bool, error) {
	if !p.take("[") {
		return nil, fmt.Errorf("the name of an attribute is missing")
	}
	name, err := strconv.Unquote(p.next())
	if err != nil || !p.take("]") {
		return nil, fmt.Errorf("the name of an attribute is wrong: %v", err)
	}
	op := p.next()
	value, err := strconv.ParseFloat(p.next(), 64)
	return func(it fakeItem) bool {
		x, ok := it.numbers[name]
		return ok && map[string]bool{"<": x < value, "<=": x <= value, ">": x > value, ">=": x >= value}[op]
	}, err
}
