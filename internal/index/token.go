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
	case startsDate(s[i:]):
		for i += len("2024-01-31"); i < len(s) && (isDigit(s[i]) || isLetter(s[i]) || strings.IndexByte(":.+-", s[i]) >= 0); {
			i++
		}
		if p.kind, p.token = text, s[p.at:i]; parseDate(p.token) == noMoment {
			p.fail("want-date", "a date such as 2024-01-31 or 2024-01-31T09:30:00Z")
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
			p.fail("want-number", "a number")
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

// startsDate reports whether a text begins like a date.
func startsDate(s string) bool {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	_, year := digits(s[:4])
	_, month := digits(s[5:7])
	_, day := digits(s[8:10])
	return year && month && day
}

// quoted reads a quoted text.
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
				p.fail("want-escape", `one of \\ \" \' \n \t \r in quotes`)
				return
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	p.kind, p.token = symbol, p.text[p.at:]
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
