package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// spell writes a clause for people.
func spell(c clause) string {
	return c.write("and", "or", "not(%s)", func(c clause) string {
		switch c.op {
		case "terms", "ids":
			return c.op + " " + strings.Join(c.texts, " ")
		case "number":
			return fmt.Sprintf("%s%s%v", c.name, c.compare, c.value)
		}
		return c.op
	})
}

// TestNarrow: what an engine can evaluate, and whether that is all.
func TestNarrow(t *testing.T) {
	for _, c := range []struct {
		filter, want string
		exact        bool
	}{
		{``, `all`, true},
		{`label = "boots"`, `terms "label"="boots"`, true},
		{`tag in ("b", "a", "b")`, `terms "tag"="a" "tag"="b"`, true},
		{`price = -0`, `terms "price"=0`, true},
		{`price != 12`, `(terms "price" and not(terms "price"=12))`, true},
		{`has price and not has tag`, `(terms "price" and not(terms "tag"))`, true},
		{`price = "2024-01-31"`, `terms "price"`, false},
		{`price != "2024-01-31"`, `terms "price"`, false},
		{`price < 10`, `price<10`, true},
		{`price between 1 and 2`, `(price>=1 and price<=2)`, true},
		{`not price < 10`, `all`, false},
		{`odd < 10`, `terms "odd"`, false},
		{`price < "a"`, `terms "price"`, false},
		{`label < "b" and tag = "x"`, `(terms "label" and terms "tag"="x")`, false},
		{`label < "b" or tag = "x"`, `(terms "label" or terms "tag"="x")`, false},
		{`not (label = "a" or label > "b")`, `all`, false},
		{`id in (5, 6.5, "07", 1e300)`, `ids 07 5`, true},
		{`id != 5`, `not(ids 5)`, true},
		{`id < 5`, `all`, false},
		{`has id`, `all`, true},
		{`not has id`, `none`, true},
		{`id = 6.5 or label = "a"`, `terms "label"="a"`, true},
		{`id = 6.5 and label = "a"`, `none`, true},
		{`not not label = "a"`, `terms "label"="a"`, true},
		{`label = "a\"b"`, `terms "label"="a\"b"`, true},
		{"label = \"\xff\"", `none`, true},
	} {
		f, err := index.Parse(c.filter)
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		got, exact := narrow(f, func(name string) bool { return name == "price" })
		if spell(got) != c.want || exact != c.exact {
			t.Errorf("%s: %s, %v", c.filter, spell(got), exact)
		}
	}
}

// TestTerms: terms of different items differ, however long the texts are.
func TestTerms(t *testing.T) {
	long := strings.Repeat("ü", 200)
	it := index.Item{Label: "a", Tags: []string{"x", "y", "x"}, Attributes: map[string]index.Value{
		"n": index.Number(math.Copysign(0, -1)), "t": index.String("1"), `label"="a`: index.Number(1),
	}}
	want := `"label"|"label"="a"|"label\"=\"a"|"label\"=\"a"=1|"n"|"n"=0|"t"|"t"="1"|"tag"|"tag"="x"|"tag"="y"`
	if got := strings.Join(terms(it), "|"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	a, b := isTerm("label", index.String(long+"a")), isTerm("label", index.String(long+"b"))
	if a == b || len(a) > longestTerm || !strings.HasPrefix(a, `"label"="üü`) || strings.ToValidUTF8(a, "") != a {
		t.Errorf("%s and %s", a, b)
	}
}

// list is a finder that answers from hits, those at the same distance backwards by id.
type list struct {
	hits  []index.Hit
	asked []int
	scans int
}

func (l *list) ask(_ context.Context, codes hamming.Codes, limit int, _ clause) ([][]index.Hit, error) {
	l.asked = append(l.asked, limit)
	all := make([][]index.Hit, codes.Len())
	for i := range all {
		all[i] = slices.Clone(l.hits[:min(limit, len(l.hits))])
	}
	return all, nil
}

func (l *list) scan(_ context.Context, _ clause, take func(*index.Batch) error) error {
	l.scans++
	for part := range slices.Chunk(l.hits, 7) {
		b := index.NewBatch(64)
		for _, h := range part {
			b.Append(index.Item{ID: h.ID, Code: []uint64{1<<h.Distance - 1}})
		}
		if err := take(b); err != nil {
			return err
		}
	}
	return nil
}

// TestSearchSettlesTies: hits come by distance and id, and all items are read only where asking does not settle it.
func TestSearchSettlesTies(t *testing.T) {
	l := &list{}
	for d := range 3 {
		for i := range 300 {
			l.hits = append(l.hits, index.Hit{ID: index.Int(int64(1000*d + 300 - i)), Distance: d})
		}
	}
	smaller, err := index.Parse("id <= 1005")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name                   string
		k, radius, most        int
		filter                 index.Filter
		want, asks, scans, end int // hits, and the id of the last
	}{
		{"ties are asked for", 10, -1, 10000, index.Filter{}, 10, 2, 0, 10},
		{"a whole distance", 300, -1, 10000, index.Filter{}, 300, 1, 0, 300},
		{"all", 2000, -1, 10000, index.Filter{}, 900, 1, 0, 2300},
		{"too few at a time", 10, -1, 200, index.Filter{}, 10, 2, 1, 10},
		{"radius", 0, 1, 10000, index.Filter{}, 600, 2, 0, 1300},
		{"radius and too few", 0, 1, 500, index.Filter{}, 600, 2, 1, 1300},
		{"radius and k", 4, 1, 10000, index.Filter{}, 4, 2, 0, 4},
		{"a filter that only we have", 302, -1, 10000, smaller, 302, 0, 1, 1002},
		{"no items", 5, -1, 10000, index.Label(), 0, 0, 0, 0},
	} {
		l.asked, l.scans = nil, 0
		q := Query{Codes: hamming.NewCodes(2, 64), K: c.k, Radius: c.radius, Filter: c.filter}
		all, err := skill{most: c.most}.search(t.Context(), l, shape{bits: 64}, q)
		if err != nil || len(all) != 2 || len(all[0]) != c.want || !slices.Equal(all[0], all[1]) ||
			len(l.asked) != c.asks || l.scans != c.scans {
			t.Errorf("%s: %d hits, asked %v, %d scans, %v", c.name, len(all[0]), l.asked, l.scans, err)
			continue
		}
		for i, h := range all[0] {
			if i > 0 && h.ID.Compare(all[0][i-1].ID) <= 0 { // ids grow with the distance
				t.Errorf("%s: %v comes after %v", c.name, h, all[0][i-1])
			}
		}
		if c.want > 0 && all[0][c.want-1].ID != index.Int(int64(c.end)) {
			t.Errorf("%s: the last is %v", c.name, all[0][c.want-1])
		}
	}
}
