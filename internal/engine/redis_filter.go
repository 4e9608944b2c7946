package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// redisFilter translates a filter into the language of VSIM's FILTER, where
//
//	an element without a requested field never matches, whatever else is said, even under "not"
//	comparing a number and a text converts both to numbers, so "x" equals 0
//	texts compare only for equality, and no text can hold both kinds of quotes
//
// So a filter becomes a list of alternatives that are searched one after the other, each a conjunction that first
// checks for every field an item may lack, so that a missing field gives the right answer. The attributes of an
// element record which fields exist in extra fields that every item has (see redisAttributes).
type redisFilter struct{}

// redisAtom is a comparison. It is total if it uses only fields that every item has.
type redisAtom struct {
	text  string
	total bool
}

// alternatives is a disjunction of conjunctions.
type alternatives [][]redisAtom

// redisTruth says when a condition holds and when it does not.
type redisTruth struct{ yes, no alternatives }

// maxAlternatives limits the number of searches a filter may become.
const maxAlternatives = 32

var redisNever, redisAlways = redisTruth{no: alternatives{{}}}, redisTruth{yes: alternatives{{}}}

// expressions returns the filters to search with, whose answers are to be combined; "" matches everything.
func (r redisFilter) expressions(f index.Filter) ([]string, error) {
	c, ok := f.Condition()
	if !ok {
		return []string{""}, nil
	}
	t, err := r.translate(c)
	if err != nil {
		return nil, err
	}
	var list, total []string
	for _, all := range t.yes {
		words, partial := make([]string, len(all)), false
		for i, atom := range all {
			words[i], partial = atom.text, partial || !atom.total
		}
		text := strings.Join(words, " and ")
		switch {
		case text == "":
			return []string{""}, nil
		case partial:
			list = append(list, text)
		default:
			total = append(total, "("+text+")")
		}
	}
	if len(total) > 0 {
		list = append(list, strings.Join(total, " or "))
	}
	return list, nil
}

func (r redisFilter) translate(c index.Condition) (redisTruth, error) {
	var parts []redisTruth
	for _, part := range c.Parts {
		t, err := r.translate(part)
		if err != nil {
			return t, err
		}
		parts = append(parts, t)
	}
	switch c.Op {
	case "not":
		return redisTruth{parts[0].no, parts[0].yes}, nil
	case "and":
		return both(parts[0], parts[1])
	case "or":
		return either(parts[0], parts[1])
	case "has":
		return r.has(c.Name)
	case "!=":
		there, err := r.has(c.Name)
		if err != nil {
			return there, err
		}
		equal, err := r.member(c.Name, c.Values)
		if err != nil {
			return equal, err
		}
		return both(there, redisTruth{equal.no, equal.yes})
	case "=", "in":
		return r.member(c.Name, c.Values)
	case "between":
		if c.Name == index.TagName { // a single tag must be within both bounds
			return r.comparison(c.Name, ">=", c.Values[0])
		}
		low, err := r.comparison(c.Name, ">=", c.Values[0])
		if err != nil {
			return low, err
		}
		high, err := r.comparison(c.Name, "<=", c.Values[1])
		if err != nil {
			return high, err
		}
		return both(low, high)
	}
	return r.comparison(c.Name, c.Op, c.Values[0])
}

// both is the conjunction of two conditions.
func both(a, b redisTruth) (redisTruth, error) {
	t := redisTruth{no: append(append(alternatives{}, a.no...), b.no...)}
	for _, x := range a.yes {
		for _, y := range b.yes {
			if t.yes = append(t.yes, append(append([]redisAtom{}, x...), y...)); len(t.yes) > maxAlternatives {
				break
			}
		}
	}
	if max(len(t.yes), len(t.no)) > maxAlternatives {
		return t, fmt.Errorf("%w: it would take Redis more than %d searches", ErrFilter, maxAlternatives)
	}
	return t, nil
}

// either is the disjunction of two conditions.
func either(a, b redisTruth) (redisTruth, error) {
	t, err := both(redisTruth{a.no, a.yes}, redisTruth{b.no, b.yes})
	return redisTruth{t.no, t.yes}, err
}

// always is a comparison of fields that every item has.
func always(format string, args ...any) redisTruth {
	text := "(" + fmt.Sprintf(format, args...) + ")"
	return redisTruth{alternatives{{{text, true}}}, alternatives{{{"!" + text, true}}}}
}

// guarded is a comparison of an attribute after checking in list that the item has it.
func guarded(name, list, format string, args ...any) redisTruth {
	there := redisAtom{fmt.Sprintf(`("%s" in .%s)`, name, list), true}
	text := "(" + fmt.Sprintf(format, args...) + ")"
	return redisTruth{
		alternatives{{there, {text, false}}},
		alternatives{{{"!" + there.text, true}}, {there, {"!" + text, false}}},
	}
}

// has is the condition that an item has a name.
func (r redisFilter) has(name string) (redisTruth, error) {
	switch name {
	case idName:
		return redisAlways, nil
	case index.LabelName:
		return always(`.label != ""`), nil
	case index.TagName:
		return always(`._tags > 0`), nil
	}
	return always(`"%s" in ._numbers or "%s" in ._texts`, name, name), checkSelector(name)
}

