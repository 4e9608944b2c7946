package index

import (
	"fmt"
	"testing"
)

// TestConditionIsTheFilter writes the conditions of filters in brackets and reads them back.
func TestConditionIsTheFilter(t *testing.T) {
	var write func(c Condition) string
	write = func(c Condition) string {
		switch c.Op {
		case "and", "or":
			return fmt.Sprintf("(%s) %s (%s)", write(c.Parts[0]), c.Op, write(c.Parts[1]))
		case "not":
			return fmt.Sprintf("not (%s)", write(c.Parts[0]))
		case "has":
			return "has " + c.Name
		case "between":
			return fmt.Sprintf("%s between %v and %v", c.Name, c.Values[0], c.Values[1])
		case "in":
			list := ""
			for i, v := range c.Values {
				if i > 0 {
					list += ", "
				}
				list += v.String()
			}
			return fmt.Sprintf("%s in (%s)", c.Name, list)
		}
		return fmt.Sprintf("%s %s %v", c.Name, c.Op, c.Values[0])
	}
	for _, text := range []string{
		`a = 1 and b != "x" or not c in (1, "y") and has d`, `id between 3 and 17`, `name starts with "ra"`,
		`tag in ("a", "b") and added >= "2024-01-31"`,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c, ok := f.Condition()
		again, err := Parse(write(c))
		if err != nil || !ok || again.String() != f.String() {
			t.Errorf("%s became %s: %v", f, write(c), err)
		}
	}
	if _, ok := (Filter{}).Condition(); ok {
		t.Error("the zero filter has a condition")
	}
	if String("2024-01-31").Kind() != DateKind || String("x").Kind() != TextKind || Number(1).Kind() != NumberKind {
		t.Error("values are of the wrong kinds")
	}
}
