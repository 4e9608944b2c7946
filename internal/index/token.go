package index

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hashgrove/internal/message"
)

// The tokens of the filter language, described in language.go.

type kind int

const (
	end    kind = iota
	word        // and, or, not, in, has
	name        // of an attribute
	symbol      // operators, brackets, comma
	text        // in quotes
	number
)

// parser reads one token ahead, described by kind, token and at.
type parser struct {
	text  string
	next  int // where the next token begins
	at    int
	kind  kind
	token string
	value float64
	depth int
	err   error
}

// fail ends parsing because something else was expected; the code says what.
func (p *parser) fail(code message.Code, want string) {
	if p.err == nil {
		have := "the end"
		if p.kind != end {
			have = strconv.Quote(shortened(p.token))
		}
		p.err = message.New(code, "filter, column %d: found %s, want %s", utf8.RuneCountInString(p.text[:p.at])+1, have, want)
	}
	p.kind = end
}

// refuse ends parsing with an error about the current token.
func (p *parser) refuse(reason error) {
	if p.err == nil {
		p.err = fmt.Errorf("filter, column %d: %w", utf8.RuneCountInString(p.text[:p.at])+1, reason)
	}
	p.kind = end
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// span returns how many bytes from the first on are letters, digits or some others.
func span(s, others string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || strings.IndexByte(others, s[n]) >= 0) {
		n++
	}
	return n
}

// advance reads the next token.
func (p *parser) advance() {
	if p.err != nil {
		return
	}
	rest := strings.TrimLeft(p.text[p.next:], " \t\r\n")
	p.at = len(p.text) - len(rest)
	if p.next = p.at; rest == "" {
		p.kind, p.token = end, ""
		return
	}
	take := func(k kind, n int) { p.kind, p.token, p.next = k, rest[:n], p.at+n }
	switch c := rest[0]; {
	case isLetter(c):
		take(name, span(rest, ".-"))
		if lower := strings.ToLower(p.token); slices.Contains(words, lower) {
			p.kind, p.token = word, lower
		}
	case isDigit(c) && len(rest) >= 10 && rest[4] == '-' && rest[7] == '-':
		if take(text, span(rest, ":.+-")); parseDate(p.token) == noMoment {
			p.fail("want-date", "a date such as 2024-01-31 or 2024-01-31T09:30:00Z")
		}
	case isDigit(c) || strings.IndexByte("-+.", c) >= 0 && len(rest) > 1 && (isDigit(rest[1]) || rest[1] == '.'):
		n := 1 + span(rest[1:], ".")
		if n < len(rest) && (rest[n] == '-' || rest[n] == '+') && rest[n-1]|0x20 == 'e' {
			n += 1 + span(rest[n+1:], ".")
		}
		take(number, n)
		x, err := strconv.ParseFloat(p.token, 64)
		if err != nil || math.IsInf(x, 0) || strings.ContainsAny(p.token, "xX_pPnN") {
			p.fail("want-number", "a number")
		}
		p.value = x + 0 // -0 is 0
	default:
		two := rest[:min(2, len(rest))]
		if _, ok := comparisons[two]; ok {
			take(symbol, len(two))
		} else {
			take(symbol, 1)
		}
		if strings.IndexByte("\"'`", c) >= 0 {
			p.quoted(c)
		}
	}
}

// quoted reads a quoted text.
func (p *parser) quoted(quote byte) {
	var b strings.Builder
	for i := p.next; i < len(p.text); i++ {
		c := p.text[i]
		if c == quote {
			p.kind, p.token, p.next = text, b.String(), i+1
			if quote == '`' {
				p.kind = name
			}
			return
		}
		if c == '\\' && i+1 < len(p.text) {
			i++
			at := strings.IndexByte("ntr\\\"'`", p.text[i])
			if at < 0 {
				p.token = p.text[i-1 : i+1]
				p.fail("want-escape", `one of \\ \" \' \n \t \r in quotes`)
				return
			}
			c = "\n\t\r\\\"'`"[at]
		}
		b.WriteByte(c)
	}
	p.token = p.text[p.at:]
	p.fail("want-quote", "a closing quote")
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
		p.fail("want-bracket", strconv.Quote(token))
	}
}