// member translates name in (values).
func (r redisFilter) member(name string, values []index.Value) (redisTruth, error) {
	var numbers, texts []string
	for _, v := range values {
		text, isText := v.Text()
		if number, _ := v.Number(); !isText {
			if name == idName {
				if number == math.Trunc(number) && math.Abs(number) < 1<<63 {
					texts = append(texts, `"`+strconv.FormatInt(int64(number), 10)+`"`)
				}
				continue
			}
			word, err := redisNumber(number)
			if err != nil {
				return redisNever, err
			}
			numbers = append(numbers, word)
			continue
		}
		if v.Kind() == index.DateKind && name != idName {
			return redisNever, errDate(v)
		}
		word, err := redisText(text)
		if err != nil {
			return redisNever, err
		}
		texts = append(texts, word)
	}
	switch name {
	case idName, index.LabelName:
		if len(texts) == 0 {
			return redisNever, nil
		}
		if name == index.LabelName { // an empty label means no label
			return always(`.label != "" and .label in [%s]`, strings.Join(texts, ", ")), nil
		}
		return always(`.id in [%s]`, strings.Join(texts, ", ")), nil
	case index.TagName:
		if len(texts) == 0 {
			return redisNever, nil
		}
		return always("%s in .tag", strings.Join(texts, " in .tag or ")), nil
	}
	if err := checkSelector(name); err != nil {
		return redisNever, err
	}
	t := redisNever
	var err error
	if len(numbers) > 0 {
		t = guarded(name, "_numbers", ".%s in [%s]", name, strings.Join(numbers, ", "))
	}
	if len(texts) > 0 {
		t, err = either(t, guarded(name, "_texts", ".%s in [%s]", name, strings.Join(texts, ", ")))
	}
	return t, err
}

func errDate(v index.Value) error {
	return fault.New("no-dates", "%w: %v is a date, and Redis does not compare texts as dates; "+
		"store dates as numbers to filter by them there", ErrFilter, v)
}

// comparison translates name op value for numbers; Redis cannot order texts.
func (r redisFilter) comparison(name, op string, v index.Value) (redisTruth, error) {
	number, isNumber := v.Number()
	text, _ := v.Text()
	if name == idName && !isNumber && op != "starts with" && text != "" {
		if n, ok := index.Text(text).Integer(); ok {
			number, isNumber = float64(n), true
		}
	}
	switch {
	case !isNumber:
		return redisNever, fmt.Errorf("%w: Redis knows no order of texts and no beginnings, only whether two are equal",
			ErrFilter)
	case op == "starts with", name == index.LabelName, name == index.TagName:
		return redisNever, nil // numbers and texts never compare
	case name == idName:
		return compareRedisID(op, number)
	}
	if err := checkSelector(name); err != nil {
		return redisNever, err
	}
	word, err := redisNumber(number)
	return guarded(name, "_numbers", ".%s %s %s", name, op, word), err
}

// compareRedisID compares integer ids with a number. Redis stores them as float64, which is exact below 2^53.
func compareRedisID(op string, x float64) (redisTruth, error) {
	switch {
	case math.Abs(x) >= 1<<63:
		if (x > 0) == (op[0] == '<') {
			return always("._int == 1"), nil
		}
		return redisNever, nil
	case math.Abs(x) >= 1<<53:
		return redisNever, fmt.Errorf("%w: Redis does not compare integers beyond 2^53 exactly", ErrFilter)
	}
	word, err := redisNumber(x)
	return always("._int == 1 and ._id %s %s", op, word), err
}

// checkSelector rejects names that the filter language cannot express.
func checkSelector(name string) error {
	if !selectable(name) {
		return fmt.Errorf("%w: Redis cannot ask for %q: it takes letters, digits, - and _, which does not come first",
			ErrFilter, name)
	}
	return nil
}

// selectable reports whether a filter can name an attribute. Our own fields start with an underscore.
func selectable(name string) bool {
	for _, c := range []byte(name) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return name != "" && name[0] != '_'
}

// redisNumber formats a number. Exponents may not have a sign, and numbers at most 255 bytes.
func redisNumber(x float64) (string, error) {
	word := strconv.FormatFloat(x, 'f', -1, 64)
	if len(word) > 200 && math.Abs(x) > 1 {
		word = strings.Replace(strconv.FormatFloat(x, 'e', -1, 64), "+", "", 1)
	}
	if len(word) > 200 {
		return "", fmt.Errorf("%w: Redis cannot read the number %v", ErrFilter, x)
	}
	return word, nil
}

// redisText quotes a text. A backslash only keeps the next character from ending the text; both remain in it.
func redisText(s string) (string, error) {
	for _, quote := range []byte{'"', '\''} {
		i := 0
		for i < len(s) && s[i] != quote {
			if s[i] == '\\' {
				i++
			}
			i++
		}
		if i == len(s) && !strings.Contains(s, "\x00") {
			return string(quote) + s + string(quote), nil
		}
	}
	return "", fmt.Errorf("%w: no text of Redis can hold %q", ErrFilter, s)
}
