package engine

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// integers returns the interval of integers that satisfy op x, exact even where float64 cannot represent them; some
// is false if there are none. The operators are =, <, <=, > and >=.
func integers(op string, x float64) (low, high int64, some bool) {
	low, high = math.MinInt64, math.MaxInt64
	edge := math.Floor(x)
	if op == "<" || op == ">=" {
		edge = math.Ceil(x)
	}
	upper, lower := edge >= 1<<63, edge < math.MinInt64 // beyond all int64 values
	switch {
	case op == "=" && (upper || lower || edge != x), upper && op[0] == '>', lower && op[0] == '<':
		return 0, 0, false
	case upper, lower:
		return low, high, true
	}
	switch n := int64(edge); op {
	case "=":
		low, high = n, n
	case "<=":
		high = n
	case "<":
		high = n - 1
		return low, high, n > math.MinInt64
	case ">":
		low = n + 1 // cannot overflow: a float64 below 2^63 is well below it
	case ">=":
		low = n
	}
	return low, high, true
}

// eachText checks the texts of an item except its id.
func eachText(it index.Item, check func(what, text string) error) error {
	err := check("label", it.Label)
	for _, tag := range it.Tags {
		err = errors.Join(err, check("tag", tag))
	}
	for name, v := range it.Attributes {
		text, _ := v.Text()
		err = errors.Join(err, check("attribute's name", name), check("attribute", text))
	}
	return err
}

// checkUTF8 rejects text that is not valid in JSON.
func checkUTF8(engine, what, text string) error {
	if !utf8.ValidString(text) {
		return fault.New("not-utf8", "%w: its %s is not UTF-8, which %s cannot store", ErrRefused, what, engine)
	}
	return nil
}

// checkLength rejects text longer than the engine accepts.
func checkLength(engine, what, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("%w: its %s has %d bytes, but %s allows at most %d", ErrRefused, what, len(text), engine, most)
	}
	return nil
}
