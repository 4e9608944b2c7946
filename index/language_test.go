package index

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"hashgrove/hamming"
)

func TestFiltersAreWrittenAsTheyAreRead(t *testing.T) {
	for in, want := range map[string]string{
		``:                                      ``,
		` label = "boots" `:                     `label = "boots"`,
		`label='boots'`:                         `label = "boots"`,
		`label = 5`:                             `label = "5"`,
		`id = 17`:                               `id = "17"`,
		`id < 2.5`:                              `id < 2.5`,
		`id in (0., -2.0, 1e3)`:                 `id in ("0", "-2", "1000")`, // whole ids, however they are written
		`id > 9.3e18`:                           `id > 9.3e+18`,              // beyond all of them
		`price<=-3.50`:                          `price <= -3.5`,
		`a=1 or b=2 AND c=3`:                    `a = 1 or b = 2 and c = 3`,
		`(a=1 or b=2) and c=3`:                  `(a = 1 or b = 2) and c = 3`,
		`a=1 and (b=2 and c=3)`:                 `a = 1 and (b = 2 and c = 3)`,
		`not not has a`:                         `not not has a`,
		`NOT (a=1 or b=2)`:                      `not (a = 1 or b = 2)`,
		`tag not in ("x",'y')`:                  `not tag in ("x", "y")`,
		`a <> 1`:                                `a != 1`,
		"`and` = \"\\\"\\n\"":                   "`and` = \"\\\"\\n\"",
		"`a b` == 1e6":                          "`a b` = 1e+06",
		`größe > 3`:                             `größe > 3`,
		`a between 1 AND 2 and b=3`:             `a between 1 and 2 and b = 3`,
		`a not BETWEEN 1 and 2`:                 `not a between 1 and 2`,
		`between between 1 and 2`:               `between between 1 and 2`, // a name in its place
		`starts starts with "x" or true = true`: `starts starts with "x" or true = "true"`,
		`name not starts with 'a"b'`:            `not name starts with "a\"b"`,
		`in_stock in (true, false)`:             `in_stock in ("true", "false")`,
		`day >= 2024-01-31`:                     `day >= "2024-01-31"`,
		`day < 2024-01-31T09:30:00+02:00`:       `day < "2024-01-31T09:30:00+02:00"`,
		`id = 18446744073709551615`:             `id = "18446744073709551615"`, // a text with all its digits
		`id between 5 and 17`:                   `id between "5" and "17"`,
		`label = "boots" and price < 30 and not tag in ("sale","old")`: `label = "boots" and price < 30 and not tag in ("sale", "old")`,
	} {
		f, err := Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := f.String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		again, err := Parse(f.String())
		if err != nil || !reflect.DeepEqual(f, again) {
			t.Errorf("%s: %v read back as %v: %v", in, f, again, err)
		}
	}
}

func TestBadFiltersAreExplained(t *testing.T) {
	for in, want := range map[string]string{
		`label`:                     `column 6: found the end, want =, !=`,
		`label = `:                  `column 9: found the end, want a number or a text`,
		`label = boots`:             `column 9: found "boots", want a number or a text`,
		`label = "boots`:            `column 9: found "\"boots", want a closing quote`,
		`(a = 1`:                    `column 7: found the end, want ")"`,
		`a = 1 b = 2`:               `column 7: found "b", want and, or, or the end`,
		`a in ()`:                   `column 7: found ")", want a number or a text`,
		`a = 1e999`:                 `want a number`,
		`a = 0x10`:                  `want a number`,
		`a ! 3`:                     `found "!"`,
		`and = 3`:                   `found "and", want the name`,
		`a = "\q"`:                  `found "\\q", want one of`,
		`= 3`:                       `want the name`,
		`a between 1`:               `column 12: found the end, want and`,
		`a between 1 or 2`:          `found "or", want and`,
		`a between 1 and "b"`:       `column 17: between 1 and "b": one is a number and the other a text`,
		`a between 2 and 1`:         `between 2 and 1: the smaller value comes first`,
		`a between "b" and "a"`:     `the smaller value comes first`,
		`id between 5 and "k"`:      `one is an integer and the other a text`,
		`id between 10 and 9`:       `the smaller value comes first`,
		`a starts "x"`:              `found "x", want with`,
		`a starts with 3`:           `found "3", want a text in quotes`,
		`a not = 3`:                 `found "=", want in, between or starts with`,
		"a = `true`":                `want a number or a text`,
		`a = 2024-02-30`:            `found "2024-02-30", want a date such as`,
		`a = 2024-01-31T99`:         `want a date such as`,
		`id > 18446744073709551600`: `column 6: ids beyond 2^63 - 1, such as 18446744073709551600, are texts and have no order by value`,
		`id = 007`:                  `ids with leading zeros, such as 007, are texts: write it in quotes, or without zeros`,
		`id < 010`:                  `ids with leading zeros`,
		strings.Repeat("(", 1000) + "a = 1" + strings.Repeat(")", 1000): `want a simpler filter`,
		strings.Repeat("a = 1 and ", 1000) + "a = 1":                    `want a simpler filter`,
		strings.Repeat("x", 1<<20+1):                                    `at most 1048576 are allowed`,
	} {
		if _, err := Parse(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", shortened(in), err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		f.Add(conditions(rng).filter)
	}
	f.Add(`a between 1 and 2 or not b starts with "x" and c = true and d >= 2024-01-31T09:30:00.5+02:00`)
	f.Add("`a\\`b` >= 'x' or not (id in (1, \"k\") and has c)")
	x := New(8, hamming.Fingerprint{}, Config{})
	b := NewBatch(8)
	centres := randomCodes(3, 8, 1)
	for i := range 50 {
		it := randomItem(rng, centres)
		it.ID = Int(int64(i))
		b.Append(it)
	}
	if err := x.Add(ctx, b); err != nil {
		f.Fatal(err)
	}
	s := x.Snapshot()
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(g.String())
		if err != nil || !reflect.DeepEqual(g, again) {
			t.Fatalf("%q was written as %q and read back as %v: %v", text, g, again, err)
		}
		if _, err := s.Matches(g); err != nil { // refused, not answered
			if _, ok := errors.AsType[*FilterError](err); !ok {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if g.node != nil && s.Count(g)+s.Count(opposite(g)) != s.Len() {
			t.Fatalf("%q and its opposite let %d and %d of %d through", text, s.Count(g), s.Count(opposite(g)), s.Len())
		}
	})
}

// opposite is the filter for what the filter stops.
func opposite(f Filter) Filter {
	if f.node == nil {
		return IDs()
	}
	return Filter{&node{op: "not", a: f.node}}
}
