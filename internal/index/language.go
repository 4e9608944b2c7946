package index

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
)

// The filter language.
//
//	filter      = conjunction { "or" conjunction }
//	conjunction = condition { "and" condition }
//	condition   = "not" condition | "(" filter ")" | "has" name | name op value
//	            | name ["not"] "in" "(" value { "," value } ")"
//	            | name ["not"] "between" value "and" value | name ["not"] "starts" "with" value
//	op          = "=" | "!=" | "<" | "<=" | ">" | ">="        also "==" and "<>"
//	value       = number | "text" | 'text' | date | "true" | "false"
//	date        = 2024-01-31 | 2024-01-31T09:30:00Z, with or without quotes
//	name        = letters, digits, "_", "." and "-", not beginning with a digit or "-" | `any text`
//
// Keywords may be written in capitals; a name that is a keyword needs back quotes. Within quotes, \\ \" \' and \` are
// literal, and \n \t and \r mean line feed, tab and carriage return. Every item has the names id, label and tag; all
// others are attributes. between includes both ends. A date is an ISO 8601 text (date.go), and true and false are texts
// too. Examples:
//
//	label = "boots" and price < 30 and not tag in ("sale", "old")
//	in_stock = true and added between 2024-01-01 and 2024-03-31 and name starts with "rain"
//
// Ids that are whole numbers up to 2^63 - 1 compare as integers, even in quotes. All others are texts and compare only
// with texts, by their bytes; these include larger numbers and numbers with leading zeros, which must be quoted.
//
// A filter may be maxFilter bytes long and maxNesting deep.
const (
	maxFilter  = 1 << 20
	maxNesting = 500
)

// words cannot be names. Other words are recognised by their position, because attributes may have those names.
var words = []string{"and", "or", "not", "in", "has"}

// prefixOp is the operator "starts with" in a condition.
const prefixOp = "starts with"

