package index

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The filter language.
//
//	filter      = conjunction { "or" conjunction }
//	conjunction = condition { "and" condition }
//	condition   = "not" condition | "(" filter ")" | "has" name | name op value
//	            | name ["not"] "in" "(" value { "," value } ")"
//	op          = "=" | "!=" | "<" | "<=" | ">" | ">="        also "==" and "<>"
//	value       = number | "text" | 'text'
//	name        = letters, digits, "_", "." and "-", not beginning with a digit or "-" | `any text`
//
// Words of the language may be written in capitals; a name that is such a word goes into back quotes. In quotes, \\ \"
// \' \` \n \t and \r stand for themselves and for line feed, tab and carriage return. The names id, label and tag are
// every item's; all others are attributes. Example:
//
//	label = "boots" and price < 30 and not tag in ("sale", "old")
//
// A filter may be maxFilter bytes long and maxNesting deep.
const (
	maxFilter  = 1 << 20
	maxNesting = 500
)

var words = []string{"and", "or", "not", "in", "has"}

// comparisons are the operators, and how they are spelled in a node.
var comparisons = map[string]string{
	"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}

// Parse reads a filter. An empty text lets everything through.
func Parse(text string) (Filter, error) {
	if len(text) > maxFilter {
		return Filter{}, fmt.Errorf("a filter of %d bytes, and at most %d are allowed", len(text), maxFilter)
	}
	p := &parser{text: text}
	p.advance()
	if p.err == nil && p.kind == end {
		return Filter{}, nil
	}
	n := p.alternatives()
	if p.err == nil && p.kind != end {
		p.fail("and, or, or the end of the filter")
	}
	if p.err != nil {
		return Filter{}, p.err
	}
	return Filter{n}, nil
}

type kind int

const (
	end    kind = iota
	word        // and, or, not, in, has
	name        // of an attribute
	symbol      // operators, brackets, comma
	text        // in quotes
	number
)

// parser reads one token ahead: kind, token and at describe it.
type parser struct {
	text  string
	next  int // where the token after this one begins
	at    int
	kind  kind
	token string
	value float64
	depth int
	err   error
}

func (p *parser) fail(want string) {
	if p.err == nil {
		have := "the end"
		if p.kind != end {
			have = strconv.Quote(shortened(p.token))
		}
		p.err = fmt.Errorf("filter, column %d: found %s, want %s", utf8.RuneCountInString(p.text[:p.at])+1, have, want)
	}
	p.kind = end
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// advance reads the next token.
func (p *parser) advance() {
	if p.err != nil {
		return
	}
	s := p.text
	for p.next < len(s) && strings.IndexByte(" \t\r\n", s[p.next]) >= 0 {
		p.next++
	}
	p.at = p.next
	if p.at == len(s) {
		p.kind, p.token = end, ""
		return
	}
	i := p.at
	switch c := s[i]; {
	case isLetter(c):
		for i < len(s) && (isLetter(s[i]) || isDigit(s[i]) || s[i] == '.' || s[i] == '-') {
			i++
		}
		p.kind, p.token = name, s[p.at:i]
		if lower := strings.ToLower(p.token); slices.Contains(words, lower) {
			p.kind, p.token = word, lower
		}
	case isDigit(c) || (c == '-' || c == '+' || c == '.') && i+1 < len(s) && (isDigit(s[i+1]) || s[i+1] == '.'):
		for i++; i < len(s); i++ {
			exponent := (s[i] == '-' || s[i] == '+') && s[i-1]|0x20 == 'e'
			if !isDigit(s[i]) && !isLetter(s[i]) && s[i] != '.' && !exponent {
				break
			}
		}
		p.kind, p.token = number, s[p.at:i]
		x, err := strconv.ParseFloat(p.token, 64)
		if err != nil || math.IsInf(x, 0) || strings.ContainsAny(p.token, "xX_pPnN") {
			p.fail("a number")
		}
		p.value = x + 0 // -0 is 0
	case c == '"' || c == '\'' || c == '`':
		p.quoted(c)
		i = p.next
	default:
		i++
		if i < len(s) && (s[i] == '=' || c == '<' && s[i] == '>') && strings.IndexByte("<>=!", c) >= 0 {
			i++
		}
		p.kind, p.token = symbol, s[p.at:i]
	}
	p.next = i
}

// quoted reads what is between quotes.
func (p *parser) quoted(quote byte) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		c := p.text[i]
		switch c {
		case quote:
			p.kind, p.token, p.next = text, b.String(), i+1
			if quote == '`' {
				p.kind = name
			}
			return
		case '\\':
			i++
			if i == len(p.text) {
				break
			}
			switch c = p.text[i]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'r':
				c = '\r'
			case '\\', '"', '\'', '`':
			default:
				p.token = p.text[i-1 : i+1]
				p.kind = symbol
				p.fail(`one of \\ \" \' \n \t \r in quotes`)
				return
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	p.kind, p.token = symbol, p.text[p.at:]
	p.fail("a closing quote")
}

func (p *parser) nextIs(k kind, token string) bool {
	return p.err == nil && p.kind == k && p.token == token
}

func (p *parser) accept(k kind, token string) bool {
	if p.nextIs(k, token) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expect(token string) {
	if !p.accept(symbol, token) {
		p.fail(strconv.Quote(token))
	}
}

// Chains of and and or lean to the left: a and b and c is (a and b) and c. Their length counts as depth, because
// whoever walks the tree goes that deep.
func (p *parser) alternatives() *node { return p.chain("or", p.conjunction) }
func (p *parser) conjunction() *node  { return p.chain("and", p.condition) }

func (p *parser) chain(op string, part func() *node) *node {
	defer func(d int) { p.depth = d }(p.depth)
	n := part()
	for p.accept(word, op) {
		p.descend()
		n = &node{op: op, a: n, b: part()}
	}
	return n
}

func (p *parser) descend() {
	if p.depth++; p.depth > maxNesting {
		p.fail(fmt.Sprintf("a simpler filter: at most %d levels, and in (...) for long lists", maxNesting))
	}
}

func (p *parser) condition() *node {
	defer func(d int) { p.depth = d }(p.depth)
	p.descend()
	switch {
	case p.accept(word, "not"):
		return &node{op: "not", a: p.condition()}
	case p.accept(symbol, "("):
		n := p.alternatives()
		p.expect(")")
		return n
	case p.accept(word, "has"):
		return &node{op: "has", name: p.name()}
	}
	field := p.name()
	if p.accept(word, "not") {
		p.descend()
		if !p.nextIs(word, "in") {
			p.fail("in")
		}
		return &node{op: "not", a: p.member(field)}
	}
	if p.nextIs(word, "in") {
		return p.member(field)
	}
	op, ok := comparisons[p.token]
	if !ok || p.kind != symbol {
		p.fail("=, !=, <, <=, >, >= or in")
		return nil
	}
	p.advance()
	return &node{op: op, name: field, values: []Value{p.literal(field)}}
}

func (p *parser) name() string {
	s := p.token
	if p.kind != name || p.err != nil || s == "" {
		p.fail("the name of an attribute, label, tag or id")
		return ""
	}
	p.advance()
	return s
}

// literal reads what a name is compared with. Labels and tags are texts, also when they look like numbers, and whole
// ids are compared as texts too, because a float64 does not hold them all.
func (p *parser) literal(field string) Value {
	v := String(p.token)
	switch {
	case p.err != nil:
	case p.kind == number:
		n, err := strconv.ParseInt(p.token, 10, 64)
		whole := err == nil
		if x := p.value; !whole && x >= -1<<63 && x < 1<<63 { // 17.0 is 17
			n, whole = int64(x), x == math.Trunc(x)
		}
		switch {
		case field == idName && whole:
			v = String(strconv.FormatInt(n, 10))
		case field != labelName && field != tagName:
			v = Number(p.value)
		}
	case p.kind != text:
		p.fail("a number or a text in quotes")
	}
	p.advance()
	return v
}

// member reads in (values).
func (p *parser) member(field string) *node {
	p.advance()
	p.expect("(")
	m := &node{op: "in", name: field}
	for p.err == nil {
		m.values = append(m.values, p.literal(field))
		if !p.accept(symbol, ",") {
			break
		}
	}
	p.expect(")")
	return m
}

// quoteWith writes a text in quotes of a kind, so that the parser reads it back.
func quoteWith(s string, quote byte) string {
	var b strings.Builder
	b.WriteByte(quote)
	for i := range len(s) {
		switch c := s[i]; c {
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			b.WriteString(`\r`)
		case '\\', quote:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

// field writes a name, in back quotes where the parser would not read it as one.
func field(s string) string {
	plain := s != "" && isLetter(s[0]) && !slices.Contains(words, strings.ToLower(s))
	for i := range len(s) {
		plain = plain && (isLetter(s[i]) || isDigit(s[i]) || s[i] == '.' || s[i] == '-')
	}
	if plain {
		return s
	}
	return quoteWith(s, '`')
}

// write appends the filter as the language has it. Brackets are written only where the parser needs them, so that what
// is read back is no deeper.
func (n *node) write(b *strings.Builder) {
	switch {
	case n.op == "and" || n.op == "or":
		n.a.writeIn(b, n.op == "and" && n.a.op == "or")
		b.WriteString(" " + n.op + " ")
		n.b.writeIn(b, n.b.op == "or" || n.op == "and" && n.b.op == "and")
	case n.op == "not":
		b.WriteString("not ")
		n.a.writeIn(b, n.a.op == "and" || n.a.op == "or")
	case n.op == "has":
		b.WriteString("has " + field(n.name))
	case n.op != "in":
		b.WriteString(field(n.name) + " " + n.op + " " + n.values[0].String())
	case len(n.values) == 0: // what nothing is
		b.WriteString("not has " + idName)
	default:
		b.WriteString(field(n.name) + " in (")
		for i, v := range n.values {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(v.String())
		}
		b.WriteByte(')')
	}
}

func (n *node) writeIn(b *strings.Builder, brackets bool) {
	if brackets {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	n.write(b)
}
