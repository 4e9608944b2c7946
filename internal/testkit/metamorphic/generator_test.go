package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/index"
)

// widths of codes: at, below and above the sizes of words, and those that models have.
var widths = []int{1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 100, 128, 256, 300, 1024}

// generator makes steps. Codes are near a few centres, so that they repeat and distances tie.
type generator struct {
	*rand.Rand
	bits    int
	centres []code
	flips   int
	known   []item // some added items, for queries near them and existing ids
}

func newGenerator(seed uint64, bits int) *generator {
	g := &generator{Rand: newRand(seed, 1)}
	g.setBits(bits)
	return g
}

func (g *generator) setBits(bits int) {
	g.bits, g.centres = bits, nil
	for range 1 + g.IntN(5) {
		c := make(code, (bits+63)/64)
		for w := range c {
			c[w] = g.Uint64()
		}
		g.centres = append(g.centres, c.fit(bits))
	}
	g.flips = []int{1, 3, 3, bits}[g.IntN(4)]
}

// size is how many items there may be.
type size int

const (
	small size = iota // few enough to read
	usual             // above a thousand, so that there are several segments
	large             // enough for tables, and sometimes for scans in parts
)

// generate makes a sequence from a seed.
func generate(seed uint64, n size) sequence {
	g := newGenerator(seed, 1)
	s := sequence{Bits: widths[g.IntN(len(widths))]}
	g.setBits(s.Bits)
	steps := 8 + g.IntN(10)
	for range steps {
		s.Steps = append(s.Steps, g.step(n))
		for range 1 + g.IntN(3) {
			s.Steps = append(s.Steps, step{Op: askOp, Ask: g.question()})
		}
		if g.IntN(6) == 0 {
			s.Steps = append(s.Steps, step{Op: surveyOp, Where: g.filter()})
		}
	}
	return s
}

// step is a random change.
func (g *generator) step(n size) step {
	switch g.IntN(20) {
	case 0, 1:
		return step{Op: addOp, Items: g.items(4), Apart: g.IntN(3) == 0}
	case 2, 3, 4, 5, 6:
		return step{Op: upsertOp, Items: g.items(12), Apart: g.IntN(3) == 0}
	case 7:
		if n == small {
			return step{Op: compactOp}
		}
		return step{Op: upsertOp, Bulk: g.bulk(n)}
	case 8, 9:
		return step{Op: updateOp, Items: g.items(6), Replace: g.IntN(2) == 0}
	case 10, 11, 12:
		s := step{Op: deleteOp, Apart: g.IntN(3) == 0}
		for range 1 + g.IntN(10) {
			s.IDs = append(s.IDs, g.id())
		}
		return s
	case 13:
		return step{Op: deleteWhereOp, Where: g.filter()}
	case 14:
		return step{Op: compactOp, From: g.IntN(4)}
	case 15:
		return step{Op: backupOp}
	case 16:
		return step{Op: mergeOp, Parts: 1 + g.IntN(4)}
	case 17:
		return step{Op: salvageOp}
	case 18:
		if g.IntN(2) == 0 {
			s := step{Op: migrateOp, Bits: widths[g.IntN(len(widths))], Seed: g.Uint64N(1000)}
			g.setBits(s.Bits)
			return s
		}
	}
	return step{Op: reopenOp, Tables: g.IntN(5) - 1}
}

func (g *generator) bulk(n size) *bulk {
	b := &bulk{100 + g.IntN(1200), g.Uint64N(1000)}
	if n == large && g.IntN(5) == 0 {
		b.Items = 1 << (10 + g.IntN(6)) // up to where tables are considered
	}
	if n == large && g.IntN(200) == 0 {
		b.Items = 150_000
	}
	return b
}

func (g *generator) items(most int) []item {
	var list []item
	for range 1 + g.IntN(most) {
		list = append(list, g.item())
	}
	return list
}

func (g *generator) id() index.ID {
	if len(g.known) > 0 && g.IntN(2) == 0 {
		return g.known[g.IntN(len(g.known))].ID
	}
	switch g.IntN(8) {
	case 0, 1:
		return index.Text(fmt.Sprintf("k%d", g.IntN(30)))
	case 2:
		return index.Int(int64(g.IntN(5)) - 1<<62)
	case 3:
		return index.Int(int64(1000 + g.IntN(1000))) // of many items, perhaps
	}
	return index.Int(int64(g.IntN(80)))
}

func (g *generator) code() code {
	if len(g.known) > 0 && g.IntN(4) == 0 {
		return g.known[g.IntN(len(g.known))].Code // equal to another
	}
	c := slices.Clone(g.centres[g.IntN(len(g.centres))])
	for range g.IntN(g.flips + 1) {
		b := g.IntN(g.bits)
		c[b/64] ^= 1 << (63 - b%64)
	}
	return c
}

