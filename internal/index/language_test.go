package index

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
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
		`id = -9223372036854775808.0`:           `id = "-9223372036854775808"`,
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
	for in, want := range map[string]string{ // code, column and what the message must name
		`label`:                     `want-operator 6 = != < <= > >= in between starts`,
		`label = `:                  `want-value 9`,
		`label = boots`:             `want-value 9 "boots"`,
		`label = "boots`:            `want-quote 9 "\"boots"`,
		`(a = 1`:                    `want-bracket 7 ")"`,
		`a = 1 b = 2`:               `want-end 7 "b" and or`,
		`a in ()`:                   `want-value 7 ")"`,
		`a = 1e999`:                 `want-number 5 "1e999"`,
		`a = 0x10`:                  `want-number 5 "0x10"`,
		`a ! 3`:                     `want-operator 3 "!"`,
		`and = 3`:                   `want-name 1 "and"`,
		`a = "\q"`:                  `want-escape 5 "\\q" \\ \" \' \n \t \r`,
		`= 3`:                       `want-name 1 "="`,
		`a between 1`:               `want-and 12 and`,
		`a between 1 or 2`:          `want-and 13 "or"`,
		`a between 1 and "b"`:       `mixed-values 17 1 "b" number text`,
		`a between 2 and 1`:         `wrong-order 17 2 1`,
		`a between "b" and "a"`:     `wrong-order 19 "b" "a"`,
		`id between 5 and "k"`:      `mixed-values 18 5 "k" integer text`,
		`id between 10 and 9`:       `wrong-order 19 10 9`,
		`a starts "x"`:              `want-with 10 "x" with`,
		`a starts with 3`:           `want-text 15 "3"`,
		`a not = 3`:                 `want-range 7 "=" in between starts`,
		"a = `true`":                `want-value 5 "true"`,
		`a = 2024-02-30`:            `want-date 5 "2024-02-30" 2024-01-31`,
		`a = 2024-01-31T99`:         `want-date 5 "2024-01-31T99"`,
		`id > 18446744073709551600`: `no-order 6 2^63 18446744073709551600`,
		`id = 007`:                  `leading-zeros 6 007`,
		`id < 010`:                  `leading-zeros 6 010`,
		strings.Repeat("(", 1000) + "a = 1" + strings.Repeat(")", 1000): `too-deep 501 500`,
		strings.Repeat("a = 1 and ", 1000) + "a = 1":                    `too-deep 500`,
		strings.Repeat("x", 1<<20+1):                                    `too-long 1048577 1048576`,
	} {
		_, err := Parse(in)
		facts := strings.Fields(want)
		if d := message.Differs(err, message.Code(facts[0]), facts[1:]...); d != "" {
			t.Errorf("%s: %s", shortened(in), d)
		}
	}
}

func FuzzParse(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, text := range []string{
		"", `label != "a" and price not between 3 and 6`, `not (tag not in ("t1", "t2") or has kind)`, `id > "k5"`,
		`id between 17 and "110"`, `added < "2024-01-02T00:00Z"`, "new = true", `price starts with "1"`, "nothing = 3",
	} {
		f.Add(text)
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
		if g.Condition != nil && s.Count(g)+s.Count(opposite(g)) != s.Len() {
			t.Fatalf("%q and its opposite let %d and %d of %d through", text, s.Count(g), s.Count(opposite(g)), s.Len())
		}
	})
}

// opposite returns the filter for everything that the filter rejects.
func opposite(f Filter) Filter {
	if f.Condition == nil {
		return IDs()
	}
	return Filter{joined("not", f.Condition)}
}
