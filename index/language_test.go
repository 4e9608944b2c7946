package index

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"hashgrove/hamming"
)

func TestFiltersAreWrittenAsTheyAreRead(t *testing.T) {
	for in, want := range map[string]string{
		``:                      ``,
		` label = "boots" `:     `label = "boots"`,
		`label='boots'`:         `label = "boots"`,
		`label = 5`:             `label = "5"`,
		`id = 17`:               `id = "17"`,
		`id < 2.5`:              `id < 2.5`,
		`id in (0., -2.0, 1e3)`: `id in ("0", "-2", "1000")`, // whole ids, however they are written
		`id > 9.3e18`:           `id > 9.3e+18`,              // beyond all of them
		`price<=-3.50`:          `price <= -3.5`,
		`a=1 or b=2 AND c=3`:    `a = 1 or b = 2 and c = 3`,
		`(a=1 or b=2) and c=3`:  `(a = 1 or b = 2) and c = 3`,
		`a=1 and (b=2 and c=3)`: `a = 1 and (b = 2 and c = 3)`,
		`not not has a`:         `not not has a`,
		`NOT (a=1 or b=2)`:      `not (a = 1 or b = 2)`,
		`tag not in ("x",'y')`:  `not tag in ("x", "y")`,
		`a <> 1`:                `a != 1`,
		"`and` = \"\\\"\\n\"":   "`and` = \"\\\"\\n\"",
		"`a b` == 1e6":          "`a b` = 1e+06",
		`größe > 3`:             `größe > 3`,
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
		`label`:          `column 6: found the end, want =, !=`,
		`label = `:       `column 9: found the end, want a number or a text`,
		`label = boots`:  `column 9: found "boots", want a number or a text`,
		`label = "boots`: `column 9: found "\"boots", want a closing quote`,
		`(a = 1`:         `column 7: found the end, want ")"`,
		`a = 1 b = 2`:    `column 7: found "b", want and, or, or the end`,
		`a in ()`:        `column 7: found ")", want a number or a text`,
		`a = 1e999`:      `want a number`,
		`a = 0x10`:       `want a number`,
		`a ! 3`:          `found "!"`,
		`and = 3`:        `found "and", want the name`,
		`a = "\q"`:       `found "\\q", want one of`,
		`= 3`:            `want the name`,
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