func (g *generator) item() item {
	it := item{ID: g.id(), Code: g.code(), Label: []string{"", "a", "b", "c"}[g.IntN(4)]}
	for range g.IntN(3) {
		it.Tags = append(it.Tags, fmt.Sprintf("t%d", g.IntN(4)))
	}
	set := func(name string, v index.Value) {
		if it.Attributes == nil {
			it.Attributes = map[string]index.Value{}
		}
		it.Attributes[name] = v
	}
	if g.IntN(2) == 0 {
		set("price", index.Number(float64(g.IntN(20))))
	}
	if g.IntN(4) == 0 {
		set("kind", index.String([]string{"new", "old", "used"}[g.IntN(3)]))
	}
	if g.IntN(4) == 0 {
		format := []string{"2024-01-0%d", "2024-01-0%dT00:00Z", "2024-01-0%dT02:00:00+02:00"}[g.IntN(3)]
		set("made", index.String(fmt.Sprintf(format, 1+g.IntN(9))))
	}
	if g.IntN(6) == 0 { // of several kinds
		set("size", []index.Value{index.Number(3), index.String("large"), index.String("true")}[g.IntN(3)])
	}
	if len(g.known) < 100 {
		g.known = append(g.known, it)
	} else {
		g.known[g.IntN(len(g.known))] = it
	}
	return it
}

// filter returns a condition, or several joined ones; often none.
func (g *generator) filter() string {
	switch g.IntN(8) {
	case 0, 1, 2:
		return ""
	case 3:
		return g.condition() + " and " + g.condition()
	case 4:
		return "not (" + g.condition() + " or " + g.condition() + ")"
	}
	return g.condition()
}

func (g *generator) condition() string {
	x := g.IntN(20)
	return []string{
		`label = "a"`, `label != "b"`, `label in ("b", "zzz")`, `has label`, `label >= "b"`,
		`tag = "t1"`, `tag != "t1"`, `tag not in ("t1", "t2")`, `tag between "t1" and "t2"`, `not has tag`,
		fmt.Sprintf("price < %d", x), fmt.Sprintf("price >= %d", x), fmt.Sprintf("price = %d", x),
		fmt.Sprintf("price != %d", x), fmt.Sprintf("price not between %d and %d", x, x+4), `has price`,
		fmt.Sprintf("id <= %d", 4*x), `id > "k2"`, `id starts with "1"`, `id in (3, 5, "k7")`, `id != 4`,
		`kind > "new"`, `kind starts with "n"`, `kind in ("old", "used")`,
		fmt.Sprintf("made >= 2024-01-0%d", 1+x%9), fmt.Sprintf(`made = "2024-01-0%dT00:00:00"`, 1+x%9),
		`made between 2024-01-03 and 2024-01-06`, `size = 3`, `size = true`, `size != "large"`, `size > "a"`,
		`nothing = 3`, `price = "ten"`, `price starts with "1"`, `kind = 3`, `made > "soon"`,
	}[g.IntN(36)]
}

// question usually asks for something near an item.
func (g *generator) question() *question {
	q := &question{Where: g.filter(), K: []int{0, 1, 2, 3, 10, 100, 100_000}[g.IntN(7)], Keep: g.IntN(8) == 0}
	queries := []int{1, 1, 1, 2, 3}[g.IntN(5)]
	if g.IntN(40) == 0 {
		queries = 66 // more than share a scan
	}
	for range queries {
		q.Queries = append(q.Queries, g.code())
	}
	if g.IntN(3) == 0 {
		r := []int{-1, 0, 1, 3, g.bits / 2, g.bits, g.bits + 5}[g.IntN(7)]
		q.Radius = &r
	}
	if g.IntN(4) == 0 {
		q.Prefix, q.Shortlist = 1+g.IntN(g.bits), g.IntN(3)*g.IntN(40)
	}
	if g.IntN(3) == 0 {
		for range queries {
			q.Margins = append(q.Margins, g.margins())
		}
		if g.IntN(3) > 0 {
			q.Rank = index.ByMargins
		}
	}
	if g.IntN(7) == 0 {
		q.Score, q.Shortlist, q.K = true, g.IntN(3)*g.IntN(10), g.IntN(6)
	}
	return q
}

// margins are multiples of a quarter, so that sums are exact in any order. A few are large, so that weights saturate.
func (g *generator) margins() []float32 {
	m := make([]float32, g.bits)
	if g.IntN(10) == 0 {
		return m
	}
	for b := range m {
		m[b] = float32(g.IntN(33)-16) / 4
		if g.IntN(30) == 0 {
			m[b] *= 50
		}
	}
	return m
}
