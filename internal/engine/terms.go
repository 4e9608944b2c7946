package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"hashgrove/internal/index"
)

// Engines whose filters mean something different from ours get terms with every item: texts that say what it has. An
// item either has a term or not, so and, or and not mean the same everywhere.
//
//	"price"          it has a price
//	"price"=12       which is the number 12
//	"tag"="boots"    one of its tags is boots
//
// A clause is what such an engine can evaluate. If a filter says more, such as an order of texts, the clause matches a
// superset, and the filter itself is applied on our side (nearest.go).

// longestTerm limits the length of a term in bytes; the end of a longer one is replaced by a hash.
const longestTerm = 200

// hasTerm is the term of an item that has a name.
func hasTerm(name string) string { return shortTerm(index.String(name).String()) }

// isTerm is the term of an item that has a value under a name.
func isTerm(name string, v index.Value) string {
	if x, ok := v.Number(); ok && x == 0 {
		v = index.Number(0) // also for -0
	}
	return shortTerm(index.String(name).String() + "=" + v.String())
}

func shortTerm(term string) string {
	if len(term) <= longestTerm {
		return term
	}
	sum := sha256.Sum256([]byte(term))
	end := 100
	for !utf8.RuneStart(term[end]) {
		end--
	}
	return term[:end] + "#" + hex.EncodeToString(sum[:])
}

// terms returns the terms of an item, sorted and without duplicates.
func terms(it index.Item) []string {
	list := []string{}
	add := func(name string, v index.Value) { list = append(list, hasTerm(name), isTerm(name, v)) }
	if it.Label != "" {
		add("label", index.String(it.Label))
	}
	for _, tag := range it.Tags {
		add("tag", index.String(tag))
	}
	for name, v := range it.Attributes {
		add(name, v)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// clause is a condition on terms and ids.
type clause struct {
	op    string   // all, none, and, or, not, terms, ids or number
	parts []clause // of and, or and not
	texts []string // of terms and ids: the item has one of them

	name, compare string  // of number: an attribute that is a number, and <, <=, > or >=
	value         float64 // of number
}

var (
	allItems = clause{op: "all"}
	noItems  = clause{op: "none"}
)

// withAny matches items with one of some terms or ids.
func withAny(op string, texts ...string) clause {
	if len(texts) == 0 {
		return noItems
	}
	slices.Sort(texts)
	return clause{op: op, texts: slices.Compact(texts)}
}

// negation matches all other items.
func negation(c clause) clause {
	switch c.op {
	case "all":
		return noItems
	case "none":
		return allItems
	case "not":
		return c.parts[0]
	}
	return clause{op: "not", parts: []clause{c}}
}

// joined combines clauses with and or or.
func joined(op string, parts ...clause) clause {
	empty, full := "none", "all" // what decides, and what says nothing
	if op == "or" {
		empty, full = full, empty
	}
	var kept []clause
	for _, p := range parts {
		switch p.op {
		case empty:
			return p
		case full:
			continue
		}
		kept = append(kept, p)
	}
	switch len(kept) {
	case 0:
		return clause{op: full}
	case 1:
		return kept[0]
	}
	return clause{op: op, parts: kept}
}

// narrow translates a filter into a clause. It returns false if the clause matches more items than the filter.
// numbers says which attributes the engine compares with numbers itself.
func narrow(f index.Filter, numbers func(name string) bool) (clause, bool) {
	c, ok := f.Condition()
	if !ok {
		return allItems, true
	}
	return narrowing{numbers}.condition(c)
}

type narrowing struct{ numbers func(name string) bool }

func (n narrowing) condition(c index.Condition) (clause, bool) {
	switch c.Op {
	case "and", "or":
		parts, exact := make([]clause, len(c.Parts)), true
		for i, p := range c.Parts {
			var same bool
			parts[i], same = n.condition(p)
			exact = exact && same
		}
		return joined(c.Op, parts...), exact
	case "not": // of what an engine compares itself the opposite may mean something else
		inner, exact := narrowing{}.condition(c.Parts[0])
		if !exact {
			return allItems, false
		}
		return negation(inner), true
	case "has":
		return n.has(c.Name), true
	case "=", "in":
		return n.equal(c.Name, c.Values)
	case "!=":
		equal, exact := n.equal(c.Name, c.Values)
		if !exact {
			return n.has(c.Name), false
		}
		return joined("and", n.has(c.Name), negation(equal)), true
	}
	return n.order(c)
}

func (n narrowing) has(name string) clause {
	switch {
	case name == "id":
		return allItems
	case !utf8.ValidString(name):
		return noItems // no such item can be written
	}
	return withAny("terms", hasTerm(name))
}

// equal matches items with one of the values under a name.
func (n narrowing) equal(name string, values []index.Value) (clause, bool) {
	var texts []string
	for _, v := range values {
		text, isText := v.Text()
		x, _ := v.Number()
		switch {
		case name != "id" && isText && v.Kind() == index.DateKind: // other texts may be the same moment
			return n.has(name), false
		case !utf8.ValidString(name + text): // no such item can be written
		case name != "id":
			texts = append(texts, isTerm(name, v))
		case isText && text != "":
			texts = append(texts, index.Text(text).String())
		case !isText && x == math.Trunc(x) && x >= -1<<63 && x < 1<<63:
			texts = append(texts, index.Int(int64(x)).String())
		}
	}
	if name == "id" {
		return withAny("ids", texts...), true
	}
	return withAny("terms", texts...), true
}

// order translates a comparison other than equality.
func (n narrowing) order(c index.Condition) (clause, bool) {
	isText := func(v index.Value) bool { _, ok := v.Text(); return ok }
	if slices.Contains([]string{"id", "label", "tag"}, c.Name) || slices.ContainsFunc(c.Values, isText) ||
		n.numbers == nil || !n.numbers(c.Name) {
		return n.has(c.Name), false
	}
	compare := func(op string, v index.Value) clause {
		x, _ := v.Number()
		return clause{op: "number", name: c.Name, compare: op, value: x}
	}
	if c.Op == "between" {
		return joined("and", compare(">=", c.Values[0]), compare("<=", c.Values[1])), true
	}
	return compare(c.Op, c.Values[0]), true
}

// write writes a clause in an engine's language, given its words for and and or, a negation format with %s, and a
// function for the leaves all, terms, ids and number.
func (c clause) write(and, or, not string, leaf func(clause) string) string {
	if len(c.parts) == 0 {
		return leaf(c)
	}
	parts := make([]string, len(c.parts))
	for i, p := range c.parts {
		parts[i] = p.write(and, or, not, leaf)
	}
	if c.op == "not" {
		return fmt.Sprintf(not, parts[0])
	}
	word := map[string]string{"and": and, "or": or}[c.op]
	return "(" + strings.Join(parts, " "+word+" ") + ")"
}