// comparisons maps operators to their spelling in a condition.
var comparisons = map[string]string{
	"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}

// Parse parses a filter. An empty text lets everything through.
func Parse(text string) (Filter, error) {
	if len(text) > maxFilter {
		return Filter{}, message.New("too-long", "a filter of %d bytes: at most %d are allowed", len(text), maxFilter)
	}
	p := &parser{text: text}
	p.advance()
	if p.err == nil && p.kind == end {
		return Filter{}, nil
	}
	n := p.alternatives()
	if p.err == nil && p.kind != end {
		p.fail("want-end", "and, or, or the end of the filter")
	}
	if p.err != nil {
		return Filter{}, p.err
	}
	return Filter{n}, nil
}

// Chains of and and or lean to the left: a and b and c is (a and b) and c. Their length counts as depth, because
// walking the tree recurses that deep.
func (p *parser) alternatives() *Condition { return p.chain("or", p.conjunction) }
func (p *parser) conjunction() *Condition  { return p.chain("and", p.condition) }

func (p *parser) chain(op string, part func() *Condition) *Condition {
	defer func(d int) { p.depth = d }(p.depth)
	n := part()
	for p.accept(word, op) {
		p.descend()
		n = joined(op, n, part())
	}
	return n
}

func (p *parser) descend() {
	if p.depth++; p.depth > maxNesting {
		p.fail("too-deep", fmt.Sprintf("a simpler filter: at most %d levels, and in (...) for long lists", maxNesting))
	}
}

func (p *parser) condition() *Condition {
	defer func(d int) { p.depth = d }(p.depth)
	p.descend()
	switch {
	case p.accept(word, "not"):
		return joined("not", p.condition())
	case p.accept(symbol, "("):
		n := p.alternatives()
		p.expect(")")
		return n
	case p.accept(word, "has"):
		return &Condition{Op: "has", Name: p.name()}
	}
	field := p.name()
	if p.accept(word, "not") {
		p.descend()
		n := p.rangeOrList(field)
		if n == nil {
			p.fail("want-range", "in, between or starts with")
		}
		return joined("not", n)
	}
	if n := p.rangeOrList(field); n != nil {
		return n
	}
	op, ok := comparisons[p.token]
	if !ok || p.kind != symbol {
		p.fail("want-operator", "=, !=, <, <=, >, >=, in, between or starts with")
		return nil
	}
	p.advance()
	return &Condition{Op: op, Name: field, Values: []Value{p.literal(field, op)}}
}

// rangeOrList parses what can follow a name: in (values), between values, or starts with a text. It returns nil for
// anything else.
func (p *parser) rangeOrList(field string) *Condition {
	switch {
	case p.nextIs(word, "in"):
		return p.member(field)
	case p.acceptPlain("between"):
		n := &Condition{Op: "between", Name: field, Values: []Value{p.literal(field, "between")}}
		if !p.accept(word, "and") {
			p.fail("want-and", "and")
		}
		at := p.at
		n.Values = append(n.Values, p.literal(field, "between"))
		if reason := n.backwards(); reason != nil {
			p.at = at
			p.refuse(reason)
		}
		return n
	case p.acceptPlain("starts"):
		if !p.acceptPlain("with") {
			p.fail("want-with", "with")
		}
		if p.kind != text {
			p.fail("want-text", "a text in quotes")
		}
		n := &Condition{Op: prefixOp, Name: field, Values: []Value{String(p.token)}}
		p.advance()
		return n
	}
	return nil
}

// acceptPlain accepts a word that can be a name elsewhere.
func (p *parser) acceptPlain(w string) bool {
	if p.err != nil || p.kind != name || !strings.EqualFold(p.text[p.at:p.next], w) {
		return false
	}
	p.advance()
	return true
}

// backwards explains why nothing can lie between the values, or returns nil.
func (n *Condition) backwards() error {
	a, b := n.Values[0], n.Values[1]
	greater := false
	switch {
	case n.Name == idName && !a.isNumber && !b.isNumber && a.text != "" && b.text != "":
		x, y := Text(a.text), Text(b.text)
		if greater = x.Compare(y) > 0; (x.text == "") != (y.text == "") {
			return message.New("mixed-values", "between %v and %v: one is an integer and the other a text", a, b)
		}
	case n.Name == idName:
		greater = a.isNumber && b.isNumber && a.number > b.number
	case a.isNumber != b.isNumber:
		return message.New("mixed-values", "between %v and %v: one is a number and the other a text", a, b)
	case a.isNumber:
		greater = a.number > b.number
	default:
		greater = compareTexts([]byte(a.text), parseDate(a.text), b.text, parseDate(b.text)) > 0
	}
	if greater {
		return message.New("wrong-order", "between %v and %v: the smaller value comes first", a, b)
	}
	return nil
}

func (p *parser) name() string {
	s := p.token
	if p.kind != name || p.err != nil || s == "" {
		p.fail("want-name", "the name of an attribute, label, tag or id")
		return ""
	}
	p.advance()
	return s
}

// literal parses the value that a name is compared with. Labels and tags are texts even if they look like numbers, and
// whole-number ids are compared as texts too, because a float64 cannot hold all of them.
func (p *parser) literal(field, op string) Value {
	v := String(p.token)
	switch {
	case p.err != nil:
	case p.kind == number && field == idName && isWritten(p.token):
		if p.token[0] == '0' {
			p.refuse(message.New("leading-zeros",
				"ids with leading zeros, such as %s, are texts: write it in quotes, or without "+
					"the zeros", shortened(p.token)))
		} else if op != "=" && op != "!=" && op != "in" {
			p.refuse(message.New("no-order", "ids beyond 2^63 - 1, such as %s, are texts and have no order by value",
				shortened(p.token)))
		}
	case p.kind == number:
		n, err := strconv.ParseInt(p.token, 10, 64)
		whole := err == nil
		if x := p.value; !whole && x >= -1<<63 && x < 1<<63 { // 17.0 is 17
			n, whole = int64(x), x == math.Trunc(x)
		}
		switch {
		case field == idName && whole:
			v = String(strconv.FormatInt(n, 10))
		case field != LabelName && field != TagName:
			v = Number(p.value)
		}
	case p.kind == name && (p.token == "true" || p.token == "false") && p.text[p.at] != '`':
	case p.kind != text:
		p.fail("want-value", "a number or a text in quotes")
	}
	p.advance()
	return v
}

// isWritten reports whether a number has digits that no integer id has: too many, or needless zeros.
func isWritten(token string) bool {
	if strings.Trim(token, "0123456789") != "" {
		return false
	}
	_, err := strconv.ParseInt(token, 10, 64)
	return err != nil || len(token) > 1 && token[0] == '0'
}

// member parses in (values).
func (p *parser) member(field string) *Condition {
	p.advance()
	p.expect("(")
	m := &Condition{Op: "in", Name: field}
	for p.err == nil {
		m.Values = append(m.Values, p.literal(field, "in"))
		if !p.accept(symbol, ",") {
			break
		}
	}
	p.expect(")")
	return m
}

// quoteWith quotes a text so that the parser can read it back.
func quoteWith(s, quote string) string {
	escape := strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, quote, `\`+quote)
	return quote + escape.Replace(s) + quote
}

// field returns a name, in back quotes if the parser would not read it as one.
func field(s string) string {
	if s != "" && isLetter(s[0]) && span(s, ".-") == len(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	return quoteWith(s, "`")
}

// write appends the filter as text. It writes brackets only where the parser needs them, so that the parsed filter is
// no deeper.
func (n *Condition) write(b *strings.Builder) {
	switch {
	case n.Op == "and" || n.Op == "or":
		left, right := n.Parts[0], n.Parts[1]
		left.writeIn(b, n.Op == "and" && left.Op == "or")
		b.WriteString(" " + n.Op + " ")
		right.writeIn(b, right.Op == "or" || n.Op == "and" && right.Op == "and")
	case n.Op == "not":
		b.WriteString("not ")
		n.Parts[0].writeIn(b, n.Parts[0].Op == "and" || n.Parts[0].Op == "or")
	case n.Op == "has":
		b.WriteString("has " + field(n.Name))
	case n.Op == "between":
		b.WriteString(field(n.Name) + " between " + n.Values[0].String() + " and " + n.Values[1].String())
	case n.Op != "in":
		b.WriteString(field(n.Name) + " " + n.Op + " " + n.Values[0].String())
	case len(n.Values) == 0: // matches nothing
		b.WriteString("not has " + idName)
	default:
		b.WriteString(field(n.Name) + " in (")
		for i, v := range n.Values {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(v.String())
		}
		b.WriteByte(')')
	}
}

func (n *Condition) writeIn(b *strings.Builder, brackets bool) {
	if brackets {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	n.write(b)
}
